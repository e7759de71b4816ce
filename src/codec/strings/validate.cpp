// One length and one piece of bytes per row.
#include "codec/checks.h"
#include "codec/strings/layout.h"
#include "codec/strings/strings.h"

namespace basalt {

void StringsCodec::validate(const NodeView& node) const {
  check_stream_count(node, 0);
  check_params(node, 0);
  check_child_count(node, strings::kLengths, node.count);
  check_child_count(node, strings::kBytes, node.count);
}

}  // namespace basalt
