// The device encoder of `grouped`: every number of values in a group is tried, that of the fewest different groups
// wins.
#include <bit>
#include <cstring>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>

#include "codec/grouped/choose.h"
#include "codec/grouped/layout.h"
#include "cuda/codec/encode_array.cuh"
#include "cuda/codec/value_range.h"

namespace basalt::cuda {

namespace {

template <typename T>
DeviceBuffer groups_of(const DeviceValues& values, const grouped::Parameters& parameters, cudaStream_t stream) {
  const uint64_t rows = values.count;
  const uint64_t groups = grouped::groups_of(rows, parameters.values);
  const T* from = values.data.as<T>();
  const auto reference = static_cast<T>(parameters.reference);
  const uint32_t in_group = parameters.values;
  const uint32_t bits = parameters.bits;
  DeviceBuffer out(groups * sizeof(uint64_t), stream);
  auto* to = out.as<uint64_t>();
  each_row(groups, stream, [=] __device__(uint64_t group) {
    uint64_t number = 0;
    for (uint32_t i = 0; i < in_group && group * in_group + i < rows; ++i) {
      number |= uint64_t{static_cast<T>(from[group * in_group + i] - reference)} << (i * bits);
    }
    to[group] = number;
  });
  return out;
}

uint64_t count_distinct(const DeviceBuffer& numbers, uint64_t count, cudaStream_t stream) {
  const DeviceBuffer sorted(count * sizeof(uint64_t), stream);
  const DeviceBuffer distinct(count * sizeof(uint64_t), stream);
  const DeviceBuffer found(sizeof(uint64_t), stream);
  const auto items = static_cast<int64_t>(count);
  with_temporary(stream, [&](void* temporary, size_t& bytes) {
    return cub::DeviceRadixSort::SortKeys(temporary, bytes, numbers.as<uint64_t>(), sorted.as<uint64_t>(), items, 0, 64,
                                          stream);
  });
  with_temporary(stream, [&](void* temporary, size_t& bytes) {
    return cub::DeviceSelect::Unique(temporary, bytes, sorted.as<uint64_t>(), distinct.as<uint64_t>(),
                                     found.as<uint64_t>(), items, stream);
  });
  return fetch(found.as<uint64_t>(), stream);
}

}  // namespace

Node encode_grouped(const DeviceValues& values, const Tree& tree, Aims aims, cudaStream_t stream) {
  Node node = make_node(values, tree, 0);
  const ValueRange range = values.count == 0 ? ValueRange{} : range_of(values, stream);
  grouped::Parameters best{range.reference, grouped::kFewestValues, grouped::bits_of(range.span)};
  if (!grouped::fits(best)) throw Error(ErrorCode::kUnsupported, grouped::kTooWide);
  const auto make = [&](const grouped::Parameters& parameters) {
    return dispatch_width(width_of(values.type), [&](auto tag) {
      using T = decltype(tag);
      if constexpr (sizeof(T) <= 8) return groups_of<T>(values, parameters, stream);
      return DeviceBuffer();
    });
  };
  DeviceBuffer numbers;
  double fewest = 0;
  for (grouped::Parameters tried = best; grouped::fits(tried); tried.values *= 2) {
    DeviceBuffer groups = make(tried);
    const uint64_t count = grouped::groups_of(values.count, tried.values);
    const double bits = grouped::bits_in_all(count, count == 0 ? 0 : count_distinct(groups, count, stream));
    if (tried.values != grouped::kFewestValues && bits >= fewest) continue;
    best = tried;
    fewest = bits;
    numbers = std::move(groups);
  }
  node.params.resize(sizeof(best));
  std::memcpy(node.params.data(), &best, sizeof(best));
  DeviceValues groups;
  groups.type = Physical::kU64;
  groups.count = grouped::groups_of(values.count, best.values);
  groups.data = std::move(numbers);
  node.children.push_back(encode_node(groups, tree.children[grouped::kGroups], aims, stream));
  return node;
}

}  // namespace basalt::cuda
