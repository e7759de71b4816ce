#include "core/instruction_set.h"

namespace basalt {

namespace {

InstructionSet find() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("bmi2")) return InstructionSet::kBaseline;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq")) {
    return InstructionSet::kAvx512;
  }
  if (__builtin_cpu_supports("avx2")) return InstructionSet::kAvx2;
#endif
  return InstructionSet::kBaseline;
}

}  // namespace

InstructionSet instruction_set() {
  static const InstructionSet kFound = find();
  return kFound;
}

}  // namespace basalt
