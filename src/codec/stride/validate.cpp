// One base per row, and a step that is a number of the type.
#include <cstring>

#include "codec/checks.h"
#include "codec/stride/layout.h"
#include "codec/stride/stride.h"

namespace basalt {

void StrideCodec::validate(const NodeView& node) const {
  check_stream_count(node, 0);
  check_params(node, stride::kParameterBytes);
  stride::Parameters parameters;
  std::memcpy(&parameters, node.params.data(), sizeof(parameters));
  const uint32_t bits = 8 * width_of(node.type);
  if (bits < 64 && parameters.step >> bits != 0) fail_corrupt(node, "the step is wider than the values");
  check_child_count(node, stride::kBases, node.count);
}

}  // namespace basalt
