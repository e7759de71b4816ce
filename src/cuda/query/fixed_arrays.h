// Arrays of integers that lie on the device, decoded together: arrays that are stored alike share a launch.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "basalt/codec/codec.h"
#include "cuda/codec/precompiled.h"
#include "cuda/runtime/device_buffer.h"
#include "cuda/runtime/modules.h"

namespace basalt::cuda {

// A node of a chunk on the device: its shape, and the addresses of its streams, then of its children's, in preorder.
struct PlacedNode {
  const NodeView* node = nullptr;
  const uint64_t* addresses = nullptr;

  PlacedNode child(size_t i) const;
  std::vector<uint64_t> descriptor() const;
};

class FixedArrays {
 public:
  // Gives the array's number.
  size_t add(const PlacedNode& node);
  // Takes the memory. Values are there once run()'s launches are done.
  void place(cudaStream_t stream);
  // The same with memory that is there: array i begins at byte places[i], on a tile's border.
  void place(DeviceBuffer memory, const std::vector<uint64_t>& places);
  uint64_t address(size_t array) const;
  // Compiles kernels and copies what they are given; then launch() may be called as often as anybody likes.
  void prepare(Modules& modules, cudaStream_t stream);
  // *fault (device memory) becomes 1 if values break a rule that only they can show.
  void launch(uint32_t* fault, cudaStream_t stream) const;
  void run(Modules& modules, uint32_t* fault, cudaStream_t stream) {
    prepare(modules, stream);
    launch(fault, stream);
  }
  size_t launches() const { return launches_.size(); }
  // The source of the one generated decoder, and how many warps its blocks have room for; nothing where decoders are
  // several, or precompiled.
  struct Generated {
    std::string source;
    uint32_t most_warps = 0;
    LaunchShape shape;
  };
  std::optional<Generated> generated() const;
  // Launches generated decoders so from now on.
  void set_shape(LaunchShape shape);
  DeviceBuffer take_memory() { return std::move(values_); }

 private:
  struct Array {
    PlacedNode node;
    uint64_t at = 0;  // byte of the memory, on a tile's border
  };
  // Arrays with the same reader.
  struct Launch {
    const NodeView* node = nullptr;
    device::ChunkBatch batch{};
    const device::PrecompiledDecoder* precompiled = nullptr;
    const LoadedKernel* generated = nullptr;  // if there is no precompiled one
    LaunchShape shape;
  };
  Launch prepare_together(const std::vector<const Array*>& arrays, const DeviceReader& reader, Modules& modules,
                          cudaStream_t stream);

  std::vector<Array> arrays_;
  DeviceBuffer values_;
  std::vector<DeviceBuffer> inputs_;
  std::vector<Launch> launches_;
};

}  // namespace basalt::cuda
