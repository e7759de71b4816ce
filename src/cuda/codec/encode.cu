// Device encoders, one per codec. Each turns an array on the device into streams on the device and arrays for its
// children; only counts that decide allocations (runs, distinct values, words) come back to the host on the way.
#include <cstring>
#include <cub/device/device_select.cuh>

#include "codec/constant/layout.h"
#include "codec/delta/layout.h"
#include "codec/l3/layout.h"
#include "codec/plain/layout.h"
#include "codec/rle/layout.h"
#include "codec/strings/layout.h"
#include "codec/validity/layout.h"
#include "cuda/codec/encode_array.cuh"
#include "cuda/codec/encode_l3.h"
#include "cuda/codec/encode_texts.cuh"

namespace basalt::cuda {

namespace {

// --- plain, constant ---

Node encode_plain(const DeviceValues& values, const Tree& tree, Aims, cudaStream_t stream) {
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
  node.streams[plain::kBytes] = bytes_on_host(values, static_cast<size_t>(values.end_byte - values.first_byte), stream);
  return node;
}

// `find` raises the flag where a row differs from the first.
template <typename Find>
void require_constant(cudaStream_t stream, Find find) {
  DeviceBuffer differs(sizeof(uint32_t), stream);
  check(cudaMemsetAsync(differs.data(), 0, sizeof(uint32_t), stream), "clearing a flag");
  find(differs.as<uint32_t>());
  if (fetch(differs.as<uint32_t>(), stream) != 0) {
    throw Error(ErrorCode::kUnsupported, "constant: the values are not all equal");
  }
}

std::vector<std::byte> constant_text(DeviceValues& values, cudaStream_t stream) {
  const uint64_t count = values.count;
  require_constant(stream, [&](uint32_t* flag) {
    const strings::Texts texts = texts_of(values, stream);
    each_row_of_warps(count, stream, [=] __device__(uint64_t i) {
      const bool compare = i > 0 && i < count;
      const strings::Text own = compare ? texts.at(i) : strings::no_text();
      const strings::Text first = compare ? texts.at(0) : strings::no_text();
      if (!strings::are_equal(own, first, compare) && compare) *flag = 1;
    });
  });
  const int64_t end = fetch(values.offsets.as<int64_t>() + 1, stream);
  const Buffer text = bytes_on_host(values, static_cast<size_t>(end - values.first_byte), stream);
  return {text.data(), text.data() + text.size()};
}

template <typename T>
std::vector<std::byte> constant_value(const DeviceValues& values, cudaStream_t stream) {
  const T* from = values.data.as<T>();
  require_constant(stream, [&](uint32_t* flag) {
    each_row(values.count, stream, [=] __device__(uint64_t i) {
      if (i > 0 && from[i] != from[0]) *flag = 1;
    });
  });
  const T value = fetch(from, stream);
  std::vector<std::byte> out(constant::kParameterBytes);
  std::memcpy(out.data(), &value, sizeof(T));
  return out;
}

Node encode_constant(DeviceValues& values, const Tree& tree, Aims, cudaStream_t stream) {
  Node node = make_node(values, tree, 0);
  if (values.type == Physical::kBytes) {
    if (values.count > 0) node.params = constant_text(values, stream);
    return node;
  }
  node.params.resize(constant::kParameterBytes);
  if (values.count == 0) return node;
  dispatch_width(width_of(values.type), [&](auto tag) { node.params = constant_value<decltype(tag)>(values, stream); });
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

Node encode_delta(const DeviceValues& values, const Tree& tree, Aims aims, cudaStream_t stream) {
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
  node.children.push_back(encode_node(deltas, tree.children[delta::kDeltas], aims, stream));
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

Node encode_rle(const DeviceValues& values, const Tree& tree, Aims aims, cudaStream_t stream) {
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
  node.children.push_back(encode_node(run_values, tree.children[rle::kValues], aims, stream));
  node.children.push_back(encode_node(run_ends, tree.children[rle::kRunEnds], aims, stream));
  return node;
}

// --- strings, validity ---

Node encode_strings(DeviceValues& values, const Tree& tree, Aims aims, cudaStream_t stream) {
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
  node.children.push_back(encode_node(lengths, tree.children[strings::kLengths], aims, stream));
  node.children.push_back(encode_node(values, tree.children[strings::kBytes], aims, stream));
  return node;
}

Node encode_validity(DeviceValues& values, const Tree& tree, Aims aims, cudaStream_t stream) {
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
  node.children.push_back(encode_node(flags, tree.children[validity::kValid], aims, stream));
  if (values.type != Physical::kNone) {
    node.children.push_back(encode_node(values, tree.children[validity::kValues], aims, stream));
  }
  return node;
}

// --- l3 ---

Node encode_l3(const DeviceValues& values, const Tree& tree, Aims aims, cudaStream_t stream) {
  Node node = make_node(values, tree, l3::kStreams);
  if (values.count == 0) return node;
  if (values.count > kMaxChunkRows) throw Error(ErrorCode::kUnsupported, "l3: the array is too large");
  const l3::EncodeInput chunk{values.data.data(), static_cast<uint32_t>(values.count)};
  L3BatchEncoder encoder({&chunk, 1}, values.type, aims.effort, stream);
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
  Node (*encode)(DeviceValues&, const Tree&, Aims, cudaStream_t);
};
template <Node (*kEncode)(const DeviceValues&, const Tree&, Aims, cudaStream_t)>
Node from_const(DeviceValues& values, const Tree& tree, Aims aims, cudaStream_t stream) {
  return kEncode(values, tree, aims, stream);
}
constexpr Encoder kEncoders[] = {
    {"plain", from_const<encode_plain>},
    {"constant", encode_constant},
    {"packed", from_const<encode_packed>},
    {"delta", from_const<encode_delta>},
    {"rle", from_const<encode_rle>},
    {"dict", encode_dict},
    {"strings", encode_strings},
    {"validity", encode_validity},
    {"l3", from_const<encode_l3>},
    {"galp", from_const<encode_galp>},
    {"fsst", encode_fsst},
    {"tokens", encode_tokens},
    {"numbered", encode_numbered},
    {"ans", from_const<encode_ans>},
    {"stride", from_const<encode_stride>},
    {"grouped", from_const<encode_grouped>},
};

const Encoder* find_encoder(const std::string& codec) {
  for (const Encoder& encoder : kEncoders) {
    if (codec == encoder.codec) return &encoder;
  }
  return nullptr;
}

}  // namespace

Node encode_node(DeviceValues& values, const Tree& tree, Aims aims, cudaStream_t stream) {
  const Encoder* encoder = find_encoder(tree.codec);
  if (encoder == nullptr) throw Error(ErrorCode::kUnsupported, tree.codec + " has no encoder on the GPU");
  return encoder->encode(values, tree, aims, stream);
}

std::string why_not_encode(Physical type, const Tree& tree) {
  if (find_encoder(tree.codec) == nullptr) return tree.codec + " has no encoder on the GPU";
  const auto slots = get_codec(tree.codec).children(type);
  for (size_t i = 0; i < tree.children.size() && i < slots.size(); ++i) {
    std::string reason = why_not_encode(slots[i].type, tree.children[i]);
    if (!reason.empty()) return reason;
  }
  return {};
}

Node encode(const Values& values, const Tree& tree, Aims aims, cudaStream_t stream) {
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
  return encode_node(on_device, tree, aims, stream);
}

}  // namespace basalt::cuda