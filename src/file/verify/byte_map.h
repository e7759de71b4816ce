// Every byte of a file belongs to something: header, streams, metadata blocks, footer, postscript, or zeros between
// them. What belongs to something lies under a checksum; this is the rest.
#pragma once

#include <cstdint>
#include <vector>

#include "basalt/file/source.h"
#include "file/footer.h"

namespace basalt::format_v1 {

// `streams`: all of the file, in any order, shared ones as often as they are referred to. Throws Error(kCorrupt) where
// two parts overlap, where bytes between two parts are not zero, or where there are more of them than alignment asks
// for.
void check_every_byte(const Source& source, const FooterData& footer, std::vector<StreamPlace> streams);

}  // namespace basalt::format_v1
