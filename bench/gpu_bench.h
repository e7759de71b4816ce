// What the GPU benchmarks share: checked calls, device memory, timing with a cold L2, and a table that ends with one
// verdict per bar. Kernels are timed with events, one launch at a time, and the median counts.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace basalt::bench {

#define BASALT_CHECK(call) ::basalt::bench::check((call), #call, __FILE__, __LINE__)

inline void check(cudaError_t error, const char* what, const char* file, int line) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, what, cudaGetErrorString(error));
  std::exit(1);
}

inline void require(bool condition, const std::string& what) {
  if (condition) return;
  std::fprintf(stderr, "wrong result: %s\n", what.c_str());
  std::exit(1);
}

template <typename T>
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(size_t count) : count_(count) {
    BASALT_CHECK(cudaMalloc(reinterpret_cast<void**>(&data_), std::max<size_t>(count, 1) * sizeof(T)));
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    BASALT_CHECK(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice));
  }
  DeviceArray(DeviceArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~DeviceArray() { cudaFree(data_); }

  T* data() const { return data_; }
  size_t size() const { return count_; }
  size_t bytes() const { return count_ * sizeof(T); }
  std::vector<T> to_host(size_t first, size_t count) const {
    std::vector<T> out(count);
    BASALT_CHECK(cudaMemcpy(out.data(), data_ + first, count * sizeof(T), cudaMemcpyDeviceToHost));
    return out;
  }

 private:
  T* data_ = nullptr;
  size_t count_ = 0;
};

__host__ __device__ inline uint64_t mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

static __global__ void fill_random_kernel(uint64_t* words, size_t count, uint64_t seed) {
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count; i += size_t{gridDim.x} * blockDim.x) {
    words[i] = mix(seed + i);
  }
}

inline void fill_random(void* memory, size_t bytes, uint64_t seed) {
  fill_random_kernel<<<4096, 256>>>(static_cast<uint64_t*>(memory), bytes / 8, seed);
  BASALT_CHECK(cudaGetLastError());
}

static __global__ void read_all_kernel(const uint4* from, size_t count, uint32_t* sink) {
  uint32_t sum = 0;
  const size_t step = size_t{gridDim.x} * blockDim.x;
  size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
  for (; i + 7 * step < count; i += 8 * step) {
    uint4 v[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) v[j] = __ldcs(from + i + j * step);
#pragma unroll
    for (int j = 0; j < 8; ++j) sum += v[j].x ^ v[j].y ^ v[j].z ^ v[j].w;
  }
  for (; i < count; i += step) sum += from[i].x;
  if (sum == 0x12345678u) *sink = sum;  // keeps the loads
}

// "w12". Not `"w" + to_string(n)`, about which GCC 12 warns without cause.
inline std::string label(const char* prefix, uint64_t number) {
  std::string text(prefix);
  text += std::to_string(number);
  return text;
}

struct Options {
  bool quick = false;
  std::string json;
  std::string only;                // run groups whose name contains this
  std::vector<std::string> files;  // columns to measure besides those that are made

  static Options parse(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
      const std::string argument = argv[i];
      if (argument == "--quick") {
        options.quick = true;
      } else if (argument == "--json" && i + 1 < argc) {
        options.json = argv[++i];
      } else if (argument == "--only" && i + 1 < argc) {
        options.only = argv[++i];
      } else if (argument == "--files") {
        while (i + 1 < argc && argv[i + 1][0] != '-') options.files.emplace_back(argv[++i]);
      } else {
        std::fprintf(stderr, "usage: %s [--quick] [--json FILE] [--only TEXT] [--files FILE...]\n", argv[0]);
        std::exit(2);
      }
    }
    return options;
  }
  bool wants(const std::string& group) const { return only.empty() || group.find(only) != std::string::npos; }
};

// Times launches on the default stream. Before each, L2 is filled with clean lines of something else: no launch finds
// its input there, and none pays for writing back what an earlier one left.
class Timer {
 public:
  explicit Timer(int repetitions) : repetitions_(repetitions), other_(size_t{512} << 20), sink_(1) {
    BASALT_CHECK(cudaEventCreate(&begin_));
    BASALT_CHECK(cudaEventCreate(&end_));
    fill_random(other_.data(), other_.bytes(), 1);
  }
  ~Timer() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Seconds, the median.
  template <typename Launch>
  double time(const Launch& launch, int repetitions = 0) {
    if (repetitions == 0) repetitions = repetitions_;
    std::vector<double> seconds;
    for (int i = 0; i <= repetitions; ++i) {
      read_all_kernel<<<2048, 256>>>(reinterpret_cast<const uint4*>(other_.data()), other_.bytes() / 16, sink_.data());
      BASALT_CHECK(cudaEventRecord(begin_));
      launch();
      BASALT_CHECK(cudaEventRecord(end_));
      BASALT_CHECK(cudaEventSynchronize(end_));
      BASALT_CHECK(cudaGetLastError());
      float milliseconds = 0;
      BASALT_CHECK(cudaEventElapsedTime(&milliseconds, begin_, end_));
      if (i > 0) seconds.push_back(milliseconds * 1e-3);  // the first one loads code
    }
    std::sort(seconds.begin(), seconds.end());
    return seconds[seconds.size() / 2];
  }

 private:
  int repetitions_;
  DeviceArray<unsigned char> other_;
  DeviceArray<uint32_t> sink_;
  cudaEvent_t begin_{};
  cudaEvent_t end_{};
};

// One measured line.
struct Line {
  std::string group;    // what shares a bar and a place in the summary
  std::string point;    // "w12", "runs 1..8"
  std::string variant;  // which kernel
  double bytes = 0;     // moved, read and written
  double values = 0;
  double seconds = 0;
  double ceiling = 0;  // bytes per second that the hardware reached in this run
  double bar = 0;      // least ratio (or, if bar_values is set, least values per second); 0: none

  bool bar_values = false;
  int registers = 0;  // per thread, and warps that a multiprocessor has room for; 0: not asked
  int warps = 0;
  double rate() const { return bytes / seconds; }
  double ratio() const { return rate() / ceiling; }
  bool meets_bar() const { return bar_values ? values / seconds >= bar : ratio() >= bar; }
};

// The variant that the library launches; bars are its to meet.
constexpr const char* kShipped = "shipped";

class Report {
 public:
  void add(const Line& line) {
    std::printf("%-22s %-14s %-16s %8.1f MB %8.3f ms %7.0f GB/s of %5.0f = %5.1f %%  %6.2f Tv/s%s", line.group.c_str(),
                line.point.c_str(), line.variant.c_str(), line.bytes * 1e-6, line.seconds * 1e3, line.rate() * 1e-9,
                line.ceiling * 1e-9, line.ratio() * 100, line.values / line.seconds * 1e-12,
                line.bar > 0 && !line.meets_bar() ? "  below bar" : "");
    if (line.registers > 0) std::printf("  %d registers, %d warps", line.registers, line.warps);
    std::printf("\n");
    std::fflush(stdout);
    lines_.push_back(line);
  }

  // Besides the bar of each line, the mean over the group must reach this.
  void require_mean(const std::string& group, double mean) { mean_bars_[group] = mean; }

  // Per group and variant: least and mean, and whether every point meets its bar. Returns whether in each group some
  // variant meets all bars.
  bool summary() const {
    std::printf("\n%-22s %-16s %5s %8s %8s %10s  %s\n", "group", "variant", "lines", "least", "mean", "least Tv/s",
                "verdict (worst point)");
    bool good = true;
    for (const std::string& group : names([](const Line& line) { return line.group; }, lines_)) {
      std::vector<Line> of_group;
      for (const Line& line : lines_) {
        if (line.group == group) of_group.push_back(line);
      }
      bool some_variant = false;
      bool any_bar = false;
      for (const std::string& variant : names([](const Line& line) { return line.variant; }, of_group)) {
        some_variant = summarise(group, variant, of_group, any_bar) || some_variant;
      }
      good = good && (some_variant || !any_bar);
    }
    return good;
  }

  void write_json(const std::string& path, const std::vector<std::pair<std::string, double>>& facts) const {
    if (path.empty()) return;
    std::FILE* file = std::fopen(path.c_str(), "w");
    if (file == nullptr) {
      std::fprintf(stderr, "cannot write %s\n", path.c_str());
      std::exit(1);
    }
    std::fprintf(file, "{\n");
    for (const auto& fact : facts) std::fprintf(file, "  \"%s\": %.6g,\n", fact.first.c_str(), fact.second);
    std::fprintf(file, "  \"lines\": [\n");
    for (size_t i = 0; i < lines_.size(); ++i) {
      const Line& l = lines_[i];
      std::fprintf(file,
                   "    {\"group\": \"%s\", \"point\": \"%s\", \"variant\": \"%s\", \"bytes\": %.0f, \"values\": %.0f, "
                   "\"seconds\": %.9f, \"bytes_per_second\": %.6g, \"ceiling\": %.6g, \"ratio\": %.4f",
                   l.group.c_str(), l.point.c_str(), l.variant.c_str(), l.bytes, l.values, l.seconds, l.rate(),
                   l.ceiling, l.ratio());
      if (l.registers > 0) std::fprintf(file, ", \"registers\": %d, \"warps\": %d", l.registers, l.warps);
      std::fprintf(file, "}%s\n", i + 1 == lines_.size() ? "" : ",");
    }
    std::fprintf(file, "  ]\n}\n");
    std::fclose(file);
  }

 private:
  template <typename Key>
  static std::vector<std::string> names(const Key& key, const std::vector<Line>& lines) {
    std::vector<std::string> out;
    for (const Line& line : lines) {
      if (std::find(out.begin(), out.end(), key(line)) == out.end()) out.push_back(key(line));
    }
    return out;
  }

  bool summarise(const std::string& group, const std::string& variant, const std::vector<Line>& lines,
                 bool& any_bar) const {
    double least = 1e9;
    double least_values = 1e30;
    double sum = 0;
    int count = 0;
    bool passes = true;
    bool has_bar = false;
    std::string worst;
    for (const Line& line : lines) {
      if (line.variant != variant) continue;
      ++count;
      sum += line.ratio();
      least_values = std::min(least_values, line.values / line.seconds);
      if (line.ratio() < least) {
        least = line.ratio();
        worst = line.point;
      }
      has_bar = has_bar || line.bar > 0;
      passes = passes && (line.bar == 0 || line.meets_bar());
    }
    const auto mean_bar = mean_bars_.find(group);
    if (mean_bar != mean_bars_.end()) passes = passes && sum / count >= mean_bar->second;
    any_bar = any_bar || has_bar;
    std::printf("%-22s %-16s %5d %6.1f %% %6.1f %% %10.2f  %s (%s)\n", group.c_str(), variant.c_str(), count,
                least * 100, sum / count * 100, least_values * 1e-12,
                !has_bar ? "-"
                : passes ? "PASS"
                         : "FAIL",
                worst.c_str());
    return has_bar && passes;
  }

  std::vector<Line> lines_;
  std::map<std::string, double> mean_bars_;
};

}  // namespace basalt::bench
