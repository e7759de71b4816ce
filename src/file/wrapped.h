// Small files: between header and postscript, a file of some kilobytes is mostly FlatBuffers, alignment and zeros. So
// that part becomes one zstd frame, and a required feature bit says so. A reader unwraps it into memory and has the
// file as every other.
#pragma once

#include <memory>

#include "basalt/codec/codec.h"
#include "basalt/file/source.h"
#include "core/output_file.h"

namespace basalt::format_v1 {

// Wraps a complete file that is small and still in memory, if that saves an eighth of its bytes at least.
void wrap_if_small(OutputFile& file, Effort effort);

// The file as it was before it was wrapped, or the source itself. Throws Error(kCorrupt) if the frame is damaged.
std::shared_ptr<Source> unwrap(std::shared_ptr<Source> source);

}  // namespace basalt::format_v1
