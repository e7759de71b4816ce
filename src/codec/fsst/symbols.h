// Symbol tables in memory: what the trainer makes, what encoders look symbols up in, what decoders read them from.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "basalt/core/buffer.h"
#include "codec/fsst/layout.h"

namespace basalt::fsst {

struct SymbolTable {
  std::vector<Symbol> symbols;  // by code
  bool escape_free = false;     // no row that is encoded with it needs an escape

  void append_to(Buffer& stream) const;  // as layout.h says, without the zeros behind
  size_t bytes() const;                  // that are appended
};

// The stream of tables, and the parameters, of an array.
Buffer pack_tables(const std::vector<SymbolTable>& tables);
std::vector<std::byte> pack_parameters(Parse parse, uint32_t table_shift);

// Size of the table that begins at `table` and has at most `most` bytes; 0 if it does not hold together.
size_t table_bytes(const std::byte* table, size_t most);
SymbolTable load_table(const std::byte* table);

// A table as the FSST library serializes it (8-byte version word, zero-terminated flag, histogram of lengths 1 to 8,
// symbols of 2, 3, … 8, then 1 byte), for decoding what that library compressed. Throws Error(kCorrupt).
SymbolTable import_table(ByteView serialized);

// Symbols by code for decoding; codes beyond the table stand for no bytes.
struct DecodeTable {
  std::array<uint64_t, 256> values{};
  std::array<uint8_t, 256> lengths{};
  bool escape_free = false;

  DecodeTable() = default;
  explicit DecodeTable(const SymbolTable& table);
};

// Decodes codes[0 … count) to exactly `plain` bytes. False if they give any other number, or end in an escape. `out`
// has kDecodeSlack bytes behind, which may be overwritten.
constexpr size_t kDecodeSlack = 128;
bool decode_codes(const DecodeTable& table, const uint8_t* codes, size_t count, uint8_t* out, size_t plain);

}  // namespace basalt::fsst
