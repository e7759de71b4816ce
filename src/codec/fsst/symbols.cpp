// Symbol tables to and from their bytes, and the loop that turns codes into text.
#include "codec/fsst/symbols.h"

#include <cstring>

#include "basalt/core/error.h"

namespace basalt::fsst {

namespace {

uint8_t byte_at(const std::byte* table, size_t i) { return static_cast<uint8_t>(table[i]); }

Symbol read_symbol(const std::byte* bytes, uint32_t length) {
  Symbol symbol{0, length};
  std::memcpy(&symbol.value, bytes, length);
  return symbol;
}

// The word's bytes that are escapes have their highest bit set, and maybe others above the lowest escape.
uint64_t escapes_in(uint64_t codes) {
  constexpr uint64_t kLow = 0x0101010101010101ull;
  const uint64_t inverted = ~codes;
  return (inverted - kLow) & codes & kLow << 7;
}

}  // namespace

void SymbolTable::append_to(Buffer& stream) const {
  std::array<uint8_t, kTableHeader> header{};
  header[kSymbolCount] = static_cast<uint8_t>(symbols.size());
  header[kTableFlags] = escape_free ? kEscapeFree : 0;
  for (const Symbol& symbol : symbols) ++header[kHistogram + symbol.length - 1];
  stream.append(header.data(), header.size());
  for (const Symbol& symbol : symbols) stream.append(&symbol.value, symbol.length);
}

size_t SymbolTable::bytes() const {
  size_t sum = kTableHeader;
  for (const Symbol& symbol : symbols) sum += symbol.length;
  return sum;
}

Buffer pack_tables(const std::vector<SymbolTable>& tables) {
  const auto end_of_starts = (tables.size() + 1) * sizeof(uint32_t);
  Buffer starts;
  Buffer bodies;
  for (const SymbolTable& table : tables) {
    starts.push(static_cast<uint32_t>(end_of_starts + bodies.size()));
    table.append_to(bodies);
    while (bodies.size() % kTableAlignment != 0) bodies.push(uint8_t{0});
  }
  starts.push(static_cast<uint32_t>(end_of_starts + bodies.size()));
  starts.append(bodies.data(), bodies.size());
  return starts;
}

std::vector<std::byte> pack_parameters(Parse parse, uint32_t table_shift) {
  const Parameters params{static_cast<uint8_t>(parse), static_cast<uint8_t>(table_shift), 0};
  std::vector<std::byte> bytes(sizeof(params));
  std::memcpy(bytes.data(), &params, sizeof(params));
  return bytes;
}

size_t table_bytes(const std::byte* table, size_t most) {
  if (most < kTableHeader) return 0;
  uint32_t count = 0;
  size_t bytes = kTableHeader;
  for (uint32_t length = 1; length <= kMaxSymbolBytes; ++length) {
    const uint32_t symbols = byte_at(table, kHistogram + length - 1);
    count += symbols;
    bytes += symbols * length;
  }
  const bool fits = count == byte_at(table, kSymbolCount) && byte_at(table, kTableFlags) <= kEscapeFree;
  return fits && bytes <= most ? bytes : 0;
}

SymbolTable load_table(const std::byte* table) {
  SymbolTable out;
  out.escape_free = byte_at(table, kTableFlags) == kEscapeFree;
  const std::byte* at = table + kTableHeader;
  for (uint32_t length = kMaxSymbolBytes; length >= 1; --length) {
    for (uint32_t i = 0; i < byte_at(table, kHistogram + length - 1); ++i, at += length) {
      out.symbols.push_back(read_symbol(at, length));
    }
  }
  return out;
}

SymbolTable import_table(ByteView serialized) {
  constexpr uint64_t kVersion = 20190218;
  constexpr size_t kHistogramAt = 9;
  constexpr size_t kHeader = kHistogramAt + kMaxSymbolBytes;
  const auto fail = [](const char* what) { throw Error(ErrorCode::kCorrupt, std::string("an FSST table: ") + what); };
  if (serialized.size() < kHeader) fail("it is cut off");
  uint64_t word = 0;
  std::memcpy(&word, serialized.data(), sizeof(word));
  if (word >> 32 != kVersion || (word & 0xFF) != 1) fail("of an unknown version");
  const bool zero_terminated = (byte_at(serialized.data(), 8) & 1) != 0;
  SymbolTable out;
  // A terminator of zero-terminated strings has code 0 and is not stored; it counts as a symbol of one byte.
  if (zero_terminated) out.symbols.push_back({0, 1});
  size_t at = kHeader;
  for (const uint32_t length : {2u, 3u, 4u, 5u, 6u, 7u, 8u, 1u}) {
    uint32_t left = byte_at(serialized.data(), kHistogramAt + length - 1);
    if (length == 1 && zero_terminated && left > 0) --left;
    for (; left > 0; --left, at += length) {
      if (at + length > serialized.size()) fail("it is cut off");
      out.symbols.push_back(read_symbol(serialized.data() + at, length));
    }
  }
  if (out.symbols.size() > kMaxSymbols || out.symbols.size() != (word >> 8 & 0xFF)) fail("its counts disagree");
  return out;
}

DecodeTable::DecodeTable(const SymbolTable& table) : escape_free(table.escape_free) {
  for (size_t code = 0; code < table.symbols.size(); ++code) {
    values[code] = table.symbols[code].value;
    lengths[code] = static_cast<uint8_t>(table.symbols[code].length);
  }
}

namespace {

template <bool kEscapes>
bool decode_loop(const DecodeTable& table, const uint8_t* codes, const uint8_t* end, uint8_t* out, uint8_t* out_end) {
  constexpr ptrdiff_t kAtOnce = 8;
  static_assert(kAtOnce * kMaxSymbolBytes <= kDecodeSlack);
  const auto put = [&](uint64_t code) {
    std::memcpy(out, &table.values[code], 8);
    out += table.lengths[code];
  };
  while (end - codes >= kAtOnce && out <= out_end) {
    uint64_t word;
    std::memcpy(&word, codes, sizeof(word));
    const uint64_t escapes = kEscapes ? escapes_in(word) : 0;
    if (escapes == 0) {
      for (uint32_t i = 0; i < kAtOnce; ++i) put(word >> 8 * i & 0xFF);
      codes += kAtOnce;
      continue;
    }
    const auto before = static_cast<uint32_t>(__builtin_ctzll(escapes)) / 8;
    for (uint32_t i = 0; i < before; ++i) put(codes[i]);
    codes += before;
    if (end - codes < 2) break;
    *out++ = codes[1];
    codes += 2;
  }
  while (codes < end && out <= out_end) {
    if (!kEscapes || *codes != kEscape) {
      put(*codes++);
      continue;
    }
    if (end - codes < 2) return false;
    *out++ = codes[1];
    codes += 2;
  }
  return codes == end && out == out_end;
}

}  // namespace

bool decode_codes(const DecodeTable& table, const uint8_t* codes, size_t count, uint8_t* out, size_t plain) {
  return table.escape_free ? decode_loop<false>(table, codes, codes + count, out, out + plain)
                           : decode_loop<true>(table, codes, codes + count, out, out + plain);
}

}  // namespace basalt::fsst
