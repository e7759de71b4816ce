// Strings of wanted rows, copied out of the decoded texts of many chunks by few launches.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/codec/decode_strings.h"
#include "cuda/query/text_rows.h"

namespace basalt::cuda {

// Lists of strings: `ends[k]` rows lie in the first k + 1 of them. Chunks follow each other by `first`; each has wanted
// rows. Waits for the stream once, for the sizes of lists; where *fault (device memory) is not 0 by then or a row has
// no text, Error(kCorrupt); where strings would take more than `most_bytes`, Error(kOutOfMemory).
std::vector<DeviceStrings> gather_texts(const std::vector<WantedRows>& chunks, const std::vector<uint64_t>& ends,
                                        uint32_t* fault, uint64_t most_bytes, cudaStream_t stream);

// All strings of these lists, one after the other.
DeviceStrings join_texts(std::vector<DeviceStrings> lists, cudaStream_t stream);

}  // namespace basalt::cuda
