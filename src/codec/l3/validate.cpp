// Partitions and tiles follow each other without gaps, and every record names things that exist.
#include <algorithm>

#include "codec/checks.h"
#include "codec/l3/l3.h"
#include "codec/l3/layout.h"

namespace basalt {

namespace {

std::string in(const char* what, uint64_t index) { return std::string(what) + " " + std::to_string(index); }

uint64_t units_of(uint64_t rows) { return (rows + kUnitRows - 1) / kUnitRows; }

// Width and shift that the model can have, for values of `value_bytes`.
void check_model(const NodeView& node, uint64_t partition, const l3::Record& r, uint32_t value_bytes) {
  if (r.model >= l3::Model::kRuns) fail_corrupt(node, in("partition", partition) + " has an unknown model");
  const bool narrow = !l3::is_wide(r.model) && l3::degree_of(r.model) > 0;
  if (r.width > (narrow ? std::min(l3::kMaxNarrowWidth, 8 * value_bytes) : 8 * value_bytes) ||
      (r.model == l3::Model::kConstant && r.width != 0)) {
    fail_corrupt(node, in("partition", partition) + " has width " + std::to_string(r.width));
  }
  if (r.shift > (l3::is_wide(r.model) ? 63u : narrow ? 32u : 0u)) {
    fail_corrupt(node, in("partition", partition) + " has a shift of " + std::to_string(r.shift));
  }
  if (r.phased && l3::degree_of(r.model) == 0) {
    fail_corrupt(node, in("partition", partition) + " has a phase without a slope");
  }
}

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
  const auto* params = stream_as<uint32_t>(node, l3::kParams);
  const uint64_t words = node.streams[l3::kParams].size() / sizeof(uint32_t);
  for (uint64_t i = 0; i < partitions; ++i) {
    const l3::Record r = record(i);
    const uint32_t rows = (end_of(i) - r.first_unit) * kUnitRows;
    if ((i == 0 && r.first_unit != 0) || r.first_unit >= end_of(i)) {
      fail_corrupt(node, in("partition", i) + " does not follow the one before it");
    }
    if (r.place != place) fail_corrupt(node, in("partition", i) + " has its parameters in the wrong place");
    if (r.model != l3::Model::kRuns) {
      check_model(node, i, r, value_bytes);
      if (l3::degree_of(r.model) > 1 && rows > l3::kMaxPolyRows) {
        fail_corrupt(node, in("partition", i) + " is too long for its model");
      }
      place += l3::param_words(r.model, r.phased, value_bytes);
      if (place > words) fail_corrupt(node, in("partition", i) + " has its parameters beyond the end");
      continue;
    }
    if (r.width != 0 || r.shift != 0 || r.phased) fail_corrupt(node, in("partition", i) + " has runs and residuals");
    if (place + l3::kRunsHeaderWords > words) {
      fail_corrupt(node, in("partition", i) + " has its parameters beyond the end");
    }
    const l3::RunsHeader h = l3::get_runs(r, params);
    if (h.runs == 0 || h.runs > rows || h.runs > l3::kMaxRuns || (h.values | h.ends) >> 18 != 0) {
      fail_corrupt(node, in("partition", i) + " has impossible runs");
    }
    for (const bool ends : {false, true}) {
      const l3::Record inner = l3::unpack_inner(ends ? h.ends : h.values, 0);
      check_model(node, i, inner, ends ? sizeof(uint32_t) : value_bytes);
      if (l3::degree_of(inner.model) > 1) fail_corrupt(node, in("partition", i) + " has runs on a curve");
    }
    place += l3::runs_param_words(h, value_bytes);
    if (place > words) fail_corrupt(node, in("partition", i) + " has its parameters beyond the end");
  }
  check_stream_bytes(node, l3::kParams, place * sizeof(uint32_t));

  const uint64_t tiles = (node.count + kTileRows - 1) / kTileRows;
  check_stream_bytes(node, l3::kTiles, (tiles + 1) * sizeof(uint32_t));
  const auto* entries = stream_as<uint32_t>(node, l3::kTiles);
  if (entries[tiles] != partitions) {
    fail_corrupt(node, std::to_string(entries[tiles]) + " partitions instead of " + std::to_string(partitions));
  }
  uint64_t pieces = 0;
  uint64_t part = 0;
  for (uint32_t tile = 0; tile < tiles; ++tile) {
    const uint32_t first = tile * kUnitsPerTile;
    const uint32_t end = std::min(first + kUnitsPerTile, units);
    while (end_of(part) <= first) ++part;
    const bool whole = end - first == kUnitsPerTile && end_of(part) >= end;
    // A packed tile of runs states its first run, which only the runs' ends can confirm: readers do that.
    const bool of_runs = whole && record(part).model == l3::Model::kRuns;
    const uint32_t stated = of_runs ? l3::tile_place(entries[tile]) : static_cast<uint32_t>(pieces);
    if (entries[tile] != l3::make_tile(stated, static_cast<uint32_t>(part), !whole)) {
      fail_corrupt(node, in("tile", tile) + " does not follow the one before it");
    }
    for (uint32_t unit = first; unit < end; ++unit) {
      if (end_of(part) <= unit) ++part;
      pieces += record(part).width;
    }
  }
  for (uint64_t i = 0; i < partitions; ++i) {
    if (record(i).model != l3::Model::kRuns) continue;
    const l3::RunsHeader h = l3::get_runs(record(i), params);
    if (h.place != pieces) fail_corrupt(node, in("partition", i) + " has its runs in the wrong place");
    pieces += l3::runs_pieces(h);
  }
  check_stream_bytes(node, l3::kResiduals, pieces * l3::kPieceWords * sizeof(uint32_t));
}

}  // namespace basalt
