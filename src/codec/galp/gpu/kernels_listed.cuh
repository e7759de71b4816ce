// Listed exceptions of tiles, for kernels that take tiles in groups: a lane goes through those of its tile
// by itself, and leaves for every lane which of its rows are exceptions; or, where there are many, all lanes share them
// out when the tile's turn comes.
#pragma once

#include "codec/galp/gpu/kernels.cuh"

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

  // Calls f(lane, row of that lane, whether the next one comes from elsewhere, value) for one exception after the
  // other, of which kParts lanes take kAtOnce each in turn; `part`: the lane's number among them. False: positions that
  // no writer makes. Some are asked for at once: nothing stays near for long where other lanes and warps read as much.
  template <uint32_t kAtOnce, uint32_t kParts, typename F>
  __device__ __forceinline__ bool for_each(uint32_t part, F&& f) const {
    constexpr uint32_t kRound = kAtOnce * kParts;
    static_assert((kAtOnce == 4 && kParts <= 2) || kRound == 4);  // close() reads one word
    uint32_t open = lanes;                                        // whose exceptions are not all seen
#pragma unroll 1
    for (uint32_t begin = 0; begin < count(); begin += kRound) {
      const uint32_t own = begin + part * kAtOnce;
      Fetched fetched[kAtOnce];
#pragma unroll
      for (uint32_t i = 0; i < kAtOnce; ++i) fetched[i] = fetch(own + i);
      const uint32_t positions = positions_at(own);
      if constexpr (kParts > 1) close(open, begin, own);
#pragma unroll
      for (uint32_t i = 0; i < kAtOnce; ++i) {
        if (own + i >= count()) break;
        if (open == 0) return false;
        const uint32_t position = positions >> i * 8;
        const bool last = (position & galp::kLastOfLane) != 0;
        f(lowest_bit(open), position % kRowsPerLane, last || i + 1 == kAtOnce, value(own + i, fetched[i]));
        if (last) open &= open - 1;
      }
      if constexpr (kParts > 1) close(open, own + kAtOnce, begin + kRound);
    }
    return open == 0;
  }

  // The words that an exception's value lies in.
  struct Fetched {
    uint32_t words[sizeof(T) / 4 + 1];
  };
  struct Asked {
    uint32_t positions;  // its own in the lowest byte
    Fetched value;
  };
  // Of exception i, or the last.
  __device__ __forceinline__ Asked ask(uint32_t i) const { return {positions_at(i), fetch(i)}; }

  // Calls f(exists, lane, row of that lane, value) by the whole warp, for the exception that is each lane's: its number
  // modulo 32 is that of the lane, whose first was `asked` for. `places`: shared memory of a byte per lane. False:
  // positions that no writer makes.
  template <typename F>
  __device__ __forceinline__ bool share_out(Asked asked, uint8_t* places, F&& f) const {
    const uint32_t lane = lane_id();
    const uint32_t below = (1u << lane) - 1;
    // An exception's lane is the one that has as many before it among those that have some as there are end marks
    // before the exception.
    if ((lanes >> lane & 1) != 0) places[population(lanes & below)] = static_cast<uint8_t>(lane);
    sync_warp();
    uint32_t ended = 0;
#pragma unroll 1
    for (uint32_t i = lane;;) {
      const uint32_t marks = ballot(i < count() && (asked.positions & galp::kLastOfLane) != 0);
      const uint32_t of_lane = places[(ended + population(marks & below)) % kLanes] % kLanes;
      f(i < count(), of_lane, asked.positions % kRowsPerLane, value(i, asked.value));
      ended += population(marks);
      i += kLanes;
      if (i - lane >= count()) break;
      asked = ask(i);
    }
    return ended == population(lanes);
  }

 private:
  static constexpr uint32_t kValuesShift = 18;

  // Positions from one on that lie in its word.
  __device__ __forceinline__ uint32_t positions_at(uint32_t i) const {
    const uint32_t last_number = count() - 1;
    return load_now(rows + (i < last_number ? i : last_number) / 4) >> i % 4 * 8;
  }
  // Takes off the lanes that end with exceptions begin … end − 1, of which there are four at most, in one word.
  __device__ __forceinline__ void close(uint32_t& open, uint32_t begin, uint32_t end) const {
    end = end < count() ? end : count();
    if (begin >= end) return;
    const uint32_t ends = positions_at(begin) & 0x80808080u & static_cast<uint32_t>(low_bits((end - begin) * 8));
    for (uint32_t left = population(ends); left > 0; --left) open &= open - 1;
  }

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
    out.words[0] = load_now(rows + first);
    if constexpr (sizeof(T) == 8) out.words[1] = load_now(rows + (first + 1 < last ? first + 1 : last));
    out.words[sizeof(T) / 4] = load_now(rows + last);
    return out;
  }

  __device__ __forceinline__ T value(uint32_t i, const Fetched& fetched) const {
    const uint32_t shift = i * width();
    T stored = funnel_right(fetched.words[0], fetched.words[1], shift);
    if constexpr (sizeof(T) == 8) {
      stored |= static_cast<T>(funnel_right(fetched.words[1], fetched.words[2], shift)) << 32;
    }
    return base + (stored & mask);
  }
};

// Rows of each lane, as bits, for kTiles tiles. Those of a tile are written by the lanes that describe it, and read by
// all: the places of a tile's lanes are turned by its number, for the banks' sake.
template <uint32_t kTiles>
class RowsOfTiles {
 public:
  // By the whole warp.
  __device__ __forceinline__ void clear() {
#pragma unroll
    for (uint32_t i = 0; i < kTiles; ++i) rows_[i * kLanes + lane_id()] = 0;
  }
  __device__ __forceinline__ uint32_t& of(uint32_t tile, uint32_t lane) {
    return rows_[tile * kLanes + (lane + tile) % kLanes];
  }

 private:
  uint32_t rows_[kTiles * kLanes];
};

}  // namespace basalt::device
