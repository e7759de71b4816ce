// Whether this build is instrumented: then everything takes several times as long, and more memory.
#pragma once

namespace basalt::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

}  // namespace basalt::test
