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

void ValidityCodec::check_values(const NodeView& node) const {
  const NodeView& flags = node.children[validity::kValid];
  const std::unique_ptr<Reader> reader = open_reader(flags);
  if (stays_below(flags, *reader, 2)) return;
  uint8_t tile_flags[kTileRows];
  uint8_t seen = 0;
  for (uint32_t tile = 0; tile < tile_count(flags.count); ++tile) {
    reader->decode_tile(tile, tile_flags);
    for (uint32_t i = 0; i < rows_in_tile(flags.count, tile); ++i) seen |= tile_flags[i];
  }
  if (seen > 1) fail_corrupt(node, "a NULL flag is neither 0 nor 1");
}

}  // namespace basalt
