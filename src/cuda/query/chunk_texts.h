// Strings of many chunks that lie on the device, decoded there: few launches and waits, however many chunks there are
// and however they are encoded. Of dictionaries only the entries are decoded; rows keep their codes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cuda/query/chunk_cache.h"
#include "cuda/query/text_rows.h"
#include "cuda/runtime/device_buffer.h"
#include "cuda/runtime/modules.h"

namespace basalt::cuda {

// A chunk of strings on the device and the metadata that describes it.
struct TextChunk {
  const ColumnChunkInfo* info = nullptr;
  DeviceChunk chunk;
};

struct DecodedTexts {
  struct List {
    strings::Texts at{};
    uint64_t count = 0;
  };
  std::vector<TextRows> chunks;  // as they were given
  std::vector<List> texts;       // chunks with the same dictionary share one
  std::vector<DeviceBuffer> memory;
  DeviceBuffer fault;  // uint32: not 0 once the stream got here and values break the rules of their encoding
};

// Chunks must stay on the device while the result is used. Where lengths lie, Error(kCorrupt).
DecodedTexts decode_texts(const std::vector<TextChunk>& chunks, Modules& modules, cudaStream_t stream);
// The same of chunks that all have dictionaries, without their rows' codes.
DecodedTexts decode_entries(const std::vector<TextChunk>& chunks, Modules& modules, cudaStream_t stream);

}  // namespace basalt::cuda
