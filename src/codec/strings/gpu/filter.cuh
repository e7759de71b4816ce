// Filters of strings on the device: a test is put to a tile by one warp. Rows are taken 32 at a time, one per lane:
// where they begin follows from their lengths by a scan, and each lane walks its row through the automaton, a look-up
// for each stored symbol, until the row ends or is settled. Tables are read through the L1 cache, where the few states
// that most rows are in stay.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/strings/filter_table.h"
#include "codec/strings/layout.h"
#include "core/device/answer.h"
#include "core/device/batch.h"
#include "core/device/bytes.h"
#include "core/device/warp.h"

namespace basalt::device {

class FilterTable {
 public:
  // `head` lies in device memory.
  __device__ __forceinline__ explicit FilterTable(const strings::FilterTableHead* head)
      : head_(head),
        next_(reinterpret_cast<const unsigned char*>(head + 1)),
        start_(load(&head->start)),
        first_settled_(load(&head->first_settled)) {}

  __device__ __forceinline__ uint32_t start() const { return start_; }
  __device__ __forceinline__ bool settled(uint32_t state) const { return state >= first_settled_; }
  __device__ __forceinline__ uint32_t next(uint32_t at) const { return load(next_ + at); }
  __device__ __forceinline__ uint32_t symbols() const { return load(&head_->symbols); }
  // Of a row that ends in this state.
  __device__ __forceinline__ bool accepts(uint32_t state) const { return bit(head_->accepts, state); }
  __device__ __forceinline__ bool is_fault(uint32_t state) const { return bit(head_->faults, state); }

 private:
  __device__ __forceinline__ static bool bit(const uint32_t* bits, uint32_t state) {
    return (load(bits + state / 32) >> state % 32 & 1) != 0;
  }

  const strings::FilterTableHead* head_;
  const unsigned char* next_;
  uint32_t start_;
  uint32_t first_settled_;
};

// Where the lane's row k lies among what the tile stores; by the whole warp, k after k.
template <typename Lengths, typename Sum>
class RowPlaces {
 public:
  // `size`: how much the tile stores.
  __device__ __forceinline__ RowPlaces(Lengths& lengths, uint32_t rows, uint64_t size)
      : lengths_(lengths), rows_(rows), size_(size) {}

  struct Place {
    uint64_t begin;
    uint32_t length;  // 0 where the row does not fit
  };
  __device__ __forceinline__ Place next(uint32_t k) {
    const uint32_t length = k * kLanes + lane_id() < rows_ ? lengths_.at(k) : 0;
    // Longer than all there is is not told apart, so that sums of 32 bits cannot overflow.
    const Sum own = sizeof(Sum) == 8 || length <= size_ ? length : static_cast<Sum>(size_ + 1);
    const Sum below = sum_below(own);
    const uint64_t begin = end_ + below;
    end_ += shuffle(static_cast<Sum>(below + own), kLanes - 1);
    const bool fits = begin + own <= size_;
    bad_ = bad_ || !fits;
    return {begin, fits ? length : 0};
  }
  // After the last row: rows take all that is stored, or something is wrong.
  __device__ __forceinline__ bool bad() const { return bad_ || end_ != size_; }

 private:
  Lengths& lengths_;
  uint32_t rows_;
  uint64_t size_;
  uint64_t end_ = 0;
  bool bad_ = false;
};
// Sums of 32 rows fit into 32 bits where the tile has no more than this.
constexpr uint64_t kMostShortSums = uint64_t{1} << 26;

// Stored bytes of a row, four at a time, by words of the stream: streams begin on multiples of 16 and can be read up to
// one. A word is asked for while those before it are looked up.
class ByteRow {
 public:
  ByteRow() = default;
  __device__ __forceinline__ ByteRow(const unsigned char* at, uint32_t length)
      : words_(reinterpret_cast<const uint32_t*>(reinterpret_cast<uint64_t>(at) & ~uint64_t{3})),
        skip_(static_cast<uint32_t>(reinterpret_cast<uint64_t>(at) & 3)),
        left_(length) {
    if (left_ > 0) low_ = load_now(words_);
    if (left_ > 4 - skip_) high_ = load_now(words_ + 1);
  }
  __device__ __forceinline__ uint32_t run(const FilterTable& table) {
    uint32_t state = table.start();
#pragma unroll 1
    while (left_ >= 4 && !table.settled(state)) {
      uint32_t further = 0;
      if (left_ > 8 - skip_) further = load_now(words_ + 2);
      const uint32_t bytes = funnel_right(low_, high_, 8 * skip_);
#pragma unroll
      for (uint32_t i = 0; i < 4; ++i) state = table.next(byte_below(state, bytes, i));
      low_ = high_;
      high_ = further;
      ++words_;
      left_ -= 4;
    }
    // What follows the row is looked up, too, which costs less than lanes that part.
    if (left_ > 0 && left_ < 4 && !table.settled(state)) {
      const uint32_t bytes = funnel_right(low_, high_, 8 * skip_);
#pragma unroll
      for (uint32_t i = 0; i < 3; ++i) {
        const uint32_t next = table.next(byte_below(state, bytes, i));
        state = i < left_ ? next : state;
      }
    }
    return state;
  }

 private:
  const uint32_t* words_ = nullptr;
  uint32_t low_ = 0;
  uint32_t high_ = 0;
  uint32_t skip_ = 0;  // bytes of the first word that are not the row's
  uint32_t left_ = 0;
};

// Puts a test to rows whose bytes follow each other from `bytes` on, all `size` of them; damage that `lengths` found is
// in the answer. The next 32 rows are asked for before these are walked.
template <typename Sum, typename Lengths>
__device__ __forceinline__ TileAnswer filter_rows_of_bytes(Lengths& lengths, uint32_t rows, const unsigned char* bytes,
                                                           uint64_t size, const FilterTable& table, uint32_t alive) {
  RowPlaces<Lengths, Sum> places(lengths, rows, size);
  const auto ask = [&](uint32_t k) {
    const auto place = places.next(k);
    return ByteRow(bytes + place.begin, (alive >> k & 1) != 0 ? place.length : 0);
  };
  TileAnswer answer{0, kByRows, 0};
  ByteRow following = ask(0);
#pragma unroll 1
  for (uint32_t k = 0; k * kLanes < rows; ++k) {
    ByteRow row = following;
    if ((k + 1) * kLanes < rows) following = ask(k + 1);
    const uint32_t state = row.run(table);
    answer.mask |= static_cast<uint32_t>(table.accepts(state)) << k;
    answer.bad |= static_cast<uint32_t>(table.is_fault(state));
  }
  answer.mask &= alive;
  answer.bad |= static_cast<uint32_t>(places.bad() || lengths.bad);
  return answer;
}

// Tiles of rows that have megabytes are rare, and slow for other reasons. Its own copy of `lengths` leaves the caller's
// in registers.
template <typename Lengths>
__device__ __noinline__ TileAnswer filter_large_rows(Lengths lengths, uint32_t rows, const unsigned char* bytes,
                                                     uint64_t size, FilterTable table, uint32_t alive) {
  return filter_rows_of_bytes<uint64_t>(lengths, rows, bytes, size, table, alive);
}

// Tile `tile` of an array of `rows` rows: `lengths` is open there, starts[tile] … starts[tile + 1] are its bytes.
template <typename Lengths>
__device__ __forceinline__ TileAnswer filter_tile_of_bytes(Lengths& lengths, uint32_t rows, uint32_t tile,
                                                           const uint64_t* starts, const unsigned char* bytes,
                                                           const FilterTable& table, uint32_t alive) {
  const uint64_t begin = load(starts + tile);
  const uint64_t size = load(starts + tile + 1) - begin;
  const uint32_t tile_rows = rows_of_tile(rows, tile);
  if (size > kMostShortSums) return filter_large_rows(lengths, tile_rows, bytes + begin, size, table, alive);
  return filter_rows_of_bytes<uint32_t>(lengths, tile_rows, bytes + begin, size, table, alive);
}

// `strings`: its bytes know how they are tested; some need the rows' lengths for it.
template <typename Lengths, typename Bytes>
struct StringsFilter {
  static constexpr uint32_t kLengthsWord = 1;
  static constexpr uint32_t kBytesWord = kLengthsWord + Lengths::kDescriptorWords;
  static constexpr uint32_t kDescriptorWords = kBytesWord + Bytes::kDescriptorWords;
  static constexpr uint32_t kScratchBytes = larger(Lengths::kScratchBytes, Bytes::kScratchBytes);

  // The lane's rows among `alive` that pass; `head` is the first table of the test for this array.
  __device__ __forceinline__ static TileAnswer filter(const uint64_t* descriptor, uint32_t tile, void* scratch,
                                                      const void* head, uint32_t alive) {
    return Bytes::template filter<Lengths>(descriptor + kBytesWord, descriptor + kLengthsWord, tile, scratch, head,
                                           alive);
  }
};

}  // namespace basalt::device
