// nvCOMP, to be measured beside our codecs: its C library is opened at run time where there is one, and what is called
// is declared here. Version 6, whose codecs share one form: options of 64 bytes, chunks in arrays of pointers.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace basalt::cuda {

struct NvcompOptions {
  uint64_t words[8] = {};
};
static_assert(sizeof(NvcompOptions) == 64);

// The functions of one codec. All give 0 for success.
struct NvcompCodec {
  const char* name = nullptr;  // "ANS", as functions spell it
  NvcompOptions compress_options;
  NvcompOptions decompress_options;
  int (*compress_temp_size)(size_t chunks, size_t most_bytes, NvcompOptions options, size_t* temp_bytes,
                            size_t total_bytes, cudaStream_t stream) = nullptr;
  int (*most_output)(size_t most_bytes, NvcompOptions options, size_t* most_compressed) = nullptr;
  int (*compress)(const void* const* from, const size_t* from_bytes, size_t most_bytes, size_t chunks, void* temp,
                  size_t temp_bytes, void* const* to, size_t* to_bytes, NvcompOptions options, int* statuses,
                  cudaStream_t stream) = nullptr;
  int (*decompress_temp_size)(size_t chunks, size_t most_bytes, NvcompOptions options, size_t* temp_bytes,
                              size_t total_bytes, cudaStream_t stream) = nullptr;
  int (*decompress)(const void* const* from, const size_t* from_bytes, const size_t* room_bytes, size_t* to_bytes,
                    size_t chunks, void* temp, size_t temp_bytes, void* const* to, NvcompOptions options, int* statuses,
                    cudaStream_t stream) = nullptr;
};

class Nvcomp {
 public:
  // BASALT_NVCOMP names the library; else libnvcomp.so.6 of the search path. nullptr, with the reason, where there is
  // none, or another version.
  static std::unique_ptr<Nvcomp> find(std::string* reason);
  ~Nvcomp();
  Nvcomp(const Nvcomp&) = delete;
  Nvcomp& operator=(const Nvcomp&) = delete;

  // For numbers of one byte ANS, for those of eight bytes cascaded and bitcomp.
  std::vector<NvcompCodec> codecs_for(uint32_t width) const;

 private:
  explicit Nvcomp(void* library) : library_(library) {}
  NvcompCodec codec(const char* name) const;

  void* library_;
};

}  // namespace basalt::cuda
