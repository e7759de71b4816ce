// Blocks of exceptions.
#include "codec/galp/exceptions.h"

#include <algorithm>
#include <cstring>

namespace basalt::galp {

std::vector<uint32_t> exception_counts(const NodeView& node) {
  std::vector<uint32_t> counts(tile_count(node.count), 0);
  const ByteView blocks = node.streams[kExceptions];
  const auto* words = reinterpret_cast<const uint32_t*>(blocks.data());
  const void* starts = node.streams[kExceptionStarts].data();
  const bool is_short = blocks.size() / sizeof(uint32_t) <= kMaxShortStarts;
  for (uint32_t tile = 0; tile < counts.size() && !blocks.empty(); ++tile) {
    const uint32_t start = exception_start(starts, is_short, tile);
    if (start == exception_start(starts, is_short, tile + 1)) continue;
    counts[tile] = Exceptions::of(words + start, node.type == Physical::kF64 ? 64 : 32).count;
  }
  return counts;
}

template <typename Bits>
void append_block(const LaneRows& rows, const Bits* values, uint32_t bits, Buffer& words) {
  if (rows.count == 0) return;
  Bits ordered[kTileRows];
  uint8_t listed[kTileRows];
  uint32_t count = 0;
  uint32_t lanes = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if (rows.rows[lane] == 0) continue;
    lanes |= 1u << lane;
    for (uint32_t left = rows.rows[lane]; left != 0; left &= left - 1) {
      const auto row = static_cast<uint32_t>(std::countr_zero(left));
      listed[count] = static_cast<uint8_t>(row);
      ordered[count++] = values[row * kLanes + lane];
    }
    listed[count - 1] |= kLastOfLane;
  }
  const auto [low, high] = std::minmax_element(ordered, ordered + count);
  const Bits least = *low;
  const uint32_t width = block_width(count, static_cast<Bits>(*high - least), bits);
  const Bits base = width < bits ? least : Bits{0};

  const size_t at = words.size();
  words.resize(at + block_words(count, width, bits) * sizeof(uint32_t));
  std::memset(words.data() + at, 0, words.size() - at);
  auto* to = reinterpret_cast<uint32_t*>(words.data() + at);
  *to++ = block_header(count, width);
  if (width < bits) {
    *to++ = static_cast<uint32_t>(base);
    if (base_words(bits) == 2) *to++ = static_cast<uint32_t>(static_cast<uint64_t>(base) >> 32);
  }
  if (count <= kMaxListed) {
    *to = lanes;
    for (uint32_t i = 0; i < count; ++i) to[1 + i / 4] |= static_cast<uint32_t>(listed[i]) << i % 4 * 8;
  } else {
    std::memcpy(to, rows.rows, sizeof(rows.rows));
  }
  to += position_words(count);
  for (uint32_t i = 0; i < count && width > 0; ++i) {
    const uint64_t value = static_cast<Bits>(ordered[i] - base);
    const uint32_t shift = i * width % 32;
    uint32_t* word = to + i * width / 32;
    word[0] |= static_cast<uint32_t>(value << shift);
    if (shift + width > 32) word[1] |= static_cast<uint32_t>(value >> (32 - shift));
    if (shift + width > 64) word[2] |= static_cast<uint32_t>(value >> (64 - shift));
  }
}

template void append_block<uint64_t>(const LaneRows&, const uint64_t*, uint32_t, Buffer&);
template void append_block<uint32_t>(const LaneRows&, const uint32_t*, uint32_t, Buffer&);

}  // namespace basalt::galp
