// Tables of the device encoder, from and to those of the CPU.
#include "codec/fsst/gpu/encode_table.h"

namespace basalt::fsst {

EncodeTable make_encode_table(const SymbolTable& table) {
  EncodeTable out{};
  out.clear_lookups(0, 1);
  out.symbols = static_cast<uint32_t>(table.symbols.size());
  for (uint32_t code = 0; code < out.symbols; ++code) {
    out.enter(code, table.symbols[code], [](uint32_t* word, uint32_t entry) {
      const uint32_t before = *word;
      if (before == 0) *word = entry;
      return before;
    });
  }
  return out;
}

SymbolTable symbols_of(const EncodeTable& table) {
  SymbolTable out;
  for (uint32_t code = 0; code < table.symbols; ++code) {
    out.symbols.push_back({table.values[code], table.lengths[code]});
  }
  return out;
}

}  // namespace basalt::fsst
