// A source for every row, and entries that are there, few enough to be held and can be looked up one by one.
#include "codec/checks.h"
#include "codec/map/layout.h"
#include "codec/map/map.h"

namespace basalt {

void MapCodec::validate(const NodeView& node) const {
  check_stream_count(node, 0);
  check_params(node, map::kParameterBytes);
  check_child_count(node, map::kSource, node.count);
  const NodeView& entries = node.children[map::kEntries];
  if (entries.count > map::kMostEntries || (entries.count == 0) != (node.count == 0)) {
    fail_corrupt(node, std::to_string(entries.count) + " entries for " + std::to_string(node.count) + " rows");
  }
  if (!entries.codec->point_access()) {
    fail_corrupt(node, "its entries are encoded as " + std::string(entries.codec->name()) +
                           ", which has no access to single rows");
  }
}

uint64_t MapCodec::held_bytes(const NodeView& node) const {
  return node.children[map::kEntries].count * width_of(node.type);
}

}  // namespace basalt
