// What kernels must know of one column of one file: the device readers of its chunks. A file has many chunks and few
// encodings, so that this is found once for as long as the file is open.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "exec/device/generate/generate.h"

namespace basalt::device {

struct FileShapes {
  bool lacks_values = false;         // a chunk has no values of its own; the rest is not known then
  std::vector<DeviceReader> values;  // each once, empty ones with their reasons, too
  std::vector<DeviceReader> validity;
  uint32_t value_words = 0;  // of the longest descriptor
  uint32_t validity_words = 0;
  uint32_t chunk_words = 0;  // of both together
  // Of strings that are read as they are, chunk by chunk what tests of them read.
  std::vector<NodeView> texts;
};

// `as_codes`: of strings the readers of their codes. Thread-safe.
std::shared_ptr<const FileShapes> file_shapes(const std::shared_ptr<const File>& file, uint32_t field_id,
                                              bool as_codes);

}  // namespace basalt::device
