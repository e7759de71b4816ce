// The device encoder of `packed`: a warp per tile measures, then packs.
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

#include "codec/packed/layout.h"
#include "core/device/join.h"
#include "core/device/pack_lane.h"
#include "cuda/codec/encode_array.cuh"

namespace basalt::cuda {

namespace {

// One warp per tile: smallest value and width of the range, by the order that `top` (the sign bit, or 0) makes
// unsigned.
template <typename T>
__global__ void measure_tiles(const T* values, uint64_t count, T top, T* references, uint32_t* widths) {
  const uint64_t tile = (uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kLanes;
  const uint32_t lane = threadIdx.x % kLanes;
  if (tile * kTileRows >= count) return;
  T low = ~T{0};
  T high = 0;
  for (uint32_t k = 0; k < kRowsPerLane; ++k) {
    const uint64_t row = tile * kTileRows + k * kLanes + lane;
    if (row >= count) break;
    const T key = static_cast<T>(values[row] ^ top);
    low = key < low ? key : low;
    high = key > high ? key : high;
  }
  low = device::join_lanes(low, [](T a, T b) { return a < b ? a : b; });
  high = device::join_lanes(high, [](T a, T b) { return a > b ? a : b; });
  if (lane != 0) return;
  references[tile] = static_cast<T>(low ^ top);
  const T range = static_cast<T>(high - low);
  uint32_t width = 0;
  if constexpr (sizeof(T) == 16) {
    const auto upper = static_cast<uint64_t>(range >> 64);
    width = upper != 0 ? 128 - __clzll(static_cast<long long>(upper))
                       : 64 - __clzll(static_cast<long long>(static_cast<uint64_t>(range)));
  } else {
    width = 64 - __clzll(static_cast<long long>(static_cast<uint64_t>(range)));
  }
  widths[tile] = width;
}

// One warp per tile.
template <typename T>
__global__ void pack_tiles(const T* values, uint64_t count, const T* references, const uint32_t* descriptors,
                           uint32_t* words) {
  const uint64_t tile = (uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kLanes;
  const uint32_t lane = threadIdx.x % kLanes;
  if (tile * kTileRows >= count) return;
  const uint32_t width = packed::descriptor_width(descriptors[tile]);
  uint32_t* to = words + packed::descriptor_word(descriptors[tile]) + lane;
  const T reference = references[tile];
  device::pack_lane(width, to, [&](uint32_t k) {
    const uint64_t row = tile * kTileRows + k * kLanes + lane;
    return row < count ? static_cast<uint64_t>(static_cast<T>(values[row] - reference)) : 0;
  });
}

template <typename T>
void encode_packed_typed(const DeviceValues& values, Node& node, cudaStream_t stream) {
  const uint64_t tiles = tile_count(values.count);
  if (tiles == 0) return;
  const uint32_t blocks = blocks_for(tiles * kLanes);
  const T top = is_signed(values.type) ? static_cast<T>(T{1} << (sizeof(T) * 8 - 1)) : T{0};
  DeviceBuffer references(tiles * sizeof(T), stream);
  DeviceBuffer widths(tiles * sizeof(uint32_t), stream);
  measure_tiles<T><<<blocks, kThreads, 0, stream>>>(values.data.as<T>(), values.count, top, references.as<T>(),
                                                    widths.as<uint32_t>());
  check(cudaGetLastError(), "measuring tiles");

  DeviceBuffer sums((tiles + 1) * sizeof(uint64_t), stream);
  DeviceBuffer widest(sizeof(uint32_t), stream);
  check(cudaMemsetAsync(sums.data(), 0, sizeof(uint64_t), stream), "clearing a sum");
  with_temporary(stream, [&](void* temporary, size_t& bytes) {
    return cub::DeviceScan::InclusiveScan(temporary, bytes, widths.as<uint32_t>(), sums.as<uint64_t>() + 1,
                                          ::cuda::std::plus<uint64_t>{}, static_cast<int64_t>(tiles), stream);
  });
  with_temporary(stream, [&](void* temporary, size_t& bytes) {
    return cub::DeviceReduce::Max(temporary, bytes, widths.as<uint32_t>(), widest.as<uint32_t>(),
                                  static_cast<int64_t>(tiles), stream);
  });
  if (fetch(widest.as<uint32_t>(), stream) > kMaxPackedWidth) {
    throw Error(ErrorCode::kUnsupported, "packed: a tile's values span more than 64 bits");
  }
  const uint64_t rows = fetch(sums.as<uint64_t>() + tiles, stream);
  const uint64_t last_row = fetch(sums.as<uint64_t>() + tiles - 1, stream);
  require_packed_rows(last_row);

  DeviceBuffer descriptors(tiles * sizeof(uint32_t), stream);
  auto* to = descriptors.as<uint32_t>();
  const auto* first_rows = sums.as<uint64_t>();
  const auto* tile_widths = widths.as<uint32_t>();
  each_row(tiles, stream, [=] __device__(uint64_t tile) {
    to[tile] = packed::make_descriptor(static_cast<uint32_t>(first_rows[tile]), tile_widths[tile]);
  });
  const size_t word_bytes = rows * kLanes * sizeof(uint32_t);
  DeviceBuffer words(word_bytes, stream);
  pack_tiles<T><<<blocks, kThreads, 0, stream>>>(values.data.as<T>(), values.count, references.as<T>(), to,
                                                 words.as<uint32_t>());
  check(cudaGetLastError(), "packing tiles");
  node.streams[packed::kReferences] = download(references, tiles * sizeof(T), stream);
  node.streams[packed::kDescriptors] = download(descriptors, tiles * sizeof(uint32_t), stream);
  node.streams[packed::kWords] = download(words, word_bytes, stream);
}

}  // namespace

void require_packed_rows(uint64_t last_row) {
  if (last_row > packed::kMaxFirstRow) throw Error(ErrorCode::kUnsupported, "packed: the array is too large");
}

Node encode_packed(const DeviceValues& values, const Tree& tree, Aims, cudaStream_t stream) {
  Node node = make_node(values, tree, packed::kStreams);
  dispatch_width(width_of(values.type), [&](auto tag) { encode_packed_typed<decltype(tag)>(values, node, stream); });
  return node;
}

}  // namespace basalt::cuda
