// Whole arrays decoded on the device and brought back: what `verify --device cuda` runs and tests compare. Fixed-width
// arrays go through the precompiled kernel of their tree, where there is one, else through a generated
// kernel that names their tile reader; strings through StringsDecoder.
#include <algorithm>
#include <cstring>

#include "codec/device_names.h"
#include "codec/validity/layout.h"
#include "cuda/backend.h"
#include "cuda/codec/decode_strings.h"
#include "cuda/codec/device_forms.h"
#include "cuda/codec/encode.h"
#include "cuda/codec/precompiled.h"

namespace basalt::cuda {

namespace {

constexpr size_t kStreamAlignment = 256;

void collect_streams(const NodeView& node, std::vector<ByteView>& out) {
  out.insert(out.end(), node.streams.begin(), node.streams.end());
  for (const NodeView& child : node.children) collect_streams(child, out);
}

// A tree whose streams have been copied, as it lies on the device.
class PlacedForms {
 public:
  PlacedForms(UploadedArray& array, cudaStream_t stream) : array_(array), stream_(stream) {
    array_.fault = cleared(sizeof(uint32_t), stream);
  }

  // `stored`: addresses of the tree's streams in preorder. Nodes become what lies there.
  void place(const std::vector<uint64_t>& stored) {
    next_ = stored.begin();
    place_node(array_.node);
    array_.making.make(stream_);
    if (!array_.forms.empty() && fetch(array_.fault.as<uint32_t>(), stream_) != 0) throw_corrupt();
  }

 private:
  void place_node(NodeView& node) {
    const auto end = next_ + static_cast<ptrdiff_t>(node.streams.size());
    const std::vector<uint64_t> own(next_, end);
    next_ = end;
    if (std::optional<NodeView> form = node.codec->device_form(node)) {
      uint64_t bytes = 0;
      std::vector<uint64_t>& addresses = array_.addresses;
      for (const ByteView stream : form->streams) {
        addresses.push_back(bytes);
        bytes += (stream.size() + device::kFormAlignment - 1) / device::kFormAlignment * device::kFormAlignment;
      }
      const auto base = reinterpret_cast<uint64_t>(array_.forms.emplace_back(bytes, stream_).data());
      for (size_t i = addresses.size() - form->streams.size(); i < addresses.size(); ++i) addresses[i] += base;
      array_.making.add(node, own, base, array_.fault.as<uint32_t>());
      node = std::move(*form);
    } else {
      array_.addresses.insert(array_.addresses.end(), own.begin(), own.end());
    }
    for (NodeView& child : node.children) place_node(child);
  }

  UploadedArray& array_;
  cudaStream_t stream_;
  std::vector<uint64_t>::const_iterator next_;
};

// Empty if there is a kernel for the array, or one can be generated.
std::string why_no_reader(const NodeView& node) {
  const DeviceReader reader = node.codec->device_reader(node);
  if (device_value_type(node.type).empty() || reader.empty()) {
    return "the encoding " + to_string(tree_of(node)) + " has no device reader";
  }
  if (find_precompiled(reader.type.text()) == nullptr && reader.scratch_bytes > device::kMostScratch) {
    return "the encoding " + to_string(tree_of(node)) + " needs more shared memory than a block of the GPU has";
  }
  return {};
}

}  // namespace

UploadedArray upload_array(const NodeView& node, cudaStream_t stream) {
  std::vector<ByteView> streams;
  collect_streams(node, streams);
  size_t bytes = 0;
  std::vector<uint64_t> offsets;
  for (const ByteView one : streams) {
    offsets.push_back(bytes);
    bytes += (one.size() + kStreamAlignment - 1) / kStreamAlignment * kStreamAlignment;
  }
  UploadedArray out;
  out.streams = DeviceBuffer(std::max<size_t>(bytes, kStreamAlignment), stream);
  for (size_t i = 0; i < streams.size(); ++i) {
    if (streams[i].empty()) continue;
    check(cudaMemcpyAsync(out.streams.as<std::byte>() + offsets[i], streams[i].data(), streams[i].size(),
                          cudaMemcpyHostToDevice, stream),
          "copying to the device");
    offsets[i] += reinterpret_cast<uint64_t>(out.streams.data());
  }
  out.node = node;
  PlacedForms(out, stream).place(offsets);
  std::vector<uint64_t> words;
  size_t next = 0;
  device::append_descriptor(out.node, out.addresses, next, words);
  out.descriptor = upload(words.data(), words.size() * sizeof(uint64_t), stream);
  return out;
}

DeviceBuffer CudaBackend::decode_fixed(const NodeView& node) {
  const std::string reason = node.codec == nullptr ? "an unknown codec" : why_no_reader(node);
  if (!reason.empty()) throw Error(ErrorCode::kUnsupported, reason);
  const DeviceReader reader = node.codec->device_reader(node);
  const device::PrecompiledDecoder* precompiled = find_precompiled(reader.type.text());
  DeviceBuffer output(static_cast<size_t>(node.count) * width_of(node.type), compute_);
  if (node.count == 0) return output;

  const UploadedArray input = upload_array(node, compute_);
  // Where the only chunk's rows begin, and the flag.
  const DeviceBuffer zeros = cleared(2 * sizeof(uint64_t), compute_);
  auto* bad = reinterpret_cast<uint32_t*>(zeros.as<uint64_t>() + 1);
  const auto words = static_cast<uint32_t>(input.descriptor.bytes() / sizeof(uint64_t));
  const device::ChunkBatch batch{input.descriptor.as<uint64_t>(), zeros.as<uint64_t>(), words, 1,
                                 tile_count(node.count)};
  if (precompiled != nullptr) {
    check(precompiled->decode(node, batch, output.data(), bad, compute_), "launching a decoder");
  } else {
    const std::string source = device::decode_source(reader, device_value_type(node.type));
    launch_decoder(modules_.get(source, device::kDecodeKernel), modules_.shapes().of(source), batch, output.data(), bad,
                   compute_);
  }
  if (fetch(bad, compute_) != 0) throw_corrupt();
  return output;
}

Buffer CudaBackend::decode_fixed_rows(const NodeView& node) {
  return download(decode_fixed(node), static_cast<size_t>(node.count) * width_of(node.type), compute_);
}

Column CudaBackend::decode(const NodeView& root, const DataType& type) {
  std::lock_guard lock(mutex_);
  use_device();
  Column column;
  column.type = type;
  column.length = root.count;
  const NodeView* values = &root;
  if (root.codec != nullptr && root.codec->holds_nulls()) {
    const Buffer flags = decode_fixed_rows(root.children[validity::kValid]);
    column.validity.resize(static_cast<size_t>((root.count + 7) / 8));
    auto* bits = column.validity.as<uint8_t>();
    if (!column.validity.empty()) std::memset(bits, 0, column.validity.size());
    for (uint64_t i = 0; i < root.count; ++i) {
      const uint8_t valid = flags.as<uint8_t>()[i];
      if (valid > 1) throw Error(ErrorCode::kCorrupt, "a NULL flag is neither 0 nor 1");
      bits[i >> 3] = static_cast<uint8_t>(bits[i >> 3] | valid << (i & 7));
      column.null_count += 1u - valid;
    }
    if (column.null_count == 0) column.validity.clear();
    if (root.children.size() < 2) return column;
    values = &root.children[validity::kValues];
  }
  const Physical physical = type.kind == TypeKind::kList ? kListPhysical : physical_of(type);
  if (physical == Physical::kNone) return column;
  if (physical == Physical::kBytes) {
    const StringsDecoder decoder([this](const NodeView& node) { return decode_fixed(node); }, compute_);
    const DeviceStrings rows = decoder.decode(*values);
    column.bytes = download(rows.bytes, rows.byte_count, compute_);
    column.offsets = download(rows.offsets, (rows.count + 1) * sizeof(int64_t), compute_);
    return column;
  }
  Buffer decoded = decode_fixed_rows(*values);
  if (type.kind == TypeKind::kList) {
    int64_t at = 0;
    column.offsets.push(at);
    for (const uint32_t length : decoded.span<uint32_t>()) column.offsets.push(at += length);
    return column;
  }
  if (type.kind == TypeKind::kBool) {
    for (const uint8_t value : decoded.span<uint8_t>()) {
      if (value > 1) throw Error(ErrorCode::kCorrupt, "a boolean is neither 0 nor 1");
    }
  }
  column.values = std::move(decoded);
  return column;
}

std::string CudaBackend::why_not_decode(const NodeView& node) {
  if (node.codec == nullptr) return "an unknown codec";
  if (node.count > UINT32_MAX) return "an array of " + std::to_string(node.count) + " values";
  const bool passes_on = node.codec->holds_nulls() || node.type == Physical::kBytes;
  if (!passes_on) return why_no_reader(node);
  if (!node.codec->holds_nulls() && !decodes_strings_of(node.codec->name())) {
    return std::string(node.codec->name()) + " has no decoder on the GPU";
  }
  for (const NodeView& child : node.children) {
    std::string reason = why_not_decode(child);
    if (!reason.empty()) return reason;
  }
  return {};
}

bool CudaBackend::has_precompiled_decoder(const NodeView& node) {
  return node.codec != nullptr && find_precompiled(node.codec->device_reader(node).type.text()) != nullptr;
}

Node CudaBackend::encode(const Values& values, const Tree& tree, Aims aims) {
  std::lock_guard lock(mutex_);
  use_device();
  return cuda::encode(values, tree, aims, compute_);
}

std::string CudaBackend::why_not_encode(Physical type, const Tree& tree) { return cuda::why_not_encode(type, tree); }

}  // namespace basalt::cuda
