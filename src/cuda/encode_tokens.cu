// Words and phrases by number, on the device: rows are cut into words there, which meet in a hash table and are
// numbered as they are met first, and rows are cut into the fewest ids. Which phrases there are is chosen on the host,
// by what some rows would be cut into.
#include <cub/device/device_radix_sort.cuh>

#include "codec/tokens/encode_rows.h"
#include "codec/tokens/entries.h"
#include "codec/tokens/layout.h"
#include "cuda/encode_texts.cuh"
#include "cuda/sums.cuh"

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

// Finds every word's slot; false if there are too few slots.
bool find_words(const tokens::WordWork& work, uint64_t rows, cudaStream_t stream) {
  check(cudaMemsetAsync(work.full, 0, sizeof(*work.full), stream), "clearing a flag");
  check(cudaMemsetAsync(work.distinct.slots, 0xFF, work.distinct.count() * sizeof(uint64_t), stream),
        "freeing slots of words");
  each_row(rows, stream, [=] __device__(uint64_t row) {
    using Slot = unsigned long long;
    tokens::find_words(
        work, row,
        [](uint64_t* slot, uint64_t place) {
          return static_cast<uint64_t>(atomicCAS(
              reinterpret_cast<Slot*>(slot), static_cast<Slot>(tokens::WordSlots::kFree), static_cast<Slot>(place)));
        },
        [](uint64_t* slot, uint64_t place) { atomicMin(reinterpret_cast<Slot*>(slot), static_cast<Slot>(place)); });
  });
  return fetch(work.full, stream) == 0;
}

// Makes slots in the sequence numbers of words; returns the words' places by number.
std::vector<uint64_t> number_words(const tokens::WordWork& work, uint64_t count, cudaStream_t stream) {
  uint64_t* slots = work.distinct.slots;
  const DeviceBuffer taken = cleared(sizeof(uint32_t), stream);
  auto* next = taken.as<uint32_t>();
  each_row(work.distinct.count(), stream, [=] __device__(uint64_t slot) {
    if (slots[slot] != tokens::WordSlots::kFree) atomicAdd(next, 1u);
  });
  const uint64_t distinct = fetch(next, stream);
  const DeviceBuffer places(distinct * sizeof(uint64_t), stream), sorted_places(distinct * sizeof(uint64_t), stream);
  const DeviceBuffer of_places(distinct * sizeof(uint32_t), stream), of_sorted(distinct * sizeof(uint32_t), stream);
  auto* place = places.as<uint64_t>();
  auto* of_place = of_places.as<uint32_t>();
  check(cudaMemsetAsync(next, 0, sizeof(uint32_t), stream), "clearing a count");
  each_row(work.distinct.count(), stream, [=] __device__(uint64_t slot) {
    if (slots[slot] == tokens::WordSlots::kFree) return;
    const uint32_t to = atomicAdd(next, 1u);
    place[to] = slots[slot];
    of_place[to] = static_cast<uint32_t>(slot);
  });
  with_temporary(stream, [&](void* temporary, size_t& size) {
    return cub::DeviceRadixSort::SortPairs(temporary, size, place, sorted_places.as<uint64_t>(), of_place,
                                           of_sorted.as<uint32_t>(), static_cast<int64_t>(distinct), 0, 64, stream);
  });
  const auto* slot_of = of_sorted.as<uint32_t>();
  auto* sequence = work.sequence;
  each_row(distinct, stream, [=] __device__(uint64_t number) { slots[slot_of[number]] = number; });
  each_row(count, stream, [=] __device__(uint64_t i) { sequence[i] = static_cast<uint32_t>(slots[sequence[i]]); });
  return download_vector<uint64_t>(sorted_places, distinct, stream);
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
    out.row_starts = sums_of(work.counts, rows, stream);
  }
  work.row_starts = out.row_starts.as<uint64_t>();
  const uint64_t count = fetch(work.row_starts + rows, stream);
  if (count > UINT32_MAX) throw Error(ErrorCode::kUnsupported, "tokens: the array has too many words");
  out.sequence = DeviceBuffer(count * sizeof(uint32_t), stream);
  work.sequence = out.sequence.as<uint32_t>();
  const DeviceBuffer full(sizeof(uint32_t), stream);
  work.full = full.as<uint32_t>();
  // Where `tokens` is worth it, words are repeated many times; four times as many slots are taken until all fit.
  constexpr uint32_t kFirstBits = 16;
  for (work.distinct.bits = kFirstBits; count > 0; work.distinct.bits += 2) {
    const DeviceBuffer slots(work.distinct.count() * sizeof(uint64_t), stream);
    work.distinct.slots = slots.as<uint64_t>();
    if (!find_words(work, rows, stream)) continue;
    for (const uint64_t place : number_words(work, count, stream)) {
      out.words.texts.emplace_back(host.bytes + texts.first_byte + tokens::WordSlots::byte_of(place),
                                   tokens::WordSlots::length_of(place));
    }
    break;
  }
  out.words.sequence = download_vector<uint32_t>(out.sequence, count, stream);
  out.words.row_starts = download_vector<uint64_t>(out.row_starts, rows + 1, stream);
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

  out.places = sums_of(work.counts, rows, stream);
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
  const DeviceBuffer starts((tiles + 1) * sizeof(uint64_t), stream);
  auto* to = starts.as<uint64_t>();
  const auto* place = places.as<uint64_t>();
  each_row(tiles + 1, stream,
           [=] __device__(uint64_t tile) { to[tile] = place[tile * kTileRows < rows ? tile * kTileRows : rows]; });
  Buffer out = download(starts, (tiles + 1) * sizeof(uint64_t), stream);
  const auto* start = out.as<uint64_t>();
  for (uint64_t tile = 0; tile < tiles; ++tile) {
    if (start[tile + 1] - start[tile] > tokens::kMostIdsPerTile) {
      throw Error(ErrorCode::kUnsupported, "tokens: a tile has too many of them");
    }
  }
  return out;
}

}  // namespace

Node encode_tokens(DeviceValues& values, const Tree& tree, Effort effort, cudaStream_t stream) {
  Node node = make_node(values, tree, tokens::kStreams);
  const RowsOnHost host(values, stream);
  if (host.longest() > kLongestRow) return node.codec->encode(host.values, tree, effort);
  const SplitRows split = split_rows(texts_of(values, stream), host.values, stream);
  const auto count_uses = [&](const std::vector<tokens::Phrase>& phrases, uint64_t step) {
    CutRows cut = cut_rows(split, phrases, step, stream);
    cut.used.resize(phrases.size());
    return tokens::Uses{cut.ids.count, std::move(cut.used)};
  };
  const std::vector<tokens::Phrase> phrases = tokens::choose_phrases(split.words, 1.0, effort, count_uses);
  CutRows cut = cut_rows(split, phrases, 1, stream);
  const tokens::Entries entries = tokens::order_entries(split.words, phrases, cut.used);
  renumber(cut.ids, entries.numbers, stream);
  node.streams[tokens::kTileStarts] = tile_starts(cut.places, values.count, stream);

  DeviceValues texts;
  texts.type = Physical::kBytes;
  texts.count = entries.offsets.size() - 1;
  texts.offsets = upload_vector(entries.offsets, stream);
  texts.host_bytes = entries.bytes.data();
  texts.end_byte = entries.offsets.back();
  node.children.push_back(encode_node(cut.ids, tree.children[tokens::kIds], effort, stream));
  node.children.push_back(encode_node(cut.counts, tree.children[tokens::kCounts], effort, stream));
  node.children.push_back(encode_node(texts, tree.children[tokens::kEntries], effort, stream));
  return node;
}

}  // namespace basalt::cuda
