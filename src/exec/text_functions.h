// Functions of one string, byte by byte: shared by host and device.
#pragma once

#include "core/text_bytes.h"

namespace basalt::exec {

BASALT_HD bool continues_code_point(unsigned char byte) { return (byte & 0xC0) == 0x80; }

BASALT_HD uint64_t code_points_of(const TextBytes& text) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < text.size; ++i) count += continues_code_point(text.data[i]) ? 0 : 1;
  return count;
}

// Where the first `count` code points end; the text's end if it has no more.
BASALT_HD uint64_t end_of_code_points(const TextBytes& text, uint64_t count) {
  uint64_t at = 0;
  for (; at < text.size; ++at) {
    if (continues_code_point(text.data[at])) continue;
    if (count-- == 0) break;
  }
  return at;
}

BASALT_HD TextBytes substring_of(const TextBytes& text, uint64_t skip, uint64_t count) {
  const TextBytes behind = text.part(end_of_code_points(text, skip), text.size);
  return behind.part(0, end_of_code_points(behind, count));
}

BASALT_HD TextBytes suffix_of(const TextBytes& text, uint64_t count) {
  uint64_t at = text.size;
  while (at > 0 && count > 0) {
    --at;
    if (!continues_code_point(text.data[at])) --count;
  }
  return text.part(at, text.size);
}

BASALT_HD TextBytes without_suffix(const TextBytes& text, uint64_t count) {
  return text.part(0, text.size - suffix_of(text, count).size);
}

BASALT_HD uint32_t first_code_point(const TextBytes& text) {
  if (text.size == 0) return 0;
  const unsigned char lead = text.data[0];
  if (lead < 0x80) return lead;
  uint32_t point = lead >= 0xF0 ? lead & 0x07u : lead >= 0xE0 ? lead & 0x0Fu : lead & 0x1Fu;
  for (uint64_t i = 1; i < text.size && continues_code_point(text.data[i]); ++i)
    point = point << 6 | (text.data[i] & 0x3Fu);
  return point;
}

BASALT_HD bool lies_at(const TextBytes& text, const TextBytes& wanted, uint64_t at) {
  if (wanted.size > text.size - at) return false;
  for (uint64_t i = 0; i < wanted.size; ++i) {
    if (text.data[at + i] != wanted.data[i]) return false;
  }
  return true;
}

// Where `wanted` first begins from `from` on; text.size + 1: nowhere.
BASALT_HD uint64_t find_text(const TextBytes& text, const TextBytes& wanted, uint64_t from) {
  for (uint64_t at = from; at + wanted.size <= text.size; ++at) {
    if (lies_at(text, wanted, at)) return at;
  }
  return text.size + 1;
}

// In code points from 1; 0: nowhere.
BASALT_HD uint64_t position_in(const TextBytes& text, const TextBytes& wanted) {
  const uint64_t at = find_text(text, wanted, 0);
  return at > text.size ? 0 : code_points_of(text.part(0, at)) + 1;
}

// Whether a code point of `set` begins (or, from the back, ends) there; gives its bytes.
BASALT_HD uint64_t member_at(const TextBytes& text, const TextBytes& set, bool front) {
  for (uint64_t at = 0; at < set.size;) {
    const TextBytes rest = set.part(at, set.size);
    const TextBytes point = rest.part(0, end_of_code_points(rest, 1));
    if (point.size <= text.size && lies_at(text, point, front ? 0 : text.size - point.size)) return point.size;
    at += point.size;
  }
  return 0;
}

BASALT_HD TextBytes trimmed_text(TextBytes text, const TextBytes& set, bool front, bool back) {
  for (uint64_t bytes = 1; front && bytes > 0;) {
    bytes = member_at(text, set, true);
    text = text.part(bytes, text.size);
  }
  for (uint64_t bytes = 1; back && bytes > 0;) {
    bytes = member_at(text, set, false);
    text = text.part(0, text.size - bytes);
  }
  return text;
}

template <typename Sink>
BASALT_HD void replace_text(const TextBytes& text, const TextBytes& wanted, const TextBytes& by, Sink& sink) {
  uint64_t from = 0;
  while (wanted.size > 0) {
    const uint64_t at = find_text(text, wanted, from);
    if (at > text.size) break;
    sink.put(text.part(from, at));
    sink.put(by);
    from = at + wanted.size;
  }
  sink.put(text.part(from, text.size));
}

// To `length` code points; `pad` has at least one.
template <typename Sink>
BASALT_HD void put_padded(const TextBytes& text, uint64_t length, const TextBytes& pad, bool left, Sink& sink) {
  const uint64_t points = code_points_of(text);
  if (points >= length) return sink.put(text.part(0, end_of_code_points(text, length)));
  const uint64_t pad_points = code_points_of(pad);
  if (!left) sink.put(text);
  uint64_t missing = length - points;
  for (; missing >= pad_points; missing -= pad_points) sink.put(pad);
  sink.put(pad.part(0, end_of_code_points(pad, missing)));
  if (left) sink.put(text);
}

// The piece with this number, from 1, or from the end if it is negative, of what lies between separators, which have
// at least one byte; nothing if there is none.
BASALT_HD TextBytes split_part_of(const TextBytes& text, const TextBytes& separator, int64_t number) {
  if (number < 0) {
    int64_t pieces = 1;
    for (uint64_t from = 0;; ++pieces) {
      const uint64_t at = find_text(text, separator, from);
      if (at > text.size) break;
      from = at + separator.size;
    }
    number += pieces + 1;
  }
  uint64_t from = 0;
  for (int64_t piece = 1; number > 0; ++piece) {
    const uint64_t at = find_text(text, separator, from);
    const bool last = at > text.size;
    if (piece == number) return text.part(from, last ? text.size : at);
    if (last) break;
    from = at + separator.size;
  }
  return text.part(0, 0);
}

// False if there are letters beyond ASCII, whose case only the host knows.
template <typename Sink>
BASALT_HD bool put_in_case(const TextBytes& text, bool upper, Sink& sink) {
  bool known = true;
  const unsigned char first = upper ? 'a' : 'A';
  for (uint64_t i = 0; i < text.size; ++i) {
    const unsigned char byte = text.data[i];
    known = known && byte < 0x80;
    const bool changes = byte >= first && byte < first + 26;
    sink.put(static_cast<unsigned char>(changes ? byte ^ 0x20 : byte));
  }
  return known;
}

}  // namespace basalt::exec
