// Whole arrays decoded on the device and brought back: what `verify --device cuda` runs (of strings: tests only) and
// tests compare. Fixed-width arrays go through the kernel that is compiled ahead for their tree, where there is one,
// else through a generated kernel that names their tile reader; strings through the readers of their lengths and codes,
// their bytes being stored row after row already, or through the kernels of fsst.
#include <algorithm>
#include <cstring>

#include "codec/device_names.h"
#include "codec/dict/layout.h"
#include "codec/fsst/layout.h"
#include "codec/plain/layout.h"
#include "codec/rle/layout.h"
#include "codec/strings/layout.h"
#include "codec/validity/layout.h"
#include "cuda/ahead.h"
#include "cuda/backend.h"
#include "cuda/decode_fsst.h"
#include "cuda/encode.h"

namespace basalt::cuda {

namespace {

constexpr size_t kStreamAlignment = 256;

[[noreturn]] void throw_corrupt() { throw Error(ErrorCode::kCorrupt, "its values break the rules of their encoding"); }

void collect_streams(const NodeView& node, std::vector<ByteView>& out) {
  out.insert(out.end(), node.streams.begin(), node.streams.end());
  for (const NodeView& child : node.children) collect_streams(child, out);
}

void append_string(StringRows& rows, std::string_view text) {
  rows.bytes.append(text.data(), text.size());
  rows.offsets.push_back(static_cast<int64_t>(rows.bytes.size()));
}

}  // namespace

Buffer CudaBackend::decode_fixed(const NodeView& node) {
  const std::string value_type = device_value_type(node.type);
  const DeviceReader reader = node.codec == nullptr ? DeviceReader() : node.codec->device_reader(node);
  if (value_type.empty() || reader.empty()) {
    throw Error(ErrorCode::kUnsupported, "the encoding " + to_string(tree_of(node)) + " has no device reader");
  }
  const device::AheadDecoder* ahead = find_ahead(reader.type);
  if (ahead == nullptr && reader.scratch_bytes > device::kMostScratch) {
    throw Error(ErrorCode::kUnsupported,
                "the encoding " + to_string(tree_of(node)) + " needs more shared memory than a block of the GPU has");
  }
  Buffer out(static_cast<size_t>(node.count) * width_of(node.type));
  if (node.count == 0) return out;

  std::vector<ByteView> streams;
  collect_streams(node, streams);
  size_t bytes = 0;
  std::vector<uint64_t> offsets;
  for (const ByteView stream : streams) {
    offsets.push_back(bytes);
    bytes += (stream.size() + kStreamAlignment - 1) / kStreamAlignment * kStreamAlignment;
  }
  const DeviceBlock input(std::max<size_t>(bytes, kStreamAlignment), compute_, compute_);
  for (size_t i = 0; i < streams.size(); ++i) {
    if (streams[i].empty()) continue;
    check(cudaMemcpyAsync(input.data() + offsets[i], streams[i].data(), streams[i].size(), cudaMemcpyHostToDevice,
                          compute_),
          "copying to the device");
    offsets[i] += input.address();
  }
  std::vector<uint64_t> words;
  size_t next = 0;
  device::append_descriptor(node, offsets, next, words);
  const DeviceBlock descriptor(words.size() * sizeof(uint64_t), compute_, compute_);
  check(cudaMemcpyAsync(descriptor.data(), words.data(), words.size() * sizeof(uint64_t), cudaMemcpyHostToDevice,
                        compute_),
        "copying a descriptor");
  const DeviceBlock output(out.size(), compute_, compute_);
  // Where the only chunk's rows begin, and the flag.
  const DeviceBlock zeros(2 * sizeof(uint64_t), compute_, compute_);
  check(cudaMemsetAsync(zeros.data(), 0, 2 * sizeof(uint64_t), compute_), "clearing a flag");
  auto* bad = reinterpret_cast<uint32_t*>(zeros.as<uint64_t>() + 1);

  if (ahead != nullptr) {
    const device::ChunkBatch batch{descriptor.as<uint64_t>(), zeros.as<uint64_t>(), static_cast<uint32_t>(words.size()),
                                   1, tile_count(node.count)};
    check(ahead->decode(node, batch, output.data(), bad, compute_), "launching a decoder");
  } else {
    const LoadedKernel& kernel = modules_.get(device::decode_source(reader, value_type), device::kDecodeKernel);
    const void* descriptor_argument = descriptor.data();
    void* output_argument = output.data();
    void* arguments[] = {&descriptor_argument, &output_argument, &bad};
    check(cudaLaunchKernel(kernel.function(), dim3(static_cast<unsigned>(kernel.blocks)),
                           dim3(static_cast<unsigned>(kernel.threads)), arguments, 0, compute_),
          "launching a decoder");
  }
  uint32_t flag = 0;
  check(cudaMemcpyAsync(out.data(), output.data(), out.size(), cudaMemcpyDeviceToHost, compute_),
        "copying decoded rows");
  check(cudaMemcpyAsync(&flag, bad, sizeof(flag), cudaMemcpyDeviceToHost, compute_), "copying a flag");
  compute_.synchronize();
  if (flag != 0) throw_corrupt();
  return out;
}

void CudaBackend::decode_strings(const NodeView& node, StringRows& out) {
  const std::string_view codec = node.codec->name();
  if (codec == "dict") {
    const Buffer codes = decode_fixed(node.children[dict::kCodes]);
    StringRows entries;
    decode_strings(node.children[dict::kEntries], entries);
    for (const uint32_t code : codes.span<uint32_t>()) {
      if (code >= entries.size()) throw_corrupt();
      append_string(out, entries.at(code));
    }
  } else if (codec == "rle") {
    const Buffer ends = decode_fixed(node.children[rle::kRunEnds]);
    StringRows values;
    decode_strings(node.children[rle::kValues], values);
    uint64_t row = 0;
    for (size_t run = 0; run < values.size() && run < ends.span<uint32_t>().size(); ++run) {
      const uint32_t end = ends.as<uint32_t>()[run];
      if (end <= row || end > node.count) throw_corrupt();
      for (; row < end; ++row) append_string(out, values.at(run));
    }
    if (row != node.count) throw_corrupt();
  } else if (codec == "strings") {
    const Buffer lengths = decode_fixed(node.children[strings::kLengths]);
    const NodeView& bytes = node.children[strings::kBytes];
    if (bytes.codec->name() == "fsst") {
      const Buffer code_lengths = decode_fixed(bytes.children[fsst::kCodeLengths]);
      return decode_fsst(bytes, lengths, code_lengths, out, compute_);
    }
    const std::unique_ptr<BytesReader> reader = bytes.codec->open_bytes(bytes);
    const uint32_t tiles = tile_count(node.count);
    int64_t at = 0;
    for (uint32_t tile = 0; tile < tiles; ++tile) {
      const std::span<const uint32_t> own(lengths.as<uint32_t>() + size_t{tile} * kTileRows,
                                          rows_in_tile(node.count, tile));
      if (!reader->lengths_fit(tile, own)) throw_corrupt();
      for (const uint32_t length : own) out.offsets.push_back(at += length);
      reader->decode_tile(tile, own, out.bytes);
    }
    if (reader->corrupt()) throw_corrupt();
  } else {
    throw Error(ErrorCode::kUnsupported, "the encoding " + to_string(tree_of(node)) + " has no device reader");
  }
}

Column CudaBackend::decode(const NodeView& root, const DataType& type) {
  std::lock_guard lock(mutex_);
  use_device();
  Column column;
  column.type = type;
  column.length = root.count;
  const NodeView* values = &root;
  if (root.codec != nullptr && root.codec->name() == "validity") {
    const Buffer flags = decode_fixed(root.children[validity::kValid]);
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
    StringRows rows;
    decode_strings(*values, rows);
    column.bytes = std::move(rows.bytes);
    column.offsets.append(rows.offsets.data(), rows.offsets.size() * sizeof(int64_t));
    return column;
  }
  Buffer decoded = decode_fixed(*values);
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

bool CudaBackend::decodes_ahead(const NodeView& node) {
  return node.codec != nullptr && find_ahead(node.codec->device_reader(node).type) != nullptr;
}

Node CudaBackend::encode(const Values& values, const Tree& tree, Effort effort) {
  std::lock_guard lock(mutex_);
  use_device();
  return cuda::encode(values, tree, effort, compute_);
}

std::string CudaBackend::why_not_encode(Physical type, const Tree& tree) { return cuda::why_not_encode(type, tree); }

}  // namespace basalt::cuda
