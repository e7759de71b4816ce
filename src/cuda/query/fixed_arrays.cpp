#include "cuda/query/fixed_arrays.h"

#include <algorithm>

#include "codec/device_names.h"
#include "cuda/codec/precompiled.h"
#include "exec/device/generate/generate.h"

namespace basalt::cuda {

namespace {

size_t count_streams(const NodeView& node) {
  size_t count = node.streams.size();
  for (const NodeView& child : node.children) count += count_streams(child);
  return count;
}

// Arrays begin on the border of a tile of the widest integers.
uint64_t padded_bytes(const NodeView& node) {
  constexpr uint64_t kWidest = sizeof(uint128_t);
  const uint64_t tiles = uint64_t{tile_count(node.count)} * width_of(node.type);
  return (tiles + kWidest - 1) / kWidest * kWidest * kTileRows;
}

std::string source_of(const NodeView& node) {
  return device::decode_source(node.codec->device_reader(node), device_value_type(node.type));
}

}  // namespace

PlacedNode PlacedNode::child(size_t i) const {
  size_t skip = node->streams.size();
  for (size_t before = 0; before < i; ++before) skip += count_streams(node->children[before]);
  return {&node->children[i], addresses + skip};
}

std::vector<uint64_t> PlacedNode::descriptor() const {
  const std::vector<uint64_t> list(addresses, addresses + count_streams(*node));
  std::vector<uint64_t> words;
  size_t next = 0;
  device::append_descriptor(*node, list, next, words);
  return words;
}

size_t FixedArrays::add(const PlacedNode& node) {
  arrays_.push_back({node});
  return arrays_.size() - 1;
}

void FixedArrays::place(cudaStream_t stream) {
  uint64_t bytes = 0;
  for (Array& array : arrays_) {
    array.at = bytes;
    bytes += padded_bytes(*array.node.node);
  }
  values_ = DeviceBuffer(bytes, stream);
}

void FixedArrays::place(DeviceBuffer memory, const std::vector<uint64_t>& places) {
  for (size_t i = 0; i < arrays_.size(); ++i) arrays_[i].at = places.at(i);
  values_ = std::move(memory);
}

uint64_t FixedArrays::address(size_t array) const {
  return reinterpret_cast<uint64_t>(values_.data()) + arrays_[array].at;
}

void FixedArrays::prepare(Modules& modules, cudaStream_t stream) {
  launches_.clear();
  std::map<std::string, std::vector<const Array*>> groups;
  for (const Array& array : arrays_) {
    const NodeView& node = *array.node.node;
    if (node.count > 0) groups[node.codec->device_reader(node).type.text()].push_back(&array);
  }
  std::vector<std::string> sources;
  for (const auto& [name, arrays] : groups) {
    if (find_precompiled(name) == nullptr) sources.push_back(source_of(*arrays[0]->node.node));
  }
  modules.prepare(sources, device::kDecodeKernel);
  for (const auto& [name, arrays] : groups) {
    const NodeView& node = *arrays[0]->node.node;
    launches_.push_back(prepare_together(arrays, node.codec->device_reader(node), modules, stream));
  }
}

FixedArrays::Launch FixedArrays::prepare_together(const std::vector<const Array*>& arrays, const DeviceReader& reader,
                                                  Modules& modules, cudaStream_t stream) {
  std::vector<std::vector<uint64_t>> descriptors;
  size_t stride = 0;
  for (const Array* array : arrays) {
    descriptors.push_back(array->node.descriptor());
    stride = std::max(stride, descriptors.back().size());
  }
  std::vector<uint64_t> words(arrays.size() * stride, 0);
  const Physical type = arrays[0]->node.node->type;
  uint32_t most_tiles = 0;
  for (size_t i = 0; i < arrays.size(); ++i) {
    std::copy(descriptors[i].begin(), descriptors[i].end(), words.begin() + static_cast<ptrdiff_t>(i * stride));
    most_tiles = std::max(most_tiles, tile_count(arrays[i]->node.node->count));
  }
  for (const Array* array : arrays) words.push_back(array->at / width_of(type));  // where each one's rows begin
  inputs_.push_back(upload(words.data(), words.size() * sizeof(uint64_t), stream));
  const auto* on_device = inputs_.back().as<uint64_t>();
  Launch out;
  out.batch = {on_device, on_device + arrays.size() * stride, static_cast<uint32_t>(stride),
               static_cast<uint32_t>(arrays.size()), most_tiles};
  // Of dictionaries the one with most entries says what shared memory they need.
  const auto entries = [](const Array* array) {
    const std::vector<NodeView>& children = array->node.node->children;
    return children.empty() ? 0 : children.back().count;
  };
  const Array* largest =
      *std::ranges::max_element(arrays, [&](const Array* a, const Array* b) { return entries(a) < entries(b); });
  out.node = largest->node.node;
  out.precompiled = find_precompiled(reader.type.text());
  if (out.precompiled == nullptr) {
    const std::string source = source_of(*out.node);
    out.generated = &modules.get(source, device::kDecodeKernel);
    out.shape = modules.shapes().of(source);
  }
  return out;
}

std::optional<FixedArrays::Generated> FixedArrays::generated() const {
  if (launches_.size() != 1 || launches_[0].generated == nullptr) return std::nullopt;
  const Launch& one = launches_[0];
  return Generated{source_of(*one.node), static_cast<uint32_t>(one.generated->threads) / kLanes, one.shape};
}

void FixedArrays::set_shape(LaunchShape shape) {
  for (Launch& one : launches_) one.shape = shape;
}

void FixedArrays::launch(uint32_t* fault, cudaStream_t stream) const {
  for (const Launch& one : launches_) {
    if (one.generated != nullptr) {
      launch_decoder(*one.generated, one.shape, one.batch, values_.data(), fault, stream);
    } else {
      check(one.precompiled->decode(*one.node, one.batch, values_.data(), fault, stream), "launching a decoder");
    }
  }
}

}  // namespace basalt::cuda
