// Schemes must be known, dictionaries there where they are used, blocks of exceptions one after the other, each with as
// many rows of its tile as it says. What the integers are shows only when they are decoded.
#include <bit>

#include "codec/checks.h"
#include "codec/galp/exceptions.h"
#include "codec/galp/galp.h"

namespace basalt {

namespace {

std::string of_tile(uint32_t tile, const char* what) { return "tile " + std::to_string(tile) + " " + what; }

void check_dictionaries(const NodeView& node, uint32_t tiles) {
  const auto* schemes = stream_as<uint8_t>(node, galp::kSchemes);
  std::vector<bool> used(galp::groups_of(tiles));
  bool any = false;
  for (uint32_t tile = 0; tile < tiles; ++tile) {
    if (schemes[tile] != galp::kRd) continue;
    used[tile / galp::kGroupTiles] = true;
    any = true;
  }
  check_stream_bytes(node, galp::kDictionaries, any ? used.size() * sizeof(galp::Dictionary) : 0);
  if (!any) return;
  const auto* dictionaries = stream_as<galp::Dictionary>(node, galp::kDictionaries);
  for (size_t group = 0; group < used.size(); ++group) {
    const galp::Dictionary& d = dictionaries[group];
    bool sound = used[group] ? d.left_bits >= 1 && d.left_bits <= galp::kMaxLeftBits && d.size >= 1 &&
                                   d.size <= galp::kMaxEntries
                             : d.left_bits == 0 && d.size == 0;
    for (uint32_t i = 0; i < galp::kMaxEntries && sound; ++i) {
      sound = i < d.size ? uint32_t{d.entries[i]} >> d.left_bits == 0 : d.entries[i] == 0;
    }
    if (!sound) fail_corrupt(node, "the dictionary of group " + std::to_string(group) + " is impossible");
  }
}

// Rows in lanes, ascending, inside the tile, as many as the block says.
bool listed_rows_fit(const galp::Exceptions& block, uint32_t tile_rows) {
  uint32_t lanes = block.positions[0];
  uint32_t least = 0;
  for (uint32_t i = 0; i < block.count; ++i) {
    const uint32_t entry = block.listed_row(i);
    const uint32_t row = entry % kRowsPerLane;
    if (lanes == 0 || (entry & 0x60) != 0 || row < least) return false;
    if (row * kLanes + static_cast<uint32_t>(std::countr_zero(lanes)) >= tile_rows) return false;
    least = row + 1;
    if ((entry & galp::kLastOfLane) == 0) continue;
    lanes &= lanes - 1;
    least = 0;
  }
  for (uint32_t i = block.count; i % 4 != 0; ++i) {
    if (block.listed_row(i) != 0) return false;
  }
  return lanes == 0 && least == 0;
}

bool masked_rows_fit(const galp::Exceptions& block, uint32_t tile_rows) {
  uint32_t count = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const uint32_t rows = block.positions[lane];
    count += static_cast<uint32_t>(std::popcount(rows));
    const uint32_t in_lane = tile_rows / kLanes + (lane < tile_rows % kLanes ? 1 : 0);
    if (in_lane < kRowsPerLane && rows >> in_lane != 0) return false;
  }
  return count == block.count;
}

void check_block(const NodeView& node, uint32_t tile, uint32_t scheme, const uint32_t* words, uint32_t size) {
  const uint32_t bits = scheme == galp::kRd ? galp::kMaxLeftBits : width_of(node.type) * 8;
  const uint32_t rows = rows_in_tile(node.count, tile);
  const uint32_t count = words[0] & 0x7FF;
  const uint32_t width = words[0] >> 11;
  if (scheme == galp::kRaw || count > rows || !galp::header_fits(words[0], size, bits)) {
    fail_corrupt(node, of_tile(tile, "has impossible exceptions"));
  }
  const auto block = galp::Exceptions::of(words, bits);
  if (!(block.listed() ? listed_rows_fit(block, rows) : masked_rows_fit(block, rows))) {
    fail_corrupt(node, of_tile(tile, "has exceptions in impossible rows"));
  }
  const uint32_t used = count * width % 32;
  if (used != 0 && words[size - 1] >> used != 0) fail_corrupt(node, of_tile(tile, "has bits behind its exceptions"));
}

}  // namespace

void GalpCodec::validate(const NodeView& node) const {
  check_stream_count(node, galp::kStreams);
  check_params(node, 0);
  check_child_count(node, galp::kIntegers, node.count);
  if (node.count > galp::kMaxRows) fail_corrupt(node, std::to_string(node.count) + " values are too many");
  const uint32_t tiles = tile_count(node.count);
  check_stream_bytes(node, galp::kSchemes, tiles);
  const auto* schemes = stream_as<uint8_t>(node, galp::kSchemes);
  for (uint32_t tile = 0; tile < tiles; ++tile) {
    if (schemes[tile] >= galp::pairs_of(width_of(node.type) * 8) && schemes[tile] < galp::kRd) {
      fail_corrupt(node, of_tile(tile, "has an unknown scheme"));
    }
  }
  check_dictionaries(node, tiles);

  const uint64_t words = node.streams[galp::kExceptions].size() / sizeof(uint32_t);
  check_stream_bytes(node, galp::kExceptions, words * sizeof(uint32_t));
  if (words == 0) return check_stream_bytes(node, galp::kExceptionStarts, 0);
  const bool is_short = words <= galp::kMaxShortStarts;
  check_stream_bytes(node, galp::kExceptionStarts,
                     (uint64_t{tiles} + 1) * (is_short ? sizeof(uint16_t) : sizeof(uint32_t)));
  const void* starts = node.streams[galp::kExceptionStarts].data();
  const auto* blocks = stream_as<uint32_t>(node, galp::kExceptions);
  if (galp::exception_start(starts, is_short, 0) != 0 || galp::exception_start(starts, is_short, tiles) != words) {
    fail_corrupt(node, "exceptions do not begin and end with their tiles");
  }
  for (uint32_t tile = 0; tile < tiles; ++tile) {
    const uint32_t start = galp::exception_start(starts, is_short, tile);
    const uint32_t end = galp::exception_start(starts, is_short, tile + 1);
    if (start > end || end > words) fail_corrupt(node, of_tile(tile, "has its exceptions in the wrong place"));
    if (start < end) check_block(node, tile, schemes[tile], blocks + start, end - start);
  }
}

}  // namespace basalt
