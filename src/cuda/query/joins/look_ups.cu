#include "cuda/query/joins/look_ups.h"

#include "cuda/query/joins/join_slots.cuh"
#include "cuda/runtime/each_row.cuh"

namespace basalt::cuda {

namespace {

template <typename T>
void spread(const device::JoinKeyPart& keys, const Members& set, const T* values, uint64_t rows, T* to,
            cudaStream_t stream) {
  const auto least = static_cast<uint64_t>(set.least);
  const uint64_t count = set.count;
  each_row(rows, stream, [=] __device__(uint64_t row) {
    if (keys.validity != nullptr && keys.validity[row] == 0) return;
    const uint64_t place = device::load_join_value(keys, row) - least;
    if (place < count) to[place] = values[row];
  });
}

}  // namespace

DeviceBuffer values_by_number(const DeviceColumn& keys, const Members& set, const DeviceBuffer& values, uint32_t width,
                              uint64_t rows, cudaStream_t stream) {
  DeviceBuffer out = cleared(set.count * width, stream);
  const device::JoinKeyPart part = numbers_of(keys);
  switch (width) {
    case 1: spread(part, set, values.as<uint8_t>(), rows, out.as<uint8_t>(), stream); break;
    case 2: spread(part, set, values.as<uint16_t>(), rows, out.as<uint16_t>(), stream); break;
    case 4: spread(part, set, values.as<uint32_t>(), rows, out.as<uint32_t>(), stream); break;
    default: spread(part, set, values.as<uint64_t>(), rows, out.as<uint64_t>(), stream); break;
  }
  return out;
}

}  // namespace basalt::cuda
