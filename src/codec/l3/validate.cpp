// Partitions follow each other without gaps, and every record names things that exist.
#include <algorithm>

#include "codec/checks.h"
#include "codec/l3/l3.h"
#include "codec/l3/layout.h"

namespace basalt {

namespace {

std::string in(const char* what, uint64_t index) { return std::string(what) + " " + std::to_string(index); }

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

// A start for every record, and no other; counts of those before.
void check_starts(const NodeView& node, uint32_t units, uint64_t partitions) {
  const uint64_t words = (units + l3::kUnitsPerStart - 1) / l3::kUnitsPerStart;
  check_stream_bytes(node, l3::kStarts, words * sizeof(uint32_t));
  const auto* starts = stream_as<uint32_t>(node, l3::kStarts);
  const auto* records = stream_as<uint64_t>(node, l3::kRecords);
  uint64_t partition = 0;
  for (uint32_t i = 0; i < words; ++i) {
    auto expected = static_cast<uint32_t>(partition) << 16;
    for (; partition < partitions; ++partition) {
      const uint32_t unit = l3::unpack_record(records[partition]).first_unit;
      if (unit / l3::kUnitsPerStart != i) break;
      expected |= 1u << unit % l3::kUnitsPerStart;
    }
    if (starts[i] != expected) {
      fail_corrupt(node, "the partitions of units from " + std::to_string(i * l3::kUnitsPerStart) + " do not fit");
    }
  }
}

// Returns the words of their parameters.
uint32_t check_runs(const NodeView& node, uint64_t partition, const l3::RunsHeader& h, uint32_t rows,
                    uint32_t value_bytes) {
  if (h.runs == 0 || h.runs > rows) fail_corrupt(node, in("partition", partition) + " has impossible runs");
  check_model(node, partition, h.values, value_bytes);
  if (h.ends.model == l3::kByTile) {
    if (h.ends.width > l3::kByTileBits || h.ends.shift != 0 || h.ends.phased) {
      fail_corrupt(node, in("partition", partition) + " has impossible run ends");
    }
  } else {
    check_model(node, partition, h.ends, sizeof(uint32_t));
  }
  const uint32_t end_degree = h.ends.model == l3::kByTile ? 0 : l3::degree_of(h.ends.model);
  if (l3::degree_of(h.values.model) > 1 || (end_degree > 1 && h.runs > l3::kMaxPolyRows) ||
      (end_degree > 0 && l3::is_wide(h.ends.model))) {
    fail_corrupt(node, in("partition", partition) + " has runs on a curve");
  }
  return l3::runs_param_words(h, value_bytes);
}

}  // namespace

void L3Codec::validate(const NodeView& node) const {
  check_stream_count(node, l3::kStreams);
  check_params(node, 0);
  if (node.count > kMaxChunkRows)
    fail_corrupt(node, std::to_string(node.count) + " values are more than a chunk holds");
  const uint32_t value_bytes = width_of(node.type);
  const auto units = l3::units_of(node.count);
  const uint64_t partitions = node.streams[l3::kRecords].size() / sizeof(uint64_t);
  check_stream_bytes(node, l3::kRecords, partitions * sizeof(uint64_t));
  if (partitions > units || (partitions == 0) != (units == 0)) {
    fail_corrupt(node, std::to_string(partitions) + " partitions for " + std::to_string(units) + " units");
  }
  const auto* records = stream_as<uint64_t>(node, l3::kRecords);
  const auto record = [&](uint64_t i) { return l3::unpack_record(records[i]); };
  const auto end_of = [&](uint64_t i) { return i + 1 < partitions ? record(i + 1).first_unit : units; };
  for (uint64_t i = 0; i < partitions; ++i) {
    if ((i == 0 && record(i).first_unit != 0) || record(i).first_unit >= end_of(i)) {
      fail_corrupt(node, in("partition", i) + " does not follow the one before it");
    }
  }
  check_starts(node, units, partitions);

  uint64_t params = 0;
  uint64_t pieces = 0;
  const auto* all_params = stream_as<uint32_t>(node, l3::kParams);
  const uint64_t words = node.streams[l3::kParams].size() / sizeof(uint32_t);
  for (uint64_t i = 0; i < partitions; ++i) {
    const l3::Record r = record(i);
    const uint32_t rows = (end_of(i) - r.first_unit) * kUnitRows;
    if (r.params != params) fail_corrupt(node, in("partition", i) + " has its parameters in the wrong place");
    if (r.model == l3::Model::kRuns) {
      if (r.width != 0 || r.phased) fail_corrupt(node, in("partition", i) + " has runs and residuals");
      if (params + l3::kRunsHeaderWords > words) {
        fail_corrupt(node, in("partition", i) + " has its parameters beyond the end");
      }
      if (all_params[params + 1] >> 22 != 0) fail_corrupt(node, in("partition", i) + " has impossible runs");
      params += check_runs(node, i, l3::get_runs(r, all_params, value_bytes), rows, value_bytes);
    } else {
      check_model(node, i, r, value_bytes);
      if (l3::degree_of(r.model) > 1 && rows > l3::kMaxPolyRows) {
        fail_corrupt(node, in("partition", i) + " is too long for its model");
      }
      if (r.place != pieces) fail_corrupt(node, in("partition", i) + " has its residuals in the wrong place");
      pieces += static_cast<uint64_t>(end_of(i) - r.first_unit) * r.width;
      params += l3::param_words(r.model, r.phased, value_bytes);
    }
    if (params > words) fail_corrupt(node, in("partition", i) + " has its parameters beyond the end");
  }
  check_stream_bytes(node, l3::kParams, params * sizeof(uint32_t));

  uint64_t word = pieces * l3::kPieceWords;
  for (uint64_t i = 0; i < partitions; ++i) {
    const l3::Record r = record(i);
    if (r.model != l3::Model::kRuns) continue;
    if (static_cast<uint64_t>(r.place) * l3::kPieceWords + r.shift != word) {
      fail_corrupt(node, in("partition", i) + " has its runs in the wrong place");
    }
    word += l3::runs_words(l3::get_runs(r, all_params, value_bytes), l3::tiles_touched(r.first_unit, end_of(i)));
  }
  check_stream_bytes(node, l3::kResiduals, word * sizeof(uint32_t));
}

}  // namespace basalt
