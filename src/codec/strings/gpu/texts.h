// Texts as encoders look at them, by words of eight bytes: hashed to bring equal ones together, compared to be sure and
// to put them in order. Shared by host and device; texts.cuh lets the lanes of a warp work on one text.
#pragma once

#include "basalt/core/host_device.h"

namespace basalt::strings {

// One text. Its first byte lies `shift` bits into *words; the word behind its last one can be read as well.
struct Text {
  const uint64_t* words;
  uint64_t length;
  uint32_t shift;

  BASALT_HD uint64_t whole_words() const { return length / 8; }
  BASALT_HD uint64_t word_count() const { return (length + 7) / 8; }
  // Bytes 8i… of the text, the first one lowest, zeros behind its end.
  BASALT_HD uint64_t word(uint64_t i) const {
    if (i >= word_count()) return 0;
    uint64_t bits = words[i] >> shift;
    if (shift != 0) bits |= words[i + 1] << (64 - shift);
    const uint64_t left = length - i * 8;
    return left >= 8 ? bits : bits & ((uint64_t{1} << left * 8) - 1);
  }
};

// For lanes that have none.
BASALT_HD Text no_text() { return {nullptr, 0, 0}; }

// Row i is bytes [offsets[i] - first_byte, offsets[i + 1] - first_byte) of what begins at `words`.
struct Texts {
  const uint64_t* words;
  const int64_t* offsets;
  int64_t first_byte;

  BASALT_HD const unsigned char* bytes(uint64_t row) const { return bytes_at(offsets[row]); }
  BASALT_HD const unsigned char* bytes_at(int64_t offset) const {
    return reinterpret_cast<const unsigned char*>(words) + (offset - first_byte);
  }
  BASALT_HD Text at(uint64_t row) const {
    const auto begin = static_cast<uint64_t>(offsets[row] - first_byte);
    return {words + begin / 8, static_cast<uint64_t>(offsets[row + 1] - offsets[row]),
            static_cast<uint32_t>(begin % 8 * 8)};
  }
};

BASALT_HD uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }

BASALT_HD uint64_t reverse_bytes(uint64_t bits) {
  bits = (bits & 0x00FF00FF00FF00FFull) << 8 | (bits >> 8 & 0x00FF00FF00FF00FFull);
  bits = (bits & 0x0000FFFF0000FFFFull) << 16 | (bits >> 16 & 0x0000FFFF0000FFFFull);
  return bits << 32 | bits >> 32;
}

BASALT_HD uint64_t mix(uint64_t bits) {
  bits = (bits ^ bits >> 32) * 0xD6E8FEB86659FD93ull;
  bits = (bits ^ bits >> 32) * 0xD6E8FEB86659FD93ull;
  return bits ^ bits >> 32;
}
// A text's hash is a sum over its words, each mixed with its place, so that lanes can share the work. Nothing relies on
// different texts having different hashes.
BASALT_HD uint64_t hash_word(uint64_t word, uint64_t place) { return mix(word + (place + 1) * 0x9E3779B97F4A7C15ull); }
BASALT_HD uint64_t hash_words(const Text& text, uint64_t first, uint64_t step) {
  uint64_t sum = 0;
  for (uint64_t i = first; i < text.word_count(); i += step) sum += hash_word(text.word(i), i);
  return sum;
}
BASALT_HD uint64_t finish_hash(uint64_t sum, uint64_t length) { return mix(sum + length * 0xC2B2AE3D27D4EB4Full); }

// The first word in [first, end) that differs, else `end`.
BASALT_HD uint64_t first_difference_alone(const Text& a, const Text& b, uint64_t first, uint64_t end) {
  while (first < end && a.word(first) == b.word(first)) ++first;
  return first;
}

// A word whose order as a number is that of the texts, where it differs: the zeros behind a text's end are not above
// any byte that another text has there.
BASALT_HD uint64_t order_word(const Text& text, uint64_t i) { return reverse_bytes(text.word(i)); }

// By bytes, then length. All words before `first` are equal.
BASALT_HD bool is_less(const Text& a, const Text& b, uint64_t first) {
  const uint64_t end = smaller(a.whole_words(), b.whole_words());
  const uint64_t at = first_difference_alone(a, b, first, end);
  const uint64_t word_a = order_word(a, at);
  const uint64_t word_b = order_word(b, at);
  return word_a != word_b ? word_a < word_b : a.length < b.length;
}

}  // namespace basalt::strings
