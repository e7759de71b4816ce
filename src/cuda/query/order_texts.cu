// Distinct strings in the order of their bytes: sorted by pieces of seven bytes, together with how much of the string
// is left there, until no two are alike. What is still tied after many pieces is compared whole.
#include <bit>
#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>

#include "cuda/codec/encode_array.cuh"
#include "cuda/query/text_pieces.h"
#include "cuda/query/text_pool.h"

namespace basalt::cuda {

namespace {

constexpr uint32_t kMostPieces = 32;

// Strings that are tied with a neighbour, in the order so far.
struct Ties {
  uint64_t count = 0;
  DeviceBuffer places;   // uint32, ascending: where in the order they lie
  DeviceBuffer numbers;  // uint32: of the strings
  DeviceBuffer groups;   // uint32: the place of the first one that it is tied with
};

struct Tied {
  uint32_t group;
  uint32_t number;
};
struct TiedOrder {
  strings::Texts texts;
  uint64_t same_words;

  __device__ bool operator()(const Tied& a, const Tied& b) const {
    if (a.group != b.group) return a.group < b.group;
    return strings::is_less(texts.at(a.number), texts.at(b.number), same_words);
  }
};

template <typename T>
DeviceBuffer array_of(uint64_t count, cudaStream_t stream) {
  return DeviceBuffer(count * sizeof(T), stream);
}

void sort_pairs(const uint64_t* keys, uint64_t* sorted, const uint32_t* values, uint32_t* sorted_values, uint64_t count,
                cudaStream_t stream) {
  with_temporary(stream, [&](void* temporary, size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(temporary, bytes, keys, sorted, values, sorted_values,
                                           static_cast<int64_t>(count), 0, 64, stream);
  });
}

DeviceBuffer selected(const uint32_t* from, const uint8_t* flags, uint64_t count, uint64_t* found,
                      cudaStream_t stream) {
  DeviceBuffer out = array_of<uint32_t>(count, stream);
  with_temporary(stream, [&](void* temporary, size_t& bytes) {
    return cub::DeviceSelect::Flagged(temporary, bytes, from, flags, out.as<uint32_t>(), found,
                                      static_cast<int64_t>(count), stream);
  });
  return out;
}

// Orders ties by their piece from byte `skip` on, writes `order`, and gives those that are tied still.
Ties order_by_piece(const strings::Texts& texts, const Ties& ties, uint64_t skip, uint64_t all, uint32_t* order,
                    cudaStream_t stream) {
  const uint64_t count = ties.count;
  const auto* numbers = ties.numbers.as<uint32_t>();
  const auto* groups = ties.groups.as<uint32_t>();
  const auto* places = ties.places.as<uint32_t>();
  const DeviceBuffer pieces = array_of<uint64_t>(count, stream), sorted_pieces = array_of<uint64_t>(count, stream);
  const DeviceBuffer rows = array_of<uint32_t>(count, stream), by_piece = array_of<uint32_t>(count, stream);
  auto* piece = pieces.as<uint64_t>();
  auto* row = rows.as<uint32_t>();
  each_row(count, stream, [=] __device__(uint64_t i) {
    piece[i] = piece_of(texts.at(numbers[i]), skip);
    row[i] = static_cast<uint32_t>(i);
  });
  sort_pairs(piece, sorted_pieces.as<uint64_t>(), row, by_piece.as<uint32_t>(), count, stream);
  // Then by group, which keeps the order of pieces within each.
  const DeviceBuffer own_groups = array_of<uint32_t>(count, stream), sorted_groups = array_of<uint32_t>(count, stream);
  auto* own_group = own_groups.as<uint32_t>();
  const auto* piece_order = by_piece.as<uint32_t>();
  each_row(count, stream, [=] __device__(uint64_t i) { own_group[i] = groups[piece_order[i]]; });
  with_temporary(stream, [&](void* temporary, size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(temporary, bytes, own_group, sorted_groups.as<uint32_t>(), piece_order, row,
                                           static_cast<int64_t>(count), 0, std::bit_width(all), stream);
  });
  const auto* group = sorted_groups.as<uint32_t>();
  const DeviceBuffer new_numbers = array_of<uint32_t>(count, stream), firsts = array_of<uint32_t>(count, stream);
  const DeviceBuffer tied = array_of<uint8_t>(count, stream);
  auto* new_number = new_numbers.as<uint32_t>();
  auto* first = firsts.as<uint32_t>();
  auto* is_tied = tied.as<uint8_t>();
  each_row(count, stream, [=] __device__(uint64_t i) {
    const auto begins = [&](uint64_t at) {
      return at == 0 || at == count || group[at] != group[at - 1] || piece[row[at]] != piece[row[at - 1]];
    };
    new_number[i] = numbers[row[i]];
    order[places[i]] = new_number[i];
    first[i] = begins(i) ? places[i] : 0;
    is_tied[i] = begins(i) && begins(i + 1) ? 0 : 1;
  });
  const DeviceBuffer new_groups = array_of<uint32_t>(count, stream);
  with_temporary(stream, [&](void* temporary, size_t& bytes) {
    return cub::DeviceScan::InclusiveScan(
        temporary, bytes, first, new_groups.as<uint32_t>(),
        [] __host__ __device__(uint32_t a, uint32_t b) { return a > b ? a : b; }, static_cast<int64_t>(count), stream);
  });
  const DeviceBuffer found = array_of<uint64_t>(1, stream);
  Ties out;
  out.places = selected(places, is_tied, count, found.as<uint64_t>(), stream);
  out.numbers = selected(new_number, is_tied, count, found.as<uint64_t>(), stream);
  out.groups = selected(new_groups.as<uint32_t>(), is_tied, count, found.as<uint64_t>(), stream);
  out.count = fetch(found.as<uint64_t>(), stream);
  return out;
}

// Ties whose first `same_bytes` bytes are equal.
void order_by_comparison(const strings::Texts& texts, const Ties& ties, uint64_t same_bytes, uint32_t* order,
                         cudaStream_t stream) {
  const DeviceBuffer items = array_of<Tied>(ties.count, stream);
  auto* item = items.as<Tied>();
  const auto* numbers = ties.numbers.as<uint32_t>();
  const auto* groups = ties.groups.as<uint32_t>();
  const auto* places = ties.places.as<uint32_t>();
  each_row(ties.count, stream, [=] __device__(uint64_t i) { item[i] = {groups[i], numbers[i]}; });
  with_temporary(stream, [&](void* temporary, size_t& bytes) {
    return cub::DeviceMergeSort::SortKeys(temporary, bytes, item, static_cast<int64_t>(ties.count),
                                          TiedOrder{texts, same_bytes / 8}, stream);
  });
  each_row(ties.count, stream, [=] __device__(uint64_t i) { order[places[i]] = item[i].number; });
}

}  // namespace

TextOrder order_texts(const strings::Texts& texts, uint64_t count, cudaStream_t stream) {
  TextOrder out;
  if (count == 0) return out;
  out.numbers = array_of<uint32_t>(count, stream);
  out.ranks = array_of<uint32_t>(count, stream);
  auto* order = out.numbers.as<uint32_t>();
  Ties ties;
  ties.count = count;
  ties.places = array_of<uint32_t>(count, stream);
  ties.numbers = array_of<uint32_t>(count, stream);
  ties.groups = cleared(count * sizeof(uint32_t), stream);
  auto* place = ties.places.as<uint32_t>();
  auto* number = ties.numbers.as<uint32_t>();
  each_row(count, stream, [=] __device__(uint64_t i) { place[i] = number[i] = static_cast<uint32_t>(i); });
  uint64_t skip = 0;
  for (uint32_t pieces = 0; ties.count > 0 && pieces < kMostPieces; ++pieces, skip += kPieceBytes) {
    ties = order_by_piece(texts, ties, skip, count, order, stream);
  }
  if (ties.count > 0) order_by_comparison(texts, ties, skip, order, stream);
  auto* rank = out.ranks.as<uint32_t>();
  each_row(count, stream, [=] __device__(uint64_t i) { rank[order[i]] = static_cast<uint32_t>(i); });
  return out;
}

}  // namespace basalt::cuda
