// `basalt devices`: what this machine offers, measured.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>

#include "basalt/core/buffer.h"
#include "basalt/core/threads.h"
#include "basalt/cuda/backend.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "core/packing.h"
#include "cuda/runtime/kernel_cache.h"

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace basalt::cli {
namespace {

constexpr size_t kCopyBytes = 256 << 20;
constexpr int kCopyRounds = 3;

std::string first_value(const char* path, std::initializer_list<std::string_view> keys) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    for (const std::string_view key : keys)
      if (line.starts_with(key))
        if (const size_t colon = line.find(':'); colon != std::string::npos)
          if (const size_t text = line.find_first_not_of(" \t", colon + 1); text != std::string::npos)
            return line.substr(text);
  return {};
}

std::string cpu_model() {
  const std::string name = first_value("/proc/cpuinfo", {"model name", "Model"});
  if (!name.empty()) return name;
#if defined(__aarch64__)
  const std::string implementer = first_value("/proc/cpuinfo", {"CPU implementer"});
  const std::string part = first_value("/proc/cpuinfo", {"CPU part"});
  static const std::map<std::string, std::string> arm_parts = {
      {"0xd03", "Cortex-A53"},  {"0xd08", "Cortex-A72"},  {"0xd0c", "Neoverse N1"}, {"0xd40", "Neoverse V1"},
      {"0xd49", "Neoverse N2"}, {"0xd4f", "Neoverse V2"}, {"0xd83", "Neoverse V3"}, {"0xd84", "Neoverse V3"}};
  if (const auto known = arm_parts.find(part); implementer == "0x41" && known != arm_parts.end())
    return "Arm " + known->second;
  if (!part.empty()) return fmt::format("Arm, implementer {}, part {}", implementer, part);
#endif
  return "unknown";
}

// Everything the processor offers; what the decoders use is simd_level().
std::string cpu_features() {
  std::string out;
  const auto add = [&](bool present, const char* name) {
    if (present) out += (out.empty() ? "" : ", ") + std::string(name);
  };
#if defined(__aarch64__)
  const unsigned long features = ::getauxval(AT_HWCAP);
  const unsigned long more = ::getauxval(AT_HWCAP2);
  add(features & HWCAP_ASIMD, "NEON");
  add(features & HWCAP_SVE, "SVE");
  add(more & HWCAP2_SVE2, "SVE2");
#elif defined(__x86_64__)
  add(__builtin_cpu_supports("sse4.2"), "SSE4.2");
  add(__builtin_cpu_supports("avx2"), "AVX2");
  add(__builtin_cpu_supports("avx512f"), "AVX-512F");
  add(__builtin_cpu_supports("avx512vbmi"), "AVX-512VBMI");
#endif
  return out.empty() ? "none known" : out;
}

// Read and written bytes per second, best of a few rounds.
double copy_bandwidth(uint32_t threads) {
  Buffer from(kCopyBytes), to(kCopyBytes);
  std::memset(from.data(), 1, kCopyBytes);
  std::memset(to.data(), 2, kCopyBytes);
  ThreadPool pool(threads);
  const size_t part = kCopyBytes / threads;
  double best = 0;
  for (int round = 0; round < kCopyRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    if (threads == 1)
      std::memcpy(to.data(), from.data(), part);
    else
      pool.parallel_for(threads, [&](uint64_t i) { std::memcpy(to.data() + i * part, from.data() + i * part, part); });
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, 2.0 * static_cast<double>(part * threads) / seconds);
  }
  return best / 1e9;
}

std::string cpu_text() {
  const uint32_t cores = hardware_threads();
  const auto memory =
      static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGE_SIZE));
  std::string text = bold("CPU", STDOUT_FILENO) + "  " + cpu_model() + "\n";
  text += fmt::format("     cores            {}\n", cores);
  text += fmt::format("     SIMD             {} (decoders use {})\n", cpu_features(), simd_level());
  text += fmt::format("     memory           {}\n", human_bytes(memory));
  text += fmt::format("     copy, 1 thread   {:.1f} GB/s read + written\n", copy_bandwidth(1));
  if (cores > 1) text += fmt::format("     copy, all cores  {:.1f} GB/s read + written\n", copy_bandwidth(cores));
  return text;
}

std::string gpu_text() {
  const GpuAvailability& found = gpu();
  if (found.backend == nullptr) return bold("CUDA", STDOUT_FILENO) + " not available: " + found.reason + "\n";
  std::string text;
  for (const GpuInfo& device : found.backend->devices()) {
    text += fmt::format("{}  {} (device {})\n", bold("GPU", STDOUT_FILENO), device.name, device.ordinal);
    text += fmt::format("     compute          {}.{}, {} multiprocessors\n", device.major, device.minor,
                        device.multiprocessors);
    const std::string peak = device.memory_gbs > 0 ? fmt::format(", {:.0f} GB/s at its clock", device.memory_gbs) : "";
    text += fmt::format("     memory           {}, {} free{}; L2 {}\n", human_bytes(device.memory_total),
                        human_bytes(device.memory_free), peak, human_bytes(device.l2_bytes));
    text +=
        fmt::format("     driver           {}, runtime {}, NVRTC {}\n", device.driver_version, device.runtime_version,
                    device.nvrtc_version.empty() ? "not found: queries cannot be compiled" : device.nvrtc_version);
  }
  const std::string unused = cuda::why_not_cache_kernels();
  text += fmt::format("     kernel cache     {}\n",
                      printable(unused.empty() ? cuda::kernel_cache_folder() : "not used: " + unused));
  const GpuBandwidth speed = found.backend->measure_bandwidth();
  text += fmt::format("     device copy      {:.0f} GB/s read + written\n", speed.copy_gbs);
  text += fmt::format("     device read      {:.0f} GB/s\n", speed.read_gbs);
  text += fmt::format("     host to device   {:.1f} GB/s pinned, {:.1f} GB/s pageable\n", speed.host_to_device_gbs,
                      speed.host_to_device_pageable_gbs);
  return text;
}

}  // namespace

void add_devices(Program& program) {
  CLI::App* command = add_command(program, "devices", "Show CPU, SIMD level and GPUs, with measured bandwidths",
                                  "  basalt devices\n"
                                  "  BASALT_DISABLE_CUDA=1 basalt devices");
  command->callback([&program] {
    program.run = [] {
      print(cpu_text());
      print(gpu_text());
      return kSuccess;
    };
  });
}

}  // namespace basalt::cli
