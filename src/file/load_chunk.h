// Chunks into memory of the caller's, such as pinned staging.
#pragma once

#include <vector>

#include "basalt/file/reader.h"

namespace basalt {

// Reads a chunk's region into memory with room for it and does what File::verify_chunk does, block by block: each is
// compared with its checksum while it is in the processor's cache. Bytes between streams stay as they were.
NodeView load_chunk(const File& file, uint32_t field_id, uint32_t chunk, std::byte* region,
                    std::vector<Buffer>& shared);

}  // namespace basalt
