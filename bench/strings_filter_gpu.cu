// LIKE on the GPU, on strings as they are stored: comments as TPC-H's orders have them, in each encoding that is tested
// in place, and beside it decoding them and searching the text. In plain bytes per second, and against the read rate on
// the bytes that are touched.
#include <functional>
#include <string>

#include "basalt/codec/string_test.h"
#include "basalt/encoding/tree.h"
#include "codec/fsst/gpu/filter.cuh"
#include "codec/fsst/gpu/kernels.h"
#include "codec/packed/gpu/kernels.cuh"
#include "codec/plain/gpu/filter.cuh"
#include "codec/strings/gpu/kernels.h"
#include "codec/strings/layout.h"
#include "codec/tokens/gpu/filter.cuh"
#include "codec/tokens/layout.h"
#include "comments.h"
#include "exec/device/generate/generate.h"
#include "nested_bench.h"

namespace basalt::bench {
namespace {

constexpr double kLeastRate = 1e12;  // of plain bytes
constexpr double kLeastGain = 3;     // over decoding and searching
constexpr uint32_t kWarps = 8;
constexpr const char* kPattern = "%special%requests%";

std::string order_comment(uint64_t row) { return comment_of(row, 19, 78); }

// Chunks in device memory and, for each, the table of the test.
struct TestWork {
  const uint64_t* const* descriptors;
  const void* const* tables;
  uint32_t chunks;
  uint32_t tiles;  // of a chunk
  unsigned long long* passed;
  uint32_t* fault;
};

// One warp per tile, neighbouring tiles to a block, as generated kernels do it.
template <typename Filter>
__global__ void __launch_bounds__(kWarps* kLanes, 32 / kWarps) test_texts(TestWork work) {
  const uint32_t count = work.chunks * work.tiles;
  const uint32_t share = (count + gridDim.x - 1) / gridDim.x;
  const uint32_t begin = blockIdx.x * share;
  const uint32_t end = begin + share < count ? begin + share : count;
  uint32_t passed = 0;
  uint32_t bad = 0;
  for (uint32_t item = begin + threadIdx.x / kLanes; item < end; item += kWarps) {
    const uint64_t* descriptor = work.descriptors[item / work.tiles];
    const uint32_t tile = item % work.tiles;
    const uint32_t rows = device::rows_of_tile(device::row_count(descriptor), tile);
    const device::TileAnswer answer = Filter::filter(descriptor, tile, nullptr, work.tables[item / work.tiles],
                                                     device::rows_mask(rows, device::lane_id()));
    passed += device::population(answer.mask);
    bad |= answer.bad;
  }
  passed = device::sum_of_lanes(passed);
  if (device::lane_id() == 0) atomicAdd(work.passed, passed);
  if (bad != 0) *work.fault = 1;
}

// Decoded rows, one per lane.
__global__ void __launch_bounds__(256)
    search_texts(const fsst::DecodeWork* works, const void* head, unsigned long long* passed) {
  const fsst::DecodeWork& work = works[blockIdx.y];
  const device::FilterTable table(static_cast<const strings::FilterTableHead*>(head));
  const auto* offsets = static_cast<const int64_t*>(work.offsets);
  uint32_t own = 0;
  for (uint32_t row = blockIdx.x * blockDim.x + threadIdx.x; row < work.rows; row += gridDim.x * blockDim.x) {
    const int64_t begin = offsets[row];
    const int64_t end = row + 1 < work.rows ? offsets[row + 1] : static_cast<int64_t>(work.text_starts[work.tiles()]);
    device::ByteRow text(work.text + begin, static_cast<uint32_t>(end - begin));
    own += table.accepts(text.run(table)) ? 1 : 0;
  }
  const uint32_t all = device::sum_of_lanes(own);
  if (device::lane_id() == 0) atomicAdd(passed, all);
}

// An encoded array in device memory, as kernels get it.
class DeviceNode {
 public:
  DeviceNode(const Node& node, const Buffer& table) : table_(to_device(table)) {
    const std::function<void(const Node&)> upload = [&](const Node& one) {
      for (const Buffer& stream : one.streams) {
        streams_.push_back(to_device(stream));
        addresses_.push_back(reinterpret_cast<uint64_t>(streams_.back().data()));
      }
      for (const Node& child : one.children) upload(child);
    };
    upload(node);
    std::vector<uint64_t> words;
    size_t next = 0;
    device::append_descriptor(view_of(node), addresses_, next, words);
    descriptor_ = DeviceArray<uint64_t>(words);
  }
  const uint64_t* descriptor() const { return descriptor_.data(); }
  const void* table() const { return table_.data(); }
  // Of stream i, counted in preorder.
  template <typename T>
  const T* stream(size_t i) const {
    return reinterpret_cast<const T*>(streams_[i].data());
  }

 private:
  static DeviceArray<unsigned char> to_device(const Buffer& bytes) {
    std::vector<unsigned char> room(bytes.size() + 256);
    std::memcpy(room.data(), bytes.data(), bytes.size());
    return DeviceArray<unsigned char>(room);
  }

  DeviceArray<unsigned char> table_;
  std::vector<DeviceArray<unsigned char>> streams_;
  std::vector<uint64_t> addresses_;
  DeviceArray<uint64_t> descriptor_;
};

class FilterBench {
 public:
  explicit FilterBench(NestedBench& bench) : bench_(bench), texts_(texts_of(order_comment, kMaxChunkRows)), passed_(1) {
    const auto room = (texts_.bytes() + 255) / 256 * 256;
    chunks_ = static_cast<uint32_t>(bench.plain.bytes() / room);
    plain_bytes_ = static_cast<double>(texts_.bytes()) * chunks_;
    automaton_ = make_automaton(StringTest::like(kPattern)).automaton;
    for (uint64_t row = 0; row + 1 < texts_.offsets().size(); ++row) {
      expected_ += automaton_->matches(texts_.values().string(row)) ? chunks_ : 0;
    }
    std::printf("LIKE '%s': %u chunks of %.1f MB, %llu of %llu rows pass\n", kPattern, chunks_,
                static_cast<double>(texts_.bytes()) * 1e-6, static_cast<unsigned long long>(expected_),
                static_cast<unsigned long long>(uint64_t{chunks_} * kMaxChunkRows));
  }

  template <typename Filter>
  double in_place(const std::string& point, const std::string& tree, double bar) {
    if (!bench_.options.wants("LIKE " + point)) return 0;
    const Node node = encode_tree(texts_.values(), bind_tree(parse_tree(tree), Physical::kBytes));
    const std::vector<DeviceNode> copies = upload(node);
    std::vector<const uint64_t*> descriptors;
    std::vector<const void*> tables;
    for (const DeviceNode& copy : copies) {
      descriptors.push_back(copy.descriptor());
      tables.push_back(copy.table());
    }
    const DeviceArray<const uint64_t*> device_descriptors(descriptors);
    const DeviceArray<const void*> device_tables(tables);
    const TestWork work{device_descriptors.data(), device_tables.data(), chunks_,
                        tile_count(kMaxChunkRows), passed_.data(),       bench_.fault.data()};
    const auto blocks = static_cast<unsigned>(bench_.shape.multiprocessors) * (32 / kWarps) * 4;
    const auto launch = [&] { test_texts<Filter><<<blocks, kWarps * kLanes>>>(work); };
    require_count(point, launch);
    const double seconds = add_line("tested in place, " + point, static_cast<double>(touched(node)) * chunks_, launch,
                                    bench_.ceilings.read, bar);
    std::printf("  ratio %.2f with all bytes\n",
                static_cast<double>(texts_.bytes()) / static_cast<double>(node.encoded_bytes()));
    return seconds;
  }

  double decode_and_search() {
    if (!bench_.options.wants("LIKE decode")) return 0;
    const Node node =
        encode_tree(texts_.values(), bind_tree(parse_tree("strings(packed, fsst(packed))"), Physical::kBytes));
    const std::vector<DeviceNode> copies = upload(node);
    const uint32_t tiles = tile_count(kMaxChunkRows);
    const DeviceArray<int64_t> offsets(uint64_t{chunks_} * (kMaxChunkRows + 1));
    const DeviceArray<uint64_t> starts(uint64_t{chunks_} * (tiles + 1));
    const size_t room = (texts_.bytes() + 255) / 256 * 256;
    // Streams in preorder: three of the packed lengths, then those of fsst. Descriptors of its children lie behind.
    constexpr size_t kFsst = packed::kStreams;
    constexpr size_t kLengthsWord = 1;
    constexpr size_t kCodeLengthsWord = kLengthsWord + 1 + packed::kStreams + 1 + fsst::kStreams + 1;
    fsst::Parameters params;
    std::memcpy(&params, node.children[1].params.data(), sizeof(params));
    std::vector<fsst::DecodeWork> works;
    for (uint32_t i = 0; i < chunks_; ++i) {
      fsst::DecodeWork work{};
      work.tables = copies[i].stream<unsigned char>(kFsst + fsst::kTables);
      work.starts = copies[i].stream<uint64_t>(kFsst + fsst::kStarts);
      work.codes = copies[i].stream<unsigned char>(kFsst + fsst::kCodes);
      work.lengths = copies[i].descriptor() + kLengthsWord;
      work.code_lengths = copies[i].descriptor() + kCodeLengthsWord;
      work.rows = kMaxChunkRows;
      work.table_shift = params.table_shift;
      work.text_starts = starts.data() + uint64_t{i} * (tiles + 1);
      work.text = bench_.plain.data() + i * room;
      work.offsets = offsets.data() + uint64_t{i} * (kMaxChunkRows + 1);
      work.fault = bench_.fault.data();
      works.push_back(work);
    }
    const DeviceArray<fsst::DecodeWork> on_device(works);
    const fsst::DecodeBatch batch{on_device.data(),       chunks_, tiles, 0, strings::Child::kPacked,
                                  strings::Child::kPacked};
    Node plain = encode_tree(texts_.values(), bind_tree(parse_tree("strings(packed, plain)"), Physical::kBytes));
    const DeviceNode table(plain, table_of(plain));
    const auto launch = [&] {
      BASALT_CHECK(strings::place_tiles(batch.texts(), nullptr));
      BASALT_CHECK(fsst::decode(batch, nullptr));
      search_texts<<<dim3(256, chunks_), 256>>>(on_device.data(), table.table(), passed_.data());
    };
    require_count("decoded", launch);
    const double moved = static_cast<double>(node.encoded_bytes()) * chunks_ + 2 * plain_bytes_;
    return add_line("fsst decoded, then searched", moved, launch, bench_.ceilings.copy, 0);
  }

  static void compare(const char* what, double seconds, double decoded) {
    if (seconds == 0 || decoded == 0) return;
    const double gain = decoded / seconds;
    std::printf("%s in place: %.1f times as fast as decoding and searching (bar %.0f): %s\n", what, gain, kLeastGain,
                gain >= kLeastGain ? "met" : "missed");
  }

 private:
  std::vector<DeviceNode> upload(const Node& node) const {
    std::vector<DeviceNode> copies;
    const Buffer table = table_of(node);
    for (uint32_t i = 0; i < chunks_; ++i) copies.emplace_back(node, table);
    return copies;
  }
  Buffer table_of(const Node& node) const {
    const NodeView view = view_of(node);
    return node.codec->text_alphabet(view)->table(*automaton_);
  }
  // What a test reads: of fsst and tokens not the lengths of the text, nor dictionaries.
  static uint64_t touched(const Node& strings) {
    const Node& bytes = strings.children[strings::kBytes];
    if (bytes.codec->name() == "plain") return strings.encoded_bytes();
    if (bytes.codec->name() == "tokens")
      return bytes.encoded_bytes() - bytes.children[tokens::kEntries].encoded_bytes();
    return bytes.encoded_bytes();
  }
  template <typename Launch>
  void require_count(const std::string& point, const Launch& launch) {
    BASALT_CHECK(cudaMemset(passed_.data(), 0, passed_.bytes()));
    BASALT_CHECK(cudaMemset(bench_.fault.data(), 0, bench_.fault.bytes()));
    launch();
    BASALT_CHECK(cudaDeviceSynchronize());
    require(bench_.fault.to_host(0, 1)[0] == 0, point + " reports a fault");
    require(passed_.to_host(0, 1)[0] == expected_, point + ": rows that pass");
  }
  template <typename Launch>
  double add_line(const std::string& point, double bytes, const Launch& launch, double ceiling, double bar) {
    Line line;
    line.group = "LIKE";
    line.point = point;
    line.variant = kShipped;
    line.bytes = bytes;
    line.values = plain_bytes_;
    line.seconds = bench_.timer.time(launch);
    line.ceiling = ceiling;
    line.bar = bar;
    line.bar_values = true;
    bench_.report.add(line);
    std::printf("  %.0f GB/s of plain bytes\n", plain_bytes_ / line.seconds * 1e-9);
    return line.seconds;
  }

  NestedBench& bench_;
  Texts texts_;
  uint32_t chunks_ = 0;
  double plain_bytes_ = 0;
  uint64_t expected_ = 0;
  std::shared_ptr<const Automaton> automaton_;
  DeviceArray<unsigned long long> passed_;
};

void run(NestedBench& bench) {
  using device::Packed;
  FilterBench filter(bench);
  using Numbers = Packed<uint32_t>;
  filter.in_place<device::StringsFilter<Numbers, device::PlainFilter>>("plain", "strings(packed, plain)", 0);
  const double fsst = filter.in_place<device::StringsFilter<Numbers, device::FsstFilter<Numbers>>>(
      "fsst", "strings(packed, fsst(packed))", kLeastRate);
  const double tokens = filter.in_place<device::StringsFilter<Numbers, device::TokensFilter<Numbers, Numbers>>>(
      "tokens", "strings(packed, tokens(packed, packed, strings(packed, plain)))", kLeastRate);
  const double decoded = filter.decode_and_search();
  FilterBench::compare("fsst", fsst, decoded);
  FilterBench::compare("tokens", tokens, decoded);
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) {
  basalt::bench::NestedBench bench(basalt::bench::Options::parse(argc, argv));
  basalt::bench::run(bench);
  return bench.finish();
}
