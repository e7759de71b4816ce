#include "cuda/query/joins/members.h"

#include <algorithm>

#include "cuda/query/joins/join_slots.cuh"
#include "cuda/query/row_arrays.h"
#include "cuda/runtime/each_row.cuh"

namespace basalt::cuda {

namespace {

// 32 MiB of bits: they stay in the L2 cache beside what streams by.
constexpr uint64_t kMostBits = uint64_t{1} << 28;

void set_bits(const device::JoinKeyPart& values, uint64_t rows, const Members& to, cudaStream_t stream) {
  const auto least = static_cast<uint64_t>(to.least);
  const uint64_t count = to.count;
  auto* words = to.bits.as<uint32_t>();
  auto* twice = to.twice.as<uint32_t>();
  each_row(rows, stream, [=] __device__(uint64_t row) {
    if (values.validity != nullptr && values.validity[row] == 0) return;
    const uint64_t place = device::load_join_value(values, row) - least;
    if (place >= count) return;
    const uint32_t bit = uint32_t{1} << place % 32;
    const bool is_there = (device::read_anew(words + place / 32) & bit) != 0;
    if (is_there || (atomicOr(words + place / 32, bit) & bit) != 0) *twice = 1;
  });
}

}  // namespace

device::JoinKeyPart numbers_of(const DeviceColumn& column) {
  const Physical type = physical_of(column.field.type);
  device::JoinKeyPart values{};
  values.values = column.values.data();
  values.validity = column.validity.as<uint8_t>();
  values.width = width_of(type);
  values.is_signed = is_signed(type);
  return values;
}

bool may_be_member(Physical type) {
  return is_integer(type) && type != Physical::kU64 && width_of(type) <= sizeof(int64_t);
}

std::optional<Members> members_of(const DeviceColumn& column, uint64_t rows, uint64_t most_bytes, cudaStream_t stream) {
  const Physical type = physical_of(column.field.type);
  if (!may_be_member(type) || !column.range) return std::nullopt;
  const auto count = static_cast<uint128_t>(column.range->high - column.range->low) + 1;
  if (column.range->low > column.range->high || count > std::min(kMostBits, 8 * most_bytes)) return std::nullopt;
  Members out;
  // A part of it begins with a whole word (exec::within_32_bits()).
  constexpr int128_t kWordBits = 32;
  const int128_t before = (column.range->low % kWordBits + kWordBits) % kWordBits;
  out.least = static_cast<int64_t>(column.range->low - before);
  out.count = static_cast<uint64_t>(count) + static_cast<uint64_t>(before);
  out.bits = cleared((out.count + 31) / 32 * sizeof(uint32_t), stream);
  out.twice = cleared(sizeof(uint32_t), stream);
  set_bits(numbers_of(column), rows, out, stream);
  return out;
}

}  // namespace basalt::cuda
