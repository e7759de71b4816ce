// A table for the device encoder.
#include "codec/fsst/encode_table.h"

#include <algorithm>

namespace basalt::fsst {

EncodeTable make_encode_table(const SymbolTable& table) {
  EncodeTable out{};
  std::fill(std::begin(out.singles), std::end(out.singles), EncodeTable::kNone);
  std::fill(std::begin(out.slots), std::end(out.slots), EncodeTable::kNone);
  for (uint32_t code = 0; code < table.symbols.size(); ++code) {
    const Symbol& symbol = table.symbols[code];
    out.values[code] = symbol.value;
    out.lengths[code] = static_cast<uint8_t>(symbol.length);
    if (symbol.length == 1) out.singles[symbol.value] = static_cast<uint8_t>(code);
    if (symbol.length > 2) out.slots[slot_of(symbol.value)] = static_cast<uint8_t>(code);
    if (symbol.length != 2) continue;
    const auto pair = static_cast<uint32_t>(symbol.value);
    uint32_t slot = EncodeTable::pair_slot(pair);
    while (out.pairs[slot] != 0) slot = (slot + 1) % EncodeTable::kPairSlots;
    out.pairs[slot] = pair | code << 16 | 1u << 24;
  }
  return out;
}

}  // namespace basalt::fsst
