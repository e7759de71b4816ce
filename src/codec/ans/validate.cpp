// Shares that fill the table, and units that follow each other.
#include <algorithm>
#include <numeric>

#include "codec/ans/ans.h"
#include "codec/ans/layout.h"
#include "codec/ans/table.h"
#include "codec/checks.h"

namespace basalt {

namespace {

// Values are reference + symbol: none wraps around.
bool has_room(Physical type, uint64_t reference, uint32_t symbols) {
  const uint32_t bits = 8 * width_of(type);
  if (bits < 64 && reference >> bits != 0) return false;
  // Of signed types the order begins at the sign bit.
  const uint64_t most = ~uint64_t{0} >> (64 - bits);
  const uint64_t place = is_signed(type) ? reference ^ (uint64_t{1} << (bits - 1)) : reference;
  return symbols - 1 <= most - place;
}

void validate_table(const NodeView& node, uint32_t symbols) {
  using namespace ans;
  const ByteView stream = node.streams[kTable];
  const uint32_t head = table_head_words(symbols);
  if (stream.size() < head * sizeof(uint32_t)) fail_corrupt(node, "fewer widths of shares than groups of symbols");
  const auto* widths = stream_as<uint8_t>(node, kTable);
  uint64_t words = head;
  for (uint32_t group = 0; group < groups_of(symbols); ++group) {
    if (widths[group] > share_bits(symbols) + 1) fail_corrupt(node, "shares have too many bits");
    words += group_words(symbols_in_group(symbols, group), widths[group]);
  }
  check_stream_bytes(node, kTable, words * sizeof(uint32_t));
  const std::vector<uint32_t> shares = read_shares(node, symbols);
  const uint64_t total = std::accumulate(shares.begin(), shares.end(), uint64_t{0});
  if (total != uint64_t{1} << share_bits(symbols)) {
    fail_corrupt(
        node, "shares add up to " + std::to_string(total) + " instead of " + std::to_string(1u << share_bits(symbols)));
  }
}

}  // namespace

void AnsCodec::validate(const NodeView& node) const {
  using namespace ans;
  check_stream_count(node, kStreams);
  check_params(node, kParameterBytes);
  const Parameters parameters = parameters_of(node);
  if (parameters.unit_tiles != kShortUnit && parameters.unit_tiles != kLongUnit) {
    fail_corrupt(node, "units of " + std::to_string(parameters.unit_tiles) + " tiles");
  }
  if (node.count == 0) {
    if (parameters.symbols != 0) fail_corrupt(node, "symbols without rows");
    for (size_t stream = 0; stream < kStreams; ++stream) check_stream_bytes(node, stream, 0);
    return;
  }
  if (parameters.symbols == 0 || parameters.symbols > kMostSymbols) {
    fail_corrupt(node, std::to_string(parameters.symbols) + " symbols");
  }
  if (!has_room(node.type, parameters.reference, parameters.symbols)) fail_corrupt(node, "values outside of the type");
  validate_table(node, parameters.symbols);

  const uint64_t units = units_of(node.count, parameters.unit_tiles);
  if (units >= node.streams[kStarts].size()) fail_corrupt(node, "fewer starts than units");
  check_stream_bytes(node, kStarts, (units + 1) * sizeof(uint32_t));
  const auto* starts = stream_as<uint32_t>(node, kStarts);
  if (starts[0] != 0) fail_corrupt(node, "the first unit does not begin at 0");
  for (uint64_t unit = 0; unit < units; ++unit) {
    if (starts[unit + 1] < starts[unit] || starts[unit + 1] - starts[unit] < kLeastUnitWords) {
      fail_corrupt(node, "unit " + std::to_string(unit) + " has no room for its states");
    }
  }
  check_stream_bytes(node, kUnits, uint64_t{starts[units]} * sizeof(uint32_t));
  for (uint64_t unit = 0; unit < units; ++unit) {
    const auto* halves = reinterpret_cast<const uint16_t*>(stream_as<uint32_t>(node, kUnits) + starts[unit] + kLanes);
    if (*halves > steps_of(rows_in_unit(node.count, parameters.unit_tiles, unit))) {
      fail_corrupt(node, "the tail of unit " + std::to_string(unit) + " is longer than the unit");
    }
  }
}

uint64_t AnsCodec::held_bytes(const NodeView& node) const {
  const uint64_t unit_rows = uint64_t{ans::parameters_of(node).unit_tiles} * kTileRows;
  return std::min<uint64_t>(node.count + kTileRows, unit_rows) * sizeof(uint16_t) + ans::kWideTableBytes;
}

}  // namespace basalt
