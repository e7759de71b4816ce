// Tables that hold together, starts that ascend, one code length per row.
#include <cstring>

#include "codec/checks.h"
#include "codec/fsst/fsst.h"
#include "codec/fsst/symbols.h"

namespace basalt {

namespace {

void check_tables(const NodeView& node, uint64_t tables) {
  const ByteView stream = node.streams[fsst::kTables];
  if (stream.size() / sizeof(uint32_t) <= tables) fail_corrupt(node, "fewer table starts than tables");
  const auto* starts = stream_as<uint32_t>(node, fsst::kTables);
  if (starts[0] != (tables + 1) * sizeof(uint32_t)) fail_corrupt(node, "the first table is not behind the starts");
  for (uint64_t table = 0; table < tables; ++table) {
    const uint64_t begin = starts[table];
    const uint64_t end = starts[table + 1];
    if (end < begin || end > stream.size() || end % fsst::kTableAlignment != 0) {
      fail_corrupt(node, "table starts do not ascend");
    }
    const size_t bytes = fsst::table_bytes(stream.data() + begin, end - begin);
    if (bytes == 0 || end - begin - bytes >= fsst::kTableAlignment)
      fail_corrupt(node, "a table does not hold together");
  }
  if (starts[tables] != stream.size()) fail_corrupt(node, "bytes behind the last table");
}

}  // namespace

void FsstCodec::validate(const NodeView& node) const {
  check_stream_count(node, fsst::kStreams);
  check_params(node, sizeof(fsst::Parameters));
  fsst::Parameters params;
  std::memcpy(&params, node.params.data(), sizeof(params));
  if (params.parse > static_cast<uint8_t>(fsst::Parse::kOptimal) || params.table_shift > fsst::kMaxTableShift ||
      params.zeros != 0) {
    fail_corrupt(node, "unknown parameters");
  }
  check_child_count(node, fsst::kCodeLengths, node.count);
  const uint64_t tiles = whole_tiles(node.count);
  check_stream_bytes(node, fsst::kCodes, check_starts<uint64_t>(node, fsst::kStarts, tiles));
  check_tables(node, fsst::table_count(static_cast<uint32_t>(tiles), params.table_shift));
  if (node.streams[fsst::kPieceStarts].empty()) {
    check_stream_bytes(node, fsst::kPieces, 0);
  } else {
    const uint64_t pieces = check_starts<uint32_t>(node, fsst::kPieceStarts, tiles);
    check_stream_bytes(node, fsst::kPieces, pieces * sizeof(uint16_t));
  }
}

}  // namespace basalt
