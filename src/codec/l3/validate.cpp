// Partitions and tiles follow each other without gaps, and every record names things that exist.
#include <algorithm>

#include "codec/checks.h"
#include "codec/l3/l3.h"
#include "codec/l3/layout.h"

namespace basalt {

namespace {

std::string in(const char* what, uint64_t index) { return std::string(what) + " " + std::to_string(index); }

uint64_t units_of(uint64_t rows) { return (rows + kUnitRows - 1) / kUnitRows; }

}  // namespace

void L3Codec::validate(const NodeView& node) const {
  check_stream_count(node, l3::kStreams);
  check_params(node, 0);
  if (node.count > kMaxChunkRows)
    fail_corrupt(node, std::to_string(node.count) + " values are more than a chunk holds");
  constexpr size_t kRecordBytes = l3::kRecordWords * sizeof(uint16_t);
  const uint32_t value_bytes = width_of(node.type);
  const auto units = static_cast<uint32_t>(units_of(node.count));
  const uint64_t partitions = node.streams[l3::kRecords].size() / kRecordBytes;
  check_stream_bytes(node, l3::kRecords, partitions * kRecordBytes);
  if (partitions > units || (partitions == 0) != (units == 0)) {
    fail_corrupt(node, std::to_string(partitions) + " partitions for " + std::to_string(units) + " units");
  }
  const auto* records = stream_as<uint16_t>(node, l3::kRecords);
  const auto record = [&](uint64_t i) { return l3::get_record(records + i * l3::kRecordWords); };
  const auto end_of = [&](uint64_t i) { return i + 1 < partitions ? record(i + 1).first_unit : units; };

  uint64_t place = 0;
  for (uint64_t i = 0; i < partitions; ++i) {
    const l3::Record r = record(i);
    if ((i == 0 && r.first_unit != 0) || r.first_unit >= end_of(i)) {
      fail_corrupt(node, in("partition", i) + " does not follow the one before it");
    }
    if (static_cast<uint32_t>(r.model) >= l3::kModels) fail_corrupt(node, in("partition", i) + " has an unknown model");
    const bool narrow = !l3::is_wide(r.model) && l3::degree_of(r.model) > 0;
    if (r.width > (narrow ? std::min(l3::kMaxNarrowWidth, 8 * value_bytes) : 8 * value_bytes) ||
        (r.model == l3::Model::kConstant && r.width != 0)) {
      fail_corrupt(node, in("partition", i) + " has width " + std::to_string(r.width));
    }
    if (r.phased && l3::degree_of(r.model) == 0)
      fail_corrupt(node, in("partition", i) + " has a phase without a slope");
    if (r.shift > (l3::is_wide(r.model) ? 63u : narrow ? 32u : 0u)) {
      fail_corrupt(node, in("partition", i) + " has a shift of " + std::to_string(r.shift));
    }
    if (l3::degree_of(r.model) > 1 && end_of(i) - r.first_unit > l3::kMaxPolyRows / kUnitRows) {
      fail_corrupt(node, in("partition", i) + " is too long for its model");
    }
    if (r.place != place) fail_corrupt(node, in("partition", i) + " has its parameters in the wrong place");
    place += l3::param_words(r.model, r.phased, value_bytes);
  }
  check_stream_bytes(node, l3::kParams, place * sizeof(uint32_t));

  const uint64_t tiles = (node.count + kTileRows - 1) / kTileRows;
  check_stream_bytes(node, l3::kTiles, tiles * sizeof(uint32_t));
  const auto* entries = stream_as<uint32_t>(node, l3::kTiles);
  uint64_t pieces = 0;
  uint64_t part = 0;
  for (uint32_t tile = 0; tile < tiles; ++tile) {
    const uint32_t first = tile * kUnitsPerTile;
    const uint32_t end = std::min(first + kUnitsPerTile, units);
    while (end_of(part) <= first) ++part;
    const bool whole = end - first == kUnitsPerTile && end_of(part) >= end;
    if (entries[tile] != l3::make_tile(static_cast<uint32_t>(pieces), static_cast<uint32_t>(part), !whole)) {
      fail_corrupt(node, in("tile", tile) + " does not follow the one before it");
    }
    for (uint32_t unit = first; unit < end; ++unit) {
      if (end_of(part) <= unit) ++part;
      pieces += record(part).width;
    }
  }
  check_stream_bytes(node, l3::kResiduals, pieces * l3::kPieceWords * sizeof(uint32_t));
}

}  // namespace basalt
