// Groups of a size that there is, as many as the rows need.
#include <bit>
#include <cstring>

#include "codec/checks.h"
#include "codec/grouped/grouped.h"
#include "codec/grouped/layout.h"

namespace basalt {

void GroupedCodec::validate(const NodeView& node) const {
  check_stream_count(node, 0);
  check_params(node, grouped::kParameterBytes);
  grouped::Parameters parameters;
  std::memcpy(&parameters, node.params.data(), sizeof(parameters));
  const uint32_t width = 8 * width_of(node.type);
  if (width < 64 && parameters.reference >> width != 0) fail_corrupt(node, "the reference is wider than the values");
  if (parameters.values < grouped::kFewestValues || parameters.values > grouped::kMostValues ||
      !std::has_single_bit(parameters.values)) {
    fail_corrupt(node, "groups of " + std::to_string(parameters.values) + " values");
  }
  if (parameters.bits == 0 || parameters.bits > width || parameters.bits > 64 / parameters.values) {
    fail_corrupt(node, std::to_string(parameters.values) + " values of " + std::to_string(parameters.bits) + " bits");
  }
  check_child_count(node, grouped::kGroups, grouped::groups_of(node.count, parameters.values));
}

}  // namespace basalt
