#include "cuda/query/joins/look_ups.h"

#include "cuda/query/joins/join_slots.cuh"
#include "cuda/runtime/each_row.cuh"

namespace basalt::cuda {

namespace {

template <typename T>
DeviceBuffer spread(const device::JoinKeyPart& keys, const Members& set, const ValuesOfRows& values,
                    cudaStream_t stream) {
  DeviceBuffer out(set.count * sizeof(T), stream);
  auto* to = out.as<T>();
  const auto* from = values.values.as<T>();
  const auto none = static_cast<T>(values.least);
  const auto least = static_cast<uint64_t>(set.least);
  const uint64_t count = set.count;
  each_row(count, stream, [=] __device__(uint64_t place) { to[place] = none; });
  each_row(values.rows, stream, [=] __device__(uint64_t row) {
    if (keys.validity != nullptr && keys.validity[row] == 0) return;
    const uint64_t place = device::load_join_value(keys, row) - least;
    if (place < count) to[place] = from[row];
  });
  return out;
}

}  // namespace

DeviceBuffer values_by_number(const DeviceColumn& keys, const Members& set, const ValuesOfRows& values,
                              cudaStream_t stream) {
  const device::JoinKeyPart part = numbers_of(keys);
  switch (values.width) {
    case 1: return spread<uint8_t>(part, set, values, stream);
    case 2: return spread<uint16_t>(part, set, values, stream);
    case 4: return spread<uint32_t>(part, set, values, stream);
    default: return spread<uint64_t>(part, set, values, stream);
  }
}

}  // namespace basalt::cuda
