// As many values as the source has.
#include <cstring>

#include "codec/checks.h"
#include "codec/column/column.h"
#include "codec/column/layout.h"

namespace basalt {

void ColumnCodec::validate(const NodeView& node) const {
  check_stream_count(node, 0);
  check_params(node, column::kParameterBytes);
  check_child_count(node, column::kSource, node.count);
}

std::optional<uint32_t> ColumnCodec::source_field(ByteView params) const {
  uint32_t field = column::kNoField;
  if (params.size() == sizeof(field)) std::memcpy(&field, params.data(), sizeof(field));
  return field == column::kNoField ? std::nullopt : std::optional(field);
}

}  // namespace basalt
