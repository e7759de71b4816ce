// `ans` on the GPU, from device memory to device memory: bytes of few symbols, four alphabets by four skews, in bytes
// of values per second. Decoding to codes, as generated kernels read them; encoding with all that it launches, and the
// host's part in between, the shares. What is encoded is compared with the CPU's bytes, what is decoded with the
// values.
#include <cmath>
#include <random>

#include "codec/ans/encode.h"
#include "codec/ans/gpu/kernels.h"
#include "codec/ans/layout.h"
#include "cuda/codec/encode_ans.h"
#include "nested_bench.h"

namespace basalt::bench {
namespace {

constexpr double kDecodeBar = 700e9;
constexpr double kEncodeBar = 300e9;
constexpr uint64_t kDistinctRows = uint64_t{1} << 22;

// Symbol s is worth (s + 1)^-skew.
std::vector<uint8_t> skewed_symbols(uint32_t alphabet, double skew) {
  std::vector<double> weights;
  for (uint32_t i = 0; i < alphabet; ++i) weights.push_back(std::pow(i + 1, -skew));
  std::discrete_distribution<uint32_t> pick(weights.begin(), weights.end());
  std::mt19937_64 random(alphabet);
  std::vector<uint8_t> out(kDistinctRows);
  for (uint8_t& value : out) value = static_cast<uint8_t>(pick(random));
  out[0] = 0;
  out[1] = static_cast<uint8_t>(alphabet - 1);
  return out;
}

Line line_of(const std::string& group, const std::string& point, double values, double bar) {
  Line line;
  line.group = group;
  line.point = point;
  line.variant = kShipped;
  line.bytes = values;
  line.values = values;
  line.bar = bar;
  line.bar_values = true;
  return line;
}

// As the library encodes it; gives the bytes of the units.
uint64_t encode(cuda::AnsEncoder<uint8_t>& encoder, uint32_t* units) {
  encoder.count_symbols();
  encoder.give_shares();
  encoder.encode(ans::kShortUnit);
  const uint64_t bytes = encoder.unit_bytes();
  if (units != nullptr) encoder.place(units);
  return bytes;
}

void measure(NestedBench& bench, uint32_t alphabet, double skew) {
  char point[64];
  std::snprintf(point, sizeof(point), "%u symbols ^-%.1f", alphabet, skew);
  if (!bench.options.wants(std::string("ans ") + point)) return;
  const std::vector<uint8_t> values = skewed_symbols(alphabet, skew);
  const uint64_t copies = bench.options.quick ? 16 : 64;
  const uint64_t rows = copies * kDistinctRows;
  DeviceArray<uint8_t> on_device(rows);
  for (uint64_t i = 0; i < copies; ++i) {
    BASALT_CHECK(
        cudaMemcpy(on_device.data() + i * kDistinctRows, values.data(), values.size(), cudaMemcpyHostToDevice));
  }
  const cuda::ValueRange range{0, alphabet - 1};

  Values compared;
  compared.type = Physical::kU8;
  compared.count = kDistinctRows;
  compared.data = values.data();
  const Node expected = ans::encode(&get_codec("ans"), compared, ans::kShortUnit);
  cuda::AnsEncoder<uint8_t> small(on_device.data(), kDistinctRows, range, nullptr);
  const uint64_t small_bytes = encode(small, nullptr);
  require(small_bytes == expected.streams[ans::kUnits].size(), std::string(point) + ": other bytes than the CPU");
  const DeviceArray<uint32_t> small_units(small_bytes / 4);
  small.place(small_units.data());
  const std::vector<uint32_t> got = small_units.to_host(0, small_units.size());
  require(std::memcmp(got.data(), expected.streams[ans::kUnits].data(), small_bytes) == 0,
          std::string(point) + ": other bytes than the CPU");

  cuda::AnsEncoder<uint8_t> encoder(on_device.data(), rows, range, nullptr);
  const uint64_t bytes = encode(encoder, nullptr);
  const DeviceArray<uint32_t> units(bytes / 4);
  std::snprintf(point + std::strlen(point), sizeof(point) - std::strlen(point), " %.2f bits",
                static_cast<double>(bytes) * 8 / static_cast<double>(rows));
  Line encoding = line_of("ans encode", point, static_cast<double>(rows), kEncodeBar);
  encoding.seconds = bench.timer.time([&] { encode(encoder, units.data()); });
  encoding.ceiling = bench.ceilings.read;
  bench.report.add(encoding);

  const Buffer table = encoder.give_shares();
  const Buffer starts = encoder.starts();
  const DeviceArray<uint32_t> device_table(
      std::vector<uint32_t>(table.as<uint32_t>(), table.as<uint32_t>() + table.size() / 4));
  const DeviceArray<uint32_t> device_starts(
      std::vector<uint32_t>(starts.as<uint32_t>(), starts.as<uint32_t>() + starts.size() / 4));
  const DeviceArray<uint8_t> codes(rows + kTileRows);
  const DeviceArray<uint32_t> fault(std::vector<uint32_t>{0});
  ans::DecodeWork work{};
  work.table = device_table.data();
  work.starts = device_starts.data();
  work.units = units.data();
  work.codes = codes.data();
  work.fault = fault.data();
  work.rows = static_cast<uint32_t>(rows);
  work.symbols = alphabet;
  work.unit_tiles = ans::kShortUnit;
  Line decoding = line_of("ans decode", point, static_cast<double>(rows), kDecodeBar);
  decoding.seconds = bench.timer.time([&] { BASALT_CHECK(ans::decode({&work, 1}, nullptr)); });
  decoding.ceiling = bench.ceilings.write;
  require(fault.to_host(0, 1)[0] == 0, std::string(point) + " reports a fault");
  for (const uint64_t copy : {uint64_t{0}, copies - 1}) {
    require(codes.to_host(copy * kDistinctRows, kDistinctRows) == values, std::string(point) + ": other values");
  }
  bench.report.add(decoding);
}

int run(const Options& options) {
  NestedBench bench(options);
  for (const uint32_t alphabet : {3u, 10u, 40u, 200u}) {
    for (const double skew : {0.0, 0.5, 1.0, 2.0}) measure(bench, alphabet, skew);
  }
  return bench.finish();
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) { return basalt::bench::run(basalt::bench::Options::parse(argc, argv)); }
