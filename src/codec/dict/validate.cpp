// One code per row, and a dictionary that is neither empty nor larger than the rows can use.
#include "codec/checks.h"
#include "codec/dict/dict.h"
#include "codec/dict/layout.h"

namespace basalt {

void DictCodec::validate(const NodeView& node) const {
  check_stream_count(node, 0);
  check_params(node, 0);
  check_child_count(node, dict::kCodes, node.count);
  const NodeView& entries = node.children[dict::kEntries];
  if (entries.count > node.count || (entries.count == 0) != (node.count == 0)) {
    fail_corrupt(node, std::to_string(entries.count) + " entries for " + std::to_string(node.count) + " rows");
  }
  // They are decoded as a whole. All differ, and what differs takes bits: only arithmetic sequences do with next to
  // none, and those are not longer than a chunk.
  constexpr uint64_t kMostPerByte = 16;
  if (entries.count > kMaxChunkRows + kMostPerByte * encoded_bytes(entries)) {
    fail_corrupt(node, std::to_string(entries.count) + " entries in " + std::to_string(encoded_bytes(entries)) +
                           " bytes cannot all differ");
  }
  if (!entries.codec->point_access()) {
    fail_corrupt(node, "its entries are encoded as " + std::string(entries.codec->name()) +
                           ", which has no access to single rows");
  }
}

}  // namespace basalt
