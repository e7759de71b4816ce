// What all device decoders of strings have in common: rows whose lengths are known become offsets and bytes, whatever
// the bytes are made of. Shared by kernels and those who launch them.
#pragma once

#include "basalt/core/host_device.h"
#include "core/device/batch.h"

namespace basalt::strings {

// How a child of integers is stored.
enum class Child : uint8_t { kPlain, kPacked };

// Rows on their way out, in device memory. Codecs add what the bytes are made of.
struct TextWork {
  const uint64_t* lengths;  // descriptor of the rows' lengths
  uint32_t rows;
  uint32_t narrow_offsets;  // not 0: of 32 bits, as Arrow's utf8 has them; a text of 2^31 bytes and more is a fault

  uint64_t* text_starts;  // [tiles + 1] of the decoded bytes
  unsigned char* text;
  void* offsets;  // [rows + 1], int64_t or int32_t
  uint32_t* fault;

  BASALT_HD uint32_t tiles() const { return device::tiles_of(rows); }
  BASALT_HD bool offsets_hold(uint64_t text_end) const { return narrow_offsets == 0 || text_end <= 0x7FFFFFFF; }
  BASALT_HD void put_offset(uint64_t row, uint64_t offset) const {
    if (narrow_offsets != 0) {
      static_cast<int32_t*>(offsets)[row] = static_cast<int32_t>(offset);
    } else {
      static_cast<int64_t*>(offsets)[row] = static_cast<int64_t>(offset);
    }
  }
};

// Arrays that are decoded together: `count` of them in device memory, whose lengths are stored alike. `stride` bytes
// lie between them, since codecs' works are longer.
struct TextBatch {
  const unsigned char* works;
  uint32_t stride;
  uint32_t count;
  uint32_t most_tiles;  // of any array
  Child lengths;

  BASALT_HD const TextWork& work(uint32_t i) const {
    return *reinterpret_cast<const TextWork*>(works + uint64_t{i} * stride);
  }
};

// `works` of a codec, in device memory; its type derives from TextWork.
template <typename Work>
TextBatch text_batch(const Work* works, uint32_t count, uint32_t most_tiles, Child lengths) {
  const TextWork* first = works;
  return {reinterpret_cast<const unsigned char*>(first), sizeof(Work), count, most_tiles, lengths};
}

}  // namespace basalt::strings
