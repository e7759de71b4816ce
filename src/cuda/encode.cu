// Device encoders of the plain codecs. Every codec turns an array on the device into streams on the device and arrays
// for its children; only counts that decide allocations (runs, distinct values, words) come back to the host on the
// way.
#include <cstring>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <vector>

#include "codec/constant/layout.h"
#include "codec/delta/layout.h"
#include "codec/dict/layout.h"
#include "codec/l3/layout.h"
#include "codec/packed/layout.h"
#include "codec/plain/layout.h"
#include "codec/rle/layout.h"
#include "codec/strings/layout.h"
#include "codec/validity/layout.h"
#include "core/dispatch.h"
#include "cuda/encode.h"
#include "cuda/encode_l3.h"
#include "cuda/runtime.h"

namespace basalt::cuda {

namespace {

constexpr uint32_t kThreads = 256;

uint32_t blocks_for(uint64_t items) { return static_cast<uint32_t>((items + kThreads - 1) / kThreads); }

// A device array that can be moved from a codec to its child; nothing is allocated for nothing.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(size_t bytes, cudaStream_t stream) {
    if (bytes > 0) block_ = std::make_unique<DeviceBlock>(bytes, stream, stream);
  }
  void* data() const { return block_ == nullptr ? nullptr : block_->data(); }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data());
  }

 private:
  std::unique_ptr<DeviceBlock> block_;
};

// An array of plain values on the device; strings have their bytes and offsets apart.
struct DeviceValues {
  Physical type = Physical::kU64;
  uint64_t count = 0;
  DeviceBuffer data;
  DeviceBuffer offsets;              // int64, count + 1
  DeviceBuffer validity;             // bitmap
  const char* host_bytes = nullptr;  // strings: bytes are copied through, never looked at
  int64_t first_byte = 0;
  int64_t end_byte = 0;
};

template <typename Body>
__global__ void rows_kernel(uint64_t count, Body body) {
  const uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) body(i);
}

template <typename Body>
void each_row(uint64_t count, cudaStream_t stream, Body body) {
  if (count == 0) return;
  rows_kernel<<<blocks_for(count), kThreads, 0, stream>>>(count, body);
  check(cudaGetLastError(), "launching an encoder");
}

// CUB's two calls: the first asks for temporary memory, the second works.
template <typename Call>
void with_temporary(cudaStream_t stream, Call call) {
  size_t bytes = 0;
  check(call(nullptr, bytes), "sizing temporary memory");
  DeviceBuffer temporary(bytes == 0 ? 1 : bytes, stream);
  check(call(temporary.data(), bytes), "running a device-wide primitive");
}

template <typename T>
T fetch(const T* from, cudaStream_t stream) {
  T value;
  check(cudaMemcpyAsync(&value, from, sizeof(T), cudaMemcpyDeviceToHost, stream), "reading a count back");
  check(cudaStreamSynchronize(stream), "waiting for the encoder");
  return value;
}

Buffer download(const DeviceBuffer& from, size_t bytes, cudaStream_t stream) {
  Buffer out(bytes);
  if (bytes > 0) {
    check(cudaMemcpyAsync(out.data(), from.data(), bytes, cudaMemcpyDeviceToHost, stream), "reading a stream back");
    check(cudaStreamSynchronize(stream), "waiting for a stream");
  }
  return out;
}

Node encode_node(DeviceValues& values, const Tree& tree, Effort effort, cudaStream_t stream);

Node make_node(const DeviceValues& values, const Tree& tree, size_t streams) {
  Node node{&get_codec(tree.codec), values.type, values.count, {}, {}, {}};
  node.streams.resize(streams);
  return node;
}

// --- plain, constant ---

Node encode_plain(const DeviceValues& values, const Tree& tree, Effort, cudaStream_t stream) {
  if (values.type != Physical::kBytes) {
    Node node = make_node(values, tree, plain::kFixedStreams);
    node.streams[plain::kValues] = download(values.data, values.count * width_of(values.type), stream);
    return node;
  }
  Node node = make_node(values, tree, plain::kBytesStreams);
  const uint64_t tiles = tile_count(values.count);
  DeviceBuffer starts((tiles + 1) * sizeof(uint64_t), stream);
  const auto* offsets = values.offsets.as<int64_t>();
  auto* to = starts.as<uint64_t>();
  const uint64_t count = values.count;
  const int64_t base = values.first_byte;
  each_row(tiles + 1, stream, [=] __device__(uint64_t tile) {
    const uint64_t row = tile * kTileRows < count ? tile * kTileRows : count;
    to[tile] = static_cast<uint64_t>(offsets[row] - base);
  });
  node.streams[plain::kTileStarts] = download(starts, (tiles + 1) * sizeof(uint64_t), stream);
  node.streams[plain::kBytes].append(values.host_bytes + values.first_byte,
                                     static_cast<size_t>(values.end_byte - values.first_byte));
  return node;
}

template <typename T>
void require_constant(const DeviceValues& values, cudaStream_t stream) {
  DeviceBuffer differs(sizeof(uint32_t), stream);
  check(cudaMemsetAsync(differs.data(), 0, sizeof(uint32_t), stream), "clearing a flag");
  const T* from = values.data.as<T>();
  auto* flag = differs.as<uint32_t>();
  each_row(values.count, stream, [=] __device__(uint64_t i) {
    if (i > 0 && from[i] != from[0]) *flag = 1;
  });
  if (fetch(flag, stream) != 0) throw Error(ErrorCode::kUnsupported, "constant: the values are not all equal");
}

Node encode_constant(const DeviceValues& values, const Tree& tree, Effort, cudaStream_t stream) {
  Node node = make_node(values, tree, 0);
  node.params.resize(constant::kParameterBytes);
  if (values.count == 0) return node;
  dispatch_width(width_of(values.type), [&](auto tag) {
    using T = decltype(tag);
    require_constant<T>(values, stream);
    const T value = fetch(values.data.as<T>(), stream);
    std::memcpy(node.params.data(), &value, sizeof(T));
  });
  return node;
}

// --- packed ---

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
  for (uint32_t step = kLanes / 2; step > 0; step /= 2) {
    T other_low = 0;
    T other_high = 0;
    // Shuffles move at most eight bytes.
    if constexpr (sizeof(T) == 16) {
      const auto move = [&](T value) {
        const uint64_t upper = __shfl_xor_sync(~0u, static_cast<unsigned long long>(value >> 64), step);
        const uint64_t lower = __shfl_xor_sync(~0u, static_cast<unsigned long long>(value), step);
        return static_cast<T>(upper) << 64 | lower;
      };
      other_low = move(low);
      other_high = move(high);
    } else if constexpr (sizeof(T) == 8) {
      other_low = __shfl_xor_sync(~0u, static_cast<unsigned long long>(low), step);
      other_high = __shfl_xor_sync(~0u, static_cast<unsigned long long>(high), step);
    } else {
      other_low = static_cast<T>(__shfl_xor_sync(~0u, static_cast<uint32_t>(low), step));
      other_high = static_cast<T>(__shfl_xor_sync(~0u, static_cast<uint32_t>(high), step));
    }
    low = other_low < low ? other_low : low;
    high = other_high > high ? other_high : high;
  }
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

// One warp per tile; each lane shifts its 32 values into words and stores a word when it is full.
template <typename T>
__global__ void pack_tiles(const T* values, uint64_t count, const T* references, const uint32_t* descriptors,
                           uint32_t* words) {
  const uint64_t tile = (uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kLanes;
  const uint32_t lane = threadIdx.x % kLanes;
  if (tile * kTileRows >= count) return;
  const uint32_t width = packed::descriptor_width(descriptors[tile]);
  uint32_t* to = words + packed::descriptor_word(descriptors[tile]) + lane;
  const T reference = references[tile];
  uint128_t pending = 0;
  uint32_t filled = 0;
  for (uint32_t k = 0; k < kRowsPerLane && width > 0; ++k) {
    const uint64_t row = tile * kTileRows + k * kLanes + lane;
    const uint64_t offset = row < count ? static_cast<uint64_t>(static_cast<T>(values[row] - reference)) : 0;
    pending |= static_cast<uint128_t>(offset) << filled;
    filled += width;
    while (filled >= 32) {
      *to = static_cast<uint32_t>(pending);
      to += kLanes;
      pending >>= 32;
      filled -= 32;
    }
  }
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
  if (last_row > packed::kMaxFirstRow) throw Error(ErrorCode::kUnsupported, "packed: the array is too large");

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

Node encode_packed(const DeviceValues& values, const Tree& tree, Effort, cudaStream_t stream) {
  Node node = make_node(values, tree, packed::kStreams);
  dispatch_width(width_of(values.type), [&](auto tag) { encode_packed_typed<decltype(tag)>(values, node, stream); });
  return node;
}

// --- delta ---

template <typename T>
void find_deltas(const DeviceValues& values, DeviceValues& deltas, DeviceBuffer& checkpoints, cudaStream_t stream) {
  const T* from = values.data.as<T>();
  T* to = deltas.data.as<T>();
  T* first = checkpoints.as<T>();
  const uint64_t count = values.count;
  each_row(count, stream, [=] __device__(uint64_t i) {
    if (i % kTileRows != 0) {
      to[i] = static_cast<T>(from[i] - from[i - 1]);
    } else {
      first[i / kTileRows] = from[i];
      to[i] = i + 1 < count ? static_cast<T>(from[i + 1] - from[i]) : T{0};
    }
  });
}

Node encode_delta(const DeviceValues& values, const Tree& tree, Effort effort, cudaStream_t stream) {
  Node node = make_node(values, tree, delta::kStreams);
  const uint32_t width = width_of(values.type);
  const uint64_t tiles = tile_count(values.count);
  DeviceValues deltas;
  deltas.type = node.codec->children(values.type)[delta::kDeltas].type;
  deltas.count = values.count;
  deltas.data = DeviceBuffer(values.count * width, stream);
  DeviceBuffer checkpoints(tiles * width, stream);
  dispatch_width(width, [&](auto tag) { find_deltas<decltype(tag)>(values, deltas, checkpoints, stream); });
  node.streams[delta::kCheckpoints] = download(checkpoints, tiles * width, stream);
  node.children.push_back(encode_node(deltas, tree.children[delta::kDeltas], effort, stream));
  return node;
}

// --- rle ---

// Whether a run ends behind row i.
template <typename T>
struct EndsRun {
  const T* values;
  uint64_t count;
  __device__ bool operator()(uint32_t end) const { return end == count || values[end] != values[end - 1]; }
};

template <typename T>
void find_runs(const DeviceValues& values, DeviceValues& run_values, DeviceValues& run_ends, cudaStream_t stream) {
  DeviceBuffer candidates(values.count * sizeof(uint32_t), stream);
  auto* ends = candidates.as<uint32_t>();
  each_row(values.count, stream, [=] __device__(uint64_t i) { ends[i] = static_cast<uint32_t>(i + 1); });
  DeviceBuffer selected(values.count * sizeof(uint32_t), stream);
  DeviceBuffer found(sizeof(uint64_t), stream);
  with_temporary(stream, [&](void* temporary, size_t& bytes) {
    return cub::DeviceSelect::If(temporary, bytes, ends, selected.as<uint32_t>(), found.as<uint64_t>(),
                                 static_cast<int64_t>(values.count), EndsRun<T>{values.data.as<T>(), values.count},
                                 stream);
  });
  const uint64_t runs = fetch(found.as<uint64_t>(), stream);
  run_ends.type = Physical::kU32;
  run_ends.count = runs;
  run_ends.data = std::move(selected);
  run_values.type = values.type;
  run_values.count = runs;
  run_values.data = DeviceBuffer(runs * sizeof(T), stream);
  const T* from = values.data.as<T>();
  T* to = run_values.data.as<T>();
  const auto* run_end = run_ends.data.as<uint32_t>();
  each_row(runs, stream, [=] __device__(uint64_t run) { to[run] = from[run_end[run] - 1]; });
}

Node encode_rle(const DeviceValues& values, const Tree& tree, Effort effort, cudaStream_t stream) {
  if (values.count > UINT32_MAX) throw Error(ErrorCode::kUnsupported, "rle: the array is too large");
  Node node = make_node(values, tree, rle::kStreams);
  DeviceValues run_values;
  DeviceValues run_ends;
  run_values.type = values.type;
  run_ends.type = Physical::kU32;
  if (values.count > 0) {
    dispatch_width(width_of(values.type),
                   [&](auto tag) { find_runs<decltype(tag)>(values, run_values, run_ends, stream); });
  }
  const uint64_t tiles = tile_count(values.count);
  DeviceBuffer entries(tiles * sizeof(rle::TileEntry), stream);
  auto* to = entries.as<rle::TileEntry>();
  const auto* ends = run_ends.data.as<uint32_t>();
  const uint64_t runs = run_ends.count;
  each_row(tiles, stream, [=] __device__(uint64_t tile) {
    const auto first_row = static_cast<uint32_t>(tile * kTileRows);
    uint64_t low = 0;
    uint64_t high = runs - 1;
    while (low < high) {
      const uint64_t middle = (low + high) / 2;
      if (ends[middle] > first_row) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    to[tile] = {static_cast<uint32_t>(low), first_row - (low == 0 ? 0 : ends[low - 1])};
  });
  node.streams[rle::kTileEntries] = download(entries, tiles * sizeof(rle::TileEntry), stream);
  node.children.push_back(encode_node(run_values, tree.children[rle::kValues], effort, stream));
  node.children.push_back(encode_node(run_ends, tree.children[rle::kRunEnds], effort, stream));
  return node;
}

// --- dict ---

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

Node encode_dict(const DeviceValues& values, const Tree& tree, Effort effort, cudaStream_t stream) {
  if (values.count > UINT32_MAX) throw Error(ErrorCode::kUnsupported, "dict: the array is too large");
  Node node = make_node(values, tree, 0);
  DeviceValues codes;
  codes.type = Physical::kU32;
  codes.count = values.count;
  codes.data = DeviceBuffer(values.count * sizeof(uint32_t), stream);
  DeviceValues entries;
  entries.type = values.type;
  if (values.count > 0) {
    dispatch_width(width_of(values.type),
                   [&](auto tag) { find_distinct<decltype(tag)>(values, codes, entries, stream); });
  }
  node.children.push_back(encode_node(codes, tree.children[dict::kCodes], effort, stream));
  node.children.push_back(encode_node(entries, tree.children[dict::kEntries], effort, stream));
  return node;
}

// --- strings, validity ---

Node encode_strings(DeviceValues& values, const Tree& tree, Effort effort, cudaStream_t stream) {
  Node node = make_node(values, tree, 0);
  DeviceValues lengths;
  lengths.type = Physical::kU32;
  lengths.count = values.count;
  lengths.data = DeviceBuffer(values.count * sizeof(uint32_t), stream);
  DeviceBuffer too_long(sizeof(uint32_t), stream);
  check(cudaMemsetAsync(too_long.data(), 0, sizeof(uint32_t), stream), "clearing a flag");
  const auto* offsets = values.offsets.as<int64_t>();
  auto* to = lengths.data.as<uint32_t>();
  auto* flag = too_long.as<uint32_t>();
  each_row(values.count, stream, [=] __device__(uint64_t i) {
    const int64_t length = offsets[i + 1] - offsets[i];
    if (length > INT32_MAX) *flag = 1;
    to[i] = static_cast<uint32_t>(length);
  });
  if (fetch(flag, stream) != 0) throw Error(ErrorCode::kUnsupported, "a string is longer than 2^31 - 1 bytes");
  node.children.push_back(encode_node(lengths, tree.children[strings::kLengths], effort, stream));
  node.children.push_back(encode_node(values, tree.children[strings::kBytes], effort, stream));
  return node;
}

Node encode_validity(DeviceValues& values, const Tree& tree, Effort effort, cudaStream_t stream) {
  Node node = make_node(values, tree, 0);
  DeviceValues flags;
  flags.type = Physical::kU8;
  flags.count = values.count;
  flags.data = DeviceBuffer(values.count, stream);
  const auto* bits = values.validity.as<uint8_t>();
  auto* to = flags.data.as<uint8_t>();
  each_row(values.count, stream, [=] __device__(uint64_t i) {
    to[i] = bits == nullptr ? 1 : static_cast<uint8_t>(bits[i / 8] >> (i % 8) & 1);
  });
  node.children.push_back(encode_node(flags, tree.children[validity::kValid], effort, stream));
  if (values.type != Physical::kNone) {
    node.children.push_back(encode_node(values, tree.children[validity::kValues], effort, stream));
  }
  return node;
}

// --- l3 ---

Node encode_l3(const DeviceValues& values, const Tree& tree, Effort effort, cudaStream_t stream) {
  Node node = make_node(values, tree, l3::kStreams);
  if (values.count == 0) return node;
  if (values.count > kMaxChunkRows) throw Error(ErrorCode::kUnsupported, "l3: the array is too large");
  const l3::EncodeInput chunk{values.data.data(), static_cast<uint32_t>(values.count)};
  L3BatchEncoder encoder({&chunk, 1}, values.type, effort, stream);
  const l3::EncodedSizes sizes = encoder.measure()[0];
  size_t bytes[l3::kStreams];
  bytes[l3::kStarts] = l3::start_words(chunk.rows) * sizeof(uint32_t);
  bytes[l3::kRecords] = sizes.partitions * sizeof(uint64_t);
  bytes[l3::kParams] = sizes.param_words * sizeof(uint32_t);
  bytes[l3::kResiduals] = sizes.residual_words * sizeof(uint32_t);
  DeviceBuffer streams[l3::kStreams];
  for (uint32_t i = 0; i < l3::kStreams; ++i) streams[i] = DeviceBuffer(bytes[i], stream);
  const l3::EncodedStreams to{streams[l3::kStarts].as<uint32_t>(), streams[l3::kRecords].as<uint64_t>(),
                              streams[l3::kParams].as<uint32_t>(), streams[l3::kResiduals].as<uint32_t>()};
  encoder.write({&to, 1});
  for (uint32_t i = 0; i < l3::kStreams; ++i) node.streams[i] = download(streams[i], bytes[i], stream);
  return node;
}

// The device encoders by codec name.
struct Encoder {
  const char* codec;
  Node (*encode)(DeviceValues&, const Tree&, Effort, cudaStream_t);
};
template <Node (*kEncode)(const DeviceValues&, const Tree&, Effort, cudaStream_t)>
Node from_const(DeviceValues& values, const Tree& tree, Effort effort, cudaStream_t stream) {
  return kEncode(values, tree, effort, stream);
}
constexpr Encoder kEncoders[] = {
    {"plain", from_const<encode_plain>},   {"constant", from_const<encode_constant>},
    {"packed", from_const<encode_packed>}, {"delta", from_const<encode_delta>},
    {"rle", from_const<encode_rle>},       {"dict", from_const<encode_dict>},
    {"strings", encode_strings},           {"validity", encode_validity},
    {"l3", from_const<encode_l3>},
};

const Encoder* find_encoder(const std::string& codec) {
  for (const Encoder& encoder : kEncoders) {
    if (codec == encoder.codec) return &encoder;
  }
  return nullptr;
}

Node encode_node(DeviceValues& values, const Tree& tree, Effort effort, cudaStream_t stream) {
  const Encoder* encoder = find_encoder(tree.codec);
  if (encoder == nullptr) throw Error(ErrorCode::kUnsupported, tree.codec + " has no encoder on the GPU");
  return encoder->encode(values, tree, effort, stream);
}

DeviceBuffer upload(const void* from, size_t bytes, cudaStream_t stream) {
  DeviceBuffer to(bytes, stream);
  if (bytes > 0) check(cudaMemcpyAsync(to.data(), from, bytes, cudaMemcpyHostToDevice, stream), "uploading values");
  return to;
}

}  // namespace

std::string why_not_encode(Physical type, const Tree& tree) {
  if (find_encoder(tree.codec) == nullptr) return tree.codec + " has no encoder on the GPU";
  if (tree.codec == "dict" && type == Physical::kBytes) return "dictionaries of strings are built on the CPU";
  if (tree.codec == "constant" && type == Physical::kBytes) return "constant strings are written by the CPU";
  const auto slots = get_codec(tree.codec).children(type);
  for (size_t i = 0; i < tree.children.size() && i < slots.size(); ++i) {
    std::string reason = why_not_encode(slots[i].type, tree.children[i]);
    if (!reason.empty()) return reason;
  }
  return {};
}

Node encode(const Values& values, const Tree& tree, Effort effort, cudaStream_t stream) {
  const std::string reason = why_not_encode(values.type, tree);
  if (!reason.empty()) throw Error(ErrorCode::kUnsupported, reason);
  DeviceValues on_device;
  on_device.type = values.type;
  on_device.count = values.count;
  if (values.type == Physical::kBytes) {
    static constexpr int64_t kNoRows = 0;
    on_device.offsets = upload(values.count == 0 ? &kNoRows : values.offsets, (values.count + 1) * 8, stream);
    on_device.host_bytes = values.bytes;
    on_device.first_byte = values.count == 0 ? 0 : values.offsets[0];
    on_device.end_byte = values.count == 0 ? 0 : values.offsets[values.count];
  } else {
    on_device.data = upload(values.data, values.count * width_of(values.type), stream);
  }
  if (values.validity != nullptr) on_device.validity = upload(values.validity, (values.count + 7) / 8, stream);
  return encode_node(on_device, tree, effort, stream);
}

}  // namespace basalt::cuda
