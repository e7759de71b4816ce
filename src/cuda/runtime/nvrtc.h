// Run-time compilation: finds NVRTC on the user's machine, compiles generated sources against the embedded prelude and
// keeps the machine code on disk, so that a second process compiles nothing. Needs no CUDA header and no GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cuda/runtime/prelude.h"

namespace basalt::cuda {

struct CompiledKernel {
  std::vector<char> cubin;
  double compile_ms = 0;  // 0: it came from the disk cache
  bool from_cache = false;
};

class Nvrtc {
 public:
  // Looks for the library (BASALT_NVRTC names one; then the search path, the folder of this library, .deps/nvrtc of a
  // build tree, the CUDA toolkit, pip's packages). Returns nullptr and says in `reason` what was tried.
  static std::unique_ptr<Nvrtc> find(std::string* reason);
  ~Nvrtc();
  Nvrtc(const Nvrtc&) = delete;
  Nvrtc& operator=(const Nvrtc&) = delete;

  const std::string& version() const { return version_; }
  const std::string& path() const { return path_; }

  // Compiles for compute capability major.minor. Throws Error(kDevice) with the compiler's log.
  CompiledKernel compile(const std::string& source, const PreludeHeader* headers, size_t header_count, int major,
                         int minor, bool use_disk_cache) const;

 private:
  struct Functions;
  Nvrtc() = default;

  std::unique_ptr<Functions> functions_;
  void* library_ = nullptr;
  std::string version_;
  std::string path_;
};

}  // namespace basalt::cuda
