// What will be read of a file that is far away, told to its source before the first read.
#pragma once

#include <memory>
#include <vector>

#include "basalt/file/reader.h"
#include "basalt/file/remote_source.h"

namespace basalt {

// Some chunks of fields, and of those below them. To be held while they are read; nullptr for files that are near.
std::shared_ptr<const RemoteSource::Plan> plan_chunks(const File& file, const std::vector<uint32_t>& fields,
                                                      const std::vector<uint32_t>& chunks);
bool is_remote(const File& file);

}  // namespace basalt
