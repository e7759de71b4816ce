// Comparing places of arrays; see the header.
#include "file/verify/sources.h"

#include <fmt/format.h>

#include <algorithm>

#include "file/column_metadata.h"
#include "file/verify/reasons.h"

namespace basalt::format_v1 {

namespace {

bool same_place(const StreamPlace& a, const StreamPlace& b) { return a.offset == b.offset && a.length == b.length; }

bool same_array(const NodePlace& a, const NodePlace& b) {
  return a.codec_name == b.codec_name && a.codec_version == b.codec_version && a.type == b.type && a.count == b.count &&
         a.child_count == b.child_count && a.params == b.params && std::ranges::equal(a.streams, b.streams, same_place);
}

}  // namespace

void check_sources(const File& file, uint32_t field, uint32_t chunk) {
  const std::vector<NodePlace>& nodes = file.column(field).chunks[chunk].nodes;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const std::optional<uint32_t> source =
        nodes[i].codec == nullptr ? std::nullopt : nodes[i].codec->source_field(nodes[i].params);
    if (!source) continue;
    require(*source < file.fields().size() && *source != field, "it is encoded by a column that there is not");
    const std::vector<NodePlace>& theirs = file.column(*source).chunks[chunk].nodes;
    // Of a codec that this build does not know, nothing is said of the children.
    const bool nulls = theirs.size() > 1 && theirs[0].child_count == 2 && holds_nulls(theirs[0].codec_name);
    const size_t begin = nulls ? subtree_end(theirs, 1) : 0;
    const size_t end = subtree_end(nodes, i + 1);
    const bool same =
        theirs.size() >= begin &&
        std::equal(nodes.begin() + static_cast<ptrdiff_t>(i + 1), nodes.begin() + static_cast<ptrdiff_t>(end),
                   theirs.begin() + static_cast<ptrdiff_t>(begin), theirs.end(), same_array);
    if (!same) fail(fmt::format("it is encoded by {}, but not by its array", file.path(*source)));
  }
}

}  // namespace basalt::format_v1
