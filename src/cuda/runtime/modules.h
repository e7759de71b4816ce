// Compiled kernels of this process by their source: compiled or fetched from the disk once, then looked up. Several
// threads may do so at once: whoever wants what another one compiles waits for that, and for nothing else.
#pragma once

#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "cuda/runtime/nvrtc.h"
#include "cuda/runtime/resources.h"
#include "cuda/runtime/tuned_shapes.h"

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
  // Thread-safe; kernels stay where they are.
  const LoadedKernel& get(const std::string& source, const char* name, bool* fresh = nullptr);
  // Compiles those of the sources that are not known yet at the same time, each on a thread of its own.
  void prepare(const std::vector<std::string>& sources, const char* name);
  // Begins to compile those that are not known yet, beside whoever calls: get() waits for what it needs of them.
  void begin(const std::vector<std::string>& sources, const char* name);
  // The kernel if it is loaded; nullptr: get() may take a second.
  const LoadedKernel* find(const std::string& source);

  // How the kernels of this GPU are launched, as far as they were tuned.
  TunedShapes& shapes() { return *shapes_; }

  // Empty: run-time compilation is not available, for the reason given.
  std::string nvrtc_version() const { return nvrtc_ == nullptr ? std::string() : nvrtc_->version(); }
  const std::string& nvrtc_reason() const { return reason_; }

 private:
  struct Entry {
    std::mutex mutex;  // held while it is compiled
    bool loaded = false;
    LoadedKernel kernel;
  };
  std::shared_ptr<Entry> entry_of(const std::string& source);
  LoadedKernel load(const std::string& source, const char* name) const;

  int device_ = 0;
  int major_ = 0;
  int minor_ = 0;
  int multiprocessors_ = 0;
  std::unique_ptr<Nvrtc> nvrtc_;
  std::string reason_;
  std::unique_ptr<TunedShapes> shapes_;
  std::mutex mutex_;  // of the map
  std::unordered_map<std::string, std::shared_ptr<Entry>> kernels_;
  std::vector<std::future<void>> begun_;  // perhaps ended
};

}  // namespace basalt::cuda
