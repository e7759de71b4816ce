#include "cuda/query/joins/join_table.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cub/device/device_scan.cuh>
#include <utility>

#include "basalt/core/error.h"
#include "cuda/query/joins/join_slots.cuh"
#include "cuda/query/joins/places.h"
#include "cuda/query/row_arrays.h"
#include "cuda/runtime/each_row.cuh"

namespace basalt::cuda {

using device::JoinKeyReader;
using device::JoinKeyState;
using device::kNoSlot;

namespace {

// Of a row whose key is NULL where that equals nothing.
constexpr uint32_t kNullSlot = kNoSlot - 1;
constexpr uint64_t kMostBuildRows = uint64_t{1} << 30;
constexpr uint64_t kFewSlots = 1 << 16;
constexpr uint64_t kMostSlots = uint64_t{1} << 31;
constexpr uint64_t kPairBytes = 2 * sizeof(uint32_t);
// Of more partners of one row, a thread for each pair.
constexpr uint64_t kManyPartners = 16;

struct Building {
  JoinKeyReader keys;
  uint64_t rows;
  uint32_t* slot_of;
  uint32_t* ranks;
  uint32_t* counts;
  uint32_t* listed;  // by slot, any row of it
  uint32_t* most;
  uint32_t* beyond;  // set where a value lies outside of what was proven
};

template <typename Slots>
void build_slots(const Slots& slots, const Building& to, cudaStream_t stream) {
  each_row(to.rows, stream, [=] __device__(uint64_t row) {
    device::Words<Slots::kWords> key;
    const JoinKeyState state = device::read_join_key(to.keys, row, key);
    const uint32_t slot =
        state == JoinKeyState::kThere ? slots.add(key, static_cast<uint32_t>(row)) : static_cast<uint32_t>(kNoSlot);
    to.slot_of[row] = slot;
    if (slot == kNoSlot) {
      if (state != JoinKeyState::kNull) *to.beyond = 1;
      return;
    }
    const uint32_t rank = atomicAdd(to.counts + slot, 1u);
    to.ranks[row] = rank;
    to.listed[slot] = static_cast<uint32_t>(row);
    if (rank > 0 && rank + 1 > device::read_anew(to.most)) atomicMax(to.most, rank + 1);
  });
}

template <typename Slots>
void find_slots(const Slots& slots, const JoinKeyReader& keys, const uint32_t* counts, uint64_t rows, uint32_t* slot_of,
                uint32_t* found, cudaStream_t stream) {
  each_row(rows, stream, [=] __device__(uint64_t row) {
    device::Words<Slots::kWords> key;
    const JoinKeyState state = device::read_join_key(keys, row, key);
    uint32_t slot = kNoSlot;
    if (state == JoinKeyState::kThere) slot = slots.find(key);
    found[row] = slot == kNoSlot ? 0 : counts[slot];
    slot_of[row] = state == JoinKeyState::kNull ? kNullSlot : slot;
  });
}

// Where the partners of a key lie.
struct Partners {
  const uint32_t* starts;
  const uint32_t* listed;
  __device__ uint32_t at(uint32_t slot, uint32_t number) const {
    return starts == nullptr ? listed[slot] : listed[starts[slot] + number];
  }
};

struct PairsTarget {
  PairPlaces places;
  const uint32_t* slots;
  const uint32_t* counts;
  uint32_t* rows;
  uint32_t* partners;
};

// A thread for each row.
void write_pairs(const Partners& partners, const PairsTarget& to, cudaStream_t stream) {
  each_row(to.places.end - to.places.begin, stream, [=] __device__(uint64_t i) {
    const uint64_t row = to.places.begin + i;
    const uint64_t start = to.places.starts[row] - to.places.first;
    const uint32_t count = to.counts[row];
    if (count == 0 && to.places.alone) {
      to.rows[start] = static_cast<uint32_t>(row);
      to.partners[start] = kMissing;
    }
    for (uint32_t j = 0; j < count; ++j) {
      to.rows[start + j] = static_cast<uint32_t>(row);
      to.partners[start + j] = partners.at(to.slots[row], j);
    }
  });
}

// A thread for each pair, which looks for its row.
void write_many_pairs(const Partners& partners, const PairsTarget& to, cudaStream_t stream) {
  each_row(to.places.count, stream, [=] __device__(uint64_t i) {
    const uint64_t pair = to.places.first + i;
    uint64_t low = to.places.begin;
    uint64_t high = to.places.end;  // starts[low] <= pair < starts[high]
    while (high - low > 1) {
      const uint64_t middle = (low + high) / 2;
      if (to.places.starts[middle] <= pair) {
        low = middle;
      } else {
        high = middle;
      }
    }
    to.rows[i] = static_cast<uint32_t>(low);
    const auto number = static_cast<uint32_t>(pair - to.places.starts[low]);
    to.partners[i] = to.counts[low] == 0 ? kMissing : partners.at(to.slots[low], number);
  });
}

// Every row has one pair.
void write_partners(const Partners& partners, const PairsTarget& to, cudaStream_t stream) {
  each_row(to.places.count, stream, [=] __device__(uint64_t row) {
    to.partners[row] = to.counts[row] == 0 ? kMissing : partners.at(to.slots[row], 0);
  });
}

DeviceBuffer at_least_one(const uint32_t* counts, uint64_t rows, cudaStream_t stream) {
  DeviceBuffer out(rows * sizeof(uint32_t), stream);
  auto* to = out.as<uint32_t>();
  each_row(rows, stream, [=] __device__(uint64_t i) { to[i] = counts[i] == 0 ? 1 : counts[i]; });
  return out;
}

void place_by_slot(const uint32_t* slot_of, const uint32_t* ranks, const uint32_t* starts, uint64_t rows,
                   uint32_t* listed, cudaStream_t stream) {
  each_row(rows, stream, [=] __device__(uint64_t row) {
    if (slot_of[row] != kNoSlot) listed[starts[slot_of[row]] + ranks[row]] = static_cast<uint32_t>(row);
  });
}

DeviceBuffer flags_of_counts(const uint32_t* counts, uint64_t rows, cudaStream_t stream) {
  DeviceBuffer out(rows, stream);
  auto* flags = out.as<uint8_t>();
  each_row(rows, stream, [=] __device__(uint64_t i) { flags[i] = counts[i] != 0 ? 1 : 0; });
  return out;
}

// Flags of rows of the second side, by those of their slots that rows of the first side set.
DeviceBuffer flags_by_slot(const uint32_t* found, const uint32_t* counts, uint64_t found_rows, const uint32_t* slot_of,
                           uint64_t rows, uint8_t* of_slots, cudaStream_t stream) {
  each_row(found_rows, stream, [=] __device__(uint64_t i) {
    if (counts[i] != 0) of_slots[found[i]] = 1;
  });
  DeviceBuffer out(rows, stream);
  auto* flags = out.as<uint8_t>();
  each_row(rows, stream,
           [=] __device__(uint64_t i) { flags[i] = slot_of[i] == kNoSlot ? uint8_t{0} : of_slots[slot_of[i]]; });
  return out;
}

void mark_null_peers(const uint32_t* slot_of, const uint32_t* peer_of, uint64_t rows, uint8_t* nulls,
                     cudaStream_t stream) {
  each_row(rows, stream, [=] __device__(uint64_t i) {
    if (slot_of[i] == kNoSlot && peer_of[i] != kNoSlot) nulls[peer_of[i]] = 1;
  });
}

// What a mark depends on, by row of the first side; `nulls` by slot of its peers.
struct MarkFacts {
  const uint8_t* matched;
  const uint8_t* unknown;
  const uint32_t* slots;
  const uint32_t* peer_slots;
  const uint32_t* peer_counts;
  const uint8_t* nulls;
};

DeviceBuffer known_flags(const MarkFacts& facts, uint64_t rows, cudaStream_t stream) {
  DeviceBuffer out(rows, stream);
  auto* known = out.as<uint8_t>();
  each_row(rows, stream, [=] __device__(uint64_t i) {
    const bool null_key = facts.slots[i] == kNullSlot;
    const bool has_peers = facts.peer_counts[i] != 0;
    const bool null = (facts.unknown != nullptr && facts.unknown[i] != 0) ||
                      (has_peers && (null_key || facts.nulls[facts.peer_slots[i]] != 0));
    known[i] = facts.matched[i] != 0 || !null ? 1 : 0;
  });
  return out;
}

// The keys where NULL equals NULL, and their columns.
KeySide side_of_peers(const std::vector<JoinKey>& keys, const KeySide& side) {
  KeySide out;
  out.rows = side.rows;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].nulls_equal) out.columns.push_back(side.columns[i]);
  }
  return out;
}

}  // namespace

JoinSettings join_settings() {
  JoinSettings out;
  if (const char* rung = std::getenv("BASALT_JOIN_RUNG")) out.rung = rung;
  if (const char* bits = std::getenv("BASALT_JOIN_HASH_BITS")) {
    const int count = std::atoi(bits);
    if (count >= 0 && count < 64) out.hash_mask = (uint64_t{1} << count) - 1;
  }
  if (const char* rows = std::getenv("BASALT_JOIN_HOST_ROWS")) out.host_rows = std::strtoull(rows, nullptr, 10);
  if (const char* bytes = std::getenv("BASALT_JOIN_MEMORY")) out.memory = std::strtoull(bytes, nullptr, 10);
  return out;
}

JoinTable::JoinTable(const std::vector<JoinKey>& keys, KeySide build, const JoinSettings& settings, cudaStream_t stream)
    : keys_(keys), build_(std::move(build)), stream_(stream), hash_mask_(settings.hash_mask) {
  if (build_.rows >= kMostBuildRows) throw Error(ErrorCode::kUnsupported, "a join looks up 2^30 rows or more");
  layout_ = layout_of(keys_, build_);
  choose_rung(settings);
  add_rows();
}

void JoinTable::choose_rung(const JoinSettings& settings) {
  const bool narrow = layout_.words() <= 1;
  const std::vector<exec::KeyPart>& parts = layout_.parts();
  uint64_t codes = layout_.bits() < 32 ? uint64_t{1} << layout_.bits() : 0;
  if (parts.size() == 1 && parts[0].codes != 0) codes = parts[0].codes;
  const bool few = codes > 0 && codes <= std::min(kMostSlots, std::max(kFewSlots, 8 * build_.rows));
  const bool may_direct = settings.rung.empty() || settings.rung == "direct";
  if (narrow && few && may_direct) {
    rung_ = JoinRung::kDirect;
    slots_ = codes;
    return;
  }
  rung_ = narrow && settings.rung != "rows" ? JoinRung::kWords : JoinRung::kRows;
  slots_ = std::bit_ceil(std::max<uint64_t>(64, 2 * build_.rows));
}

template <typename F>
void JoinTable::with_slots(const F& f) const {
  if (rung_ == JoinRung::kDirect) return f(device::DirectSlots{slots_});
  if (rung_ == JoinRung::kWords) return f(device::WordSlots{table_.as<uint64_t>(), slots_ - 1, hash_mask_});
  const JoinKeyReader keys = reader_of(keys_, layout_, build_, build_);
  auto* rows = table_.as<uint32_t>();
  if (layout_.words() <= 1) return f(device::RowSlots<1>{rows, slots_ - 1, hash_mask_, keys});
  if (layout_.words() == 2) return f(device::RowSlots<2>{rows, slots_ - 1, hash_mask_, keys});
  if (layout_.words() <= 4) return f(device::RowSlots<4>{rows, slots_ - 1, hash_mask_, keys});
  f(device::RowSlots<device::kMostKeyWords>{rows, slots_ - 1, hash_mask_, keys});
}

void JoinTable::add_rows() {
  const uint64_t all = slots_ + 1;  // of hashes one behind the last
  if (rung_ != JoinRung::kDirect) {
    const uint64_t bytes = all * (rung_ == JoinRung::kWords ? sizeof(uint64_t) : sizeof(uint32_t));
    table_ = DeviceBuffer(bytes, stream_);
    check(cudaMemsetAsync(table_.data(), 0xFF, bytes, stream_), "clearing a table of keys");
  }
  counts_ = cleared(all * sizeof(uint32_t), stream_);
  listed_ = DeviceBuffer(all * sizeof(uint32_t), stream_);
  slot_of_ = DeviceBuffer(build_.rows * sizeof(uint32_t), stream_);
  const DeviceBuffer ranks(build_.rows * sizeof(uint32_t), stream_);
  const DeviceBuffer most = cleared(2 * sizeof(uint32_t), stream_);
  const Building to{reader_of(keys_, layout_, build_, build_),
                    build_.rows,
                    slot_of_.as<uint32_t>(),
                    ranks.as<uint32_t>(),
                    counts_.as<uint32_t>(),
                    listed_.as<uint32_t>(),
                    most.as<uint32_t>(),
                    most.as<uint32_t>() + 1};
  with_slots([&](const auto& slots) { build_slots(slots, to, stream_); });
  const Buffer facts = download(most, 2 * sizeof(uint32_t), stream_);
  if (facts.as<uint32_t>()[1] != 0) throw Error(ErrorCode::kCorrupt, "keys of a join lie beyond their statistics");
  most_ = std::max<uint64_t>(facts.as<uint32_t>()[0], build_.rows == 0 ? 0 : 1);
  if (most_ > 1) list_rows(ranks);
}

// Rows by key.
void JoinTable::list_rows(const DeviceBuffer& ranks) {
  const uint64_t all = slots_ + 1;
  starts_ = DeviceBuffer(all * sizeof(uint32_t), stream_);
  with_temporary(stream_, [&](void* room, size_t& bytes) {
    return cub::DeviceScan::ExclusiveSum(room, bytes, counts_.as<uint32_t>(), starts_.as<uint32_t>(),
                                         static_cast<int64_t>(all), stream_);
  });
  listed_ = DeviceBuffer(build_.rows * sizeof(uint32_t), stream_);
  place_by_slot(slot_of_.as<uint32_t>(), ranks.as<uint32_t>(), starts_.as<uint32_t>(), build_.rows,
                listed_.as<uint32_t>(), stream_);
}

JoinTable::Found JoinTable::find(const KeySide& probe) const {
  Found found;
  found.rows = probe.rows;
  found.slots = DeviceBuffer(probe.rows * sizeof(uint32_t), stream_);
  found.counts = DeviceBuffer(probe.rows * sizeof(uint32_t), stream_);
  const JoinKeyReader keys = reader_of(keys_, layout_, build_, probe);
  with_slots([&](const auto& slots) {
    find_slots(slots, keys, counts_.as<uint32_t>(), probe.rows, found.slots.as<uint32_t>(), found.counts.as<uint32_t>(),
               stream_);
  });
  return found;
}

JoinPairs JoinTable::pairs(const Found& found, bool alone, uint64_t most_bytes) const {
  const DeviceBuffer adjusted = alone ? at_least_one(found.counts.as<uint32_t>(), found.rows, stream_) : DeviceBuffer();
  const auto* sizes = alone ? adjusted.as<uint32_t>() : found.counts.as<uint32_t>();
  PairPlaces places;
  const DeviceBuffer starts = rows_before(sizes, static_cast<uint32_t>(found.rows), places.count, stream_);
  if (places.count >= kMissing || places.count * kPairBytes > most_bytes) {
    throw Error(ErrorCode::kOutOfMemory,
                "a join gives " + std::to_string(places.count) + " pairs of rows, which take " +
                    std::to_string(places.count * kPairBytes >> 20) + " MiB on the device, where they may take " +
                    std::to_string(most_bytes >> 20) + " MiB");
  }
  places.end = found.rows;
  places.starts = starts.as<uint64_t>();
  places.alone = alone;
  return pairs_of(found, places);
}

void JoinTable::for_each_piece(const Found& found, uint64_t most_bytes,
                               const std::function<void(const JoinPairs&)>& f) const {
  uint64_t total = 0;
  const DeviceBuffer starts =
      rows_before(found.counts.as<uint32_t>(), static_cast<uint32_t>(found.rows), total, stream_);
  // A piece ends with the row that fills it, whose own pairs may be as many again.
  const uint64_t most = std::max<uint64_t>(1, most_bytes / kPairBytes / 2);
  std::vector<uint64_t> bounds;
  for (uint64_t bound = most; bound < total; bound += most) bounds.push_back(bound);
  std::vector<uint64_t> ends = count_below(starts.as<uint64_t>(), found.rows, bounds, stream_);
  ends.push_back(found.rows);
  PairPlaces places;
  places.starts = starts.as<uint64_t>();
  for (const uint64_t end : ends) {
    if (end == places.end) continue;
    places.begin = std::exchange(places.end, end);
    places.first += places.count;
    places.count = fetch(places.starts + end, stream_) - places.first;
    if (places.count * kPairBytes > most_bytes || places.count >= kMissing) {
      throw Error(ErrorCode::kOutOfMemory, "a row of a join has too many partners for the device's memory");
    }
    f(pairs_of(found, places));
  }
}

JoinPairs JoinTable::pairs_of(const Found& found, const PairPlaces& places) const {
  JoinPairs out;
  out.count = places.count;
  out.partners = DeviceBuffer(out.count * sizeof(uint32_t), stream_);
  const Partners partners{starts_.as<uint32_t>(), listed_.as<uint32_t>()};
  PairsTarget to{places, found.slots.as<uint32_t>(), found.counts.as<uint32_t>(), nullptr, out.partners.as<uint32_t>()};
  if (most_ <= 1 && out.count == found.rows) {
    write_partners(partners, to, stream_);
    return out;
  }
  out.rows = DeviceBuffer(out.count * sizeof(uint32_t), stream_);
  to.rows = out.rows.as<uint32_t>();
  if (most_ > kManyPartners) {
    write_many_pairs(partners, to, stream_);
  } else {
    write_pairs(partners, to, stream_);
  }
  return out;
}

DeviceBuffer JoinTable::matched(const Found& found) const {
  return flags_of_counts(found.counts.as<uint32_t>(), found.rows, stream_);
}

DeviceBuffer JoinTable::met(const Found& found) const {
  const DeviceBuffer of_slots = cleared(slots_ + 1, stream_);
  return flags_by_slot(found.slots.as<uint32_t>(), found.counts.as<uint32_t>(), found.rows, slot_of_.as<uint32_t>(),
                       build_.rows, of_slots.as<uint8_t>(), stream_);
}

DeviceBuffer JoinTable::known_marks(const KeySide& probe, const Found& found, const DeviceBuffer& matched,
                                    const DeviceBuffer& unknown) const {
  std::vector<JoinKey> keys;
  for (const JoinKey& key : keys_) {
    if (key.nulls_equal) keys.push_back(key);
  }
  const JoinTable peers(keys, side_of_peers(keys_, build_), {}, stream_);
  const Found peer = peers.find(side_of_peers(keys_, probe));
  const DeviceBuffer nulls = cleared(peers.slots_ + 1, stream_);
  mark_null_peers(slot_of_.as<uint32_t>(), peers.slot_of_.as<uint32_t>(), build_.rows, nulls.as<uint8_t>(), stream_);
  return known_flags({matched.as<uint8_t>(), unknown.as<uint8_t>(), found.slots.as<uint32_t>(),
                      peer.slots.as<uint32_t>(), peer.counts.as<uint32_t>(), nulls.as<uint8_t>()},
                     found.rows, stream_);
}

uint64_t JoinTable::bytes_for(uint64_t build_rows, uint64_t probe_rows) {
  constexpr uint64_t kSlotBytes = 2 * sizeof(uint32_t);  // beside its key
  const uint64_t direct = std::max(kFewSlots, 8 * build_rows) * kSlotBytes;
  const uint64_t hashed = std::bit_ceil(std::max<uint64_t>(64, 2 * build_rows)) * (sizeof(uint64_t) + kSlotBytes);
  return std::max(direct, hashed) + (build_rows + probe_rows) * 3 * sizeof(uint32_t);
}

uint64_t JoinTable::bytes() const {
  return table_.bytes() + slot_of_.bytes() + counts_.bytes() + starts_.bytes() + listed_.bytes();
}

std::string JoinTable::rung_text() const {
  const std::string rows = std::to_string(build_.rows) + " rows, at most " + std::to_string(most_) + " of a key";
  switch (rung_) {
    case JoinRung::kDirect:
      return "an array for a join: keys lie within " + std::to_string(slots_) + " numbers, " + rows;
    case JoinRung::kWords: return "a hash table for a join: keys of one word, " + rows;
    case JoinRung::kRows:
      return "a hash table for a join: keys of " + std::to_string(layout_.words()) + " words, " + rows;
  }
  return {};
}

}  // namespace basalt::cuda
