// Whole arrays on the device and what decodes them, to be timed: launched as often as anybody likes, in one kernel, or
// with children decoded to memory before.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "cuda/codec/decode_strings.h"
#include "cuda/query/fixed_arrays.h"
#include "cuda/runtime/bandwidth.h"

namespace basalt::cuda {

// Arrays on the device and what decodes them, children first where they are decoded to memory.
class TimedArrays {
 public:
  TimedArrays(std::span<const NodeView> arrays, bool unfused, Modules& modules, cudaStream_t stream)
      : fault_(cleared(sizeof(uint32_t), stream)) {
    std::vector<NodeView> roots(arrays.begin(), arrays.end());
    std::vector<size_t> children;
    if (unfused) children = decode_children(roots, modules, stream);
    roots_ = upload_all(roots, stream);
    const size_t per_root = children.size();
    for (size_t i = 0; i < roots.size(); ++i) {
      for (size_t c = 0; c < per_root; ++c) {
        roots_[i].addresses[place_of_child(roots_[i].node, children[c])] = decoded_.address(i * per_root + c);
      }
    }
    prepare(roots_, values_, modules, stream);
  }

  uint32_t kernels() const {
    return static_cast<uint32_t>((making_.empty() ? 0 : 1) + decoded_.launches() + values_.launches());
  }
  // Of the kernel that writes the values.
  std::optional<FixedArrays::Generated> generated() const { return values_.generated(); }
  void set_shape(LaunchShape shape) { values_.set_shape(shape); }

  double seconds(const ColdCache& cold, int rounds, cudaStream_t stream) const {
    return median_seconds(cold, rounds, stream, [&] { launch(stream); });
  }

  // What was uploaded.
  const std::vector<UploadedArray>& uploaded() const { return roots_; }

  void launch(cudaStream_t stream) const {
    making_.make(stream);
    decoded_.launch(fault_.as<uint32_t>(), stream);
    values_.launch(fault_.as<uint32_t>(), stream);
  }
  // Throws Error(kInternal) if the last launch left something else than the CPU decodes.
  void compare(size_t i, const NodeView& stored, cudaStream_t stream) const {
    const uint32_t width = width_of(stored.type);
    const Buffer found = download(reinterpret_cast<const void*>(values_.address(i)), stored.count * width, stream);
    const auto reader = open_reader(stored);
    Buffer expected(uint64_t{kTileRows} * width);
    bool equal = fetch(fault_.as<uint32_t>(), stream) == 0;
    for (uint32_t tile = 0; tile < tile_count(stored.count); ++tile) {
      reader->decode_tile(tile, static_cast<void*>(expected.data()));
      const size_t bytes = size_t{rows_in_tile(stored.count, tile)} * width;
      equal = equal && std::memcmp(found.data() + uint64_t{tile} * kTileRows * width, expected.data(), bytes) == 0;
    }
    if (!equal) throw Error(ErrorCode::kInternal, "the GPU decodes " + to_string(tree_of(stored)) + " to other values");
  }

 private:
  static size_t streams_of(const NodeView& node) {
    size_t count = node.streams.size();
    for (const NodeView& child : node.children) count += streams_of(child);
    return count;
  }
  // The stream, in preorder, at which a child that is one stream lies.
  static size_t place_of_child(const NodeView& node, size_t child) {
    size_t at = node.streams.size();
    for (size_t before = 0; before < child; ++before) at += streams_of(node.children[before]);
    return at;
  }

  std::vector<UploadedArray> upload_all(const std::vector<NodeView>& nodes, cudaStream_t stream) {
    std::vector<UploadedArray> out;
    for (const NodeView& node : nodes) {
      out.push_back(upload_array(node, stream));
      making_.add(out.back().making);
    }
    return out;
  }

  // Roots get values in memory for children; gives which.
  std::vector<size_t> decode_children(std::vector<NodeView>& roots, Modules& modules, cudaStream_t stream) {
    const std::vector<ChildSlot> slots = roots[0].codec->children(roots[0].type);
    std::vector<size_t> children;
    for (size_t c = 0; c < slots.size(); ++c) {
      if (!slots[c].point_access) children.push_back(c);  // entries of a dictionary are looked up
    }
    std::vector<NodeView> stored;
    for (NodeView& root : roots) {
      for (const size_t c : children) {
        NodeView& child = root.children[c];
        stored.push_back(child);
        child = {&get_codec("plain"), child.type, child.count, {}, {ByteView()}, {}};
      }
    }
    children_ = upload_all(stored, stream);
    prepare(children_, decoded_, modules, stream);
    return children;
  }

  static void prepare(const std::vector<UploadedArray>& arrays, FixedArrays& out, Modules& modules,
                      cudaStream_t stream) {
    for (const UploadedArray& array : arrays) out.add({&array.node, array.addresses.data()});
    out.place(stream);
    out.prepare(modules, stream);
  }

  DeviceBuffer fault_;
  DeviceForms making_;
  std::vector<UploadedArray> children_;
  std::vector<UploadedArray> roots_;
  FixedArrays decoded_;
  FixedArrays values_;
};

}  // namespace basalt::cuda
