// What readers skip over: reserved fields, flags without a meaning, bytes of bounds that no flag announces. All of it
// is zero, or a later version could not give it a meaning.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "basalt/file/reader.h"
#include "file/footer.h"

namespace basalt::format_v1 {

// Of the postscript and the footer; throws Error(kCorrupt). Gives sentences on what is allowed but not understood.
std::vector<std::string> check_unused_of_footer(const File& file, const FooterData& footer);
// Of a column's metadata.
void check_unused_of_column(const File& file, const FooterData& footer, uint32_t field_id);

}  // namespace basalt::format_v1
