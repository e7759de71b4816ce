#include "cuda/query/decode_column.h"

#include <memory>

#include "codec/validity/layout.h"
#include "cuda/codec/decode_strings.h"
#include "cuda/query/fixed_arrays.h"
#include "exec/device/generate/generate.h"

namespace basalt::cuda {

void decode_column(const std::vector<ChunkToDecode>& chunks, Physical type, DeviceBuffer& values,
                   DeviceBuffer& validity, Modules& modules, cudaStream_t stream) {
  std::vector<std::unique_ptr<NodeView>> roots;
  FixedArrays rows;
  FixedArrays flags;
  std::vector<uint64_t> row_places;
  std::vector<uint64_t> flag_places;
  for (const ChunkToDecode& chunk : chunks) {
    const NodeView& root = *roots.emplace_back(std::make_unique<NodeView>(device::shape_of(*chunk.info)));
    PlacedNode node{&root, chunk.chunk->addresses.data()};
    if (root.codec->holds_nulls()) {
      flags.add(node.child(validity::kValid));
      flag_places.push_back(chunk.first_row);
      node = node.child(validity::kValues);
    }
    if (width_of(node.node->type) != width_of(type)) throw_corrupt();
    rows.add(node);
    row_places.push_back(chunk.first_row * width_of(type));
  }
  const DeviceBuffer flag = cleared(sizeof(uint32_t), stream);
  auto* fault = flag.as<uint32_t>();
  rows.place(std::move(values), row_places);
  rows.run(modules, fault, stream);
  flags.place(std::move(validity), flag_places);
  flags.run(modules, fault, stream);
  const bool damaged = fetch(fault, stream) != 0;
  values = rows.take_memory();
  validity = flags.take_memory();
  if (damaged) throw_corrupt();
}

}  // namespace basalt::cuda
