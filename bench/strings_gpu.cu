// Strings on the GPU: chunks of text decoded to offsets and bytes by every codec of theirs, and encoded by fsst from
// text to tables and codes, in plain bytes per second and against the copy rate on all bytes that move. Encoders that
// need the host, too, are measured from host memory to host memory, with the most device memory they ever hold.
#include <chrono>
#include <cub/device/device_scan.cuh>
#include <memory>
#include <string>

#include "basalt/encoding/tree.h"
#include "codec/fsst/gpu/encode_kernels.h"
#include "codec/fsst/gpu/encode_table.h"
#include "codec/fsst/gpu/kernels.h"
#include "codec/fsst/gpu/train_kernels.h"
#include "codec/fsst/tables.h"
#include "codec/numbered/gpu/kernels.h"
#include "codec/packed/layout.h"
#include "codec/plain/layout.h"
#include "codec/strings/gpu/kernels.h"
#include "codec/tokens/gpu/kernels.h"
#include "comments.h"
#include "cuda/codec/encode.h"
#include "gen/texts.h"
#include "nested_bench.h"

namespace basalt::bench {
namespace {

constexpr double kLeastRate = 300e9;  // of plain bytes
constexpr double kLeastEncodeRate = 80e9;

std::string comment(uint64_t row) { return comment_of(row, 10, 43); }
// As ps_comment, and longer ones, whose codes do not fit into shared memory.
std::string long_comment(uint64_t row) { return comment_of(row, 49, 198); }
std::string article(uint64_t row) { return comment_of(row, 200, 1000); }
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
  const size_t chunk_bytes = (plain.bytes() + 255) / 256 * 256;
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
    const auto got = bench.plain.to_host(chunk * chunk_bytes, plain.bytes());
    require(std::memcmp(got.data(), plain.all().data(), got.size()) == 0, point + ": text");
    require(offsets_of(works[chunk]) == plain.offsets(), point + ": offsets");
  }
  const size_t offset_bytes = plain.offsets().size() * (narrow ? sizeof(int32_t) : sizeof(int64_t));
  const double all_plain = static_cast<double>(chunks) * static_cast<double>(plain.bytes());
  Line line;
  line.group = group;
  line.point = point;
  line.variant = kShipped;
  line.bytes = static_cast<double>(chunks) * static_cast<double>(node.encoded_bytes() + plain.bytes() + offset_bytes);
  line.values = all_plain;
  line.seconds = bench.timer.time(launch);
  line.ceiling = bench.ceilings.copy;
  line.bar = bar;
  line.bar_values = true;
  bench.report.add(line);
  std::printf("  ratio %.2f with all bytes, %.0f GB/s of plain bytes\n",
              static_cast<double>(plain.bytes()) / static_cast<double>(node.encoded_bytes()),
              all_plain / line.seconds * 1e-9);
}

struct Add {
  __host__ __device__ uint64_t operator()(uint64_t a, uint64_t b) const { return a + b; }
};

// Chunks of text on their way to codes.
class EncodedChunks {
 public:
  EncodedChunks(const Texts& plain, uint32_t chunks, unsigned char* text, size_t chunk_bytes, size_t code_bytes,
                Effort effort)
      : plan_(fsst::plan_of(effort)), rows_(plain.offsets().size() - 1), code_bytes_(code_bytes) {
    fsst::TrainArray array{};
    array.rows = rows_;
    array.shifts = fsst::table_shifts(rows_, plain.bytes(), plan_);
    tables_ = DeviceArray<fsst::EncodeTable>(size_t{chunks} * array.most_tables());
    tried_ = DeviceArray<fsst::EncodeTable>(size_t{chunks} * fsst::kMostTried);
    shifts_ = DeviceArray<uint32_t>(chunks);
    escapes_ = DeviceArray<uint32_t>(tables_.size());
    BASALT_CHECK(cudaMemset(escapes_.data(), 0, escapes_.bytes()));
    const bool optimal = plan_.training.parse == fsst::Parse::kOptimal;
    steps_ = DeviceArray<uint8_t>(optimal ? chunks * chunk_bytes : 0);
    std::vector<fsst::TrainArray> arrays;
    for (uint32_t i = 0; i < chunks; ++i) {
      BASALT_CHECK(cudaMemcpy(text + i * chunk_bytes, plain.all().data(), plain.bytes(), cudaMemcpyHostToDevice));
      offsets_.emplace_back(plain.offsets());
      lengths_.emplace_back(rows_);
      fsst::EncodeWork work{};
      work.rows = rows_;
      groups_.emplace_back(work.groups());
      places_.emplace_back(work.groups() + 1);
      codes_.emplace_back(code_bytes + 64);
      BASALT_CHECK(cudaMemset(places_.back().data(), 0, sizeof(uint64_t)));
      array.text = reinterpret_cast<const uint64_t*>(text + i * chunk_bytes);
      array.offsets = offsets_.back().data();
      array.tried = tried_.data() + size_t{i} * fsst::kMostTried;
      array.tables = tables_.data() + size_t{i} * array.most_tables();
      array.shift = shifts_.data() + i;
      arrays.push_back(array);
      work.text = array.text;
      work.offsets = array.offsets;
      work.tables = array.tables;
      work.table_shift = array.shift;
      work.steps = optimal ? steps_.data() + i * chunk_bytes : nullptr;
      work.code_lengths = lengths_.back().data();
      work.escapes = escapes_.data() + size_t{i} * array.most_tables();
      work.group_bytes = groups_.back().data();
      if (!optimal) {
        waiting_.emplace_back(fsst::EncodeWork::waiting_bytes(rows_, plain.bytes()) + 64);
        work.waiting = waiting_.back().data();
      }
      work.group_places = places_.back().data();
      work.codes = codes_.back().data();
      works_.push_back(work);
    }
    arrays_ = DeviceArray<fsst::TrainArray>(arrays);
    scan(0, nullptr, temporary_bytes_);
    temporary_ = DeviceArray<unsigned char>(temporary_bytes_);
    constexpr uint32_t kTrainBlocks = 264;
    const size_t scratch_bytes = fsst::ScratchSizes(plan_).bytes();
    scratch_ = DeviceArray<unsigned char>(kTrainBlocks * scratch_bytes);
    batch_ = {arrays_.data(), chunks, array.most_tables(), plan_, scratch_.data(), kTrainBlocks};
  }

  void train() { BASALT_CHECK(fsst::train_tables(batch_, nullptr)); }
  // What there is besides rounds: sampling, mostly.
  void train_one_round() {
    fsst::TrainBatch batch = batch_;
    batch.plan.training.rounds = 1;
    BASALT_CHECK(fsst::train_tables(batch, nullptr));
  }
  void parse() {
    for (const fsst::EncodeWork& work : works_) BASALT_CHECK(fsst::count_codes(work, nullptr));
  }
  void scan() {
    for (size_t i = 0; i < works_.size(); ++i) scan(i, temporary_.data(), temporary_bytes_);
  }
  void place() {
    for (const fsst::EncodeWork& work : works_) BASALT_CHECK(fsst::write_codes(work, nullptr));
  }
  // Chunk by chunk, as the library does it.
  void encode() {
    for (size_t i = 0; i < works_.size(); ++i) {
      BASALT_CHECK(fsst::count_codes(works_[i], nullptr));
      scan(i, temporary_.data(), temporary_bytes_);
      BASALT_CHECK(fsst::write_codes(works_[i], nullptr));
    }
  }

  // Whether a chunk has the CPU's tables and codes.
  void check(uint32_t chunk, const Node& expected, const std::string& point) const {
    fsst::Parameters params;
    std::memcpy(&params, expected.params.data(), sizeof(params));
    require(shifts_.to_host(chunk, 1)[0] == params.table_shift, point + ": rows of a table");
    const uint32_t count = fsst::table_count(tile_count(rows_), params.table_shift);
    std::vector<fsst::SymbolTable> tables;
    const auto got_tables = tables_.to_host(size_t{chunk} * batch_.most_tables, count);
    const auto escapes = escapes_.to_host(size_t{chunk} * batch_.most_tables, count);
    for (uint32_t i = 0; i < count; ++i) {
      tables.push_back(fsst::symbols_of(got_tables[i]));
      tables.back().escape_free = escapes[i] == 0;
    }
    const Buffer packed = fsst::pack_tables(tables);
    const Buffer& stream = expected.streams[fsst::kTables];
    require(packed.size() == stream.size() && std::memcmp(packed.data(), stream.data(), stream.size()) == 0,
            point + ": tables");
    const auto got = codes_[chunk].to_host(0, code_bytes_);
    require(std::memcmp(got.data(), expected.streams[fsst::kCodes].data(), code_bytes_) == 0, point + ": codes");
  }
  // Of a chunk: text is read once, codes are written and read while they wait; offsets and lengths are read twice.
  double moved(size_t plain_bytes) const {
    return static_cast<double>(plain_bytes + 3 * code_bytes_ + 2 * offsets_[0].bytes() + 2 * lengths_[0].bytes() +
                               2 * places_[0].bytes());
  }

 private:
  void scan(size_t i, void* temporary, size_t& size) {
    BASALT_CHECK(cub::DeviceScan::InclusiveScan(temporary, size, groups_[i].data(), places_[i].data() + 1, Add(),
                                                static_cast<int64_t>(groups_[i].size())));
  }

  fsst::Plan plan_;
  uint64_t rows_;
  size_t code_bytes_;
  std::vector<DeviceArray<int64_t>> offsets_;
  std::vector<DeviceArray<uint32_t>> lengths_;
  std::vector<DeviceArray<uint32_t>> groups_;
  std::vector<DeviceArray<uint8_t>> waiting_;
  std::vector<DeviceArray<uint64_t>> places_;
  std::vector<DeviceArray<uint8_t>> codes_;
  std::vector<fsst::EncodeWork> works_;
  DeviceArray<fsst::EncodeTable> tables_;
  DeviceArray<fsst::EncodeTable> tried_;
  DeviceArray<uint32_t> shifts_;
  DeviceArray<uint32_t> escapes_;
  DeviceArray<uint8_t> steps_;
  DeviceArray<fsst::TrainArray> arrays_;
  DeviceArray<unsigned char> temporary_;
  DeviceArray<unsigned char> scratch_;
  size_t temporary_bytes_ = 0;
  fsst::TrainBatch batch_{};
};

// From text to tables, sizes, places and codes: with the tables, which is what the bar is about, and without.
void encode(NestedBench& bench, const std::string& point, std::string (*text)(uint64_t), Effort effort, double bar,
            uint64_t rows = kMaxChunkRows) {
  if (!bench.options.wants("fsst encode " + point)) return;
  const Texts plain = texts_of(text, rows);
  const Tree tree = bind_tree(parse_tree("strings(packed, fsst(plain))"), Physical::kBytes);
  const Node strings = encode_tree(plain.values(), tree, effort);
  const Node& node = strings.children[1];
  const size_t chunk_bytes = (plain.bytes() + 16 + 255) / 256 * 256;
  const auto chunks = static_cast<uint32_t>(bench.plain.bytes() / chunk_bytes);
  EncodedChunks work(plain, chunks, bench.plain.data(), chunk_bytes, node.streams[fsst::kCodes].size(), effort);
  work.train();
  work.encode();
  BASALT_CHECK(cudaDeviceSynchronize());
  for (const uint32_t chunk : {0u, chunks - 1}) work.check(chunk, node, point);
  const auto measure = [&](const std::string& group, const std::string& name, double at_least, const auto& launch) {
    Line line;
    line.group = group;
    line.point = name;
    line.variant = kShipped;
    line.bytes = chunks * work.moved(plain.bytes());
    line.values = static_cast<double>(chunks) * static_cast<double>(plain.bytes());
    line.seconds = bench.timer.time(launch);
    line.ceiling = bench.ceilings.copy;
    line.bar = at_least;
    line.bar_values = true;
    bench.report.add(line);
    std::printf("  %.0f GB/s of plain bytes, %.2f ms\n", line.values / line.seconds * 1e-9, line.seconds * 1e3);
  };
  measure("fsst encode", point, bar, [&] {
    work.train();
    work.encode();
  });
  measure("fsst encode", point + ", tables given", 0, [&] { work.encode(); });
  // Phases; tables of one round only are not those that anything is encoded with.
  measure("fsst encode phases", point + ", train", 0, [&] { work.train(); });
  measure("fsst encode phases", point + ", parse", 0, [&] { work.parse(); });
  measure("fsst encode phases", point + ", scan", 0, [&] { work.scan(); });
  measure("fsst encode phases", point + ", place", 0, [&] { work.place(); });
  measure("fsst encode phases", point + ", train, one round", 0, [&] { work.train_one_round(); });
}

// Follows what the device's pool gives out.
class PoolPeak {
 public:
  PoolPeak() {
    BASALT_CHECK(cudaDeviceGetDefaultMemPool(&pool_, 0));
    uint64_t keep = UINT64_MAX;
    BASALT_CHECK(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep));
  }
  void restart() {
    uint64_t zero = 0;
    BASALT_CHECK(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrUsedMemHigh, &zero));
  }
  uint64_t bytes() const {
    uint64_t high = 0;
    BASALT_CHECK(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrUsedMemHigh, &high));
    return high;
  }

 private:
  cudaMemPool_t pool_{};
};

bool are_same(const Buffer& a, const Buffer& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}
bool are_same(const Node& a, const Node& b) {
  const auto all_same = [](const auto& some, const auto& others) {
    return std::equal(some.begin(), some.end(), others.begin(), others.end(),
                      [](const auto& one, const auto& other) { return are_same(one, other); });
  };
  return a.params == b.params && all_same(a.streams, b.streams) && all_same(a.children, b.children);
}

// A chunk at a time, from host memory to host memory.
void encode_whole(NestedBench& bench, const std::string& tree_text, const std::string& point,
                  std::string (*text)(uint64_t)) {
  const std::string group = tree_text + " encode";
  if (!bench.options.wants(group + " " + point)) return;
  const Texts plain = texts_of(text, kMaxChunkRows);
  const Tree tree = bind_tree(parse_tree(tree_text), Physical::kBytes);
  const Node expected = encode_tree(plain.values(), tree, Effort::kBalanced);
  PoolPeak peak;
  cudaStream_t stream{};
  BASALT_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  std::vector<double> seconds;
  for (int i = 0; i < (bench.options.quick ? 2 : 5); ++i) {
    peak.restart();
    const auto begin = std::chrono::steady_clock::now();
    const Node node = cuda::encode(plain.values(), tree, Effort::kBalanced, stream);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (i > 0) seconds.push_back(took.count());
    require(are_same(node, expected), group + ": bytes");
  }
  BASALT_CHECK(cudaStreamDestroy(stream));
  std::sort(seconds.begin(), seconds.end());
  const size_t input = plain.bytes() + plain.offsets().size() * sizeof(int64_t);
  Line line;
  line.group = group;
  line.point = point;
  line.variant = kShipped;
  line.bytes = static_cast<double>(input + expected.encoded_bytes());
  line.values = static_cast<double>(plain.bytes());
  line.seconds = seconds[seconds.size() / 2];
  line.ceiling = bench.ceilings.copy;
  bench.report.add(line);
  std::printf("  %.2f GB/s of plain bytes with both ways to the device, which held %.2f times the input\n",
              line.values / line.seconds * 1e-9, static_cast<double>(peak.bytes()) / static_cast<double>(input));
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
  encode(bench, "long comments", long_comment, basalt::Effort::kBalanced, kLeastEncodeRate, 1 << 18);
  encode(bench, "articles", article, basalt::Effort::kBalanced, kLeastEncodeRate, 1 << 16);
  encode(bench, "comments, best", comment, basalt::Effort::kBest, 0);
  encode_whole(bench, "strings(packed, fsst(packed))", "comments", comment);
  encode_whole(bench, Tokens::kTree, "comments", comment);
  encode_whole(bench, Numbered::kTree, "customers", numbered_text);
  return bench.finish();
}
