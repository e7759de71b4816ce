// A validity node is read through its two children: whoever needs values and NULLs opens both. Its own reader gives the
// values alone.
#include "basalt/core/error.h"
#include "codec/validity/layout.h"
#include "codec/validity/validity.h"

namespace basalt {

std::unique_ptr<Reader> ValidityCodec::open(const NodeView& node) const {
  if (node.type == Physical::kNone) throw Error(ErrorCode::kInternal, "a struct has no values of its own");
  return open_reader(node.children[validity::kValues]);
}

}  // namespace basalt
