// What the benchmarks of nested encodings share: a set-up with random words and room for plain values, and one measured
// line after every row has been checked.
#pragma once

#include "basalt/codec/codec.h"
#include "ceilings.h"
#include "core/device/launch.h"
#include "gpu_bench.h"
#include "nested_columns.h"

namespace basalt::bench {

// An effort that encoders are measured at.
struct Level {
  const char* name;
  Effort effort;
  double least_rate;  // the bar, in bytes of values per second; 0: none
};

struct NestedBench {
  explicit NestedBench(const Options& given)
      : options(given),
        plain(given.quick ? size_t{512} << 20 : size_t{2} << 30),
        pool(plain.bytes()),
        fault(1),
        timer(given.quick ? 3 : 7) {
    BASALT_CHECK(device::current_shape(shape));
    cudaDeviceProp properties;
    BASALT_CHECK(cudaGetDeviceProperties(&properties, 0));
    std::printf("%s, %d multiprocessors, L2 %.0f MB\n", properties.name, shape.multiprocessors,
                properties.l2CacheSize / 1048576.0);
    fill_random(pool.data(), pool.bytes(), 54321);
    BASALT_CHECK(cudaDeviceSynchronize());
    ceilings = measure_ceilings(timer, pool.data(), plain.data(), plain.bytes());
  }

  // Chunks of T that fill the room for plain values.
  template <typename T>
  uint32_t chunks() const {
    return static_cast<uint32_t>(plain.bytes() / (sizeof(T) * kMaxChunkRows));
  }

  // Checks every row and the absence of faults, then times. launch(out) decodes the batch.
  template <typename T, typename Launch, typename Expected>
  void measure(const std::string& group, const std::string& point, const std::string& variant,
               const device::ChunkBatch& batch, double stream_bytes, double bar, const Expected& expected,
               const Launch& launch) {
    T* out = reinterpret_cast<T*>(plain.data());
    const std::string name = group + " " + point + " " + variant;
    const double rows = static_cast<double>(batch.chunks) * kMaxChunkRows;
    BASALT_CHECK(cudaMemset(out, 0xA5, static_cast<size_t>(rows) * sizeof(T)));
    BASALT_CHECK(cudaMemset(fault.data(), 0, fault.bytes()));
    BASALT_CHECK(launch(out));
    require_rows(batch.descriptors, batch.descriptor_stride, batch.chunks, out, expected, name);
    require(fault.to_host(0, 1)[0] == 0, name + " reports a fault");
    Line line;
    line.group = group;
    line.point = point;
    line.variant = variant;
    line.bytes = stream_bytes + rows * sizeof(T);
    line.values = rows;
    line.seconds = timer.time([&] { BASALT_CHECK(launch(out)); });
    line.ceiling = ceilings.copy;
    line.bar = bar;
    report.add(line);
  }

  int finish() const {
    const bool good = report.summary();
    report.write_json(options.json, {{"copy_ceiling", ceilings.copy},
                                     {"memcpy", ceilings.memcpy},
                                     {"read_ceiling", ceilings.read},
                                     {"write_ceiling", ceilings.write}});
    std::printf("%s\n", good ? "every bar met by some variant" : "a bar is missed by every variant");
    return 0;
  }

  Options options;
  DeviceArray<unsigned char> plain;  // room for decoded values
  DeviceArray<unsigned char> pool;   // random words
  DeviceArray<uint32_t> fault;
  Timer timer;
  device::DeviceShape shape;
  Ceilings ceilings;
  Report report;
};

}  // namespace basalt::bench
