// Arrays of integers that lie on the device, decoded together: arrays that are stored alike share a launch.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "basalt/codec/codec.h"
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
  // *fault (device memory) becomes 1 if values break a rule that only they can show.
  void run(Modules& modules, uint32_t* fault, cudaStream_t stream);
  DeviceBuffer take_memory() { return std::move(values_); }

 private:
  struct Array {
    PlacedNode node;
    uint64_t at = 0;  // byte of the memory, on a tile's border
  };
  void run_together(const std::vector<const Array*>& arrays, const DeviceReader& reader, Modules& modules,
                    uint32_t* fault, cudaStream_t stream);

  std::vector<Array> arrays_;
  DeviceBuffer values_;
  std::vector<DeviceBuffer> inputs_;
};

}  // namespace basalt::cuda
