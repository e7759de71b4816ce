// Learned integers encoded on the GPU: columns of `gen l3` in batches of chunks, from values in device memory to
// streams in device memory, in bytes of values per second. The streams of the chunks that differ are compared with the
// CPU's before anything is timed.
#include <algorithm>

#include "basalt/codec/codec.h"
#include "basalt/core/threads.h"
#include "basalt/encoding/tree.h"
#include "cuda/codec/encode_l3.h"
#include "gen/l3.h"
#include "nested_bench.h"

namespace basalt::bench {
namespace {

constexpr Level kLevels[] = {
    {"fast", Effort::kFast, 150e9}, {"balanced", Effort::kBalanced, 60e9}, {"best", Effort::kBest, 0}};

// Room for the streams of a batch, once it is measured.
class StreamRoom {
 public:
  StreamRoom(const std::vector<l3::EncodedSizes>& sizes, uint32_t rows) {
    for (const l3::EncodedSizes& size : sizes) {
      const size_t bytes[l3::kStreams] = {l3::start_words(rows) * sizeof(uint32_t), size.partitions * sizeof(uint64_t),
                                          size.param_words * sizeof(uint32_t), size.residual_words * sizeof(uint32_t)};
      unsigned char* at[l3::kStreams];
      for (uint32_t i = 0; i < l3::kStreams; ++i) {
        memory_.emplace_back(bytes[i]);
        at[i] = memory_.back().data();
        encoded_ += bytes[i];
      }
      streams_.push_back({reinterpret_cast<uint32_t*>(at[l3::kStarts]), reinterpret_cast<uint64_t*>(at[l3::kRecords]),
                          reinterpret_cast<uint32_t*>(at[l3::kParams]),
                          reinterpret_cast<uint32_t*>(at[l3::kResiduals])});
    }
  }
  std::span<const l3::EncodedStreams> streams() const { return streams_; }
  uint64_t encoded() const { return encoded_; }

  void require_like(uint32_t chunk, const Node& node, const std::string& place) const {
    for (uint32_t i = 0; i < l3::kStreams; ++i) {
      const DeviceArray<unsigned char>& got = memory_[chunk * l3::kStreams + i];
      const Buffer& expected = node.streams[i];
      require(got.size() == expected.size(), place + ": a stream has another length");
      const std::vector<unsigned char> bytes = got.to_host(0, got.size());
      require(bytes.empty() || std::memcmp(bytes.data(), expected.data(), bytes.size()) == 0,
              place + ": a stream has other bytes");
    }
  }

 private:
  std::vector<DeviceArray<unsigned char>> memory_;
  std::vector<l3::EncodedStreams> streams_;
  uint64_t encoded_ = 0;
};

void encode_set(NestedBench& bench, const L3Set& set) {
  const Physical type = set.type == TypeKind::kUInt64  ? Physical::kU64
                        : set.type == TypeKind::kInt32 ? Physical::kI32
                                                       : Physical::kU32;
  const uint32_t chunks = bench.options.quick ? 8 : 52;
  const uint32_t distinct = std::min(chunks, 4u);
  const uint64_t rows = uint64_t{distinct} * kMaxChunkRows;
  const auto wants = [&](const Level& level) {
    return bench.options.wants(std::string("l3 encode ") + level.name + " " + set.name);
  };
  if (set.rows < rows || std::none_of(std::begin(kLevels), std::end(kLevels), wants)) return;
  const Table table = L3Generator(set, rows).next(rows);
  const size_t chunk_bytes = size_t{kMaxChunkRows} * width_of(type);
  const std::byte* plain = table.columns[0].values.data();

  DeviceArray<unsigned char> values(chunks * chunk_bytes);
  std::vector<l3::EncodeInput> inputs;
  for (uint32_t c = 0; c < chunks; ++c) {
    unsigned char* to = values.data() + c * chunk_bytes;
    BASALT_CHECK(cudaMemcpy(to, plain + c % distinct * chunk_bytes, chunk_bytes, cudaMemcpyHostToDevice));
    inputs.push_back({to, kMaxChunkRows});
  }
  for (const Level& level : kLevels) {
    if (!wants(level)) continue;
    const std::string group = std::string("l3 encode ") + level.name;
    std::vector<Node> expected(distinct);
    ThreadPool pool(hardware_threads());
    pool.parallel_for(distinct, [&](uint64_t i) {
      Values chunk;
      chunk.type = type;
      chunk.count = kMaxChunkRows;
      chunk.data = plain + i * chunk_bytes;
      expected[i] = encode_tree(chunk, bind_tree({"l3", {}}, type), level.effort);
    });
    cuda::L3BatchEncoder encoder(inputs, type, level.effort, nullptr);
    const StreamRoom room(encoder.measure(), kMaxChunkRows);
    encoder.write(room.streams());
    BASALT_CHECK(cudaDeviceSynchronize());
    for (uint32_t i = 0; i < distinct; ++i) room.require_like(i, expected[i], group + " " + set.name);

    Line line;
    line.group = group;
    char text[64];
    std::snprintf(text, sizeof(text), "%s %.2f bits", set.name,
                  static_cast<double>(room.encoded()) * 8 / (static_cast<double>(chunks) * kMaxChunkRows));
    line.point = text;
    std::snprintf(text, sizeof(text), "memory %.2f x",
                  static_cast<double>(encoder.temporary_bytes()) / static_cast<double>(values.bytes()));
    line.variant = text;
    line.bytes = static_cast<double>(values.bytes());
    line.values = static_cast<double>(chunks) * kMaxChunkRows;
    line.seconds = bench.timer.time([&] {
      encoder.measure();
      encoder.write(room.streams());
    });
    line.ceiling = bench.ceilings.read;
    line.bar = level.least_rate / bench.ceilings.read;
    bench.report.add(line);
  }
}

int run(const Options& options) {
  NestedBench bench(options);
  for (const L3Set& set : l3_sets()) encode_set(bench, set);
  return bench.finish();
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) { return basalt::bench::run(basalt::bench::Options::parse(argc, argv)); }
