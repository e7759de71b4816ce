// Groups of a key that is sorted: those of one group are neighbours, so that a group ends where another key begins. A
// warp walks its tile in steps of 32 neighbouring rows, puts the rows of each run together in registers and writes the
// runs that end, one behind the other, without an atomic. Only the first and the last run of a tile may go on in other
// tiles: those go to a hash table.
#pragma once

#include "exec/device/groups.cuh"

namespace basalt::device {

// What a row, or the rows of a run up to it, give to their group: the words of a state in registers.
template <typename Kinds>
class RunState {
 public:
  __device__ __forceinline__ void add(uint32_t word, int64_t value) {
    if (is_short(word)) {
      shorts_[word] += static_cast<uint32_t>(value);
    } else {
      words_[word] += static_cast<uint64_t>(value);
    }
  }
  __device__ __forceinline__ void add_wide(uint32_t word, int128_t value) {
    put_pair(word, pair(word) + static_cast<uint128_t>(value));
  }
  __device__ __forceinline__ void most(uint32_t word, uint64_t value) {
    words_[word] = value > words_[word] ? value : words_[word];
  }
  __device__ __forceinline__ void mark(uint32_t word, uint64_t value) { words_[word] |= value; }
  template <uint32_t kCount>
  __device__ __forceinline__ void record(uint32_t word, const Words<kCount>& record) {
    bool larger = false;
    bool equal = true;
#pragma unroll
    for (uint32_t i = 0; i < kCount; ++i) {
      larger = larger || (equal && record.words[i] > words_[word + 1 + i]);
      equal = equal && record.words[i] == words_[word + 1 + i];
    }
#pragma unroll
    for (uint32_t i = 0; i < kCount; ++i) words_[word + 1 + i] = larger ? record.words[i] : words_[word + 1 + i];
  }

  // Of the group's rows, how many these are.
  __device__ __forceinline__ uint32_t rows() const {
    return is_short(0) ? shorts_[0] : static_cast<uint32_t>(words_[0]);
  }
  // As the state has it in memory.
  __device__ __forceinline__ uint64_t word(uint32_t index) const {
    return is_short(index) ? static_cast<uint64_t>(static_cast<int32_t>(shorts_[index])) : words_[index];
  }

  // Word by word: of a choice between two objects the compiler makes one of their addresses, and keeps them in memory.
  __device__ __forceinline__ static RunState either(bool first, const RunState& a, const RunState& b) {
    RunState out;
#pragma unroll
    for (uint32_t i = 0; i < Kinds::kCount; ++i) {
      out.shorts_[i] = first ? a.shorts_[i] : b.shorts_[i];
      out.words_[i] = first ? a.words_[i] : b.words_[i];
    }
    return out;
  }

  // That of another lane: `move` is the exchange of a word.
  template <typename Move>
  __device__ __forceinline__ RunState moved(Move&& move) const {
    RunState out;
#pragma unroll
    for (uint32_t i = 0; i < Kinds::kCount; ++i) {
      if (is_short(i)) {
        out.shorts_[i] = move(shorts_[i]);
      } else if (Kinds::of(i) != StateWord::kGuard) {
        out.words_[i] = move(words_[i]);
      }
    }
    return out;
  }

  __device__ __forceinline__ void merge(const RunState& other) {
#pragma unroll
    for (uint32_t i = 0; i < Kinds::kCount; ++i) {
      switch (Kinds::of(i)) {
        case StateWord::kAdd: words_[i] += other.words_[i]; break;
        case StateWord::kAddShort: shorts_[i] += other.shorts_[i]; break;
        case StateWord::kAddLow: put_pair(i, pair(i) + other.pair(i)); break;
        case StateWord::kMost: most(i, other.words_[i]); break;
        case StateWord::kMark: mark(i, other.words_[i]); break;
        case StateWord::kGuard:
          if constexpr (Kinds::kHasRecords) {
            if (Kinds::record_words(i) == 3) {
              record(i, other.template record_at<3>(i));
            } else {
              record(i, other.template record_at<2>(i));
            }
          }
          break;
        case StateWord::kAddHigh:
        case StateWord::kPart: break;  // with what comes before them
      }
    }
  }

 private:
  __device__ __forceinline__ static bool is_short(uint32_t word) { return Kinds::of(word) == StateWord::kAddShort; }
  __device__ __forceinline__ uint128_t pair(uint32_t word) const {
    return static_cast<uint128_t>(words_[word + 1]) << 64 | words_[word];
  }
  __device__ __forceinline__ void put_pair(uint32_t word, uint128_t value) {
    words_[word] = static_cast<uint64_t>(value);
    words_[word + 1] = static_cast<uint64_t>(value >> 64);
  }
  template <uint32_t kCount>
  __device__ __forceinline__ Words<kCount> record_at(uint32_t guard) const {
    Words<kCount> out;
#pragma unroll
    for (uint32_t i = 0; i < kCount; ++i) out.words[i] = words_[guard + 1 + i];
    return out;
  }

  // By word, in the one that has its width; the other is never touched and takes no register.
  uint64_t words_[Kinds::kCount] = {};
  uint32_t shorts_[Kinds::kCount] = {};
};

// KeyWord: the narrowest integers that hold the codes of the key, none of which is NarrowKeys::kNoKey.
template <typename KeyWord, typename Kinds>
class RunGroups {
 public:
  static constexpr uint32_t kBytesPerWarp = 0;
  static constexpr uint32_t kBytesPerBlock = 0;
  using Key = KeyWord;
  using Row = RunState<Kinds>;

  __device__ __forceinline__ RunGroups(const Parameters& p, unsigned char*, unsigned char*)
      : p_(p), table_(p.group_keys) {}

  // By the whole warp, as everything below: before the first rows of a tile, of which the lane's are `present`.
  __device__ __forceinline__ void begin(uint32_t present) {
    last_ = Row();
    is_whole_ = !any_lane(present != ~0u);
    before_first_ = true;
    has_first_ = false;
  }

  // The tile's next 32 rows, one for each lane; those that are not `present` come behind all that are. What rows give
  // that do not count is nothing, but their keys are looked at. Rows of which none counts may be left out.
  __device__ __forceinline__ void take(Key key, Row row, bool present) {
    const uint32_t lane = lane_id();
    const bool is_last = lane == kLanes - 1;
    if (!is_whole_) {
      // Lanes without a row go on with the run before them. A way out of here would cost whole tiles six moves a step.
      const uint32_t here = ballot(present);
      const uint32_t last = here == 0 ? kLanes - 1 : highest_bit(here);
      key = shuffle(here == 0 ? last_key_ : key, present ? lane : last);
    }
    // Before lane 0 comes the last lane of the rows before.
    const Key before = shuffle(is_last ? last_key_ : key, (lane + kLanes - 1) % kLanes);
    const uint32_t heads = ballot(key != before);
    if ((heads & 1) == 0) {
      const Row open = last_.moved([&](auto word) { return shuffle(word, kLanes - 1); });
      if (lane == 0) row.merge(open);
    }
    uint32_t joined = ~heads & ~1u;  // lanes whose run has begun `distance` lanes below, or before
#pragma unroll kStepsUnrolled
    for (uint32_t distance = 1; distance < kLanes; distance *= 2) {
      if (joined == 0) break;
      const Row other = row.moved([&](auto word) { return shuffle_up(word, distance); });
      if ((joined >> lane & 1) != 0) row.merge(other);
      joined &= joined << distance;
    }
    // A run ends in front of a head; the last lane speaks for the run that was open before these rows.
    const bool ends = ((heads >> 1 | heads << (kLanes - 1)) >> lane & 1) != 0;
    const Key ended_key = is_last ? last_key_ : key;
    const Row ended = Row::either(is_last, last_, row);
    last_key_ = key;
    last_ = row;
    put_ended(ends, ended_key, ended);
  }

  // Behind the last rows of a tile. The lanes of its first and its last run look for their places at the same time,
  // unless one lane has both.
  __device__ __forceinline__ void end() {
    bool has_last = (counted(lane_id() == kLanes - 1, last_key_, last_) >> lane_id() & 1) != 0;
#pragma unroll 1
    while (any_lane(has_first_ || has_last)) {
      const bool first = has_first_;
      if (first || has_last) add_to_table(first ? first_key_ : last_key_, Row::either(first, first_, last_));
      has_last = has_last && first;
      has_first_ = false;
    }
  }

  // What was taken of the room for runs, but not used, holds groups without rows.
  __device__ __forceinline__ void finish(const Parameters&, const Kinds&, const unsigned char*, uint32_t) {
    for (uint32_t place = next_ + lane_id(); place < end_; place += kLanes) {
      p_.runs.states[static_cast<uint64_t>(place) * Kinds::kCount] = 0;
    }
  }

 private:
  // Of many words the steps by which rows come together are a loop: straight code would take seconds to compile.
  static constexpr uint32_t kStepsUnrolled = Kinds::kCount <= 4 ? 5 : 1;

  // Runs of which rows count, of the partition that this launch takes.
  __device__ __forceinline__ uint32_t counted(bool is_run, Key key, const Row& row) const {
    uint32_t runs = ballot(is_run && row.rows() != 0);
    if (p_.partition_mask != 0) runs &= ballot(in_partition(p_, static_cast<uint64_t>(key)));
    return runs;
  }

  // Runs that end, one for each lane that says so.
  __device__ __forceinline__ void put_ended(bool ends, Key key, const Row& row) {
    const uint32_t lane = lane_id();
    uint32_t ended = counted(ends, key, row);
    if (before_first_ && ended != 0) {
      const uint32_t first = ended >> (kLanes - 1) != 0 ? kLanes - 1 : lowest_bit(ended);
      if (lane == first) {
        first_key_ = key;
        first_ = row;
        has_first_ = true;
      }
      before_first_ = false;
      ended &= ~(1u << first);
    }
    const uint32_t count = population(ended);
    const uint32_t rank = population(ended & ((1u << lane) - 1));
    uint32_t place = next_ + rank;
    const uint32_t room = end_ - next_;
    if (room < count) {
      const uint32_t window = take_window();
      if (rank >= room) place = window + rank - room;
      next_ = window + count - room;
      end_ = window + p_.runs.window;
    } else {
      next_ += count;
    }
    if ((ended >> lane & 1) != 0) {
      p_.runs.keys[place] = key;
      store_state(p_.runs.states + static_cast<uint64_t>(place) * Kinds::kCount, row);
    }
  }

  // Places for the next runs, of this warp alone; where there is no room, a window behind the last that nobody reads.
  __device__ __forceinline__ uint32_t take_window() {
    uint64_t at = 0;
    if (lane_id() == 0) {
      at = atomicAdd(reinterpret_cast<unsigned long long*>(p_.runs.taken),
                     static_cast<unsigned long long>(p_.runs.window));
      if (at >= p_.runs.capacity) {
        at = p_.runs.capacity;
        *p_.runs.full = 1;
      }
    }
    return shuffle(static_cast<uint32_t>(at), 0);
  }

  __device__ __forceinline__ static void store_state(uint64_t* to, const Row& row) {
    if constexpr (Kinds::kCount % 2 == 0) {
#pragma unroll
      for (uint32_t i = 0; i < Kinds::kCount; i += 2) {
        ulonglong2 two;
        two.x = row.word(i);
        two.y = row.word(i + 1);
        *reinterpret_cast<ulonglong2*>(to + i) = two;
      }
    } else {
#pragma unroll
      for (uint32_t i = 0; i < Kinds::kCount; ++i) to[i] = row.word(i);
    }
  }

  __device__ __forceinline__ void add_to_table(Key key, const Row& row) {
    uint64_t* state = p_.groups + table_.find(key).number * Kinds::kCount;
#pragma unroll
    for (uint32_t i = 0; i < Kinds::kCount; ++i) {
      merge_word(
          Kinds(), state, [&](uint32_t word) { return row.word(word); }, i);
    }
  }

  const Parameters& p_;
  NarrowKeys table_;
  Row last_;  // up to the lane's row before; of the last lane the run that is open
  Key last_key_ = 0;
  bool is_whole_ = true;      // all rows of the tile are present
  bool before_first_ = true;  // no run of the tile has ended
  bool has_first_ = false;    // this lane holds the first that did
  Row first_;
  Key first_key_ = 0;
  uint32_t next_ = 0;  // the warp's places
  uint32_t end_ = 0;
};

}  // namespace basalt::device
