// Strings of a column that every chunk stores as places in a list, or that are few, as places in one sorted list of
// all: equal strings have equal codes, and smaller strings have smaller ones.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "basalt/codec/codec.h"
#include "basalt/exec/pipeline.h"

namespace basalt::exec {

struct TextCodes {
  StringRows entries;                                      // ascending, each once
  std::vector<std::vector<std::vector<uint32_t>>> chunks;  // by file and chunk: the code of each of its list's entries
};

// The node of a chunk that holds strings themselves: its rows, or the entries of their list. Looks at metadata; nullptr
// if there is none.
const NodePlace* texts_node_of(const ColumnChunkInfo& chunk);

// More take a backend less time to tell apart than this host to put in order.
constexpr uint64_t kMostListedTexts = 1 << 18;

// nullptr if some chunk stores its strings in another way, or if they are too many.
std::shared_ptr<const TextCodes> text_codes_of(const std::vector<std::shared_ptr<const File>>& files, uint32_t field);

}  // namespace basalt::exec
