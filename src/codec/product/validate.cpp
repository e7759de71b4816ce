// Two factors for every row, and a shift that the type has bits for.
#include <cstring>

#include "codec/checks.h"
#include "codec/product/layout.h"
#include "codec/product/product.h"

namespace basalt {

void ProductCodec::validate(const NodeView& node) const {
  check_stream_count(node, 0);
  check_params(node, sizeof(product::Parameters));
  product::Parameters parameters;
  std::memcpy(&parameters, node.params.data(), sizeof(parameters));
  if (parameters.shift >= 8 * width_of(node.type) || parameters.zero != 0) fail_corrupt(node, "impossible parameters");
  check_child_count(node, product::kFactor, node.count);
  check_child_count(node, product::kSource, node.count);
}

}  // namespace basalt
