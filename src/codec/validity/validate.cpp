// One flag per row, one value per row.
#include "codec/checks.h"
#include "codec/validity/layout.h"
#include "codec/validity/validity.h"

namespace basalt {

void ValidityCodec::validate(const NodeView& node) const {
  check_stream_count(node, 0);
  check_params(node, 0);
  for (size_t i = 0; i < node.children.size(); ++i) check_child_count(node, i, node.count);
}

}  // namespace basalt
