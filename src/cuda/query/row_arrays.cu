#include "cuda/query/row_arrays.h"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include "basalt/core/error.h"
#include "cuda/runtime/each_row.cuh"
#include "exec/device/work.h"

namespace basalt::cuda {

namespace {

struct Wide {
  uint64_t low;
  uint64_t high;
};

// Sorts keys of 64 bits by bits [0, bits), and places with them.
void sort_pairs(DeviceBuffer& keys, DeviceBuffer& places, uint64_t count, uint32_t bits, cudaStream_t stream) {
  DeviceBuffer sorted_keys(count * sizeof(uint64_t), stream);
  DeviceBuffer sorted_places(count * sizeof(uint32_t), stream);
  with_temporary(stream, [&](void* room, size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(room, bytes, keys.as<uint64_t>(), sorted_keys.as<uint64_t>(),
                                           places.as<uint32_t>(), sorted_places.as<uint32_t>(),
                                           static_cast<int64_t>(count), 0, static_cast<int>(bits), stream);
  });
  keys = std::move(sorted_keys);
  places = std::move(sorted_places);
}

void require_few(uint64_t rows) {
  if (rows > UINT32_MAX) throw Error(ErrorCode::kUnsupported, "more than 2^32 rows to put in order");
}

template <typename T>
void gather_typed(const void* from, const uint32_t* places, uint64_t count, void* to, cudaStream_t stream) {
  const auto* values = static_cast<const T*>(from);
  auto* out = static_cast<T*>(to);
  each_row(count, stream, [=] __device__(uint64_t i) { out[i] = places[i] == kMissing ? T{} : values[places[i]]; });
}

void copy(const DeviceBuffer& from, size_t bytes, void* to, cudaStream_t stream) {
  if (bytes == 0 || from.data() == nullptr) return;
  check(cudaMemcpyAsync(to, from.data(), bytes, cudaMemcpyDeviceToDevice, stream), "putting rows together");
}

// The arrays that `get` finds in each part, one after the other.
template <typename Get>
DeviceBuffer joined(std::vector<RowArrays>& parts, uint64_t rows, uint32_t width, const Get& get, cudaStream_t stream) {
  DeviceBuffer out(rows * width, stream);
  auto* to = out.as<std::byte>();
  for (RowArrays& part : parts) {
    DeviceBuffer& from = get(part);
    if (from.data() == nullptr && part.rows > 0) return {};
    copy(from, part.rows * width, to, stream);
    to += part.rows * width;
    from = DeviceBuffer();  // freed behind the copy
  }
  return out;
}

}  // namespace

void count_tile_rows(const uint32_t* work, uint32_t count, const uint64_t* slots, uint32_t slot_words, uint32_t* rows,
                     cudaStream_t stream) {
  each_row(count, stream, [=] __device__(uint64_t i) {
    const uint64_t in_chunk = slots[uint64_t{device::work_slot(work[i])} * slot_words];
    const uint64_t left = in_chunk - uint64_t{device::work_tile(work[i])} * kTileRows;
    rows[i] = static_cast<uint32_t>(left < kTileRows ? left : kTileRows);
  });
}

DeviceBuffer rows_before(const uint32_t* counts, uint32_t count, uint64_t& total, cudaStream_t stream) {
  DeviceBuffer starts((uint64_t{count} + 1) * sizeof(uint64_t), stream);
  auto* start = starts.as<uint64_t>();
  check(cudaMemsetAsync(start, 0, sizeof(uint64_t), stream), "clearing a count");
  DeviceBuffer wide(uint64_t{count} * sizeof(uint64_t), stream);
  auto* rows = wide.as<uint64_t>();
  each_row(count, stream, [=] __device__(uint64_t i) { rows[i] = counts[i]; });
  if (count > 0) {
    with_temporary(stream, [&](void* room, size_t& bytes) {
      return cub::DeviceScan::InclusiveSum(room, bytes, rows, start + 1, static_cast<int64_t>(count), stream);
    });
  }
  total = fetch(start + count, stream);
  return starts;
}

DeviceBuffer sample_work(const uint32_t* work, uint32_t count, uint32_t stride, cudaStream_t stream) {
  const uint32_t items = (count + stride - 1) / stride;
  DeviceBuffer out(uint64_t{items} * sizeof(uint32_t), stream);
  auto* to = out.as<uint32_t>();
  each_row(items, stream, [=] __device__(uint64_t i) { to[i] = work[i * stride]; });
  return out;
}

uint64_t nth_smallest(const uint64_t* words, uint64_t count, uint64_t n, cudaStream_t stream) {
  DeviceBuffer sorted(count * sizeof(uint64_t), stream);
  with_temporary(stream, [&](void* room, size_t& bytes) {
    return cub::DeviceRadixSort::SortKeys(room, bytes, words, sorted.as<uint64_t>(), static_cast<int64_t>(count), 0, 64,
                                          stream);
  });
  return fetch(sorted.as<uint64_t>() + n - 1, stream);
}

DeviceBuffer counting(uint64_t count, cudaStream_t stream) {
  require_few(count);
  DeviceBuffer out(count * sizeof(uint32_t), stream);
  auto* to = out.as<uint32_t>();
  each_row(count, stream, [=] __device__(uint64_t i) { to[i] = static_cast<uint32_t>(i); });
  return out;
}

DeviceBuffer places_in_order(const std::vector<DeviceBuffer>& words, const std::vector<uint32_t>& bits, uint64_t count,
                             cudaStream_t stream) {
  DeviceBuffer places = counting(count, stream);
  if (count == 0) return places;
  for (size_t word = words.size(); word-- > 0;) {  // the least significant one first: sorting keeps what is equal
    DeviceBuffer keys = gather(words[word], sizeof(uint64_t), places.as<uint32_t>(), count, stream);
    sort_pairs(keys, places, count, bits[word], stream);
  }
  return places;
}

DeviceBuffer gather(const DeviceBuffer& from, uint32_t width, const uint32_t* places, uint64_t count,
                    cudaStream_t stream) {
  if (from.data() == nullptr) return {};
  DeviceBuffer out(count * width, stream);
  switch (width) {
    case 1: gather_typed<uint8_t>(from.data(), places, count, out.data(), stream); break;
    case 2: gather_typed<uint16_t>(from.data(), places, count, out.data(), stream); break;
    case 4: gather_typed<uint32_t>(from.data(), places, count, out.data(), stream); break;
    case 8: gather_typed<uint64_t>(from.data(), places, count, out.data(), stream); break;
    default: gather_typed<Wide>(from.data(), places, count, out.data(), stream); break;
  }
  return out;
}

RowArrays gather_rows(const RowArrays& from, const uint32_t* places, uint64_t count, cudaStream_t stream) {
  RowArrays out;
  out.rows = count;
  out.numbers = gather(from.numbers, sizeof(uint64_t), places, count, stream);
  for (const DeviceBuffer& word : from.words) {
    out.words.push_back(gather(word, sizeof(uint64_t), places, count, stream));
  }
  for (const RowArray& column : from.columns) {
    out.columns.push_back({gather(column.values, column.width, places, count, stream),
                           gather(column.validity, 1, places, count, stream), column.width});
  }
  return out;
}

void copy_rows(const RowArrays& from, uint64_t rows, RowArrays& to, cudaStream_t stream) {
  copy(from.numbers, rows * sizeof(uint64_t), to.numbers.data(), stream);
  for (size_t i = 0; i < from.words.size(); ++i) {
    copy(from.words[i], rows * sizeof(uint64_t), to.words[i].data(), stream);
  }
  for (size_t i = 0; i < from.columns.size(); ++i) {
    copy(from.columns[i].values, rows * from.columns[i].width, to.columns[i].values.data(), stream);
    copy(from.columns[i].validity, rows, to.columns[i].validity.data(), stream);
  }
}

RowArrays concatenate(std::vector<RowArrays> parts, cudaStream_t stream) {
  if (parts.size() == 1) return std::move(parts.front());
  RowArrays out;
  if (parts.empty()) return out;
  for (const RowArrays& part : parts) out.rows += part.rows;
  const auto join = [&](uint32_t width, const auto& get) { return joined(parts, out.rows, width, get, stream); };
  out.numbers = join(sizeof(uint64_t), [](RowArrays& part) -> DeviceBuffer& { return part.numbers; });
  for (size_t i = 0; i < parts.front().words.size(); ++i) {
    out.words.push_back(join(sizeof(uint64_t), [i](RowArrays& part) -> DeviceBuffer& { return part.words[i]; }));
  }
  for (size_t i = 0; i < parts.front().columns.size(); ++i) {
    const uint32_t width = parts.front().columns[i].width;
    out.columns.push_back({join(width, [i](RowArrays& part) -> DeviceBuffer& { return part.columns[i].values; }),
                           join(1, [i](RowArrays& part) -> DeviceBuffer& { return part.columns[i].validity; }), width});
  }
  return out;
}

DeviceBuffer ranks_of(const uint64_t* numbers, uint64_t count, DeviceBuffer& sorted, cudaStream_t stream) {
  DeviceBuffer places = counting(count, stream);
  sorted = DeviceBuffer(count * sizeof(uint64_t), stream);
  DeviceBuffer ranks(count * sizeof(uint32_t), stream);
  if (count == 0) return ranks;
  check(cudaMemcpyAsync(sorted.data(), numbers, count * sizeof(uint64_t), cudaMemcpyDeviceToDevice, stream),
        "copying row numbers");
  sort_pairs(sorted, places, count, 64, stream);
  const auto* place = places.as<uint32_t>();
  auto* rank = ranks.as<uint32_t>();
  each_row(count, stream, [=] __device__(uint64_t i) { rank[place[i]] = static_cast<uint32_t>(i); });
  return ranks;
}

std::vector<uint64_t> count_below(const uint64_t* sorted, uint64_t count, const std::vector<uint64_t>& bounds,
                                  cudaStream_t stream) {
  const DeviceBuffer limits = upload(bounds.data(), bounds.size() * sizeof(uint64_t), stream);
  const DeviceBuffer counts(bounds.size() * sizeof(uint64_t), stream);
  const auto* limit = limits.as<uint64_t>();
  auto* below = counts.as<uint64_t>();
  each_row(bounds.size(), stream, [=] __device__(uint64_t i) {
    uint64_t low = 0;
    uint64_t high = count;
    while (low < high) {
      const uint64_t middle = (low + high) / 2;
      if (sorted[middle] < limit[i]) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    below[i] = low;
  });
  const Buffer found = download(counts, bounds.size() * sizeof(uint64_t), stream);
  return {found.as<uint64_t>(), found.as<uint64_t>() + bounds.size()};
}

DeviceBuffer pack_validity(const uint8_t* bytes, uint64_t count, uint64_t& zeros, cudaStream_t stream) {
  DeviceBuffer out((count + 7) / 8, stream);
  const DeviceBuffer nulls = cleared(sizeof(uint64_t), stream);
  auto* bits = out.as<uint8_t>();
  auto* found = nulls.as<unsigned long long>();
  each_row((count + 7) / 8, stream, [=] __device__(uint64_t i) {
    uint32_t byte = 0;
    uint32_t rows = 0;
    for (uint32_t j = 0; j < 8 && i * 8 + j < count; ++j, ++rows) byte |= (bytes[i * 8 + j] != 0 ? 1u : 0u) << j;
    bits[i] = static_cast<uint8_t>(byte);
    const uint32_t missing = rows - static_cast<uint32_t>(__popc(byte));
    if (missing != 0) atomicAdd(found, static_cast<unsigned long long>(missing));
  });
  zeros = fetch(nulls.as<uint64_t>(), stream);
  return out;
}

}  // namespace basalt::cuda
