#include "cuda/query/joins/places.h"

#include <thrust/iterator/counting_iterator.h>

#include <cub/device/device_select.cuh>

#include "cuda/query/row_arrays.h"
#include "cuda/runtime/each_row.cuh"

namespace basalt::cuda {

namespace {

struct IsFlagged {
  const uint8_t* flags;
  bool wanted;
  __device__ bool operator()(uint32_t row) const { return (flags[row] != 0) == wanted; }
};

// Which of the places are there.
DeviceBuffer found_flags(const uint32_t* places, uint64_t count, cudaStream_t stream) {
  DeviceBuffer out(count, stream);
  auto* flags = out.as<uint8_t>();
  each_row(count, stream, [=] __device__(uint64_t i) { flags[i] = places[i] == kMissing ? 0 : 1; });
  return out;
}

}  // namespace

DeviceBuffer flagged_places(const uint8_t* flags, uint64_t rows, bool wanted, uint64_t& count, cudaStream_t stream) {
  DeviceBuffer out(rows * sizeof(uint32_t), stream);
  const DeviceBuffer found = cleared(sizeof(uint64_t), stream);
  if (rows > 0) {
    with_temporary(stream, [&](void* room, size_t& bytes) {
      return cub::DeviceSelect::If(room, bytes, thrust::counting_iterator<uint32_t>(0), out.as<uint32_t>(),
                                   found.as<uint64_t>(), static_cast<int64_t>(rows), IsFlagged{flags, wanted}, stream);
    });
  }
  count = fetch(found.as<uint64_t>(), stream);
  return out;
}

DeviceBuffer places_of_places(const uint32_t* from, const uint32_t* of, uint64_t count, cudaStream_t stream) {
  DeviceBuffer out(count * sizeof(uint32_t), stream);
  auto* to = out.as<uint32_t>();
  each_row(count, stream, [=] __device__(uint64_t i) { to[i] = of[i] == kMissing ? kMissing : from[of[i]]; });
  return out;
}

DeviceBuffer missing_places(uint64_t count, cudaStream_t stream) {
  DeviceBuffer out(count * sizeof(uint32_t), stream);
  if (count > 0) check(cudaMemsetAsync(out.data(), 0xFF, count * sizeof(uint32_t), stream), "clearing places");
  return out;
}

DeviceBuffer joined_places(const std::vector<PlaceList>& lists, cudaStream_t stream) {
  uint64_t all = 0;
  for (const PlaceList& list : lists) {
    if (list.count == 0) continue;
    all += list.count;
    if (all == list.count && &list == &lists.back()) return list.places;  // the only one
  }
  DeviceBuffer out(all * sizeof(uint32_t), stream);
  auto* to = out.as<uint32_t>();
  for (const PlaceList& list : lists) {
    if (list.count == 0) continue;
    check(cudaMemcpyAsync(to, list.places.data(), list.count * sizeof(uint32_t), cudaMemcpyDeviceToDevice, stream),
          "putting places together");
    to += list.count;
  }
  return out;
}

void flag_places(const uint32_t* places, uint64_t count, uint8_t* flags, cudaStream_t stream) {
  each_row(count, stream, [=] __device__(uint64_t i) {
    if (places[i] != kMissing) flags[places[i]] = 1;
  });
}

bool has_double(const uint32_t* places, uint64_t count, uint64_t rows, cudaStream_t stream) {
  const DeviceBuffer taken = cleared(rows * sizeof(uint32_t), stream);
  const DeviceBuffer found = cleared(sizeof(uint32_t), stream);
  auto* of_row = taken.as<uint32_t>();
  auto* twice = found.as<uint32_t>();
  each_row(count, stream, [=] __device__(uint64_t i) {
    if (atomicExch(of_row + places[i], 1u) != 0) *twice = 1;
  });
  return fetch(twice, stream) != 0;
}

DeviceColumn column_at(const DeviceColumn& column, const uint32_t* places, uint64_t count, bool may_miss,
                       cudaStream_t stream) {
  const Physical type = physical_of(column.field.type);
  const uint32_t width = type == Physical::kBytes ? sizeof(uint32_t) : width_of(type);
  DeviceColumn out;
  out.field = column.field;
  out.texts = column.texts;
  out.listed = column.listed;
  out.range = column.range;
  // Of a table without rows, all are missing.
  const bool nowhere = may_miss && column.values.data() == nullptr;
  out.values = nowhere ? cleared(count * width, stream) : gather(column.values, width, places, count, stream);
  out.validity = may_miss && column.validity.data() == nullptr ? found_flags(places, count, stream)
                                                               : gather(column.validity, 1, places, count, stream);
  return out;
}

}  // namespace basalt::cuda
