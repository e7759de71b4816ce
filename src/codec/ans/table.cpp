// Tables made ready; see the header.
#include "codec/ans/table.h"

#include <algorithm>
#include <cstring>

#include "codec/checks.h"

namespace basalt::ans {

Parameters parameters_of(const NodeView& node) {
  Parameters parameters;
  std::memcpy(&parameters, node.params.data(), sizeof(parameters));
  return parameters;
}

std::vector<uint32_t> read_shares(const NodeView& node, uint32_t symbols) {
  const auto* widths = stream_as<uint8_t>(node, kTable);
  const uint32_t* words = stream_as<uint32_t>(node, kTable) + table_head_words(symbols);
  std::vector<uint32_t> shares;
  shares.reserve(symbols);
  for (uint32_t group = 0; group < groups_of(symbols); ++group) {
    const uint32_t count = symbols_in_group(symbols, group);
    for (uint32_t i = 0; i < count; ++i) shares.push_back(group_share(words, widths[group], i));
    words += group_words(count, widths[group]);
  }
  return shares;
}

Table::Table(const NodeView& node) {
  const uint32_t symbols = parameters_of(node).symbols;
  narrow_ = is_narrow(symbols);
  uint32_t first_slot = 0;
  uint32_t symbol = 0;
  if (!narrow_) slots_.resize((size_t{1} << kWideBits) + 1);  // loops read pairs
  words_.reserve(narrow_ ? size_t{1} << kNarrowBits : symbols);
  for (const uint32_t share : read_shares(node, symbols)) {
    if (narrow_) {
      for (uint32_t place = 0; place < share; ++place) words_.push_back(narrow_slot(symbol, share, place));
    } else {
      std::fill_n(slots_.begin() + first_slot, share, static_cast<uint16_t>(symbol));
      words_.push_back(wide_symbol(first_slot, share));
    }
    first_slot += share;
    ++symbol;
  }
}

}  // namespace basalt::ans
