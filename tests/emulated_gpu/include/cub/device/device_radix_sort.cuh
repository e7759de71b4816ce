#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <vector>

namespace cub {

struct DeviceRadixSort {
  template <typename Key, typename Value>
  static cudaError_t SortPairs(void* room, size_t& bytes, const Key* keys, Key* sorted_keys, const Value* values,
                               Value* sorted_values, int64_t count, int first_bit, int end_bit, cudaStream_t) {
    bytes = 1;
    if (room == nullptr) return cudaSuccess;
    const std::vector<int64_t> places = order(keys, count, first_bit, end_bit);
    for (int64_t i = 0; i < count; ++i) {
      sorted_keys[i] = keys[places[static_cast<size_t>(i)]];
      sorted_values[i] = values[places[static_cast<size_t>(i)]];
    }
    return cudaSuccess;
  }
  template <typename Key>
  static cudaError_t SortKeys(void* room, size_t& bytes, const Key* keys, Key* sorted, int64_t count, int first_bit,
                              int end_bit, cudaStream_t) {
    bytes = 1;
    if (room == nullptr) return cudaSuccess;
    const std::vector<int64_t> places = order(keys, count, first_bit, end_bit);
    for (int64_t i = 0; i < count; ++i) sorted[i] = keys[places[static_cast<size_t>(i)]];
    return cudaSuccess;
  }

 private:
  template <typename Key>
  static std::vector<int64_t> order(const Key* keys, int64_t count, int first_bit, int end_bit) {
    const auto bits = [&](int64_t i) {
      const Key upper = end_bit >= static_cast<int>(8 * sizeof(Key)) ? keys[i] : keys[i] & ((Key{1} << end_bit) - 1);
      return upper >> first_bit;
    };
    std::vector<int64_t> places(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) places[static_cast<size_t>(i)] = i;
    std::ranges::stable_sort(places, [&](int64_t a, int64_t b) { return bits(a) < bits(b); });
    return places;
  }
};

}  // namespace cub
