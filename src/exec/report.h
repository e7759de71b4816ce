// Reports of parts of a run put together.
#pragma once

#include <algorithm>

#include "basalt/exec/pipeline.h"

namespace basalt::exec {

// What a part read, moved, compiled and waited for, to that of the whole. Where it ran and how many rows it had is the
// caller's to say.
inline void add_work(const RunReport& part, RunReport& whole) {
  whole.tiles += part.tiles;
  whole.encoded_bytes_read += part.encoded_bytes_read;
  whole.bytes_transferred += part.bytes_transferred;
  whole.compile_ms += part.compile_ms;
  whole.transfer_ms += part.transfer_ms;
  whole.kernel_ms += part.kernel_ms;
  whole.wait_ms += part.wait_ms;
  whole.device_bytes = std::max(whole.device_bytes, part.device_bytes);
  if (part.kernel_source.empty()) return;
  whole.kernel_source += (whole.kernel_source.empty() ? "" : "\n\n") + part.kernel_source;
}

}  // namespace basalt::exec
