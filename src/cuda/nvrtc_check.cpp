// Compiles what Basalt generates, for several GPU generations and without a GPU, and says how long each kernel took.
// Exit 1 if one does not compile; a `!` marks one that takes longer than it should on a current desktop core. `--print
// NAME` shows a sample's source.
#include <ctime>

#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "basalt/core/error.h"
#include "cuda/nvrtc.h"
#include "cuda/sample_pipelines.h"

namespace basalt::cuda {
namespace {

struct Source {
  std::string name;
  std::string text;
  double limit_ms = 0;  // 0: no promise
  bool once = false;    // long: one architecture must do
};

std::vector<Source> all_sources() {
  std::vector<Source> out;
  for (const samples::Sample& sample : samples::all()) {
    const double limit = sample.name == "TPC-H Q6" ? 500 : sample.name == "eight sums" ? 1500 : 0;
    const bool once = sample.name == "eight columns";
    out.push_back({sample.name, device::plan_kernel(sample.pipeline, sample.columns).source, limit, once});
  }
  const std::vector<std::pair<const char*, const char*>> arrays = {
      {"uint8_t", "Packed<uint8_t>"},
      {"uint64_t", "Plain<uint64_t>"},
      {"uint128_t", "Constant<uint128_t>"},
      {"uint32_t", "Dict<uint32_t, Packed<uint32_t>, Plain<uint32_t>>"},
      {"uint64_t", "Rle<uint64_t, Packed<uint64_t>, Packed<uint32_t>>"},
      {"uint64_t", "Delta<uint64_t, Packed<uint64_t>>"},
      {"uint16_t", "Dict<uint16_t, Rle<uint32_t, Packed<uint32_t>, Packed<uint32_t>>, Plain<uint16_t>>"},
  };
  for (const auto& [type, reader] : arrays) {
    out.push_back({std::string("decode ") + reader, device::decode_source(reader, type), 0, false});
  }
  return out;
}

double processor_ms() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

int check(const char* print) {
  const std::vector<Source> sources = all_sources();
  if (print != nullptr) {
    for (const Source& source : sources) {
      if (source.name == print) std::printf("%s", source.text.c_str());
    }
    return 0;
  }
  std::string reason;
  const std::unique_ptr<Nvrtc> nvrtc = Nvrtc::find(&reason);
  if (nvrtc == nullptr) {
    std::fprintf(stderr, "nvrtc_check: %s\n", reason.c_str());
    return 1;
  }
  std::printf("NVRTC %s\n%-80s %8s %8s %8s\n", nvrtc->version().c_str(), "kernel (ms)", "sm_80", "sm_90", "sm_100");
  int failures = 0;
  for (const Source& source : sources) {
    std::printf("%-80s", source.name.c_str());
    for (const int architecture : {80, 90, 100}) {
      if (source.once && architecture != 90) {
        std::printf(" %7s ", "-");
        continue;
      }
      try {
        // Processor time, so that a busy machine changes nothing.
        const double start = processor_ms();
        nvrtc->compile(source.text, kPreludeHeaders, kPreludeHeaderCount, architecture / 10, architecture % 10, false);
        const double spent = processor_ms() - start;
        std::printf(" %7.0f%s", spent, source.limit_ms > 0 && spent > source.limit_ms ? "!" : " ");
      } catch (const Error& error) {
        std::printf("\n%s\n", error.what());
        ++failures;
        break;
      }
      std::fflush(stdout);
    }
    std::printf("\n");
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace basalt::cuda

int main(int argc, char** argv) {
  try {
    return basalt::cuda::check(argc == 3 && std::strcmp(argv[1], "--print") == 0 ? argv[2] : nullptr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "nvrtc_check: %s\n", error.what());
    return 1;
  }
}
