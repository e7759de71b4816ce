// Words and phrases by number, on the device: rows are cut into words there, which meet in a hash table and are
// numbered as they are met first, runs of words are counted, and rows are cut into the fewest ids. The host weighs
// which runs become phrases, by what some rows would be cut into, and spells words without one.
#include <cub/device/device_radix_sort.cuh>

#include "codec/tokens/entries.h"
#include "codec/tokens/gpu/encode_rows.h"
#include "codec/tokens/layout.h"
#include "cuda/codec/encode_texts.cuh"
#include "cuda/codec/prefix_sums.cuh"

namespace basalt::cuda {

namespace {

// A thread cuts a row. Longer ones keep the host busy for less time than a thread.
constexpr int64_t kLongestRow = 1 << 20;

template <typename T>
DeviceBuffer upload_vector(const std::vector<T>& values, cudaStream_t stream) {
  return upload(values.data(), values.size() * sizeof(T), stream);
}
template <typename T>
std::vector<T> download_vector(const DeviceBuffer& from, uint64_t count, cudaStream_t stream) {
  const Buffer values = download(from, count * sizeof(T), stream);
  return {values.as<T>(), values.as<T>() + count};
}

// The rows in host memory, where they nearly always are already.
struct RowsOnHost {
  std::vector<int64_t> offsets;
  Buffer bytes;
  Values values;

  RowsOnHost(const DeviceValues& from, cudaStream_t stream)
      : offsets(download_vector<int64_t>(from.offsets, from.count + 1, stream)) {
    values = text_values(from.host_bytes, offsets);
    if (from.host_bytes != nullptr) return;
    bytes = download(from.data, static_cast<size_t>(from.end_byte - from.first_byte), stream);
    values.bytes = bytes.as<char>() - from.first_byte;
  }
  int64_t longest() const {
    int64_t out = 0;
    for (size_t row = 0; row + 1 < offsets.size(); ++row) out = std::max(out, offsets[row + 1] - offsets[row]);
    return out;
  }
};

struct DeviceAtomics {
  using Long = unsigned long long;
  __device__ static uint64_t claim(uint64_t* slot, uint64_t value) {
    return atomicCAS(reinterpret_cast<Long*>(slot), static_cast<Long>(tokens::kFreeSlot), static_cast<Long>(value));
  }
  __device__ static void lower(uint64_t* to, uint64_t value) {
    atomicMin(reinterpret_cast<Long*>(to), static_cast<Long>(value));
  }
  __device__ static void lower(uint32_t* to, uint32_t value) { atomicMin(to, value); }
  __device__ static void add(uint32_t* to) { atomicAdd(to, 1u); }
};

// Thrown where a table with eight slots for every item, or all that 32 bits number, has been too small: a larger one
// would not be better.
struct CrowdedSlots {};

// Calls fill(bits) with more and more slots of a table, 2^bits, until it says that they were enough for so many items.
template <typename Fill>
void with_enough_slots(uint64_t items, Fill&& fill) {
  constexpr uint32_t kFirstBits = 16;
  constexpr uint32_t kLastBits = 32;
  for (uint32_t bits = kFirstBits; !fill(bits); bits += 2) {
    if (bits == kLastBits || uint64_t{1} << bits >= 8 * items) throw CrowdedSlots();
  }
}
DeviceBuffer all_ones(size_t bytes, cudaStream_t stream) {
  DeviceBuffer out(bytes, stream);
  check(cudaMemsetAsync(out.data(), 0xFF, bytes, stream), "freeing slots");
  return out;
}

// value(slot) of the slots that is_wanted(slot), in order: uint64.
template <typename IsWanted, typename Value>
DeviceBuffer sorted_values(uint64_t slots, IsWanted is_wanted, Value value, uint64_t& count, cudaStream_t stream) {
  const DeviceBuffer taken = cleared(sizeof(uint32_t), stream);
  auto* next = taken.as<uint32_t>();
  each_row(slots, stream, [=] __device__(uint64_t slot) {
    if (is_wanted(slot)) atomicAdd(next, 1u);
  });
  count = fetch(next, stream);
  const DeviceBuffer listed(count * sizeof(uint64_t), stream);
  DeviceBuffer sorted(count * sizeof(uint64_t), stream);
  if (count == 0) return sorted;
  auto* to = listed.as<uint64_t>();
  check(cudaMemsetAsync(next, 0, sizeof(uint32_t), stream), "clearing a count");
  each_row(slots, stream, [=] __device__(uint64_t slot) {
    if (is_wanted(slot)) to[atomicAdd(next, 1u)] = value(slot);
  });
  with_temporary(stream, [&](void* temporary, size_t& size) {
    return cub::DeviceRadixSort::SortKeys(temporary, size, to, sorted.as<uint64_t>(), static_cast<int64_t>(count), 0,
                                          64, stream);
  });
  return sorted;
}

// Makes slots in the sequence numbers of words; returns the words' places by number.
std::vector<uint64_t> number_words(const tokens::WordWork& work, uint64_t count, cudaStream_t stream) {
  uint64_t* slots = work.distinct.slots;
  uint64_t distinct = 0;
  const DeviceBuffer places = sorted_values(
      work.distinct.count(), [=] __device__(uint64_t slot) { return slots[slot] != tokens::kFreeSlot; },
      [=] __device__(uint64_t slot) { return slots[slot]; }, distinct, stream);
  const auto* place = places.as<uint64_t>();
  const DeviceBuffer slots_of_numbers(distinct * sizeof(uint32_t), stream);
  auto* slot_of = slots_of_numbers.as<uint32_t>();
  each_row(distinct, stream, [=] __device__(uint64_t number) {
    slot_of[number] = tokens::find_word<DeviceAtomics>(work, place[number]);
  });
  auto* sequence = work.sequence;
  each_row(distinct, stream, [=] __device__(uint64_t number) { slots[slot_of[number]] = number; });
  each_row(count, stream, [=] __device__(uint64_t i) { sequence[i] = static_cast<uint32_t>(slots[sequence[i]]); });
  return download_vector<uint64_t>(places, distinct, stream);
}

// The rows as words, on the device and on the host.
struct SplitRows {
  DeviceBuffer row_starts;  // uint64
  DeviceBuffer sequence;    // uint32
  tokens::Words words;
};

SplitRows split_rows(const strings::Texts& texts, const Values& host, cudaStream_t stream) {
  SplitRows out;
  const uint64_t rows = host.count;
  tokens::WordWork work{};
  work.texts = texts;
  {
    const DeviceBuffer counts(rows * sizeof(uint32_t), stream);
    work.counts = counts.as<uint32_t>();
    each_row(rows, stream, [=] __device__(uint64_t row) { tokens::count_words(work, row); });
    out.row_starts = prefix_sums_of(work.counts, rows, stream);
  }
  work.row_starts = out.row_starts.as<uint64_t>();
  const uint64_t count = fetch(work.row_starts + rows, stream);
  if (count > UINT32_MAX) throw Error(ErrorCode::kUnsupported, "tokens: the array has too many words");
  out.sequence = DeviceBuffer(count * sizeof(uint32_t), stream);
  work.sequence = out.sequence.as<uint32_t>();
  // Where `tokens` is worth it, words are repeated many times.
  with_enough_slots(count, [&](uint32_t bits) {
    if (count == 0) return true;
    work.distinct.bits = bits;
    const DeviceBuffer slots = all_ones(work.distinct.count() * sizeof(uint64_t), stream);
    const DeviceBuffer full = cleared(sizeof(uint32_t), stream);
    work.distinct.slots = slots.as<uint64_t>();
    work.full = full.as<uint32_t>();
    each_row(rows, stream, [=] __device__(uint64_t row) { tokens::find_words<DeviceAtomics>(work, row); });
    if (fetch(work.full, stream) != 0) return false;
    for (const uint64_t place : number_words(work, count, stream)) {
      out.words.texts.emplace_back(host.bytes + texts.first_byte + tokens::WordSlots::byte_of(place),
                                   tokens::WordSlots::length_of(place));
    }
    return true;
  });
  out.words.sequence = download_vector<uint32_t>(out.sequence, count, stream);
  out.words.row_starts = download_vector<uint64_t>(out.row_starts, rows + 1, stream);
  return out;
}

// Runs of words, and how often those of each slot occur.
struct Runs {
  DeviceBuffer at;      // uint32
  DeviceBuffer counts;  // uint32
};

// Finds the runs that work.length says, and appends those that occur often enough.
Runs find_runs(tokens::RunWork work, uint64_t rows, uint64_t words, std::vector<tokens::Phrase>& phrases,
               cudaStream_t stream) {
  Runs out;
  out.at = DeviceBuffer(words * sizeof(uint32_t), stream);
  work.at = out.at.as<uint32_t>();
  with_enough_slots(words, [&](uint32_t bits) {
    const uint64_t slots = uint64_t{1} << bits;
    const DeviceBuffer pairs = all_ones(slots * sizeof(uint64_t), stream),
                       firsts = all_ones(slots * sizeof(uint32_t), stream), full = cleared(sizeof(uint32_t), stream);
    out.counts = cleared(slots * sizeof(uint32_t), stream);
    work.pairs = pairs.as<uint64_t>();
    work.counts = out.counts.as<uint32_t>();
    work.firsts = firsts.as<uint32_t>();
    work.full = full.as<uint32_t>();
    work.bits = bits;
    each_row(rows, stream, [=] __device__(uint64_t i) { tokens::find_runs<DeviceAtomics>(work, i); });
    if (fetch(work.full, stream) != 0) return false;
    uint64_t found = 0;
    const DeviceBuffer sorted = sorted_values(
        slots, [=] __device__(uint64_t slot) { return work.counts[slot] >= tokens::kLeastCount; },
        [=] __device__(uint64_t slot) { return uint64_t{work.firsts[slot]} << 32 | slot; }, found, stream);
    const auto* run = sorted.as<uint64_t>();
    const DeviceBuffer made(found * sizeof(tokens::Phrase), stream);
    auto* phrase = made.as<tokens::Phrase>();
    each_row(found, stream, [=] __device__(uint64_t i) {
      tokens::Phrase one;
      for (uint32_t k = 0; k < work.length; ++k) one.words[k] = work.words[(run[i] >> 32) + k];
      one.length = work.length;
      one.count = work.counts[run[i] & UINT32_MAX];
      phrase[i] = one;
    });
    const auto on_host = download_vector<tokens::Phrase>(made, found, stream);
    phrases.insert(phrases.end(), on_host.begin(), on_host.end());
    return true;
  });
  return out;
}

// As tokens::candidates() has them.
std::vector<tokens::Phrase> find_candidates(const SplitRows& split, uint64_t step, cudaStream_t stream) {
  const uint64_t rows = (split.words.rows() + step - 1) / step;
  const uint64_t distinct = split.words.texts.size();
  tokens::RunWork work{};
  work.words = split.sequence.as<uint32_t>();
  work.row_starts = split.row_starts.as<uint64_t>();
  work.step = step;
  const DeviceBuffer sizes(rows * sizeof(uint32_t), stream), uses = cleared(distinct * sizeof(uint32_t), stream);
  auto* size = sizes.as<uint32_t>();
  auto* use = uses.as<uint32_t>();
  each_row(rows, stream, [=] __device__(uint64_t i) {
    const uint64_t first = work.row_starts[i * step];
    const uint64_t end = work.row_starts[i * step + 1];
    size[i] = static_cast<uint32_t>(end - first);
    for (uint64_t word = first; word < end; ++word) atomicAdd(use + work.words[word], 1u);
  });
  const DeviceBuffer starts = prefix_sums_of(size, rows, stream);
  work.starts = starts.as<uint64_t>();
  const uint64_t words = fetch(work.starts + rows, stream);

  std::vector<tokens::Phrase> out;
  const auto counts = download_vector<uint32_t>(uses, distinct, stream);
  for (uint32_t word = 0; word < counts.size(); ++word) {
    if (counts[word] != 0) out.push_back({{word}, 1, counts[word]});
  }
  work.shorter_counts = use;
  Runs shorter;
  for (work.length = 2; work.length <= tokens::kLongestPhrase; ++work.length) {
    shorter = find_runs(work, rows, words, out, stream);
    work.shorter = shorter.at.as<uint32_t>();
    work.shorter_counts = shorter.counts.as<uint32_t>();
  }
  return out;
}

// Ids of the rows that were cut, and of each, as Piece::id() numbers them.
struct CutRows {
  DeviceValues ids;
  DeviceValues counts;
  DeviceBuffer places;  // uint64
  std::vector<uint64_t> used;
};

// Every `step`-th row; the others have no ids.
CutRows cut_rows(const SplitRows& split, const std::vector<tokens::Phrase>& phrases, uint64_t step,
                 cudaStream_t stream) {
  CutRows out;
  const uint64_t rows = split.words.rows();
  const uint64_t wanted = (rows + step - 1) / step;
  const tokens::PhraseTable table(phrases, split.words.texts.size());
  const tokens::Spelling spelling = tokens::spell_words(split.words, phrases, step);
  const DeviceBuffer first = upload_vector(table.first(), stream), next = upload_vector(table.next().slots(), stream),
                     phrase = upload_vector(table.phrase(), stream),
                     spelled_starts = upload_vector(spelling.starts, stream),
                     spelled_ids = upload_vector(spelling.ids, stream);
  const DeviceBuffer lengths(split.words.sequence.size(), stream);
  out.counts.type = out.ids.type = Physical::kU32;
  out.counts.count = rows;
  out.counts.data = cleared(rows * sizeof(uint32_t), stream);
  tokens::CutWork work{};
  work.tree = {first.as<uint32_t>(), {next.as<tokens::PairSlot>(), table.next().view().bits}, phrase.as<uint32_t>()};
  work.spelled_starts = spelled_starts.as<uint32_t>();
  work.spelled_ids = spelled_ids.as<uint32_t>();
  work.words = split.sequence.as<uint32_t>();
  work.row_starts = split.row_starts.as<uint64_t>();
  work.lengths = lengths.as<uint8_t>();
  work.counts = out.counts.data.as<uint32_t>();
  each_row(wanted, stream, [=] __device__(uint64_t i) { tokens::cut_row(work, i * step); });

  out.places = prefix_sums_of(work.counts, rows, stream);
  work.places = out.places.as<uint64_t>();
  out.ids.count = fetch(work.places + rows, stream);
  out.ids.data = DeviceBuffer(out.ids.count * sizeof(uint32_t), stream);
  work.ids = out.ids.data.as<uint32_t>();
  each_row(wanted, stream, [=] __device__(uint64_t i) { tokens::write_row(work, i * step); });

  const size_t kinds = phrases.size() + 256;
  const DeviceBuffer uses = cleared(kinds * sizeof(uint64_t), stream);
  auto* use = uses.as<unsigned long long>();
  each_row(out.ids.count, stream, [=] __device__(uint64_t i) { atomicAdd(use + work.ids[i], 1ull); });
  out.used = download_vector<uint64_t>(uses, kinds, stream);
  return out;
}

void renumber(DeviceValues& ids, const std::vector<uint32_t>& numbers, cudaStream_t stream) {
  const DeviceBuffer on_device = upload_vector(numbers, stream);
  const auto* number = on_device.as<uint32_t>();
  auto* id = ids.data.as<uint32_t>();
  each_row(ids.count, stream, [=] __device__(uint64_t i) { id[i] = number[id[i]]; });
}

Buffer tile_starts(const DeviceBuffer& places, uint64_t rows, cudaStream_t stream) {
  const uint64_t tiles = tile_count(rows);
  const DeviceBuffer starts = tile_starts_of(places.as<uint64_t>(), rows, stream);
  Buffer out = download(starts, (tiles + 1) * sizeof(uint64_t), stream);
  const auto* start = out.as<uint64_t>();
  for (uint64_t tile = 0; tile < tiles; ++tile) {
    if (start[tile + 1] - start[tile] > tokens::kMostIdsPerTile) {
      throw Error(ErrorCode::kUnsupported, "tokens: a tile has too many of them");
    }
  }
  return out;
}

Node encode_on_device(DeviceValues& values, const Values& host, const Tree& tree, Aims aims, cudaStream_t stream) {
  Node node = make_node(values, tree, tokens::kStreams);
  SplitRows split = split_rows(texts_of(values, stream), host, stream);
  values.data = {};  // words stand for the text from here on
  tokens::RowPasses passes;
  passes.count_uses = [&](const std::vector<tokens::Phrase>& phrases, uint64_t step) {
    CutRows cut = cut_rows(split, phrases, step, stream);
    cut.used.resize(phrases.size());
    return tokens::Uses{cut.ids.count, std::move(cut.used)};
  };
  passes.find_candidates = [&](uint64_t step) { return find_candidates(split, step, stream); };
  const std::vector<tokens::Phrase> phrases = tokens::choose_phrases(
      split.words, 1.0, aims.effort, tokens::id_bits_under(tree.children[tokens::kIds]), &passes);
  CutRows cut = cut_rows(split, phrases, 1, stream);
  split.sequence = {};
  split.row_starts = {};
  const tokens::Entries entries = tokens::order_entries(split.words, phrases, cut.used);
  renumber(cut.ids, entries.numbers, stream);
  node.streams[tokens::kTileStarts] = tile_starts(cut.places, values.count, stream);

  DeviceValues texts;
  texts.type = Physical::kBytes;
  texts.count = entries.offsets.size() - 1;
  texts.offsets = upload_vector(entries.offsets, stream);
  texts.host_bytes = entries.bytes.data();
  texts.end_byte = entries.offsets.back();
  node.children.push_back(encode_node(cut.ids, tree.children[tokens::kIds], aims, stream));
  node.children.push_back(encode_node(cut.counts, tree.children[tokens::kCounts], aims, stream));
  node.children.push_back(encode_node(texts, tree.children[tokens::kEntries], aims, stream));
  return node;
}

}  // namespace

Node encode_tokens(DeviceValues& values, const Tree& tree, Aims aims, cudaStream_t stream) {
  const RowsOnHost host(values, stream);
  try {
    if (host.longest() <= kLongestRow) return encode_on_device(values, host.values, tree, aims, stream);
  } catch (const CrowdedSlots&) {  // words that were made to have like hashes: the same bytes, later
  }
  return get_codec(tree.codec).encode(host.values, tree, aims);
}

}  // namespace basalt::cuda
