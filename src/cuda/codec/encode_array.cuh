// What the device encoders work with: arrays on the device, and each other.
#pragma once

#include "codec/strings/gpu/texts.h"
#include "core/dispatch.h"
#include "cuda/codec/encode.h"
#include "cuda/runtime/each_row.cuh"

namespace basalt::cuda {

// An array of plain values on the device. Strings are bytes [first_byte, end_byte), cut by offsets. Most encoders need
// only the offsets, so bytes that are on the host stay there until bytes_on_device() asks for them.
struct DeviceValues {
  Physical type = Physical::kU64;
  uint64_t count = 0;
  DeviceBuffer data;                 // values, or the bytes of strings
  DeviceBuffer offsets;              // int64, count + 1
  DeviceBuffer validity;             // bitmap
  const char* host_bytes = nullptr;  // where offset 0 points; nullptr: the bytes were made on the device
  int64_t first_byte = 0;
  int64_t end_byte = 0;
};

// The strings' bytes, from first_byte on.
inline const std::byte* bytes_on_device(DeviceValues& values, cudaStream_t stream) {
  const auto bytes = static_cast<size_t>(values.end_byte - values.first_byte);
  if (values.data.data() == nullptr && bytes > 0) {
    values.data = upload(values.host_bytes + values.first_byte, bytes, stream);
  }
  return values.data.as<std::byte>();
}
// The bytes of the first strings, on the host.
inline Buffer bytes_on_host(const DeviceValues& values, size_t bytes, cudaStream_t stream) {
  if (values.host_bytes == nullptr) return download(values.data, bytes, stream);
  Buffer out;
  out.append(values.host_bytes + values.first_byte, bytes);
  return out;
}

// With the encoder of the tree's codec.
Node encode_node(DeviceValues& values, const Tree& tree, Aims aims, cudaStream_t stream);

// Encoders that have files of their own.
Node encode_packed(const DeviceValues& values, const Tree& tree, Aims aims, cudaStream_t stream);
Node encode_galp(const DeviceValues& values, const Tree& tree, Aims aims, cudaStream_t stream);
Node encode_fsst(DeviceValues& values, const Tree& tree, Aims aims, cudaStream_t stream);
Node encode_tokens(DeviceValues& values, const Tree& tree, Aims aims, cudaStream_t stream);
Node encode_numbered(DeviceValues& values, const Tree& tree, Aims aims, cudaStream_t stream);
Node encode_ans(const DeviceValues& values, const Tree& tree, Aims aims, cudaStream_t stream);
Node encode_stride(const DeviceValues& values, const Tree& tree, Aims aims, cudaStream_t stream);
Node encode_grouped(const DeviceValues& values, const Tree& tree, Aims aims, cudaStream_t stream);
Node encode_dict(DeviceValues& values, const Tree& tree, Aims aims, cudaStream_t stream);

// Throws if descriptors of `packed` cannot point at this 128-byte row, the first of the last tile.
void require_packed_rows(uint64_t last_row);

// Fills `codes`, one of each text, and `entries` of a dictionary of `count` texts.
void find_distinct_strings(const strings::Texts& texts, uint64_t count, uint32_t* codes, DeviceValues& entries,
                           cudaStream_t stream);

inline Node make_node(const DeviceValues& values, const Tree& tree, size_t streams) {
  Node node{&get_codec(tree.codec), values.type, values.count, {}, {}, {}};
  node.streams.resize(streams);
  return node;
}

}  // namespace basalt::cuda
