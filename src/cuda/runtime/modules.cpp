// Loading machine code through the runtime's library interface, so that libcuda is never linked.
#include "cuda/runtime/modules.h"

#include <chrono>
#include <future>
#include <utility>

#include "cuda/runtime/prelude.h"

namespace basalt::cuda {

Modules::Modules(int device) : device_(device) {
  check(cudaDeviceGetAttribute(&major_, cudaDevAttrComputeCapabilityMajor, device), "reading the device's generation");
  check(cudaDeviceGetAttribute(&minor_, cudaDevAttrComputeCapabilityMinor, device), "reading the device's generation");
  check(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, device),
        "counting the device's multiprocessors");
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "reading the device's properties");
  shapes_ = std::make_unique<TunedShapes>(properties.name);
  nvrtc_ = Nvrtc::find(&reason_);
}

Modules::~Modules() {
  for (const std::future<void>& one : begun_) one.wait();
  for (auto& [source, entry] : kernels_) {
    if (entry->loaded) cudaLibraryUnload(entry->kernel.library);
  }
}

std::shared_ptr<Modules::Entry> Modules::entry_of(const std::string& source) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Entry>& entry = kernels_[source];
  if (entry == nullptr) entry = std::make_shared<Entry>();
  return entry;
}

const LoadedKernel& Modules::get(const std::string& source, const char* name, bool* fresh) {
  const std::shared_ptr<Entry> entry = entry_of(source);
  const std::lock_guard lock(entry->mutex);
  if (fresh != nullptr) *fresh = !entry->loaded;
  if (!entry->loaded) {
    entry->kernel = load(source, name);
    entry->loaded = true;
  }
  return entry->kernel;
}

void Modules::prepare(const std::vector<std::string>& sources, const char* name) {
  std::vector<std::future<void>> compiled;
  for (const std::string& source : sources) {
    if (find(source) != nullptr) continue;
    compiled.push_back(std::async(std::launch::async, [&] {
      check(cudaSetDevice(device_), "choosing the device");
      get(source, name);
    }));
  }
  for (std::future<void>& one : compiled) one.get();
}

void Modules::begin(const std::vector<std::string>& sources, const char* name) {
  const auto compile = [this, name](const std::string& source) {
    try {
      check(cudaSetDevice(device_), "choosing the device");
      get(source, name);
    } catch (const Error&) {  // whoever needs it is told
    }
  };
  std::erase_if(begun_, [](const std::future<void>& one) {
    return one.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  });
  for (const std::string& source : sources) {
    if (find(source) == nullptr) begun_.push_back(std::async(std::launch::async, compile, source));
  }
}

const LoadedKernel* Modules::find(const std::string& source) {
  const std::shared_ptr<Entry> entry = entry_of(source);
  const std::unique_lock lock(entry->mutex, std::try_to_lock);
  return lock.owns_lock() && entry->loaded ? &entry->kernel : nullptr;
}

LoadedKernel Modules::load(const std::string& source, const char* name) const {
  if (nvrtc_ == nullptr) throw Error(ErrorCode::kDevice, reason_);
  const CompiledKernel compiled = nvrtc_->compile(source, kPreludeHeaders, kPreludeHeaderCount, major_, minor_, true);
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
  return loaded;
}

}  // namespace basalt::cuda
