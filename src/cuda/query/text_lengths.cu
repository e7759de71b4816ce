#include "cuda/query/text_lengths.h"

#include <algorithm>
#include <memory>

#include "codec/dict/layout.h"
#include "codec/numbered/layout.h"
#include "codec/strings/layout.h"
#include "codec/validity/layout.h"
#include "cuda/codec/decode_strings.h"
#include "cuda/codec/encode_array.cuh"
#include "cuda/query/fixed_arrays.h"
#include "exec/device/generate/generate.h"
#include "exec/text_codes.h"

namespace basalt::cuda {

namespace {

struct StoredLengths {
  uint64_t rows;
  uint64_t first_row;
  const uint8_t* valid;     // nullptr: no NULLs
  const uint32_t* codes;    // nullptr: row i has length i of the list
  const uint32_t* lengths;  // nullptr: all have the same
  uint64_t count;           // of the list
  int64_t same;
};

// A row of blocks for each chunk.
__global__ __launch_bounds__(kThreads) void measure_rows_kernel(const StoredLengths* chunks, int64_t* lengths,
                                                                uint8_t* validity, uint32_t* fault) {
  const StoredLengths chunk = chunks[blockIdx.y];
  const uint64_t i = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= chunk.rows) return;
  const uint64_t text = chunk.codes != nullptr ? chunk.codes[i] : i;
  int64_t length = chunk.same;
  if (text >= chunk.count) {
    *fault = 1;
  } else if (chunk.lengths != nullptr) {
    length = chunk.lengths[text];
  }
  lengths[chunk.first_row + i] = length;
  if (validity == nullptr) return;
  validity[chunk.first_row + i] = chunk.valid == nullptr || chunk.valid[i] != 0 ? 1 : 0;
}

}  // namespace

bool stores_lengths(const ColumnChunkInfo& info) {
  const NodePlace* texts = exec::texts_node_of(info);
  return texts != nullptr && (texts->codec->name() == "strings" || texts->codec->name() == "numbered");
}

void measure_texts(const std::vector<ChunkToMeasure>& chunks, int64_t* lengths, uint8_t* validity, Modules& modules,
                   cudaStream_t stream) {
  constexpr size_t kNone = ~size_t{0};
  struct Numbers {
    size_t valid = kNone;
    size_t codes = kNone;
    size_t lengths = kNone;
  };
  std::vector<std::unique_ptr<NodeView>> roots;
  std::vector<Numbers> numbers;
  std::vector<StoredLengths> stored;
  FixedArrays fixed;
  uint64_t most = 0;
  for (const ChunkToMeasure& one : chunks) {
    const NodeView& root = *roots.emplace_back(std::make_unique<NodeView>(device::shape_of(*one.chunk.info)));
    PlacedNode list{&root, one.chunk.chunk.addresses.data()};
    Numbers& own = numbers.emplace_back();
    StoredLengths& rows = stored.emplace_back();
    rows.rows = root.count;
    rows.first_row = one.first_row;
    most = std::max(most, rows.rows);
    if (root.codec->holds_nulls()) {
      own.valid = fixed.add(list.child(validity::kValid));
      list = list.child(validity::kValues);
    }
    if (list.node->codec->name() == "dict") {
      own.codes = fixed.add(list.child(dict::kCodes));
      list = list.child(dict::kEntries);
    }
    rows.count = list.node->count;
    if (list.node->codec->name() == "strings") {
      own.lengths = fixed.add(list.child(strings::kLengths));
    } else {  // `numbered`: a text, then digits
      rows.same = static_cast<int64_t>(list.node->params.size() - 1) + static_cast<int64_t>(list.node->params[0]);
    }
  }
  if (most == 0) return;
  const DeviceBuffer flag = cleared(sizeof(uint32_t), stream);
  auto* fault = flag.as<uint32_t>();
  fixed.place(stream);
  fixed.run(modules, fault, stream);
  for (size_t i = 0; i < chunks.size(); ++i) {
    const auto at = [&](size_t array) { return array == kNone ? 0 : fixed.address(array); };
    stored[i].valid = reinterpret_cast<const uint8_t*>(at(numbers[i].valid));
    stored[i].codes = reinterpret_cast<const uint32_t*>(at(numbers[i].codes));
    stored[i].lengths = reinterpret_cast<const uint32_t*>(at(numbers[i].lengths));
  }
  const DeviceBuffer sent = upload(stored.data(), stored.size() * sizeof(StoredLengths), stream);
  constexpr size_t kMostChunks = 65535;  // of a grid
  for (size_t first = 0; first < stored.size(); first += kMostChunks) {
    const auto count = static_cast<uint32_t>(std::min(kMostChunks, stored.size() - first));
    measure_rows_kernel<<<dim3(blocks_for(most), count), kThreads, 0, stream>>>(sent.as<StoredLengths>() + first,
                                                                                lengths, validity, fault);
    check(cudaGetLastError(), "measuring strings");
  }
  if (fetch(fault, stream) != 0) throw_corrupt();
}

}  // namespace basalt::cuda
