// The device encoder of learned integers, run on the CPU stage by stage: every stream is that of the CPU encoder, byte
// for byte, at every effort, for every type.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "basalt/codec/codec.h"
#include "codec/arrays.h"
#include "codec/l3_nodes.h"
#include "gen/l3.h"
//
#include "cuda/emulated_warp.h"
//
#include "codec/l3/gpu/encode_cut.cuh"
#include "codec/l3/gpu/encode_streams.cuh"

namespace basalt::test {
namespace {

constexpr Effort kEfforts[] = {Effort::kFast, Effort::kBalanced, Effort::kBest};
constexpr Physical kIntegers[] = {Physical::kU8,  Physical::kI8,  Physical::kU16, Physical::kI16,
                                  Physical::kU32, Physical::kI32, Physical::kU64, Physical::kI64};

const char* name_of(Effort effort) {
  return effort == Effort::kFast ? "fast" : effort == Effort::kBalanced ? "balanced" : "best";
}

// What the kernels do, with one block of `threads` threads for all work.
class EmulatedEncoder {
 public:
  EmulatedEncoder(const std::vector<Values>& chunks, Effort effort, uint32_t threads) : threads_(threads) {
    for (const Values& chunk : chunks) inputs_.push_back({chunk.data, static_cast<uint32_t>(chunk.count)});
    work_ = l3::EncodeWork::of(inputs_, width_of(chunks[0].type), is_signed(chunks[0].type), effort, threads);
    const size_t bytes = l3::place_arrays(work_, nullptr);
    EXPECT_LE(bytes, work_.chunk_count * (work_.stride * l3::kWorkBytesPerUnit + 256) + 1024);
    memory_.assign(bytes / sizeof(uint128_t) + 1, 0);
    std::memset(memory_.data(), 0xA5, bytes);  // nothing may rely on clean memory
    l3::place_arrays(work_, reinterpret_cast<unsigned char*>(memory_.data()));
    cut(effort);
    in_blocks([&] { l3::place_streams(work_, 0, 1); });
    write();
  }

  void expect_like(size_t chunk, const Node& node, const std::string& place) const {
    const Output& out = outputs_[chunk];
    expect_stream(node.streams[l3::kStarts], out.starts.data(), out.starts.size() * 4, place + ", starts");
    expect_stream(node.streams[l3::kRecords], out.records.data(), out.records.size() * 8, place + ", records");
    expect_stream(node.streams[l3::kParams], out.params.data(), out.params.size() * 4, place + ", params");
    expect_stream(node.streams[l3::kResiduals], out.residuals.data(), out.residuals.size() * 4, place + ", residuals");
  }

 private:
  struct Output {
    std::vector<uint32_t> starts, params, residuals;
    std::vector<uint64_t> records;
  };

  static void expect_stream(const Buffer& expected, const void* got, size_t bytes, const std::string& place) {
    ASSERT_EQ(expected.size(), bytes) << place;
    EXPECT_TRUE(bytes == 0 || std::memcmp(expected.data(), got, bytes) == 0) << place;
  }

  void in_blocks(const std::function<void()>& body) const { EmulatedBlock::run(threads_, body); }
  // Every warp of the block takes its share.
  template <typename Stage>
  void in_warps(Stage stage) const {
    in_blocks([&] { stage(work_, threadIdx.x / kLanes, blockDim.x / kLanes); });
  }

  void cut(Effort effort) {
    if (effort == Effort::kFast) return in_warps(l3::choose_tiles);
    in_warps(l3::choose_units);
    if (effort == Effort::kBest) {
      in_warps(l3::cost_runs);
      for (uint32_t chunk = 0; chunk < work_.chunk_count; ++chunk) {
        EmulatedWarp::run([&] { l3::cut_cheapest(work_, chunk); });
      }
      in_warps(l3::choose_cut);
    }
    for (uint32_t chunk = 0; chunk < work_.chunk_count; ++chunk) merge(chunk);
  }

  // Long chunks by two blocks, step by step one after the other.
  void merge(uint32_t chunk) const {
    std::vector<l3::MergeBlock> blocks(work_.units(chunk) < 8 ? 1 : 2);
    const auto in_both = [&](auto stage) {
      for (uint32_t i = 0; i < blocks.size(); ++i) in_blocks([&] { stage(i); });
    };
    in_blocks([&] { l3::prepare_merge(work_, chunk); });
    in_both([&](uint32_t i) { l3::find_starts(work_, chunk, blocks[i]); });
    bool merging = true;
    for (uint32_t step = 0; merging; ++step) {
      in_both([&](uint32_t i) {
        const bool more = l3::merge_step(work_, chunk, step, {i, static_cast<uint32_t>(blocks.size())}, blocks[i]);
        EXPECT_TRUE(i == 0 || more == merging);
        merging = more;
      });
      in_both([&](uint32_t i) { l3::take_merged(work_, chunk, step, blocks[i]); });
    }
  }

  void write() {
    for (uint32_t chunk = 0; chunk < work_.chunk_count; ++chunk) {
      const l3::EncodedSizes& sizes = work_.sizes[chunk];
      outputs_.push_back({std::vector<uint32_t>(l3::start_words(inputs_[chunk].rows)),
                          std::vector<uint32_t>(sizes.param_words), std::vector<uint32_t>(sizes.residual_words, ~0u),
                          std::vector<uint64_t>(sizes.partitions)});
      Output& out = outputs_.back();
      work_.streams[chunk] = {out.starts.data(), out.records.data(), out.params.data(), out.residuals.data()};
      l3::write_metadata(work_, chunk, 0, 1);
    }
    in_warps(l3::pack_residuals);
  }

  uint32_t threads_;
  std::vector<l3::EncodeInput> inputs_;
  l3::EncodeWork work_{};
  std::vector<uint128_t> memory_;
  std::vector<Output> outputs_;
};

void expect_same(const std::vector<Values>& chunks, Effort effort, const std::string& place, uint32_t threads = 32) {
  const EmulatedEncoder encoder(chunks, effort, threads);
  for (size_t i = 0; i < chunks.size(); ++i) {
    const Node node = encode_tree(chunks[i], bind_tree({"l3", {}}, chunks[i].type), effort);
    encoder.expect_like(i, node, place + ", " + name_of(effort) + ", chunk " + std::to_string(i));
  }
}

template <typename T>
Values view(const std::vector<T>& values, Physical type) {
  Values v;
  v.type = type;
  v.count = values.size();
  v.data = reinterpret_cast<const std::byte*>(values.data());
  return v;
}

TEST(EmulatedL3Encoder, EveryTypePatternAndLength) {
  for (const Physical type : kIntegers) {
    for (const auto pattern : testing::kAllPatterns) {
      // One batch of chunks of all lengths.
      std::vector<testing::Array> arrays;
      for (const uint64_t count : {0, 1, 3, 255, 256, 257, 1025}) {
        arrays.push_back(testing::make_fixed(type, count, pattern, count + 7));
      }
      std::vector<Values> chunks;
      for (const auto& array : arrays) chunks.push_back(array.values);
      for (const Effort effort : kEfforts) {
        expect_same(chunks, effort,
                    "type " + std::to_string(static_cast<int>(type)) + ", pattern " +
                        std::to_string(static_cast<int>(pattern)));
      }
    }
  }
}

TEST(EmulatedL3Encoder, ExtremesAndWrapAround) {
  constexpr uint64_t k53 = uint64_t{1} << 53;
  constexpr uint64_t k63 = uint64_t{1} << 63;
  std::mt19937_64 random(9);
  const std::vector<std::vector<uint64_t>> pieces = {
      {0, ~uint64_t{0}},      {k53 - 1, k53, k53 + 1}, {k63 - 1, k63, k63 + 1}, {0, k63},
      {~uint64_t{0}, 1, k63}, {0, 0x7FFFFFFF},         {0x3FFFFFFF, 0x40000000}};
  for (const auto& piece : pieces) {
    for (const uint64_t step :
         {uint64_t{0}, uint64_t{1}, k53 / 1000, k63 / 1000, ~uint64_t{0} / 3, uint64_t{1 << 20}}) {
      std::vector<uint64_t> values(1100);
      std::vector<uint32_t> halves(1100);
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] = piece[random() % piece.size()] + step * i;
        halves[i] = static_cast<uint32_t>(values[i]);
      }
      for (const Effort effort : kEfforts) {
        const std::string place = "step " + std::to_string(step);
        expect_same({view(values, Physical::kU64)}, effort, place);
        expect_same({view(halves, Physical::kU32)}, effort, place);
        if (effort == Effort::kBest) continue;
        expect_same({view(values, Physical::kI64)}, effort, place);
        expect_same({view(halves, Physical::kI32)}, effort, place);
      }
    }
  }
}

// Curves of every degree with noise of every width: all models, narrow and wide.
TEST(EmulatedL3Encoder, EveryModelAndWidth) {
  std::mt19937_64 random(3);
  for (uint32_t width = 0; width < 60; width += width < 8 ? 1 : 5) {
    for (uint32_t degree = 0; degree <= 3; ++degree) {
      const std::vector<uint64_t> values = testing::noisy_curve(2000, degree, width, random);
      for (const Effort effort : kEfforts) {
        expect_same({view(values, Physical::kU64)}, effort,
                    "width " + std::to_string(width) + ", degree " + std::to_string(degree));
      }
    }
  }
}

// A line over 31 bits leaves the 32 bits of narrow models by its noise alone, and becomes a wide one.
TEST(EmulatedL3Encoder, LinesThatLeaveNarrowModels) {
  std::mt19937_64 random(5);
  std::vector<uint32_t> values(kTileRows);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint32_t>(i * 2099203 + random() % 3800);
  values.front() = 3799;
  values.back() = 1023 * 2099203u;
  const Node node = encode_tree(view(values, Physical::kU32), bind_tree({"l3", {}}, Physical::kU32), Effort::kFast);
  const l3::Record record = l3::unpack_record(node.streams[l3::kRecords].as<uint64_t>()[0]);
  EXPECT_EQ(record.model, l3::Model::kWideLinear);
  for (const Effort effort : kEfforts) expect_same({view(values, Physical::kU32)}, effort, "31 bits");
}

TEST(EmulatedL3Encoder, Runs) {
  std::mt19937_64 random(6);
  for (const uint64_t longest : {8, 40, 1000}) {
    std::vector<int64_t> values;
    std::vector<uint16_t> narrow;
    int64_t at = -(int64_t{1} << 60);
    while (values.size() < 3500) {
      at += static_cast<int64_t>(random() % 5000);
      values.insert(values.end(), longest / 2 + random() % longest, at);
    }
    values.resize(3500);
    for (const int64_t value : values) narrow.push_back(static_cast<uint16_t>(value));
    for (size_t i = 1500; i < 2000; ++i) values[i] = static_cast<int64_t>(random());  // other models in between
    for (const Effort effort : kEfforts) {
      expect_same({view(values, Physical::kI64)}, effort, "runs up to " + std::to_string(longest));
      expect_same({view(narrow, Physical::kU16)}, effort, "runs up to " + std::to_string(longest));
    }
  }
}

// Partitions long enough for a block of several warps, in lines and in runs; three chunks of different lengths.
TEST(EmulatedL3Encoder, LongPartitionsInBlocks) {
  std::mt19937_64 random(1);
  std::vector<uint32_t> line(36000);
  std::vector<uint32_t> runs(20000);
  std::vector<uint32_t> both(20001);
  for (size_t i = 0; i < line.size(); ++i) line[i] = static_cast<uint32_t>(i * 77 + random() % 16);
  for (size_t i = 0; i < runs.size(); ++i) runs[i] = static_cast<uint32_t>(i / 37 * 5 + (i / 37 * 77) % 3);
  for (size_t i = 0; i < both.size(); ++i) both[i] = i < 9000 ? static_cast<uint32_t>(i / 10 * 3) : line[i];
  const std::vector<Values> chunks = {view(line, Physical::kU32), view(runs, Physical::kU32),
                                      view(both, Physical::kU32)};
  for (const uint32_t threads : {32, 96}) {
    expect_same(chunks, Effort::kBalanced, std::to_string(threads) + " threads", threads);
  }
  expect_same(chunks, Effort::kFast, "64 threads", 64);
}

TEST(EmulatedL3Encoder, PolynomialsUpTo8192Rows) {
  std::mt19937_64 random(2);
  for (const size_t rows : {8191, 8192, 8193}) {
    std::vector<int64_t> values(rows);
    for (size_t i = 0; i < rows; ++i) {
      const auto x = static_cast<int64_t>(i);
      values[i] = x * x * x / 1000 - 700 * x * x + static_cast<int64_t>(random() % 8);
    }
    expect_same({view(values, Physical::kI64)}, Effort::kBalanced, std::to_string(rows) + " rows");
  }
}

// Runs whose values and ends are lines take no bits, behind partitions that take some and before runs that do.
TEST(EmulatedL3Encoder, RunsWithoutBits) {
  std::mt19937_64 random(3);
  std::vector<uint64_t> values(20 * 1024);
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t piece = i / 1024 % 4;
    values[i] = piece == 0   ? random() % 5000
                : piece == 1 ? i / 64 * 1'000'003
                : piece == 2 ? random() >> 20
                             : (i / 40 * 77) % 13 * (uint64_t{1} << 40);
  }
  for (const Effort effort : {Effort::kBalanced, Effort::kBest}) {
    expect_same({view(values, Physical::kU64)}, effort, "runs without bits");
  }
}

TEST(EmulatedL3Encoder, GeneratedSets) {
  for (const L3Set& set : l3_sets()) {
    const uint64_t rows = std::min<uint64_t>(set.rows, 200000);
    const Table table = L3Generator(set, rows).next(rows);
    const Physical type = set.type == TypeKind::kUInt64  ? Physical::kU64
                          : set.type == TypeKind::kInt32 ? Physical::kI32
                                                         : Physical::kU32;
    // A piece from the middle, where the curve is under way.
    constexpr uint64_t kRows = 2500;
    Values values;
    values.type = type;
    values.count = std::min(rows, kRows);
    values.data = table.columns[0].values.data() + (rows - values.count) / 2 * width_of(type);
    for (const Effort effort : kEfforts) expect_same({values}, effort, set.name);
  }
}

}  // namespace
}  // namespace basalt::test
