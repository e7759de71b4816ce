// A constant has its parameter and nothing else.
#include "codec/checks.h"
#include "codec/constant/constant.h"
#include "codec/constant/layout.h"

namespace basalt {

void ConstantCodec::validate(const NodeView& node) const {
  check_stream_count(node, 0);
  if (node.type != Physical::kBytes) check_params(node, constant::kParameterBytes);
}

}  // namespace basalt
