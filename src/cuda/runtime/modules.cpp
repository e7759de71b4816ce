// Loading machine code through the runtime's library interface, so that libcuda is never linked.
#include "cuda/runtime/modules.h"

#include <future>
#include <utility>

#include "cuda/runtime/prelude.h"

namespace basalt::cuda {

Modules::Modules(int device) : device_(device) {
  check(cudaDeviceGetAttribute(&major_, cudaDevAttrComputeCapabilityMajor, device), "reading the device's generation");
  check(cudaDeviceGetAttribute(&minor_, cudaDevAttrComputeCapabilityMinor, device), "reading the device's generation");
  check(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, device),
        "counting the device's multiprocessors");
  nvrtc_ = Nvrtc::find(&reason_);
}

Modules::~Modules() {
  for (auto& [source, kernel] : kernels_) cudaLibraryUnload(kernel.library);
}

const LoadedKernel& Modules::get(const std::string& source, const char* name, bool* fresh) {
  if (fresh != nullptr) *fresh = false;
  const auto found = kernels_.find(source);
  if (found != kernels_.end()) return found->second;
  if (nvrtc_ == nullptr) throw Error(ErrorCode::kDevice, reason_);

  if (fresh != nullptr) *fresh = true;
  return add(source, name, compile(source));
}

void Modules::prepare(const std::vector<std::string>& sources, const char* name) {
  if (nvrtc_ == nullptr) return;  // get() says so
  std::vector<std::pair<std::string, std::future<CompiledKernel>>> missing;
  for (const std::string& source : sources) {
    if (kernels_.contains(source)) continue;
    missing.emplace_back(source, std::async(std::launch::async, [&] { return compile(source); }));
  }
  for (auto& [source, compiled] : missing) add(source, name, compiled.get());
}

CompiledKernel Modules::compile(const std::string& source) const {
  return nvrtc_->compile(source, kPreludeHeaders, kPreludeHeaderCount, major_, minor_, true);
}

const LoadedKernel& Modules::add(const std::string& source, const char* name, const CompiledKernel& compiled) {
  LoadedKernel loaded;
  loaded.compile_ms = compiled.compile_ms;
  check(cudaLibraryLoadData(&loaded.library, compiled.cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
        "loading a compiled kernel");
  try {
    check(cudaLibraryGetKernel(&loaded.kernel, loaded.library, name), "finding a compiled kernel");
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, loaded.function()), "reading a kernel's attributes");
    // The source's launch bounds are as many warps as its scratch memory allows.
    loaded.threads = attributes.maxThreadsPerBlock / 32 * 32;
    if (loaded.threads > 256) loaded.threads = 256;
    int per_multiprocessor = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, loaded.function(), loaded.threads, 0),
          "reading a kernel's occupancy");
    loaded.blocks = multiprocessors_ * (per_multiprocessor > 0 ? per_multiprocessor : 1);
  } catch (...) {
    cudaLibraryUnload(loaded.library);
    throw;
  }
  return kernels_.emplace(source, loaded).first->second;
}

}  // namespace basalt::cuda
