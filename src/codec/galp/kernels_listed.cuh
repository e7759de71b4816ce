// Listed exceptions of a tile, for kernels whose lanes describe many tiles ahead: one lane finds where a tile's are,
// and later each lane of the warp takes one of them, with nothing to wait for but its own words.
#pragma once

#include "codec/galp/kernels.cuh"

namespace basalt::device {

// T: the bits of a float or a double.
template <typename T>
struct ListedExceptions {
  const uint32_t* rows = nullptr;  // row and end mark of each; where they are not listed, the block
  T base = 0, mask = 0;            // an exception is the base and those bits of what is stored
  uint32_t header = 0;             // the block's, and where values begin; 0: no exceptions
  uint32_t lanes = 0;              // that have exceptions

  static constexpr uint32_t kBits = 8 * sizeof(T);

  __device__ __forceinline__ uint32_t count() const { return galp::header_count(header); }
  __device__ __forceinline__ uint32_t width() const { return galp::header_width(header) & 0x7F; }

  // Those of a tile of decimals, by any lane. False: exceptions that no writer makes.
  template <typename Entry>
  __device__ __forceinline__ bool find(const uint64_t* descriptor, const Entry& entry) {
    if (entry.exceptions_begin == entry.exceptions_end) return true;
    if (entry.exceptions_begin > entry.exceptions_end || entry.exceptions_end > last_stream_words(descriptor)) {
      return false;
    }
    const uint32_t* words = stream<uint32_t>(descriptor, 1 + galp::kExceptions) + entry.exceptions_begin;
    if (!galp::header_fits(words[0], entry.exceptions_end - entry.exceptions_begin, kBits)) return false;
    const auto block = galp::Exceptions::of(words, kBits);
    rows = block.listed() ? block.positions + 1 : words;
    lanes = block.positions[0];
    base = static_cast<T>(block.base);
    mask = static_cast<T>(low_bits(block.width));
    // Values of no bits are their base, whatever is read for them.
    const uint32_t values = block.listed() && block.width != 0 ? galp::position_words(block.count) - 1 : 0;
    header = words[0] | values << kValuesShift;
    return true;
  }

  // What a lane asks for of an exception: the word that its row lies in, and those of its value.
  struct Fetched {
    uint32_t row;
    uint32_t words[sizeof(T) / 4 + 1];
  };
  // Of exception i, or the last.
  __device__ __forceinline__ Fetched fetch(uint32_t i) const {
    const uint32_t last_number = count() - 1;
    i = i < last_number ? i : last_number;
    const uint32_t bits = width();
    const uint32_t bit = i * bits;
    const uint32_t values = header >> kValuesShift;
    const uint32_t first = values + bit / 32;
    const uint32_t last = values + (bit + bits - (bits == 0 ? 0 : 1)) / 32;
    Fetched out;
    out.row = load_now(rows + i / 4);
    out.words[0] = load_now(rows + first);
    if constexpr (sizeof(T) == 8) out.words[1] = load_now(rows + (first + 1 < last ? first + 1 : last));
    out.words[sizeof(T) / 4] = load_now(rows + last);
    return out;
  }

  // Calls f(exists, row of its lane, lane, value) by the whole warp, for the exception that is each lane's: its number
  // modulo 32 is that of the lane, whose first is `fetched`. `places`: shared memory of a byte per lane. False:
  // positions that no writer makes.
  template <typename F>
  __device__ __forceinline__ bool for_each(Fetched fetched, uint8_t* places, F&& f) const {
    const uint32_t lane = lane_id();
    const uint32_t below = (1u << lane) - 1;
    // An exception's lane is the one that has as many before it among those that have some as there are end marks
    // before the exception.
    if ((lanes >> lane & 1) != 0) places[population(lanes & below)] = static_cast<uint8_t>(lane);
    sync_warp();
    uint32_t ended = 0;
#pragma unroll 1
    for (uint32_t i = lane;;) {
      const uint32_t row = fetched.row >> i % 4 * 8;
      const uint32_t marks = ballot(i < count() && (row & galp::kLastOfLane) != 0);
      const uint32_t of_lane = places[(ended + population(marks & below)) % kLanes] % kLanes;
      f(i < count(), row % kRowsPerLane, of_lane, value(i, fetched));
      ended += population(marks);
      i += kLanes;
      if (i - lane >= count()) break;
      fetched = fetch(i);
    }
    return ended == population(lanes);
  }

 private:
  static constexpr uint32_t kValuesShift = 18;

  __device__ __forceinline__ T value(uint32_t i, const Fetched& fetched) const {
    const uint32_t shift = i * width();
    T stored = funnel_right(fetched.words[0], fetched.words[1], shift);
    if constexpr (sizeof(T) == 8) {
      stored |= static_cast<T>(funnel_right(fetched.words[1], fetched.words[2], shift)) << 32;
    }
    return base + (stored & mask);
  }
};

}  // namespace basalt::device
