// Validation of 16 bytes at a time, 128 where they are ASCII; columns are checked as one text, not row by row.
#include "core/utf8.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "basalt/core/error.h"

namespace basalt {

namespace {

constexpr size_t kBlockBytes = 128;

using Vector = uint64_t __attribute__((vector_size(16)));  // a register of NEON or SSE2

// The number of leading bytes known to be ASCII; stops at the block that holds another one.
size_t skip_ascii(const uint8_t* text, size_t size) {
  size_t at = 0;
  for (; at + kBlockBytes <= size; at += kBlockBytes) {
    Vector parts[kBlockBytes / sizeof(Vector)];
    std::memcpy(parts, text + at, kBlockBytes);
    Vector seen = parts[0];
    for (const Vector part : parts) seen |= part;
    if (((seen[0] | seen[1]) & 0x8080808080808080u) != 0) break;
  }
  return at;
}

using Bytes = uint8_t __attribute__((vector_size(16)));
constexpr size_t kLongestBefore = 3;  // bytes of a character in front of its last one

Bytes load_bytes(const uint8_t* at) {
  Bytes bytes;
  std::memcpy(&bytes, at, sizeof(bytes));
  return bytes;
}

bool any(Bytes bytes) {
  uint64_t halves[2];
  std::memcpy(halves, &bytes, sizeof(halves));
  return (halves[0] | halves[1]) != 0;
}

// Not zero where one of the 16 bytes from `at` on cannot follow those before it, of which three are read. That the last
// character is whole shows in the bytes behind it.
Bytes faults_at(const uint8_t* at) {
  const Bytes byte = load_bytes(at);
  const Bytes before = load_bytes(at - 1);
  const Bytes first = load_bytes(at - kLongestBefore);
  const auto continues = (byte & 0xC0) == 0x80;
  const auto follows = before >= 0xC0;
  const auto overlong = (byte & 0xFE) == 0xC0;
  // Most alphabets need no more than two bytes.
  if (!any(reinterpret_cast<Bytes>((byte >= 0xE0) | (first >= 0xE0)))) {
    return reinterpret_cast<Bytes>((follows ^ continues) | overlong);
  }
  const auto expected = follows | (load_bytes(at - 2) >= 0xE0) | (first >= 0xF0);
  auto faults = (expected ^ continues) | overlong | (byte >= 0xF5);
  // Overlong forms, surrogates and what lies beyond U+10FFFF show in the second byte.
  faults |= ((before == 0xE0) & (byte < 0xA0)) | ((before == 0xED) & (byte >= 0xA0));
  faults |= ((before == 0xF0) & (byte < 0x90)) | ((before == 0xF4) & (byte >= 0x90));
  return reinterpret_cast<Bytes>(faults);
}

// Whether up to 16 bytes are sound behind the `before` bytes in front of them; of fewer, the text's end as well.
bool is_sound_piece(const uint8_t* at, size_t size, size_t before) {
  uint8_t padded[kLongestBefore + sizeof(Bytes)] = {};
  std::memcpy(padded + kLongestBefore - before, at - before, before + size);
  return !any(faults_at(padded + kLongestBefore));
}

// The length of the character at `at`, or 0 if there is none.
size_t character_length(const uint8_t* at, size_t left) {
  const uint8_t first = at[0];
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (left < length) return 0;
  // Overlong forms, surrogates and what lies beyond U+10FFFF show in the second byte.
  const uint8_t second = at[1];
  const uint8_t low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const uint8_t high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (second < low || second > high) return 0;
  for (size_t i = 2; i < length; ++i) {
    if (!is_continuation(at[i])) return 0;
  }
  return length;
}

}  // namespace

bool is_ascii(std::string_view text) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  size_t at = skip_ascii(bytes, text.size());
  uint8_t seen = 0;
  if (at + kBlockBytes <= text.size()) return false;
  for (; at < text.size(); ++at) seen |= bytes[at];
  return seen < 0x80;
}

bool is_utf8(std::string_view text) {
  if (text.empty()) return true;  // and may lie nowhere
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  size_t at = skip_ascii(bytes, text.size());
  if (at == 0 && text.size() >= sizeof(Bytes)) {
    if (!is_sound_piece(bytes, sizeof(Bytes), 0)) return false;
    at = sizeof(Bytes);
  }
  Bytes faults = {};
  while (at + sizeof(Bytes) <= text.size()) {
    faults |= faults_at(bytes + at);
    at += sizeof(Bytes);
    if (bytes[at - 1] < 0x80) at += skip_ascii(bytes + at, text.size() - at);
  }
  return !any(faults) && is_sound_piece(bytes + at, text.size() - at, std::min(at, kLongestBefore));
}

std::string escape_controls(std::string_view text, bool keep_lines) {
  static constexpr char kHex[] = "0123456789abcdef";
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const uint8_t byte = bytes[at];
    const size_t length = character_length(bytes + at, text.size() - at);
    const bool line = keep_lines && (byte == '\n' || byte == '\t');
    const bool c0 = byte < 0x20 || byte == 0x7F;
    const bool c1 = length == 2 && byte == 0xC2 && bytes[at + 1] < 0xA0;
    if (length > 0 && !c1 && (!c0 || line)) {
      out += text.substr(at, length);
    } else {
      // The second byte of a C1 character is its number.
      const uint8_t shown = c1 ? bytes[at + 1] : byte;
      out += {'\\', 'x', kHex[shown >> 4], kHex[shown & 15]};
    }
    at += std::max<size_t>(length, 1);
  }
  return out;
}

void append_code_point(uint32_t point, std::string& out) {
  const auto rest = [&](int shift) { out += static_cast<char>(0x80 | (point >> shift & 0x3F)); };
  if (point < 0x80) {
    out += static_cast<char>(point);
  } else if (point < 0x800) {
    out += static_cast<char>(0xC0 | point >> 6);
    rest(0);
  } else if (point < 0x10000) {
    out += static_cast<char>(0xE0 | point >> 12);
    rest(6);
    rest(0);
  } else {
    out += static_cast<char>(0xF0 | point >> 18);
    rest(12);
    rest(6);
    rest(0);
  }
}

// All as one text, and none beginning inside a character.
bool are_utf8(const char* bytes, const int64_t* offsets, uint64_t count) {
  if (count == 0) return true;
  const auto first = static_cast<size_t>(offsets[0]);
  const size_t size = static_cast<size_t>(offsets[count]) - first;
  const size_t ascii = skip_ascii(reinterpret_cast<const uint8_t*>(bytes) + first, size);
  if (ascii == size) return true;
  if (!is_utf8({bytes + first + ascii, size - ascii})) return false;
  for (uint64_t row = 0; row < count; ++row) {
    if (offsets[row] < offsets[count] && is_continuation(static_cast<uint8_t>(bytes[offsets[row]]))) return false;
  }
  return true;
}

std::optional<uint64_t> find_invalid_utf8(const Column& column) {
  if (are_utf8(column.bytes.as<char>(), column.offsets.as<int64_t>(), column.length)) return std::nullopt;
  for (uint64_t row = 0; row < column.length; ++row) {
    if (column.is_valid(row) && !is_utf8(column.string_at(row))) return row;
  }
  return std::nullopt;
}

void check_utf8(const Column& column, uint64_t first_row) {
  if (column.type.kind != TypeKind::kUtf8) return;
  if (const auto row = find_invalid_utf8(column)) {
    throw Error(ErrorCode::kCorrupt, "row " + std::to_string(first_row + *row) + " is not valid UTF-8");
  }
}

}  // namespace basalt
