// Strings on the GPU: chunks of text decoded to offsets and bytes by every codec of theirs, and encoded by fsst with a
// table that is there already, in plain bytes per second and against the copy rate on all bytes that move.
#include <cub/device/device_scan.cuh>
#include <memory>
#include <string>

#include "basalt/plan/tree.h"
#include "codec/fsst/encode_kernels.h"
#include "codec/fsst/encode_table.h"
#include "codec/fsst/kernels.h"
#include "codec/numbered/kernels.h"
#include "codec/packed/layout.h"
#include "codec/plain/layout.h"
#include "codec/strings/kernels.h"
#include "codec/tokens/kernels.h"
#include "nested_bench.h"
#include "texts.h"

namespace basalt::bench {
namespace {

constexpr double kLeastRate = 300e9;  // of plain bytes
constexpr double kLeastEncodeRate = 80e9;

// Text as TPC-H comments have it: a few words of a small vocabulary.
std::string comment(uint64_t row) {
  static const char* const kWords[] = {
      "carefully",    "final",   "deposits",    "sleep",       "quickly", "regular", "accounts",  "above",
      "packages",     "the",     "special",     "requests",    "ironic",  "pinto",   "beans",     "furiously",
      "bold",         "express", "theodolites", "among",       "silent",  "pending", "blithely",  "even",
      "platelets",    "haggle",  "slyly",       "foxes",       "unusual", "courts",  "according", "to",
      "instructions", "nag",     "asymptotes",  "dependencies"};
  const uint64_t length = 10 + mix(row) % 34;
  std::string text;
  for (uint64_t i = 0; text.size() < length; ++i) {
    if (i > 0) text += ' ';
    text += kWords[mix(row * 64 + i) % std::size(kWords)];
  }
  return text.substr(mix(row + 1) % 5).substr(0, length);
}
// Nothing but digits and dashes, in which few pieces are frequent.
std::string hex(uint64_t row) {
  std::string text;
  for (uint32_t i = 0; i < 36; ++i) {
    text += i == 8 || i == 13 || i == 18 || i == 23 ? '-' : "0123456789abcdef"[mix(row * 64 + i) % 16];
  }
  return text;
}
std::string with_escapes(uint64_t row) {
  std::string text = comment(row);
  if (row % 20 == 0) text += static_cast<char>(0x80 + mix(row) % 128);
  return text;
}

Texts texts_of(std::string (*text)(uint64_t), uint64_t rows) {
  Texts texts;
  for (uint64_t row = 0; row < rows; ++row) texts.add(text(row));
  return texts;
}

std::string numbered_text(uint64_t row) {
  const std::string number = std::to_string(mix(row) % 1'000'000'000);
  return "Customer#" + std::string(9 - number.size(), '0') + number;
}

// Streams of encoded chunks in device memory.
class DeviceStreams {
 public:
  template <typename T>
  const T* upload(const void* from, size_t size) {
    std::vector<unsigned char> bytes(size + 256);
    if (size > 0) std::memcpy(bytes.data(), from, size);
    streams_.emplace_back(bytes);
    return reinterpret_cast<const T*>(streams_.back().data());
  }
  template <typename T>
  const T* upload(const Buffer& stream) {
    return upload<T>(stream.data(), stream.size());
  }
  template <typename T>
  T* room(size_t count) {
    streams_.emplace_back(count * sizeof(T));
    return reinterpret_cast<T*>(streams_.back().data());
  }
  // Of a packed array.
  const uint64_t* describe(const Node& node) {
    std::vector<uint64_t> words{node.count};
    for (uint32_t i = 0; i < packed::kStreams; ++i) {
      words.push_back(reinterpret_cast<uint64_t>(upload<unsigned char>(node.streams[i])));
    }
    return upload<uint64_t>(words.data(), words.size() * sizeof(uint64_t));
  }

 private:
  std::vector<DeviceArray<unsigned char>> streams_;
};

// A chunk's rows, with lengths that are packed.
template <typename Work>
Work work_of(DeviceStreams& streams, const Node& lengths) {
  Work work{};
  work.lengths = streams.describe(lengths);
  work.rows = static_cast<uint32_t>(lengths.count);
  work.text_starts = streams.room<uint64_t>(tile_count(lengths.count) + size_t{1});
  work.offsets = streams.room<int64_t>(lengths.count + 1);
  return work;
}

// Each codec: its tree, what its kernels work on, and their launches, all of them that decoding takes.
struct Fsst {
  using Work = fsst::DecodeWork;
  static constexpr const char* kTree = "strings(packed, fsst(packed))";

  Work add(DeviceStreams& streams, const Node& strings, uint32_t*) {
    const Node& node = strings.children[1];
    fsst::Parameters params;
    std::memcpy(&params, node.params.data(), sizeof(params));
    Work work = work_of<Work>(streams, strings.children[0]);
    work.tables = streams.upload<unsigned char>(node.streams[fsst::kTables]);
    work.starts = streams.upload<uint64_t>(node.streams[fsst::kStarts]);
    work.codes = streams.upload<unsigned char>(node.streams[fsst::kCodes]);
    work.code_lengths = streams.describe(node.children[fsst::kCodeLengths]);
    work.table_shift = params.table_shift;
    return work;
  }
  static void launch(const Work* works, uint32_t chunks) {
    const fsst::DecodeBatch batch{
        works, chunks, tile_count(kMaxChunkRows), 0, strings::Child::kPacked, strings::Child::kPacked};
    BASALT_CHECK(strings::place_tiles(batch.texts(), nullptr));
    BASALT_CHECK(fsst::decode(batch, nullptr));
  }
};

class Tokens {
 public:
  using Work = tokens::DecodeWork;
  static constexpr const char* kTree = "strings(packed, tokens(packed, packed, strings(packed, plain)))";

  Work add(DeviceStreams& streams, const Node& strings, uint32_t* fault) {
    const Node& node = strings.children[1];
    const Node& texts = node.children[tokens::kEntries];
    strings::TextWork entries = work_of<strings::TextWork>(streams, texts.children[0]);
    entries.fault = fault;
    entry_works_.push_back(entries);
    most_entries_ = static_cast<uint32_t>(texts.count);
    Work work = work_of<Work>(streams, strings.children[0]);
    work.starts = streams.upload<uint64_t>(node.streams[tokens::kTileStarts]);
    work.ids = streams.describe(node.children[tokens::kIds]);
    work.counts = streams.describe(node.children[tokens::kCounts]);
    work.entries = {streams.upload<uint64_t>(texts.children[1].streams[plain::kBytes]),
                    static_cast<int64_t*>(entries.offsets), 0};
    work.entry_count = most_entries_;
    work.slots = streams.room<tokens::Slot>(texts.count);
    return work;
  }
  // Entries are decoded and prepared each time.
  void launch(const Work* works, uint32_t chunks) {
    if (on_device_ == nullptr) on_device_ = std::make_unique<DeviceArray<strings::TextWork>>(entry_works_);
    const strings::TextBatch entries =
        strings::text_batch(on_device_->data(), chunks, tile_count(most_entries_), strings::Child::kPacked);
    const tokens::DecodeBatch batch{works,
                                    chunks,
                                    tile_count(kMaxChunkRows),
                                    most_entries_,
                                    strings::Child::kPacked,
                                    strings::Child::kPacked,
                                    strings::Child::kPacked};
    BASALT_CHECK(strings::place_tiles(entries, nullptr));
    BASALT_CHECK(strings::place_rows(entries, nullptr));
    BASALT_CHECK(tokens::make_slots(batch, nullptr));
    BASALT_CHECK(strings::place_tiles(batch.texts(), nullptr));
    BASALT_CHECK(tokens::decode(batch, nullptr));
  }

 private:
  std::vector<strings::TextWork> entry_works_;
  std::unique_ptr<DeviceArray<strings::TextWork>> on_device_;
  uint32_t most_entries_ = 0;
};

struct Numbered {
  using Work = numbered::DecodeWork;
  static constexpr const char* kTree = "numbered(packed)";

  Work add(DeviceStreams& streams, const Node& node, uint32_t*) {
    Work work{};
    work.rows = static_cast<uint32_t>(node.count);
    work.offsets = streams.room<int64_t>(node.count + 1);
    work.numbers = streams.describe(node.children[numbered::kNumbers]);
    work.prefix_bytes = static_cast<uint32_t>(node.params.size() - 1);
    work.prefix = streams.upload<uint64_t>(node.params.data() + 1, work.prefix_bytes);
    work.digits = static_cast<uint32_t>(node.params[0]);
    return work;
  }
  static void launch(const Work* works, uint32_t chunks) {
    BASALT_CHECK(numbered::decode({works, chunks, tile_count(kMaxChunkRows), strings::Child::kPacked}, nullptr));
  }
};

// The offsets that a kernel wrote.
std::vector<int64_t> offsets_of(const strings::TextWork& work) {
  const size_t width = work.narrow_offsets != 0 ? sizeof(int32_t) : sizeof(int64_t);
  std::vector<unsigned char> bytes((work.rows + size_t{1}) * width);
  BASALT_CHECK(cudaMemcpy(bytes.data(), work.offsets, bytes.size(), cudaMemcpyDeviceToHost));
  std::vector<int64_t> out(work.rows + size_t{1});
  for (size_t i = 0; i < out.size(); ++i) {
    int32_t narrow = 0;
    std::memcpy(work.narrow_offsets != 0 ? static_cast<void*>(&narrow) : &out[i], bytes.data() + i * width, width);
    if (work.narrow_offsets != 0) out[i] = narrow;
  }
  return out;
}

// `narrow`: offsets of 32 bits.
template <typename Codec>
void decode(NestedBench& bench, const std::string& group, const std::string& point, std::string (*text)(uint64_t),
            double bar, bool narrow = false) {
  if (!bench.options.wants(group + " " + point)) return;
  const Texts plain = texts_of(text, kMaxChunkRows);
  const Node node = encode_tree(plain.values(), bind_tree(parse_tree(Codec::kTree), Physical::kBytes));
  const size_t chunk_bytes = (plain.bytes().size() + 255) / 256 * 256;
  const auto chunks = static_cast<uint32_t>(bench.plain.bytes() / chunk_bytes);
  DeviceStreams streams;
  Codec codec;
  std::vector<typename Codec::Work> works;
  for (uint32_t i = 0; i < chunks; ++i) {
    works.push_back(codec.add(streams, node, bench.fault.data()));
    works.back().narrow_offsets = narrow ? 1 : 0;
    works.back().text = bench.plain.data() + i * chunk_bytes;
    works.back().fault = bench.fault.data();
  }
  const DeviceArray<typename Codec::Work> on_device(works);
  const auto launch = [&] { codec.launch(on_device.data(), chunks); };
  BASALT_CHECK(cudaMemset(bench.plain.data(), 0xA5, bench.plain.bytes()));
  BASALT_CHECK(cudaMemset(bench.fault.data(), 0, bench.fault.bytes()));
  launch();
  BASALT_CHECK(cudaDeviceSynchronize());
  require(bench.fault.to_host(0, 1)[0] == 0, point + " reports a fault");
  for (const uint32_t chunk : {0u, chunks - 1}) {
    const auto got = bench.plain.to_host(chunk * chunk_bytes, plain.bytes().size());
    require(std::memcmp(got.data(), plain.bytes().data(), got.size()) == 0, point + ": text");
    require(offsets_of(works[chunk]) == plain.offsets(), point + ": offsets");
  }
  const size_t offset_bytes = plain.offsets().size() * (narrow ? sizeof(int32_t) : sizeof(int64_t));
  const double all_plain = static_cast<double>(chunks) * static_cast<double>(plain.bytes().size());
  Line line;
  line.group = group;
  line.point = point;
  line.variant = kShipped;
  line.bytes =
      static_cast<double>(chunks) * static_cast<double>(node.encoded_bytes() + plain.bytes().size() + offset_bytes);
  line.values = all_plain;
  line.seconds = bench.timer.time(launch);
  line.ceiling = bench.ceilings.copy;
  line.bar = bar;
  line.bar_values = true;
  bench.report.add(line);
  std::printf("  ratio %.2f with all bytes, %.0f GB/s of plain bytes\n",
              static_cast<double>(plain.bytes().size()) / static_cast<double>(node.encoded_bytes()),
              all_plain / line.seconds * 1e-9);
}

struct Add {
  __host__ __device__ uint64_t operator()(uint64_t a, uint64_t b) const { return a + b; }
};

// Rows of one chunk, eight times over: sizes, places, codes.
void encode(NestedBench& bench, const std::string& point, std::string (*text)(uint64_t), Effort effort, double bar) {
  if (!bench.options.wants("fsst encode " + point)) return;
  constexpr uint64_t kCopies = 8;
  const Texts plain = texts_of(text, kMaxChunkRows);
  const Tree tree = bind_tree(parse_tree("strings(packed, fsst(plain))"), Physical::kBytes);
  const Node strings = encode_tree(plain.values(), tree, effort);
  const Node& node = strings.children[1];
  const Buffer& tables = node.streams[fsst::kTables];
  const auto end_of_starts = tables.as<uint32_t>()[0];
  require(end_of_starts == 2 * sizeof(uint32_t), point + " has one table");
  const std::vector<fsst::EncodeTable> table{fsst::make_encode_table(fsst::load_table(tables.data() + end_of_starts))};

  std::vector<unsigned char> bytes;
  std::vector<int64_t> offsets{0};
  for (uint64_t copy = 0; copy < kCopies; ++copy) {
    bytes.insert(bytes.end(), plain.bytes().begin(), plain.bytes().end());
    const int64_t base = offsets.back();
    for (uint64_t row = 1; row < plain.offsets().size(); ++row) offsets.push_back(base + plain.offsets()[row]);
  }
  const double plain_bytes = static_cast<double>(bytes.size());
  bytes.resize(bytes.size() + 16);
  const uint64_t rows = offsets.size() - 1;
  const DeviceArray<unsigned char> device_bytes(bytes);
  const DeviceArray<int64_t> device_offsets(offsets);
  const DeviceArray<fsst::EncodeTable> device_table(table);
  const DeviceArray<uint8_t> steps(effort == Effort::kBest ? bytes.size() : 0);
  const DeviceArray<uint32_t> lengths(rows);
  const DeviceArray<uint32_t> escapes(1);
  const DeviceArray<uint64_t> places(rows + 1);
  const DeviceArray<uint8_t> codes(node.streams[fsst::kCodes].size() * kCopies + 64);
  BASALT_CHECK(cudaMemset(lengths.data(), 0, lengths.bytes()));
  BASALT_CHECK(cudaMemset(places.data(), 0, sizeof(uint64_t)));
  fsst::EncodeWork work{};
  work.text = reinterpret_cast<const uint64_t*>(device_bytes.data());
  work.offsets = device_offsets.data();
  work.rows = rows;
  work.tables = device_table.data();
  work.table_shift = fsst::kMaxTableShift;
  work.steps = effort == Effort::kBest ? steps.data() : nullptr;
  work.code_lengths = lengths.data();
  work.escapes = escapes.data();
  work.row_places = places.data();
  work.codes = codes.data();
  const auto scan = [&](void* temporary, size_t& size) {
    BASALT_CHECK(cub::DeviceScan::InclusiveScan(temporary, size, lengths.data(), places.data() + 1, Add(),
                                                static_cast<int64_t>(rows)));
  };
  size_t temporary_bytes = 0;
  scan(nullptr, temporary_bytes);
  const DeviceArray<unsigned char> temporary(temporary_bytes);
  const auto launch = [&] {
    BASALT_CHECK(fsst::count_codes(work, nullptr));
    scan(temporary.data(), temporary_bytes);
    BASALT_CHECK(fsst::write_codes(work, nullptr));
  };
  launch();
  BASALT_CHECK(cudaDeviceSynchronize());
  const Buffer& expected = node.streams[fsst::kCodes];
  const auto got = codes.to_host(0, expected.size() * kCopies);
  for (uint64_t copy = 0; copy < kCopies; ++copy) {
    require(std::memcmp(got.data() + copy * expected.size(), expected.data(), expected.size()) == 0, point + ": codes");
  }
  Line line;
  line.group = "fsst encode";
  line.point = point;
  line.variant = kShipped;
  line.bytes = 2 * plain_bytes + static_cast<double>(got.size() + 2 * device_offsets.bytes() + 2 * lengths.bytes());
  line.values = plain_bytes;
  line.seconds = bench.timer.time(launch);
  line.ceiling = bench.ceilings.copy;
  line.bar = bar;
  line.bar_values = true;
  bench.report.add(line);
  std::printf("  %.0f GB/s of plain bytes\n", plain_bytes / line.seconds * 1e-9);
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) {
  using namespace basalt::bench;
  NestedBench bench(Options::parse(argc, argv));
  decode<Fsst>(bench, "fsst decode", "comments", comment, kLeastRate);
  decode<Fsst>(bench, "fsst decode", "comments, 32-bit offsets", comment, kLeastRate, true);
  decode<Fsst>(bench, "fsst decode", "uuids", hex, kLeastRate);
  decode<Fsst>(bench, "fsst decode", "some escapes", with_escapes, 0);
  decode<Tokens>(bench, "tokens decode", "comments", comment, kLeastRate);
  decode<Tokens>(bench, "tokens decode", "comments, 32-bit offsets", comment, kLeastRate, true);
  decode<Numbered>(bench, "numbered decode", "customers", numbered_text, kLeastRate);
  encode(bench, "comments", comment, basalt::Effort::kBalanced, kLeastEncodeRate);
  encode(bench, "uuids", hex, basalt::Effort::kBalanced, kLeastEncodeRate);
  encode(bench, "comments, best", comment, basalt::Effort::kBest, 0);
  return bench.finish();
}
