// The device encoder of `dict`. Fixed-width values are found here: sort, keep what differs, look the codes up. Strings
// have a file of their own.
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>

#include "codec/dict/layout.h"
#include "codec/entry_limit.h"
#include "cuda/codec/encode_texts.cuh"

namespace basalt::cuda {

namespace {

// Order-preserving unsigned image of a value's bits, and the way back: floats by their sign-adjusted bits.
template <typename T>
__host__ __device__ T to_key(T bits, bool is_real, bool has_sign) {
  constexpr T kTop = static_cast<T>(T{1} << (sizeof(T) * 8 - 1));
  if (is_real) return static_cast<T>((bits & kTop) != 0 ? ~bits : bits | kTop);
  return static_cast<T>(has_sign ? bits ^ kTop : bits);
}
template <typename T>
__host__ __device__ T from_key(T key, bool is_real, bool has_sign) {
  constexpr T kTop = static_cast<T>(T{1} << (sizeof(T) * 8 - 1));
  if (is_real) return static_cast<T>((key & kTop) != 0 ? key ^ kTop : ~key);
  return static_cast<T>(has_sign ? key ^ kTop : key);
}

template <typename T>
void find_distinct(const DeviceValues& values, DeviceValues& codes, DeviceValues& entries, cudaStream_t stream) {
  const bool is_real = is_float(values.type);
  const bool has_sign = is_signed(values.type);
  const T* from = values.data.as<T>();
  const auto rows = static_cast<int64_t>(values.count);
  DeviceBuffer keys(values.count * sizeof(T), stream);
  DeviceBuffer sorted(values.count * sizeof(T), stream);
  T* unsorted_keys = keys.as<T>();
  each_row(values.count, stream, [=] __device__(uint64_t i) { unsorted_keys[i] = to_key(from[i], is_real, has_sign); });
  with_temporary(stream, [&](void* temporary, size_t& bytes) {
    return cub::DeviceRadixSort::SortKeys(temporary, bytes, keys.as<T>(), sorted.as<T>(), rows, 0,
                                          static_cast<int>(sizeof(T) * 8), stream);
  });
  DeviceBuffer unique(values.count * sizeof(T), stream);
  DeviceBuffer found(sizeof(uint64_t), stream);
  with_temporary(stream, [&](void* temporary, size_t& bytes) {
    return cub::DeviceSelect::Unique(temporary, bytes, sorted.as<T>(), unique.as<T>(), found.as<uint64_t>(), rows,
                                     stream);
  });
  const uint64_t distinct = fetch(found.as<uint64_t>(), stream);
  T* unique_keys = unique.as<T>();
  auto* code = codes.data.as<uint32_t>();
  each_row(values.count, stream, [=] __device__(uint64_t i) {
    uint64_t low = 0;
    uint64_t high = distinct - 1;
    while (low < high) {
      const uint64_t middle = (low + high) / 2;
      if (unique_keys[middle] < unsorted_keys[i]) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    code[i] = static_cast<uint32_t>(low);
  });
  each_row(distinct, stream,
           [=] __device__(uint64_t i) { unique_keys[i] = from_key(unique_keys[i], is_real, has_sign); });
  entries.count = distinct;
  entries.data = std::move(unique);
}

}  // namespace

Node encode_dict(DeviceValues& values, const Tree& tree, Aims aims, cudaStream_t stream) {
  if (values.count > UINT32_MAX) throw Error(ErrorCode::kUnsupported, "dict: the array is too large");
  Node node = make_node(values, tree, 0);
  DeviceValues codes;
  codes.type = Physical::kU32;
  codes.count = values.count;
  codes.data = DeviceBuffer(values.count * sizeof(uint32_t), stream);
  DeviceValues entries;
  entries.type = values.type;
  if (values.type == Physical::kBytes) {
    find_distinct_strings(texts_of(values, stream), values.count, codes.data.as<uint32_t>(), entries, stream);
  } else if (values.count > 0) {
    dispatch_width(width_of(values.type),
                   [&](auto tag) { find_distinct<decltype(tag)>(values, codes, entries, stream); });
  }
  node.children.push_back(encode_node(codes, tree.children[dict::kCodes], aims, stream));
  const auto plain_bytes = static_cast<uint64_t>(entries.end_byte - entries.first_byte);
  Node encoded = encode_node(entries, tree.children[dict::kEntries], aims, stream);
  if (values.type == Physical::kBytes && exceeds_entry_limit(plain_bytes, encoded)) {
    // Encoders may have used up their values.
    const DeviceBuffer same_codes(values.count * sizeof(uint32_t), stream);
    DeviceValues again;
    again.type = values.type;
    find_distinct_strings(texts_of(values, stream), values.count, same_codes.as<uint32_t>(), again, stream);
    encoded = encode_node(again, readable_entries(), aims, stream);
  }
  node.children.push_back(std::move(encoded));
  return node;
}

}  // namespace basalt::cuda
