// Strings of many chunks that lie on the device, decoded there: few launches and waits, however many chunks there are
// and however they are encoded. Of dictionaries only the entries are decoded; rows keep their codes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codec/strings/gpu/texts.h"
#include "cuda/query/chunk_cache.h"
#include "cuda/runtime/device_buffer.h"
#include "cuda/runtime/modules.h"

namespace basalt::cuda {

// A chunk of strings on the device and the metadata that describes it.
struct TextChunk {
  const ColumnChunkInfo* info = nullptr;
  DeviceChunk chunk;
};

// Row i of a chunk is text codes[i], or text i where there are no codes. Codes may lie beyond the texts.
struct TextRows {
  uint64_t rows = 0;
  const uint32_t* codes = nullptr;
  const uint8_t* valid = nullptr;  // one byte per row; nullptr: no NULLs
  uint32_t texts = 0;              // place in DecodedTexts::texts
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
