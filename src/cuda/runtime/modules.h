// Compiled kernels of this process by their source: compiled or fetched from the disk once, then looked up.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "cuda/runtime/nvrtc.h"
#include "cuda/runtime/resources.h"

namespace basalt::cuda {

struct LoadedKernel {
  cudaLibrary_t library = nullptr;
  cudaKernel_t kernel = nullptr;
  int threads = 0;        // per block
  int blocks = 0;         // that fill the device
  double compile_ms = 0;  // of the first load; 0 = it came from the disk

  const void* function() const { return reinterpret_cast<const void*>(kernel); }
};

class Modules {
 public:
  explicit Modules(int device);
  ~Modules();
  Modules(const Modules&) = delete;
  Modules& operator=(const Modules&) = delete;

  // Throws Error(kDevice) if NVRTC is missing or the source does not compile. `fresh` says whether this call loaded it.
  const LoadedKernel& get(const std::string& source, const char* name, bool* fresh = nullptr);
  // Compiles those of the sources that are not known yet at the same time, each on a thread of its own.
  void prepare(const std::vector<std::string>& sources, const char* name);

  // Empty: run-time compilation is not available, for the reason given.
  std::string nvrtc_version() const { return nvrtc_ == nullptr ? std::string() : nvrtc_->version(); }
  const std::string& nvrtc_reason() const { return reason_; }

 private:
  CompiledKernel compile(const std::string& source) const;
  const LoadedKernel& add(const std::string& source, const char* name, const CompiledKernel& compiled);

  int device_ = 0;
  int major_ = 0;
  int minor_ = 0;
  int multiprocessors_ = 0;
  std::unique_ptr<Nvrtc> nvrtc_;
  std::string reason_;
  std::unordered_map<std::string, LoadedKernel> kernels_;
};

}  // namespace basalt::cuda
