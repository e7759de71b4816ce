// Compressed strings on the GPU: chunks of text decoded to offsets and bytes, and encoded with a table that is there
// already, in plain bytes per second and against the copy rate on all bytes that move.
#include <cub/device/device_scan.cuh>
#include <string>

#include "basalt/plan/tree.h"
#include "codec/fsst/encode_kernels.h"
#include "codec/fsst/encode_table.h"
#include "codec/fsst/kernels.h"
#include "codec/packed/layout.h"
#include "comments.h"
#include "nested_bench.h"
#include "texts.h"

namespace basalt::bench {
namespace {

constexpr double kLeastRate = 300e9;  // of plain bytes
constexpr double kLeastEncodeRate = 80e9;

std::string comment(uint64_t row) { return comment_of(row, 10, 43); }
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

// One chunk's streams in device memory, and room for its rows.
class DeviceChunk {
 public:
  DeviceChunk(const Node& strings, uint64_t plain, unsigned char* text, uint32_t* fault)
      : offsets_(strings.count + 1), text_starts_(tile_count(strings.count) + size_t{1}) {
    const Node& node = strings.children[1];
    fsst::Parameters params;
    std::memcpy(&params, node.params.data(), sizeof(params));
    work_.tables = upload<unsigned char>(node.streams[fsst::kTables]);
    work_.starts = upload<uint64_t>(node.streams[fsst::kStarts]);
    work_.codes = upload<unsigned char>(node.streams[fsst::kCodes]);
    work_.lengths = describe(strings.children[0]);
    work_.code_lengths = describe(node.children[fsst::kCodeLengths]);
    work_.rows = static_cast<uint32_t>(strings.count);
    work_.table_shift = params.table_shift;
    work_.text_starts = text_starts_.data();
    work_.text = text;
    work_.offsets = offsets_.data();
    work_.fault = fault;
    moved_ = static_cast<double>(strings.encoded_bytes() + plain + offsets_.bytes());
  }
  const fsst::DecodeWork& work() const { return work_; }
  double moved() const { return moved_; }
  std::vector<int64_t> offsets() const { return offsets_.to_host(0, offsets_.size()); }

 private:
  template <typename T>
  const T* upload(const Buffer& stream) {
    std::vector<unsigned char> bytes(stream.size() + 256);
    std::memcpy(bytes.data(), stream.data(), stream.size());
    streams_.emplace_back(bytes);
    return reinterpret_cast<const T*>(streams_.back().data());
  }
  // Of a packed array.
  const uint64_t* describe(const Node& node) {
    std::vector<uint64_t> words{node.count};
    for (uint32_t i = 0; i < packed::kStreams; ++i) {
      words.push_back(reinterpret_cast<uint64_t>(upload<unsigned char>(node.streams[i])));
    }
    descriptors_.emplace_back(words);
    return descriptors_.back().data();
  }

  std::vector<DeviceArray<unsigned char>> streams_;
  std::vector<DeviceArray<uint64_t>> descriptors_;
  DeviceArray<int64_t> offsets_;
  DeviceArray<uint64_t> text_starts_;
  fsst::DecodeWork work_{};
  double moved_ = 0;
};

void texts(NestedBench& bench, const std::string& point, std::string (*text)(uint64_t), double bar) {
  if (!bench.options.wants("fsst " + point)) return;
  const Texts plain = texts_of(text, kMaxChunkRows);
  const Tree tree = bind_tree(parse_tree("strings(packed, fsst(packed))"), Physical::kBytes);
  const Node node = encode_tree(plain.values(), tree);
  const size_t chunk_bytes = (plain.bytes().size() + 255) / 256 * 256;
  const auto chunks = static_cast<uint32_t>(bench.plain.bytes() / chunk_bytes);
  std::vector<DeviceChunk> arrays;
  std::vector<fsst::DecodeWork> works;
  Line line;
  for (uint32_t i = 0; i < chunks; ++i) {
    arrays.emplace_back(node, plain.bytes().size(), bench.plain.data() + i * chunk_bytes, bench.fault.data());
    works.push_back(arrays.back().work());
    line.bytes += arrays.back().moved();
  }
  const DeviceArray<fsst::DecodeWork> on_device(works);
  const fsst::DecodeBatch batch{on_device.data(),    chunks, tile_count(kMaxChunkRows), 0, fsst::Child::kPacked,
                                fsst::Child::kPacked};
  const auto launch = [&] {
    BASALT_CHECK(fsst::place_tiles(batch, nullptr));
    BASALT_CHECK(fsst::decode(batch, nullptr));
  };
  BASALT_CHECK(cudaMemset(bench.plain.data(), 0xA5, bench.plain.bytes()));
  BASALT_CHECK(cudaMemset(bench.fault.data(), 0, bench.fault.bytes()));
  launch();
  BASALT_CHECK(cudaDeviceSynchronize());
  require(bench.fault.to_host(0, 1)[0] == 0, point + " reports a fault");
  for (const uint32_t chunk : {0u, chunks - 1}) {
    const auto got = bench.plain.to_host(chunk * chunk_bytes, plain.bytes().size());
    require(std::memcmp(got.data(), plain.bytes().data(), got.size()) == 0, point + ": text");
    require(arrays[chunk].offsets() == plain.offsets(), point + ": offsets");
  }
  const double all_plain = static_cast<double>(chunks) * static_cast<double>(plain.bytes().size());
  line.group = "fsst decode";
  line.point = point;
  line.variant = kShipped;
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
  texts(bench, "comments", comment, kLeastRate);
  texts(bench, "uuids", hex, kLeastRate);
  texts(bench, "some escapes", with_escapes, 0);
  encode(bench, "comments", comment, basalt::Effort::kBalanced, kLeastEncodeRate);
  encode(bench, "uuids", hex, basalt::Effort::kBalanced, kLeastEncodeRate);
  encode(bench, "comments, best", comment, basalt::Effort::kBest, 0);
  return bench.finish();
}
