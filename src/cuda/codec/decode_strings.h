// Strings decoded on the device, whatever their encoding, to offsets and bytes that stay there.
#pragma once

#include <functional>
#include <vector>

#include "basalt/codec/codec.h"
#include "codec/strings/gpu/decode_work.h"
#include "cuda/codec/device_forms.h"
#include "cuda/runtime/device_buffer.h"

namespace basalt::cuda {

[[noreturn]] inline void throw_corrupt() {
  throw Error(ErrorCode::kCorrupt, "its values break the rules of their encoding");
}

// An encoded array in device memory, as its tile reader takes it.
struct UploadedArray {
  NodeView node;                    // what lies there; streams have sizes, but no bytes that anybody may read
  std::vector<uint64_t> addresses;  // of its streams, then of its children's, in preorder
  DeviceBuffer streams;
  std::vector<DeviceBuffer> forms;  // of nodes that lie on the device in another form than they are stored
  DeviceForms making;               // what made them
  DeviceBuffer fault;
  DeviceBuffer descriptor;
};
// Throws Error(kCorrupt) where making a form finds damage.
UploadedArray upload_array(const NodeView& node, cudaStream_t stream);

// Rows as Arrow has them: offsets of 64 bits, the first one 0, and bytes.
struct DeviceStrings {
  uint64_t count = 0;
  uint64_t byte_count = 0;
  DeviceBuffer offsets;  // int64, count + 1
  DeviceBuffer bytes;
};

// An array of integers as the kernels of strings take it.
struct DeviceChild {
  strings::Child stored = strings::Child::kPlain;
  UploadedArray array;
  DeviceBuffer values;

  const uint64_t* descriptor() const { return array.descriptor.as<uint64_t>(); }
};

class StringsDecoder {
 public:
  // Decodes an array of fixed width to values in device memory.
  using Fixed = std::function<DeviceBuffer(const NodeView&)>;

  StringsDecoder(Fixed fixed, cudaStream_t stream) : fixed_(std::move(fixed)), stream_(stream) {}

  cudaStream_t stream() const { return stream_; }
  // Throws Error(kCorrupt) if the values break the rules of their encoding. Synchronises the stream.
  DeviceStrings decode(const NodeView& node) const;
  DeviceBuffer fixed(const NodeView& node) const { return fixed_(node); }
  // As it is if kernels read that, else decoded.
  DeviceChild child(const NodeView& node) const;

 private:
  Fixed fixed_;
  cudaStream_t stream_;
};

// Whether StringsDecoder knows the codec; its children may still be unknown.
bool decodes_strings_of(std::string_view codec);

// The codecs that have kernels: below `strings` with its lengths, or by itself.
DeviceStrings decode_fsst(const StringsDecoder& decoder, const NodeView& lengths, const NodeView& node);
DeviceStrings decode_tokens(const StringsDecoder& decoder, const NodeView& lengths, const NodeView& node);
DeviceStrings decode_numbered(const StringsDecoder& decoder, const NodeView& node);

}  // namespace basalt::cuda
