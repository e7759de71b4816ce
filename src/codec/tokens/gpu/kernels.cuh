// Ids to text on the device. A warp takes a tile's ids, 128 at a time: lanes have four each, fetch their entries, find
// their places by a scan, and collect the text in shared memory, from where it is copied out. So lanes work alike
// however long rows are: rows follow each other in ids and in text.
#pragma once

#include "codec/strings/gpu/kernels.cuh"
#include "codec/strings/gpu/texts.cuh"
#include "codec/tokens/gpu/decode_work.h"

namespace basalt::tokens {

using device::lane_id;
using device::load;

constexpr uint32_t kLaneIds = 4;
constexpr uint32_t kStepIds = kLaneIds * kLanes;
// Text of a step whose entries fit their slots. Where they do not, fewer lanes write at once.
constexpr uint32_t kTextBytes = 4096;
constexpr uint32_t kFewLanes = 4;
static_assert(kStepIds * kSlotBytes <= kTextBytes && kFewLanes * kLaneIds * kLongestEntry <= kTextBytes);
static_assert(kTileRows % kStepIds == 0, "all ids of a step lie in one tile of theirs");

// Shared memory of a warp.
struct alignas(16) DecodeScratch {
  uint32_t ids[kStepIds];
  unsigned char text[kTextBytes + 32];  // with what was left of the step before
};

__device__ __forceinline__ uint32_t slot_length(uint64_t first_word) {
  return static_cast<uint32_t>(first_word & 0xFF);
}

// One entry's slot. False if there cannot be such an entry: its slot has no bytes then.
__device__ __forceinline__ bool make_slot(const DecodeWork& work, uint32_t entry) {
  const strings::Text text = work.entries.at(entry);
  Slot slot{};
  const bool fits = text.length > 0 && text.length <= kLongestEntry;
  if (fits && text.length <= kSlotBytes) {
    uint64_t carry = text.length;
#pragma unroll
    for (uint32_t i = 0; i < 4; ++i) {
      const uint64_t word = text.word(i);
      slot.words[i] = carry | word << 8;
      carry = word >> 56;
    }
  } else if (fits) {
    slot.words[0] = text.length | static_cast<uint64_t>(work.entries.offsets[entry] - work.entries.first_byte) << 8;
  }
  work.slots[entry] = slot;
  return fits;
}

// The first half of a slot, which nearly always is all there is to read.
struct SlotHead {
  uint64_t low = 0;
  uint64_t high = 0;

  __device__ __forceinline__ uint32_t length() const { return slot_length(low); }
};
__device__ __forceinline__ SlotHead load_head(const DecodeWork& work, uint32_t id) {
  const auto both = load(reinterpret_cast<const uint128_t*>(work.slots + id));
  return {static_cast<uint64_t>(both), static_cast<uint64_t>(both >> 64)};
}

__device__ __forceinline__ void put_long(const DecodeWork& work, const SlotHead& head, strings::WordWriter& writer) {
  const uint64_t begin = head.low >> 8;
  const strings::Text text{work.entries.words + begin / 8, head.length(), static_cast<uint32_t>(begin % 8 * 8)};
#pragma unroll 1
  for (uint32_t i = 0; i < text.word_count(); ++i) {
    const uint32_t left = head.length() - 8 * i;
    writer.put(text.word(i), left < 8 ? left : 8);
  }
}

__device__ __forceinline__ void put_entry(const DecodeWork& work, const SlotHead& head, uint32_t id,
                                          strings::WordWriter& writer) {
  const uint32_t length = head.length();
  if (length > kSlotBytes) return put_long(work, head, writer);
  writer.put(head.low >> 8 | head.high << 56, length < 8 ? length : 8);
  if (length <= 8) return;
  if (length <= 15) return writer.put(head.high >> 8, length - 8);
  const uint64_t third = load(work.slots[id].words + 2);
  const uint64_t fourth = load(work.slots[id].words + 3);
  writer.put(head.high >> 8 | third << 56, 8);
  writer.put(third >> 8 | fourth << 56, length < 24 ? length - 16 : 8);
  if (length > 24) writer.put(fourth >> 8, length - 24);
}

// Decodes ids [first, end) to exactly `plain` bytes at `out`; by the whole warp. False, in some lane, if they give any
// other number or name what is not there: then `out` holds anything, and nothing behind it was written.
template <typename Ids>
__device__ __forceinline__ bool decode_ids(const DecodeWork& work, uint64_t first, uint64_t end, DecodeScratch& scratch,
                                           unsigned char* out, uint64_t plain) {
  strings::TextStage text(scratch.text, out);
  Ids ids{};
  ids.bind(work.ids);
  uint32_t opened = ~0u;
  bool known = true;
#pragma unroll 1
  for (uint64_t step = first / kStepIds * kStepIds; step < end; step += kStepIds) {
    const auto tile = static_cast<uint32_t>(step / kTileRows);
    if (tile != opened) {
      ids.seek(tile, nullptr);
      opened = tile;
    }
#pragma unroll
    for (uint32_t j = 0; j < kLaneIds; ++j) {
      scratch.ids[j * kLanes + lane_id()] = ids.at(static_cast<uint32_t>(step % kTileRows) / kLanes + j);
    }
    device::sync_warp();
    uint32_t own[kLaneIds];
    SlotHead heads[kLaneIds];
    uint32_t bytes = 0;
#pragma unroll
    for (uint32_t i = 0; i < kLaneIds; ++i) {
      const uint64_t place = step + lane_id() * kLaneIds + i;
      own[i] = scratch.ids[lane_id() * kLaneIds + i];
      const bool has = place >= first && place < end;
      known = known && (!has || own[i] < work.entry_count);
      if (has && own[i] < work.entry_count) heads[i] = load_head(work, own[i]);
      bytes += heads[i].length();
    }
    const uint32_t all = device::sum_of_lanes(bytes);
    if (all > plain) return false;
    plain -= all;
    const uint32_t at_once = all <= kTextBytes ? kLanes : kFewLanes;
#pragma unroll 1
    for (uint32_t lane = 0; lane < kLanes; lane += at_once) {
      const bool writes = lane_id() >= lane && lane_id() - lane < at_once;
      const uint32_t before = device::sum_below(writes ? bytes : 0);
      if (writes) {
        strings::WordWriter writer(text.stage(), text.filled() + before);
#pragma unroll
        for (uint32_t i = 0; i < kLaneIds; ++i) put_entry(work, heads[i], own[i], writer);
        writer.finish();
      }
      text.push(device::sum_of_lanes(writes ? bytes : 0));
    }
  }
  text.finish();
  return known && plain == 0;
}

// Rows' places, and the text of a tile; by the whole warp. False, in some lane, if something does not fit.
template <typename Lengths, typename Ids>
__device__ __forceinline__ bool decode_tile(const DecodeWork& work, uint32_t tile, DecodeScratch& scratch) {
  const bool placed = strings::place_rows<Lengths>(work, tile);
  const uint64_t text = load(work.text_starts + tile);
  return decode_ids<Ids>(work, load(work.starts + tile), load(work.starts + tile + 1), scratch, work.text + text,
                         load(work.text_starts + tile + 1) - text) &&
         placed;
}

// Bytes of every `step`-th of `count` ids, from `first` on.
template <typename Ids>
__device__ __forceinline__ uint64_t bytes_of_ids(const DecodeWork& work, const Ids& ids, uint64_t first, uint64_t count,
                                                 uint32_t step) {
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < count; i += step) {
    const uint32_t id = ids.row(static_cast<uint32_t>(first + i));
    bytes += id < work.entry_count ? slot_length(load(work.slots[id].words)) : 0;
  }
  return bytes;
}

// Whether each row of a tile has as many ids as its count and as many bytes as its length says; by the whole warp. A
// row of many ids is added up by all lanes.
template <typename Lengths, typename Ids, typename Counts>
__device__ __forceinline__ bool check_tile(const DecodeWork& work, uint32_t tile) {
  constexpr uint64_t kIdsAlone = 64;
  const uint32_t rows = device::rows_of_tile(work.rows, tile);
  const uint64_t end = load(work.starts + tile + 1);
  Lengths lengths;
  lengths.open(work.lengths, tile, nullptr);
  Counts counts;
  counts.open(work.counts, tile, nullptr);
  Ids ids;
  ids.bind(work.ids);
  uint64_t first = load(work.starts + tile);
  bool fits = true;
  strings::for_each_rows(lengths, rows, [&](uint32_t k, uint64_t length, uint64_t) {
    const uint64_t wanted = k * kLanes + lane_id() < rows ? counts.at(k) : 0;
    const uint64_t begin = first + device::sum_below(wanted);
    const bool there = begin + wanted <= end;
    const uint64_t own = there ? wanted : 0;
    uint64_t bytes = own <= kIdsAlone ? bytes_of_ids(work, ids, begin, own, 1) : 0;
    strings::take_turns(own > kIdsAlone, [&](uint32_t owner) {
      const uint64_t part = bytes_of_ids(work, ids, device::shuffle(begin, owner) + lane_id(),
                                         device::shuffle(own, owner) - lane_id(), kLanes);
      const uint64_t all = device::join_lanes(part, [](uint64_t a, uint64_t b) { return a + b; });
      if (lane_id() == owner) bytes = all;
    });
    fits = fits && there && bytes == length;
    first = device::shuffle(begin + wanted, kLanes - 1);
  });
  return fits && first == end;
}

}  // namespace basalt::tokens
