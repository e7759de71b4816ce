// Statistics that the writer computes: bounds per zone, order and distinct values per chunk, and both over a whole
// column. docs/format.md says what each number promises.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/codec/codec.h"
#include "basalt/core/column.h"
#include "basalt/core/value.h"
#include "basalt/file/reader.h"
#include "file/checksum.h"

namespace basalt::format_v1 {

// ColumnChunkInfo::zone_bounds.
std::vector<int64_t> zone_bounds(const std::vector<Statistics>& zones);

// HyperLogLog with 1024 registers (a standard error of 3.3 %): sketches of chunks merge into that of the column.
class DistinctSketch {
 public:
  void add_hash(uint64_t hash) {
    const auto bucket = static_cast<uint32_t>(hash >> 54);
    const auto rank = static_cast<uint8_t>(__builtin_clzll((hash << 10) | (uint64_t{1} << 9)) + 1);
    if (rank > registers_[bucket]) registers_[bucket] = rank;
  }
  void merge(const DistinctSketch& other);
  uint64_t estimate() const;

 private:
  std::array<uint8_t, 1024> registers_{};
};

// What a sketch of distinct values takes of each: of fixed width its bits, of strings their checksum.
inline uint64_t mix_bits(uint64_t value) {
  value *= 0x9E3779B97F4A7C15u;
  value ^= value >> 32;
  value *= 0xD6E8FEB86659FD93u;
  return value ^ value >> 32;
}
template <typename T>
uint64_t distinct_hash(const T& value) {
  if constexpr (sizeof(T) == 16) {
    const auto bits = static_cast<uint128_t>(value);
    return mix_bits(static_cast<uint64_t>(bits) + mix_bits(static_cast<uint64_t>(bits >> 64)));
  } else {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    return mix_bits(bits);
  }
}
inline uint64_t distinct_hash(std::string_view text) { return checksum(text.data(), text.size()); }

// The zones of one chunk or, appended, of a whole column, in the form of the file.
struct ZoneBounds {
  std::vector<uint8_t> flags;
  std::vector<uint32_t> null_counts;
  std::vector<uint8_t> mins;
  std::vector<uint8_t> maxs;
  std::vector<uint8_t> min_lengths;  // strings only
  std::vector<uint8_t> max_lengths;

  void append(const ZoneBounds& other);
};

struct ChunkStatistics {
  Statistics stats;  // of the chunk; its bounds are those of its zones taken together
  ZoneBounds zones;
  DistinctSketch sketch;
  // First and last valid value, NULL where unknown (long strings): what orders chunks among each other.
  Value first;
  Value last;

  uint16_t flags() const;
};

// A chunk's dictionary, which spares a look at every row: its entries are the distinct values, in order, those under
// NULLs included.
struct ChunkDictionary {
  uint64_t entries = 0;
  const std::byte* values = nullptr;  // fixed width
  const StringRows* strings = nullptr;
  NodeView codes;  // uint32, one per row
};

// Of a column's own values, children left out. Slots under NULLs must be filled already.
ChunkStatistics compute_statistics(const Column& column, const ChunkDictionary* dictionary = nullptr);

// Statistics of a column's chunks, added in order.
class ColumnStatistics {
 public:
  explicit ColumnStatistics(Physical type);
  void add(const ChunkStatistics& chunk);
  Statistics result() const;

 private:
  Statistics total_;
  DistinctSketch sketch_;
  Value last_;
  bool empty_ = true;
  bool min_known_ = true;
  bool max_known_ = true;
};

// A string of at most 64 bytes that is not smaller than any string that begins with the first 64 bytes of `text`; empty
// if there is none. UTF-8 stays UTF-8.
std::string round_up(std::string_view text, bool utf8);
std::string cut_down(std::string_view text, bool utf8);

// Flags and bytes of a column's bounds as the footer stores them.
uint8_t bound_flags(const Statistics& stats);
std::vector<uint8_t> bound_bytes(const Value& value);

uint16_t order_flags(const Statistics& stats);

}  // namespace basalt::format_v1
