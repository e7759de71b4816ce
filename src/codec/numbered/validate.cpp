// A number for each row, and a number of digits that 64 bits hold.
#include "codec/checks.h"
#include "codec/numbered/layout.h"
#include "codec/numbered/numbered.h"

namespace basalt {

void NumberedCodec::validate(const NodeView& node) const {
  check_stream_count(node, 0);
  if (node.params.empty()) fail_corrupt(node, "no parameters");
  if (node.params.size() > numbered::kMostParameterBytes) fail_corrupt(node, "a text that is too long");
  const auto digits = static_cast<uint32_t>(node.params[0]);
  if (digits == 0 || digits > numbered::kMostDigits) fail_corrupt(node, std::to_string(digits) + " digits");
  check_child_count(node, numbered::kNumbers, node.count);
}

}  // namespace basalt
