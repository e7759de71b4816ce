// Finding tables on the device: a block per table, with the decisions of training.h. Texts of the sample are parsed a
// thread each, and pairs are counted, in shared memory where that is large enough. Several pairs may make one string,
// whose gain is the sum of their shares. Sums over all strings of the same hash are bounds that fit shared memory: a
// gain that about as many sums reach as a table could look at keeps most strings out of the table of exact gains. From
// there the best are selected by digits of their keys, sorted and offered, and if the table is not full then, the next
// bound is a lower one.
#pragma once

#include "codec/fsst/gpu/encode_rows.cuh"
#include "codec/fsst/gpu/train_work.h"

namespace basalt::fsst {

// Candidates that are sorted at once: a table takes 255, and refuses about as many.
constexpr uint32_t kBatch = 1024;
// Sums that bound gains, and how many of them are to reach the first bound.
constexpr uint32_t kSums = 12288;
constexpr uint32_t kFirstReach = 640;
static_assert(kSums < 1 << 16);

// Symbols of a table without what finds them.
struct SymbolList {
  uint64_t values[kMaxSymbols + 1];
  uint8_t lengths[kMaxSymbols + 1];
  uint32_t count;
};

// What the threads of a block share.
struct TrainShared {
  CandidateKey batch[kBatch];
  uint32_t sums[kSums];
  CandidateKey prefix;  // of the keys among which the selection looks on
  CandidateKey bound;   // of the selection, inclusive
  EncodeTable table;
  SymbolList best;
  SymbolList next;
  uint32_t units[kUnits];
  uint32_t best_units[kUnits];
  Admission admission;
  uint32_t histogram[256];
  uint32_t code_bytes;
  uint32_t best_code_bytes;
  uint32_t seen;
  uint32_t counted;  // whatever a pass counts
  uint32_t shares;
  uint32_t texts;
  uint32_t sample_bytes;
  uint32_t selected;
  uint32_t prefix_at;  // bits below the prefix
  uint32_t is_selected;
};

class TableTrainer {
 public:
  __device__ TableTrainer(const TrainArray& array, const TrainScratch& scratch, TrainShared& shared)
      : array_(array), scratch_(scratch), shared_(shared), thread_(threadIdx.x), threads_(blockDim.x) {}

  // The table of some rows, to shared memory.
  __device__ void train_rows(const Rows& rows, const Plan& plan, EncodeTable& to) {
    list_texts(rows, plan.sample_bytes, 0);
    train(plan.training);
    save(to);
    if (!plan.train_greedily_too) return;
    const uint32_t bytes = code_bytes(plan.training.parse);
    TrainOptions greedy = plan.training;
    greedy.parse = Parse::kGreedy;
    train(greedy);
    if (code_bytes(plan.training.parse) < bytes) save(to);
  }

  // The texts that tables are trained or tested on.
  __device__ void list_texts(const Rows& rows, uint32_t bytes, uint64_t salt) {
    __syncthreads();
    if (thread_ == 0) shared_.texts = shared_.sample_bytes = 0;
    __syncthreads();
    const SamplePlan plan(array_.offsets, rows, bytes, salt);
    for (uint64_t part = thread_; part < plan.parts(); part += threads_) {
      plan.take_part(part, [&](int64_t at, uint32_t length) {
        const uint32_t text = atomicAdd(&shared_.texts, 1u);
        const uint32_t place = atomicAdd(&shared_.sample_bytes, length);
        scratch_.texts[text] = static_cast<uint64_t>(at - array_.first_byte) << kLengthBits | length;
        if (scratch_.step_places != nullptr) scratch_.step_places[text] = place;
      });
    }
    __syncthreads();
  }
  __device__ uint32_t sample_bytes() const { return shared_.sample_bytes; }

  // What the listed texts take under a table, which is in shared memory already if it is not given.
  __device__ uint32_t code_bytes(const EncodeTable& table, Parse parse) {
    copy_words(table, shared_.table);
    return code_bytes(parse);
  }
  __device__ uint32_t code_bytes(Parse parse) {
    __syncthreads();
    count(parse, false);
    return shared_.code_bytes;
  }

 private:
  static constexpr uint32_t kLengthBits = 10;
  struct alignas(16) FourWords {
    uint32_t words[4];
  };
  static_assert(kSamplePiece < 1u << kLengthBits);

  // On a multiple of 16, and as many.
  __device__ void clear_words(uint32_t* words, uint32_t count) {
    for (uint32_t i = thread_; i < count / 4; i += threads_) reinterpret_cast<FourWords*>(words)[i] = {};
  }
  template <typename T>
  __device__ void copy_words(const T& from, T& to) {
    static_assert(sizeof(T) % sizeof(uint32_t) == 0);
    __syncthreads();
    const auto* source = reinterpret_cast<const uint32_t*>(&from);
    auto* target = reinterpret_cast<uint32_t*>(&to);
    for (uint32_t i = thread_; i < sizeof(T) / sizeof(uint32_t); i += threads_) target[i] = source[i];
    __syncthreads();
  }
  __device__ void save(EncodeTable& to) { copy_words(shared_.table, to); }

  __device__ void train(const TrainOptions& options) {
    const TrainOptions between = between_rounds(options);
    if (thread_ == 0) shared_.next.count = 0;
    __syncthreads();
    take_next();
    for (uint32_t round = 0; round < options.rounds; ++round) {
      const bool is_last = round + 1 == options.rounds;
      count(options.parse, !is_last);
      if (round == 0 || shared_.code_bytes <= shared_.best_code_bytes) keep_best();
      if (is_last) break;
      build(between, shared_.seen);
    }
    restore_best();
    build(options, 0);
  }

  __device__ void keep_best() {
    __syncthreads();
    for (uint32_t i = thread_; i < kUnits; i += threads_) shared_.best_units[i] = shared_.units[i];
    for (uint32_t i = thread_; i < shared_.table.symbols; i += threads_) {
      shared_.best.values[i] = shared_.table.values[i];
      shared_.best.lengths[i] = shared_.table.lengths[i];
    }
    if (thread_ == 0) {
      shared_.best.count = shared_.table.symbols;
      shared_.best_code_bytes = shared_.code_bytes;
    }
    __syncthreads();
  }
  __device__ void restore_best() {
    __syncthreads();
    for (uint32_t i = thread_; i < kUnits; i += threads_) shared_.units[i] = shared_.best_units[i];
    for (uint32_t i = thread_; i < shared_.best.count; i += threads_) {
      shared_.table.values[i] = shared_.best.values[i];
      shared_.table.lengths[i] = shared_.best.lengths[i];
    }
    __syncthreads();
  }

  // Code bytes of the sample, its units, and if asked for its pairs.
  __device__ void count(Parse parse, bool with_pairs) {
    for (uint32_t i = thread_; i < kUnits; i += threads_) shared_.units[i] = 0;
    if (thread_ == 0) shared_.code_bytes = shared_.seen = 0;
    if (with_pairs) {
      constexpr uint32_t kPairs = kCounted * kCounted;
      clear_words(scratch_.pairs, scratch_.narrow_pairs ? kPairs / 2 : kPairs);
    }
    __syncthreads();
    uint32_t bytes = 0;
    for (uint32_t i = thread_; i < shared_.texts; i += threads_) bytes += count_text(i, parse, with_pairs);
    if (bytes != 0) atomicAdd(&shared_.code_bytes, bytes);
    __syncthreads();
    // Reads what longer symbols have, adds to what single bytes have.
    for (uint32_t code = thread_; code < shared_.table.symbols; code += threads_) {
      const Symbol symbol = unit_symbol(code);
      if (symbol.length > 1) atomicAdd(shared_.units + first_byte_unit(symbol), shared_.units[code]);
    }
    __syncthreads();
  }
  __device__ uint32_t count_text(uint32_t i, Parse parse, bool with_pairs) {
    const uint64_t text = scratch_.texts[i];
    const Part part{array_.text, text >> kLengthBits, text & ((1u << kLengthBits) - 1)};
    uint8_t* steps = nullptr;
    if (parse == Parse::kOptimal) {
      steps = scratch_.steps + scratch_.step_places[i];
      find_best_steps(shared_.table, part, steps);
    }
    uint32_t bytes = 0;
    uint32_t before = kUnits;
    for_each_step(shared_.table, part, steps, [&](const EncodeStep& step, uint32_t byte) {
      const uint32_t unit = step.code == kEscape ? kByteUnits + byte : step.code;
      bytes += step.code_bytes();
      atomicAdd(shared_.units + unit, 1u);
      if (with_pairs && before != kUnits) add_pair(before, unit);
      before = unit;
    });
    return bytes;
  }
  // Counters of pairs; kUncounted: one has none. As long as there are no symbols, bytes have the numbers of codes.
  static constexpr uint32_t kUncounted = kCounted * kCounted;
  __device__ uint32_t counter_of(uint32_t pair) const {
    const uint32_t skip = shared_.table.symbols == 0 ? kByteUnits : 0;
    const uint32_t a = pair / kUnits - skip;
    const uint32_t b = pair % kUnits - skip;
    return a < kCounted && b < kCounted ? a * kCounted + b : kUncounted;
  }
  __device__ void add_pair(uint32_t a, uint32_t b) {
    const uint32_t pair = a * kUnits + b;
    const uint32_t counter = counter_of(pair);
    bool is_new = true;
    if (counter != kUncounted && scratch_.narrow_pairs) {
      const uint32_t shift = 16 * (counter % 2);
      is_new = (atomicAdd(scratch_.pairs + counter / 2, 1u << shift) >> shift & 0xFFFF) == 0;
    } else if (counter != kUncounted) {
      is_new = atomicAdd(scratch_.pairs + counter, 1u) == 0;
    }
    if (is_new) scratch_.seen[atomicAdd(&shared_.seen, 1u)] = pair;
  }
  // How often an entry of the list stands for its pair.
  __device__ uint32_t times_of(uint32_t pair) const {
    const uint32_t counter = counter_of(pair);
    if (counter == kUncounted) return 1;
    if (scratch_.narrow_pairs) return scratch_.pairs[counter / 2] >> 16 * (counter % 2) & 0xFFFF;
    return scratch_.pairs[counter];
  }

  __device__ Symbol unit_symbol(uint32_t unit) const {
    return unit >= kByteUnits ? Symbol{unit - kByteUnits, 1}
                              : Symbol{shared_.table.values[unit], shared_.table.lengths[unit]};
  }
  // Of a candidate: units follow all pairs.
  __device__ Symbol candidate_symbol(uint32_t candidate) const {
    if (candidate >= kUnits * kUnits) return unit_symbol(candidate - kUnits * kUnits);
    return joined(unit_symbol(candidate / kUnits), unit_symbol(candidate % kUnits));
  }
  // The first one of a string takes its place, and gains add up there; which one that is does not matter.
  __device__ void add_candidate(uint32_t candidate, const Symbol& symbol, uint32_t gain, uint32_t slots) {
    for (uint32_t at = symbol_hash(symbol);; ++at) {
      const uint32_t slot = at & (slots - 1);
      const uint32_t there = atomicCAS(scratch_.candidates + slot, 0u, candidate + 1);
      if (there != 0) {
        const Symbol other = candidate_symbol(there - 1);
        if (other.value != symbol.value || other.length != symbol.length) continue;
      }
      atomicAdd(scratch_.gains + slot, gain);
      return;
    }
  }

  // Calls body(candidate, symbol, gain) for every unit, a string on its own.
  template <typename Body>
  __device__ void each_unit(const TrainOptions& options, Body&& body) const {
    for (uint32_t unit = thread_; unit < kUnits; unit += threads_) {
      if (shared_.units[unit] == 0) continue;
      const Symbol symbol = unit_symbol(unit);
      body(kUnits * kUnits + unit, symbol, unit_gain(symbol, shared_.units[unit], options));
    }
  }
  // Calls body(which, candidate, symbol, gain) for the strings that a pair has a share in: both units together, and the
  // first one with the first byte of the second.
  template <typename Body>
  __device__ void each_share(uint32_t pair, Body&& body) const {
    const Symbol first = unit_symbol(pair / kUnits);
    if (first.length >= kMaxSymbolBytes) return;
    const uint32_t times = times_of(pair);
    const Symbol second = unit_symbol(pair % kUnits);
    const auto offer = [&](uint32_t which, uint32_t unit, const Symbol& then) {
      const Symbol symbol = joined(first, then);
      body(which, pair / kUnits * kUnits + unit, symbol, pair_gain(symbol, times));
    };
    offer(0, pair % kUnits, second);
    if (second.length > 1) offer(1, first_byte_unit(second), {second.value & 0xFF, 1});
  }
  __device__ static uint32_t sum_place(const Symbol& symbol) {
    return static_cast<uint32_t>(uint64_t{symbol_hash(symbol)} * kSums >> 32);
  }

  // The next table, of the units and the first `pairs` pairs.
  __device__ void build(const TrainOptions& options, uint32_t pairs) {
    __syncthreads();
    clear_words(shared_.sums, kSums);
    if (thread_ == 0) {
      shared_.admission.clear();
      shared_.next.count = 0;
    }
    __syncthreads();
    each_unit(options, [&](uint32_t, const Symbol& symbol, uint32_t gain) {
      atomicAdd(shared_.sums + sum_place(symbol), gain);
    });
    for (uint32_t i = thread_; i < pairs; i += threads_) {
      uint32_t places[2] = {kSums, kSums};
      each_share(scratch_.seen[i], [&](uint32_t which, uint32_t, const Symbol& symbol, uint32_t gain) {
        places[which] = sum_place(symbol);
        atomicAdd(shared_.sums + places[which], gain);
      });
      scratch_.places[i] = places[0] | places[1] << 16;
    }
    __syncthreads();
    uint32_t reach = kFirstReach;
    for (uint32_t end = ~0u; end > 1 && !shared_.admission.is_full(); reach *= 4) {
      const uint32_t least = gain_reached_by(reach);
      if (least == end) continue;
      offer(options, pairs, least, end);
      end = least;
    }
    take_next();
  }

  // Gains by their highest four bits, in order.
  static constexpr uint32_t kGainClasses = 192;
  __device__ static uint32_t class_of(uint32_t gain) {
    if (gain < 8) return gain;
    const uint32_t bits = device::highest_bit(gain) - 3;
    return 8 * bits + (gain >> bits);
  }
  __device__ static uint32_t least_of_class(uint32_t number) {
    return number < 8 ? number : (number % 8 + 8) << (number / 8 - 1);
  }
  // The gain that so many sums reach, or a little less; 1 if there are fewer.
  __device__ uint32_t gain_reached_by(uint32_t reach) {
    for (uint32_t i = thread_; i < kGainClasses; i += threads_) shared_.histogram[i] = 0;
    if (thread_ == 0) shared_.counted = 1;
    __syncthreads();
    for (uint32_t i = thread_; i < kSums; i += threads_) {
      if (shared_.sums[i] != 0) atomicAdd(shared_.histogram + class_of(shared_.sums[i]), 1u);
    }
    __syncthreads();
    for (uint32_t i = thread_; i < kGainClasses; i += threads_) {
      uint32_t above = 0;
      for (uint32_t k = i + 1; k < kGainClasses; ++k) above += shared_.histogram[k];
      if (above < reach && above + shared_.histogram[i] >= reach) shared_.counted = least_of_class(i);
    }
    __syncthreads();
    const uint32_t gain = shared_.counted;
    __syncthreads();
    return gain;
  }
  // The sum of what the threads have counted.
  __device__ uint32_t count_of_block(uint32_t own) {
    if (thread_ == 0) shared_.counted = 0;
    __syncthreads();
    own = device::sum_of_lanes(own);
    if (lane_id() == 0 && own != 0) atomicAdd(&shared_.counted, own);
    __syncthreads();
    const uint32_t all = shared_.counted;
    __syncthreads();
    return all;
  }

  // Offers the strings with gains in [least, end), best first, until the table is full.
  __device__ void offer(const TrainOptions& options, uint32_t pairs, uint32_t least, uint32_t end) {
    if (thread_ == 0) shared_.shares = 0;
    __syncthreads();
    const auto list = [&](uint32_t candidate, uint32_t gain) {
      scratch_.shares[atomicAdd(&shared_.shares, 1u)] = static_cast<uint64_t>(candidate) << 32 | gain;
    };
    const auto reaches = [&](uint32_t place) { return place != kSums && shared_.sums[place] >= least; };
    each_unit(options, [&](uint32_t candidate, const Symbol& symbol, uint32_t gain) {
      if (reaches(sum_place(symbol))) list(candidate, gain);
    });
    for (uint32_t i = thread_; i < pairs; i += threads_) {
      const uint32_t places = scratch_.places[i];
      const bool listed[2] = {reaches(places & 0xFFFF), reaches(places >> 16)};
      if (!listed[0] && !listed[1]) continue;
      each_share(scratch_.seen[i], [&](uint32_t which, uint32_t candidate, const Symbol&, uint32_t gain) {
        if (listed[which]) list(candidate, gain);
      });
    }
    __syncthreads();
    const auto slots = static_cast<uint32_t>(ScratchSizes::slots_for(shared_.shares));
    clear_words(scratch_.candidates, slots);
    clear_words(scratch_.gains, slots);
    __syncthreads();
    for (uint32_t i = thread_; i < shared_.shares; i += threads_) {
      const uint64_t share = scratch_.shares[i];
      const auto candidate = static_cast<uint32_t>(share >> 32);
      add_candidate(candidate, candidate_symbol(candidate), static_cast<uint32_t>(share), slots);
    }
    __syncthreads();
    uint32_t own = 0;
    each_candidate(slots, [&](uint32_t slot, uint32_t gain) {
      const bool is_offered = gain >= least && gain < end;
      if (!is_offered) scratch_.gains[slot] = 0;
      own += is_offered ? 1 : 0;
    });
    uint32_t left = count_of_block(own);
    while (left > 0 && !shared_.admission.is_full()) {
      select(slots, left);
      left -= shared_.selected;
      sort_batch();
      if (thread_ < kLanes) admit(options);
      __syncthreads();
    }
  }

  __device__ CandidateKey key_at(uint32_t slot, uint32_t gain) const {
    return key_of(candidate_symbol(scratch_.candidates[slot] - 1), gain);
  }

  // Calls body(slot, gain) for those that have one, which are few: four are read at once.
  template <typename Body>
  __device__ void each_candidate(uint32_t slots, Body&& body) const {
    for (uint32_t i = thread_; i < slots / 4; i += threads_) {
      const FourWords gains = reinterpret_cast<const FourWords*>(scratch_.gains)[i];
      for (uint32_t k = 0; k < 4; ++k) {
        if (gains.words[k] != 0) body(4 * i + k, gains.words[k]);
      }
    }
  }

  // Takes the best of `left` candidates out of the hash table: all, or between half a batch and a whole one.
  __device__ void select(uint32_t slots, uint32_t left) {
    if (thread_ == 0) {
      // Gains have 24 bits.
      shared_.prefix = gain_key(0x00FFFFFF);
      shared_.prefix_at = 120;
      shared_.bound = ~CandidateKey{0};
      shared_.selected = 0;
      shared_.is_selected = left <= kBatch ? 1 : 0;
    }
    __syncthreads();
    while (shared_.is_selected == 0) {
      for (uint32_t i = thread_; i < 256; i += threads_) shared_.histogram[i] = 0;
      __syncthreads();
      const uint32_t digit_at = shared_.prefix_at - 8;
      const CandidateKey prefix = shared_.prefix >> shared_.prefix_at;
      each_candidate(slots, [&](uint32_t slot, uint32_t gain) {
        // As long as gains decide, nobody needs to know the string.
        const CandidateKey key = (digit_at >= kGainAt ? gain_key(gain) : key_at(slot, gain)) >> digit_at;
        if (key >> 8 == prefix) atomicAdd(shared_.histogram + static_cast<uint32_t>(key & 0xFF), 1u);
      });
      __syncthreads();
      if (thread_ == 0) narrow();
      __syncthreads();
    }
    if (thread_ == 0) shared_.selected = 0;
    __syncthreads();
    const CandidateKey bound = shared_.bound;
    each_candidate(slots, [&](uint32_t slot, uint32_t gain) {
      if (gain_key(gain) > bound) return;
      const CandidateKey key = key_at(slot, gain);
      if (key > bound) return;
      shared_.batch[atomicAdd(&shared_.selected, 1u)] = key;
      scratch_.gains[slot] = 0;
    });
    __syncthreads();
  }
  // From the counts of a digit: what fits is selected, and the first digit that does not is looked into unless there
  // is enough.
  __device__ void narrow() {
    uint32_t digit = 0;
    while (digit < 256 && shared_.selected + shared_.histogram[digit] <= kBatch) {
      shared_.selected += shared_.histogram[digit++];
    }
    if (digit == 256) {
      shared_.bound = shared_.prefix | ((static_cast<CandidateKey>(1) << shared_.prefix_at) - 1);
      shared_.is_selected = 1;
      return;
    }
    shared_.prefix_at -= 8;
    shared_.prefix |= static_cast<CandidateKey>(digit) << shared_.prefix_at;
    shared_.bound = shared_.prefix - 1;
    shared_.is_selected = shared_.selected >= kBatch / 2 ? 1 : 0;
  }

  __device__ void sort_batch() {
    uint32_t size = 1;
    while (size < shared_.selected) size *= 2;
    for (uint32_t i = shared_.selected + thread_; i < size; i += threads_) shared_.batch[i] = ~CandidateKey{0};
    __syncthreads();
    for (uint32_t run = 2; run <= size; run *= 2) {
      for (uint32_t distance = run / 2; distance > 0; distance /= 2) {
        for (uint32_t i = thread_; i < size; i += threads_) {
          const uint32_t other = i ^ distance;
          if (other < i) continue;
          const CandidateKey a = shared_.batch[i];
          const CandidateKey b = shared_.batch[other];
          if ((a > b) == ((i & run) == 0)) {
            shared_.batch[i] = b;
            shared_.batch[other] = a;
          }
        }
        __syncthreads();
      }
    }
  }

  // By one warp.
  __device__ void admit(const TrainOptions& options) {
    if (!takes_any(options)) {
      if (lane_id() == 0) admit_in_turn(options);
      return;
    }
    Admission& admission = shared_.admission;
    for (uint32_t first = 0; first < shared_.selected && !admission.is_full(); first += kLanes) {
      const bool exists = first + lane_id() < shared_.selected;
      const Symbol symbol = exists ? symbol_of(shared_.batch[first + lane_id()]) : Symbol{0, 0};
      const bool is_long = symbol.length > 2;
      const uint32_t slot = is_long ? slot_of(symbol.value) : kSlots + lane_id();
      // Of several for one slot the first one has it.
      const bool is_first = device::lowest_bit(__match_any_sync(device::kWholeWarp, slot)) == lane_id();
      const bool fits = exists && (!is_long || (is_first && !admission.is_taken(slot)));
      const uint32_t fitting = device::ballot(fits);
      const uint32_t place = admission.symbols + device::population(fitting & ((1u << lane_id()) - 1));
      device::sync_warp();
      if (fits && place < kMaxSymbols) {
        if (is_long) atomicOr(admission.taken + slot / 32, 1u << slot % 32);
        shared_.next.values[place] = symbol.value;
        shared_.next.lengths[place] = static_cast<uint8_t>(symbol.length);
      }
      if (lane_id() == 0) {
        const uint32_t all = admission.symbols + device::population(fitting);
        admission.symbols = shared_.next.count = all < kMaxSymbols ? all : kMaxSymbols;
      }
      device::sync_warp();
    }
  }
  __device__ void admit_in_turn(const TrainOptions& options) {
    SymbolList& next = shared_.next;
    for (uint32_t i = 0; i < shared_.selected && !shared_.admission.is_full(); ++i) {
      const Symbol symbol = symbol_of(shared_.batch[i]);
      if (!shared_.admission.admits(symbol, options)) continue;
      next.values[next.count] = symbol.value;
      next.lengths[next.count++] = static_cast<uint8_t>(symbol.length);
    }
  }

  // Codes by falling length, in order of admission where equal.
  __device__ void take_next() {
    EncodeTable& table = shared_.table;
    const SymbolList& next = shared_.next;
    table.clear_lookups(thread_, threads_);
    for (uint32_t i = next.count + thread_; i < 256; i += threads_) table.values[i] = table.lengths[i] = 0;
    if (thread_ == 0) table.symbols = next.count;
    __syncthreads();
    for (uint32_t i = thread_; i < next.count; i += threads_) {
      const uint32_t length = next.lengths[i];
      uint32_t code = 0;
      for (uint32_t j = 0; j < next.count; ++j) {
        code += next.lengths[j] > length || (next.lengths[j] == length && j < i) ? 1 : 0;
      }
      table.enter(code, {next.values[i], length},
                  [](uint32_t* word, uint32_t entry) { return atomicCAS(word, 0u, entry); });
    }
    __syncthreads();
  }

  const TrainArray& array_;
  const TrainScratch& scratch_;
  TrainShared& shared_;
  const uint32_t thread_;
  const uint32_t threads_;
};

}  // namespace basalt::fsst
