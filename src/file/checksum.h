// XXH3-64 of a file's bytes, with AVX2 where the processor has it: with SSE2 alone, summing blocks takes half as
// long as copying them out of the page cache.
#pragma once

#include <xxhash.h>

#include <cstddef>
#include <cstdint>

namespace basalt::format_v1 {

uint64_t checksum(const void* data, size_t length);

// The same of bytes that come in pieces.
class Checksum {
 public:
  Checksum();
  void add(const void* data, size_t length);
  uint64_t value() const;

 private:
  XXH3_state_t state_;
};

// One compilation of the library; all of them give the same sums and share a state.
struct ChecksumTable {
  uint64_t (*whole)(const void* data, size_t length);
  void (*add)(XXH3_state_t& state, const void* data, size_t length);
  uint64_t (*value)(const XXH3_state_t& state);
};
// Clang does not heed the pragma by which GCC compiles a part of a program for AVX2.
#if defined(__x86_64__) && !defined(__clang__)
#define BASALT_CHECKSUM_AVX2
namespace checksum_avx2 {
extern const ChecksumTable kTable;
}
#endif

}  // namespace basalt::format_v1
