// A residual and a value of the source for every row.
#include "codec/checks.h"
#include "codec/sum/layout.h"
#include "codec/sum/sum.h"

namespace basalt {

void SumCodec::validate(const NodeView& node) const {
  check_stream_count(node, 0);
  check_params(node, 0);
  check_child_count(node, sum::kResidual, node.count);
  check_child_count(node, sum::kSource, node.count);
}

}  // namespace basalt
