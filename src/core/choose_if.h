// A choice between two values, on x86_64 without a branch whatever a compiler thinks of how often each is taken: where
// nobody can foresee it, a branch costs more than all the rest of a step. Compilers for aarch64 make none of it.
#pragma once

#include <cstdint>

namespace basalt {

template <typename T>
T choose_if_equal(uint64_t a, uint64_t b, T then, T otherwise) {
  static_assert(sizeof(T) == sizeof(uint64_t));
#if defined(__x86_64__)
  asm("cmpq %[b], %[a]\n\tcmoveq %[then], %[out]"
      : [out] "+r"(otherwise)
      : [a] "r"(a), [b] "rm"(b), [then] "rm"(then)
      : "cc");
  return otherwise;
#else
  return a == b ? then : otherwise;
#endif
}

}  // namespace basalt
