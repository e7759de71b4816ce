// Choice of the checksum's compilation for this machine.
#include "file/checksum.h"

namespace basalt::format_v1 {

namespace checksum_baseline {
#include "file/checksum_table.h"
}  // namespace checksum_baseline

namespace {

const ChecksumTable& choose() {
#if defined(BASALT_CHECKSUM_AVX2)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) return checksum_avx2::kTable;
#endif
  return checksum_baseline::kTable;
}

const ChecksumTable& chosen() {
  static const ChecksumTable& table = choose();
  return table;
}

}  // namespace

uint64_t checksum(const void* data, size_t length) { return chosen().whole(data, length); }

Checksum::Checksum() { XXH3_64bits_reset(&state_); }
void Checksum::add(const void* data, size_t length) { chosen().add(state_, data, length); }
uint64_t Checksum::value() const { return chosen().value(state_); }

}  // namespace basalt::format_v1
