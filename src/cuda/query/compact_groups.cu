#include <thrust/iterator/counting_iterator.h>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>

#include "cuda/query/compact_groups.h"

namespace basalt::cuda {

namespace {

constexpr uint32_t kThreads = 256;
constexpr uint64_t kMostBlocks = 132 * 16;
constexpr uint64_t kNoKey = ~uint64_t{0};

unsigned blocks_for(uint64_t items) {
  return static_cast<unsigned>(std::min<uint64_t>((items + kThreads - 1) / kThreads, kMostBlocks));
}

struct HasRows {
  GroupStates groups;
  __device__ bool operator()(uint64_t slot) const { return groups.states[slot * groups.stride] != 0; }
};

struct IsAmongFirst {
  const uint64_t* images;
  const uint64_t* last;
  __device__ bool operator()(uint64_t group) const { return images[group] <= *last; }
};

__device__ uint64_t key_of(const GroupStates& groups, uint64_t place, uint32_t word) {
  if (groups.keys == nullptr) return place;
  return place < groups.key_count ? groups.keys[place * groups.key_stride + word] : kNoKey;
}

// A number that is smaller the earlier the group comes.
__device__ uint64_t image_of(const GroupStates& groups, const GroupOrder& order, uint64_t place) {
  const uint64_t* state = groups.states + place * groups.stride;
  constexpr uint64_t kSign = uint64_t{1} << 63;
  uint64_t image = 0;
  bool null = false;
  switch (order.from) {
    case GroupOrder::From::kUnsigned: image = state[order.word]; break;
    case GroupOrder::From::kSigned: image = state[order.word] ^ kSign; break;
    case GroupOrder::From::kWide: image = state[order.word + 1] ^ kSign; break;  // equal upper halves count as equal
    case GroupOrder::From::kKey: {
      const uint64_t key = key_of(groups, place, order.key_word) / order.divisor;
      image = order.modulus != 0 ? key % order.modulus : key >> order.shift & order.mask;
      null = order.null_code && image == 0;
      break;
    }
  }
  null = null || state[order.count_word] == 0;
  if (null) return order.nulls_first ? 0 : ~uint64_t{0};
  return order.descending ? ~image : image;
}

__global__ void write_images(GroupStates groups, GroupOrder order, const uint64_t* places, uint64_t count,
                             uint64_t* images) {
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < count; i += uint64_t{gridDim.x} * blockDim.x) {
    images[i] = image_of(groups, order, places[i]);
  }
}

__global__ void gather_places(const uint64_t* places, const uint64_t* chosen, uint64_t count, uint64_t* out) {
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < count; i += uint64_t{gridDim.x} * blockDim.x) {
    out[i] = places[chosen[i]];
  }
}

__global__ void gather_groups(GroupStates groups, const uint64_t* places, uint64_t count, uint64_t* states,
                              uint64_t* keys) {
  const uint32_t words = groups.words + groups.key_words;
  const uint64_t total = count * words;
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < total; i += uint64_t{gridDim.x} * blockDim.x) {
    const uint64_t group = i / words;
    const auto word = static_cast<uint32_t>(i % words);
    const uint64_t place = places[group];
    if (word < groups.words) {
      states[group * groups.words + word] = groups.states[place * groups.stride + word];
    } else {
      keys[group * groups.key_words + word - groups.words] = key_of(groups, place, word - groups.words);
    }
  }
}

// Numbers below `count` for which the condition holds, ascending; how many there are goes to `found`.
template <typename Condition>
DeviceBuffer select(uint64_t count, const Condition& condition, uint64_t& found, cudaStream_t stream) {
  DeviceBuffer out(count * sizeof(uint64_t), stream);
  DeviceBuffer number(sizeof(uint64_t), stream);
  const auto all = thrust::counting_iterator<uint64_t>(0);
  size_t bytes = 0;
  const auto run = [&](void* room) {
    check(cub::DeviceSelect::If(room, bytes, all, out.as<uint64_t>(), number.as<uint64_t>(),
                                static_cast<int64_t>(count), condition, stream),
          "finding groups");
  };
  run(nullptr);
  const DeviceBuffer room(bytes, stream);
  run(room.data());
  found = fetch(number.as<uint64_t>(), stream);
  return out;
}

// Places of the first `found` groups in order; with `ties` of those, too, that are equal to the last of them, in any.
DeviceBuffer first_places(const GroupStates& groups, const GroupOrder& order, const DeviceBuffer& places,
                          uint64_t count, bool ties, uint64_t& found, cudaStream_t stream) {
  const uint64_t most = found;
  DeviceBuffer images(count * sizeof(uint64_t), stream);
  write_images<<<blocks_for(count), kThreads, 0, stream>>>(groups, order, places.as<uint64_t>(), count,
                                                           images.as<uint64_t>());
  check(cudaGetLastError(), "ordering groups");
  DeviceBuffer sorted(count * sizeof(uint64_t), stream);
  DeviceBuffer in_order(ties ? 0 : count * sizeof(uint64_t), stream);
  size_t bytes = 0;
  const auto sort = [&](void* room) {
    if (!ties) {
      check(cub::DeviceRadixSort::SortPairs(room, bytes, images.as<uint64_t>(), sorted.as<uint64_t>(),
                                            places.as<uint64_t>(), in_order.as<uint64_t>(), static_cast<int64_t>(count),
                                            0, 64, stream),
            "ordering groups");
      return;
    }
    check(cub::DeviceRadixSort::SortKeys(room, bytes, images.as<uint64_t>(), sorted.as<uint64_t>(),
                                         static_cast<int64_t>(count), 0, 64, stream),
          "ordering groups");
  };
  sort(nullptr);
  const DeviceBuffer room(bytes, stream);
  sort(room.data());
  if (!ties) return in_order;
  const DeviceBuffer chosen =
      select(count, IsAmongFirst{images.as<uint64_t>(), sorted.as<uint64_t>() + most - 1}, found, stream);
  DeviceBuffer out(found * sizeof(uint64_t), stream);
  gather_places<<<blocks_for(found), kThreads, 0, stream>>>(places.as<uint64_t>(), chosen.as<uint64_t>(), found,
                                                            out.as<uint64_t>());
  check(cudaGetLastError(), "ordering groups");
  return out;
}

}  // namespace

CompactGroups compact_groups(const GroupStates& groups, const GroupOrder* order, uint64_t most, bool ties,
                             cudaStream_t stream) {
  CompactGroups out;
  DeviceBuffer places = select(groups.slots, HasRows{groups}, out.count, stream);
  if (most < out.count) {
    uint64_t found = most;
    if (order != nullptr && most > 0)
      places = first_places(groups, *order, places, out.count, ties || !order->exact, found, stream);
    out.count = found;
  }
  out.states = DeviceBuffer(out.count * groups.words * sizeof(uint64_t), stream);
  out.keys = DeviceBuffer(out.count * groups.key_words * sizeof(uint64_t), stream);
  if (out.count > 0) {
    gather_groups<<<blocks_for(out.count * (groups.words + groups.key_words)), kThreads, 0, stream>>>(
        groups, places.as<uint64_t>(), out.count, out.states.as<uint64_t>(), out.keys.as<uint64_t>());
    check(cudaGetLastError(), "gathering groups");
  }
  return out;
}

}  // namespace basalt::cuda
