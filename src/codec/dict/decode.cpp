// Looking codes up in the dictionary, which is decoded once per reader.
#include <algorithm>
#include <array>

#include "codec/copy_text.h"
#include "codec/dict/decoded_entries.h"
#include "codec/dict/dict.h"
#include "codec/dict/layout.h"
#include "codec/expand_runs.h"
#include "codec/strings/symbol_automaton.h"
#include "core/dispatch.h"

namespace basalt {

namespace {

// Decodes the codes of tiles and single rows, clamped into the dictionary.
class CodeReader {
 public:
  explicit CodeReader(const NodeView& node)
      : codes_(open_reader(node.children[dict::kCodes])), entries_(node.children[dict::kEntries].count) {}

  // Returns false if a code was out of range or a child is damaged.
  bool decode_tile(uint32_t tile, uint32_t rows, uint32_t* out) {
    codes_->decode_tile(tile, out);
    return clamp(out, rows);
  }
  // Of a tile that is stored as runs; `runs` is 0 where it is not.
  bool decode_runs(uint32_t tile, uint32_t* out, uint32_t* ends, uint32_t& runs) {
    runs = codes_->decode_runs(tile, out, ends);
    return runs == 0 || clamp(out, runs);
  }
  bool gather(std::span<const uint32_t> rows, uint32_t* out) {
    codes_->gather(rows, out);
    return clamp(out, rows.size());
  }

 private:
  bool clamp(uint32_t* codes, size_t count) const {
    const auto last = static_cast<uint32_t>(entries_ - 1);
    const uint32_t largest = largest_of(codes, count);
    if (largest > last) {
      for (size_t i = 0; i < count; ++i) codes[i] = std::min(codes[i], last);
    }
    return largest <= last && !codes_->corrupt();
  }
  static uint32_t largest_of(const uint32_t* codes, size_t count) {
    // 32 maxima side by side: one alone waits for its own last comparison.
    uint32_t maxima[kLanes] = {};
    const size_t whole = count / kLanes * kLanes;
    for (size_t i = 0; i < whole; i += kLanes) {
      for (size_t l = 0; l < kLanes; ++l) maxima[l] = maxima[l] < codes[i + l] ? codes[i + l] : maxima[l];
    }
    for (size_t i = whole; i < count; ++i) maxima[0] = std::max(maxima[0], codes[i]);
    return *std::max_element(maxima, maxima + kLanes);
  }
  std::unique_ptr<Reader> codes_;
  uint64_t entries_;
};

template <typename T>
class DictReader final : public Reader {
 public:
  explicit DictReader(const NodeView& node)
      : Reader(node.type, node.count),
        codes_(node),
        entry_count_(static_cast<uint32_t>(node.children[dict::kEntries].count)) {
    const NodeView& entries = node.children[dict::kEntries];
    const auto reader = open_reader(entries);
    entries_.resize(static_cast<size_t>(tile_count(entries.count)) * kTileRows * sizeof(T));
    for (uint32_t tile = 0; tile < tile_count(entries.count); ++tile) {
      reader->decode_tile(tile, entries_.template as<T>() + static_cast<size_t>(tile) * kTileRows);
    }
    mark_corrupt(reader->corrupt());
    find_step(entries.count);
  }

  // Values are looked up run by run where codes are stored so.
  void decode_tile(uint32_t tile, void* out) override {
    const uint32_t rows = rows_in_tile(count(), tile);
    std::array<uint32_t, kTileRows> ends;
    std::array<T, kTileRows> values;
    if (const uint32_t runs = decode_runs(tile, values.data(), ends.data())) {
      return expand_runs(values.data(), ends.data(), runs, rows, static_cast<T*>(out));
    }
    std::array<uint32_t, kTileRows> codes;
    decode_codes(tile, codes.data());
    look_up(codes.data(), rows, static_cast<T*>(out));
  }
  uint32_t decode_runs(uint32_t tile, void* values, uint32_t* ends) override {
    std::array<uint32_t, kTileRows> codes;
    uint32_t runs = 0;
    mark_corrupt(!codes_.decode_runs(tile, codes.data(), ends, runs));
    look_up(codes.data(), runs, static_cast<T*>(values));
    return runs;
  }
  EntryList decode_codes(uint32_t tile, uint32_t* codes) override {
    mark_corrupt(!codes_.decode_tile(tile, rows_in_tile(count(), tile), codes));
    return {entries_.data(), entry_count_};
  }
  void gather(std::span<const uint32_t> rows, void* out) override {
    std::vector<uint32_t> codes(rows.size());
    mark_corrupt(!codes_.gather(rows, codes.data()));
    look_up(codes.data(), rows.size(), static_cast<T*>(out));
  }
  using Reader::decode_tile;
  using Reader::gather;

 private:
  // Quantities, rates and years are often evenly spaced: then entries are computed, which goes for several at once.
  void find_step(uint64_t count) {
    const T* entries = entries_.template as<T>();
    if (sizeof(T) > 8 || count < 2) return;
    const auto step = static_cast<T>(entries[1] - entries[0]);
    if (static_cast<T>(static_cast<uint32_t>(step)) != step) return;
    for (uint64_t i = 2; i < count; ++i) {
      if (static_cast<T>(entries[i] - entries[i - 1]) != step) return;
    }
    evenly_spaced_ = true;
    step_ = static_cast<uint32_t>(step);
  }

  void look_up(const uint32_t* codes, size_t rows, T* out) const {
    const T* entries = entries_.template as<T>();
    if (evenly_spaced_) {
      const T first = entries[0];
      const uint64_t step = step_;
      for (size_t i = 0; i < rows; ++i) out[i] = static_cast<T>(first + static_cast<T>(codes[i] * step));
      return;
    }
#pragma GCC unroll 8
    for (size_t i = 0; i < rows; ++i) out[i] = entries[codes[i]];
  }
  CodeReader codes_;
  uint32_t entry_count_;
  Buffer entries_;
  bool evenly_spaced_ = false;
  uint32_t step_ = 0;
};

class StringDictReader final : public Reader {
 public:
  explicit StringDictReader(const NodeView& node) : Reader(node.type, node.count), codes_(node) {
    mark_corrupt(!dict::decode_entries(node.children[dict::kEntries], entries_));
    for (size_t i = 0; i < entries_.size(); ++i) longest_ = std::max<uint64_t>(longest_, entries_.at(i).size());
  }

  void string_lengths(uint32_t tile, uint32_t* out) override {
    const uint32_t rows = rows_in_tile(count(), tile);
    mark_corrupt(!codes_.decode_tile(tile, rows, out));
    for (uint32_t i = 0; i < rows; ++i) out[i] = static_cast<uint32_t>(entries_.at(out[i]).size());
  }
  uint64_t most_bytes(uint32_t tile) override { return longest_ * rows_in_tile(count(), tile); }
  uint64_t entry_bytes() const override { return entries_.bytes.size(); }
  EntryList decode_codes(uint32_t tile, uint32_t* codes) override {
    mark_corrupt(!codes_.decode_tile(tile, rows_in_tile(count(), tile), codes));
    return {nullptr, static_cast<uint32_t>(entries_.size())};
  }
  const StringRows* entries() const override { return &entries_; }
  void decode_tile(uint32_t tile, StringRows& out) override {
    std::array<uint32_t, kTileRows> codes;
    const uint32_t rows = rows_in_tile(count(), tile);
    mark_corrupt(!codes_.decode_tile(tile, rows, codes.data()));
    look_up(codes.data(), rows, out);
  }
  void gather(std::span<const uint32_t> rows, StringRows& out) override {
    std::vector<uint32_t> codes(rows.size());
    mark_corrupt(!codes_.gather(rows, codes.data()));
    look_up(codes.data(), rows.size(), out);
  }
  Answered filter_strings(uint32_t tile, const std::shared_ptr<const Automaton>& test, uint8_t* out) override {
    const std::vector<uint8_t>& holds = holds_.get(test, [&] {
      std::vector<uint8_t> entries(entries_.size());
      for (size_t i = 0; i < entries.size(); ++i) entries[i] = test->matches(entries_.at(i)) ? 1 : 0;
      return entries;
    });
    std::array<uint32_t, kTileRows> codes;
    const uint32_t rows = rows_in_tile(count(), tile);
    mark_corrupt(!codes_.decode_tile(tile, rows, codes.data()));
    for (uint32_t i = 0; i < rows; ++i) out[i] = holds[codes[i]];
    return Answered::kByRows;
  }
  using Reader::decode_tile;
  using Reader::gather;

 private:
  void look_up(const uint32_t* codes, size_t rows, StringRows& out) const {
    const size_t before = out.bytes.size();
    const size_t first = out.offsets.size();
    out.offsets.resize(first + rows);
    int64_t* ends = out.offsets.data() + first;
    const int64_t* at = entries_.offsets.data();
    size_t total = before;
    for (size_t i = 0; i < rows; ++i) {
      total += static_cast<size_t>(at[codes[i] + 1] - at[codes[i]]);
      ends[i] = static_cast<int64_t>(total);
    }
    if (total == before) return;
    out.check_room(total - before);
    out.bytes.resize(total);
    size_t to = before;
    for (size_t i = 0; i < rows; ++i) {
      const auto end = static_cast<size_t>(ends[i]);
      copy_text(out.bytes.data() + to, entries_.bytes.data() + at[codes[i]], end - to);
      to = end;
    }
  }
  CodeReader codes_;
  StringRows entries_;
  uint64_t longest_ = 0;                               // of the entries
  strings::PerAutomaton<std::vector<uint8_t>> holds_;  // per entry
};

// Decodes the entries that its rows name.
class FewStringsReader final : public Reader {
 public:
  explicit FewStringsReader(const NodeView& node)
      : Reader(node.type, node.count), codes_(node), entries_(open_reader(node.children[dict::kEntries])) {}

  void gather(std::span<const uint32_t> rows, StringRows& out) override {
    std::vector<uint32_t> codes(rows.size());
    mark_corrupt(!codes_.gather(rows, codes.data()));
    entries_->gather(codes, out);
    mark_corrupt(entries_->corrupt());
  }
  using Reader::gather;

 private:
  CodeReader codes_;
  std::unique_ptr<Reader> entries_;
};

}  // namespace

std::unique_ptr<Reader> DictCodec::open_for_few(const NodeView& node) const {
  if (node.type != Physical::kBytes) return open(node);
  return std::make_unique<FewStringsReader>(node);
}

std::unique_ptr<Reader> DictCodec::open(const NodeView& node) const {
  if (node.type == Physical::kBytes) return std::make_unique<StringDictReader>(node);
  return dispatch_width(width_of(node.type), [&](auto tag) -> std::unique_ptr<Reader> {
    return std::make_unique<DictReader<decltype(tag)>>(node);
  });
}

}  // namespace basalt
