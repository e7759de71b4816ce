// One flag per row, one value per row, and no second validity below.
#include "codec/checks.h"
#include "codec/validity/layout.h"
#include "codec/validity/validity.h"

namespace basalt {

void ValidityCodec::validate(const NodeView& node) const {
  check_stream_count(node, 0);
  check_params(node, 0);
  for (size_t i = 0; i < node.children.size(); ++i) {
    check_child_count(node, i, node.count);
    if (node.children[i].codec == this) fail_corrupt(node, "validity below validity");
  }
}

}  // namespace basalt
