// Floats encoded on the GPU: galp(packed), from values in device memory to streams in device memory, in bytes of values
// per second. A smaller array of the same values is compared with the CPU's bytes before anything is timed.
#include <cmath>
#include <random>

#include "basalt/codec/codec.h"
#include "basalt/encoding/tree.h"
#include "galp_streams.h"
#include "nested_bench.h"

namespace basalt::bench {
namespace {

constexpr Level kLevels[] = {
    {"fast", Effort::kFast, 400e9}, {"balanced", Effort::kBalanced, 400e9}, {"best", Effort::kBest, 0}};

// Row i of a column.
struct Column {
  const char* name;
  double (*value)(std::mt19937_64& random, uint64_t i);
};
double decimal(std::mt19937_64& random, uint64_t range, double divisor) {
  return static_cast<double>(random() % range) / divisor;
}
constexpr Column kColumns[] = {
    {"temperatures", [](std::mt19937_64& random, uint64_t) { return decimal(random, 1700, 10) - 50; }},
    {"prices",
     [](std::mt19937_64& random, uint64_t i) { return decimal(random, 5000, 100) + static_cast<double>(i / 4096); }},
    {"2 % exceptions",
     [](std::mt19937_64& random, uint64_t) {
       return random() % 50 == 0 ? std::sqrt(decimal(random, 100'000, 1)) : decimal(random, 100'000, 1000);
     }},
    {"mixed digits",
     [](std::mt19937_64& random, uint64_t i) { return decimal(random, 100'000, std::pow(10, i / 1024 % 5)); }},
    {"reals", [](std::mt19937_64& random, uint64_t) { return std::sqrt(decimal(random, 1'000'000'007, 1)) - 9000; }},
    {"mostly zero",
     [](std::mt19937_64& random, uint64_t) { return random() % 100 == 0 ? decimal(random, 9999, 100) : 0; }},
};

template <typename T>
void encode_column(NestedBench& bench, const Column& column) {
  const std::string type_name = sizeof(T) == 8 ? "double" : "float";
  if (!bench.options.wants("galp encode " + type_name + " " + column.name)) return;
  constexpr uint64_t kDistinctRows = uint64_t{1} << 22;
  constexpr uint64_t kComparedRows = (uint64_t{1} << 20) + 777;
  const uint64_t copies = bench.options.quick ? 8 : 32;
  std::mt19937_64 random(1);
  std::vector<T> values(kDistinctRows);
  for (uint64_t i = 0; i < kDistinctRows; ++i) values[i] = static_cast<T>(column.value(random, i));
  DeviceArray<T> on_device(copies * kDistinctRows);
  for (uint64_t i = 0; i < copies; ++i) {
    BASALT_CHECK(cudaMemcpy(on_device.data() + i * kDistinctRows, values.data(), values.size() * sizeof(T),
                            cudaMemcpyHostToDevice));
  }
  for (const Level& level : kLevels) {
    const std::string group = "galp encode " + type_name + " " + level.name;
    Values compared;
    compared.type = sizeof(T) == 8 ? Physical::kF64 : Physical::kF32;
    compared.count = kComparedRows;
    compared.data = values.data();
    const Node expected = encode_tree(compared, bind_tree(parse_tree("galp(packed)"), compared.type), level.effort);
    cuda::GalpEncoder<T> small(on_device.data(), kComparedRows, level.effort, nullptr);
    const StreamRoom<T> small_room(small, small.choose_schemes());
    small.write(small_room.streams);
    BASALT_CHECK(cudaDeviceSynchronize());
    small_room.require_like(small, expected, group + " " + column.name);

    cuda::GalpEncoder<T> encoder(on_device.data(), on_device.size(), level.effort, nullptr);
    const StreamRoom<T> room(encoder, encoder.choose_schemes());
    Line line;
    line.group = group;
    char text[64];
    std::snprintf(text, sizeof(text), "%s %.2f bits", column.name,
                  static_cast<double>(room.encoded) * 8 / static_cast<double>(on_device.size()));
    line.point = text;
    std::snprintf(text, sizeof(text), "memory %.3f x",
                  static_cast<double>(encoder.temporary_bytes()) / static_cast<double>(on_device.bytes()));
    line.variant = text;
    line.bytes = static_cast<double>(on_device.bytes());
    line.values = static_cast<double>(on_device.size());
    line.seconds = bench.timer.time([&] {
      encoder.choose_schemes();
      encoder.write(room.streams);
    });
    line.ceiling = bench.ceilings.read;
    line.bar = level.least_rate / bench.ceilings.read;
    bench.report.add(line);
  }
}

int run(const Options& options) {
  NestedBench bench(options);
  for (const Column& column : kColumns) {
    encode_column<double>(bench, column);
    encode_column<float>(bench, column);
  }
  return bench.finish();
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) { return basalt::bench::run(basalt::bench::Options::parse(argc, argv)); }
