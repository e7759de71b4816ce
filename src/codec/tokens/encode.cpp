// Words to ids: the dictionary is chosen, rows are cut, and entries are put in order of their use.
#include <algorithm>
#include <map>

#include "basalt/core/error.h"
#include "codec/child_values.h"
#include "codec/codecs.h"
#include "codec/tokens/dictionary.h"
#include "codec/tokens/layout.h"
#include "codec/tokens/tokens.h"

namespace basalt {

using tokens::Phrase;
using tokens::Piece;
using tokens::Words;

std::unique_ptr<Codec> make_tokens() { return std::make_unique<TokensCodec>(); }

std::vector<ChildSlot> TokensCodec::children(Physical) const {
  return {{"ids", Physical::kU32}, {"counts", Physical::kU32}, {"entries", Physical::kBytes}};
}

namespace {

// A word that occurs once saves nothing: where nearly all are like that, there is nothing to look for.
constexpr double kMostDistinct = 0.5;

struct Parts {
  std::vector<uint32_t> ids;
  std::vector<uint32_t> counts;
  std::string entries;
  std::vector<int64_t> entry_offsets{0};

  Values entry_values() const { return text_values(entries.data(), entry_offsets); }
};

// Ids of phrases come first, then one for each byte; both are renumbered once it is known how often each is used.
Parts cut(const Words& words, const std::vector<Phrase>& phrases) {
  tokens::RowParser parser(words, phrases);
  Parts parts;
  std::vector<uint64_t> used(phrases.size() + 256, 0);
  for (uint64_t row = 0; row < words.rows(); ++row) {
    const size_t before = parts.ids.size();
    for (const Piece& piece : parser.parse(row)) {
      const bool is_byte = piece.phrase == tokens::PhraseTable::kNone;
      parts.ids.push_back(is_byte ? static_cast<uint32_t>(phrases.size()) + piece.byte : piece.phrase);
    }
    for (size_t i = before; i < parts.ids.size(); ++i) ++used[parts.ids[i]];
    parts.counts.push_back(static_cast<uint32_t>(parts.ids.size() - before));
  }

  struct Entry {
    std::string text;
    uint64_t count;
    uint32_t old;
  };
  std::vector<Entry> entries;
  for (uint32_t old = 0; old < used.size(); ++old) {
    if (used[old] == 0) continue;
    Entry entry{{}, used[old], old};
    if (old < phrases.size()) {
      for (uint32_t i = 0; i < phrases[old].length; ++i) entry.text += words.texts[phrases[old].words[i]];
    } else {
      entry.text = static_cast<char>(old - phrases.size());
    }
    entries.push_back(std::move(entry));
  }
  // A byte that is a word, too, can have two entries: they are one.
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.text < b.text; });
  std::vector<uint32_t> same(used.size());
  size_t kept = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    const bool again = kept > 0 && entries[kept - 1].text == entries[i].text;
    if (again) {
      entries[kept - 1].count += entries[i].count;
      same[entries[i].old] = entries[kept - 1].old;
    } else {
      same[entries[i].old] = entries[i].old;
      if (kept != i) entries[kept] = std::move(entries[i]);
      ++kept;
    }
  }
  entries.resize(kept);
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.count > b.count; });
  std::vector<uint32_t> number(used.size());
  for (uint32_t i = 0; i < entries.size(); ++i) {
    number[entries[i].old] = i;
    parts.entries += entries[i].text;
    parts.entry_offsets.push_back(static_cast<int64_t>(parts.entries.size()));
  }
  for (uint32_t& id : parts.ids) id = number[same[id]];
  return parts;
}

}  // namespace

Node TokensCodec::encode(const Values& values, const Tree& tree, Effort effort) const {
  const Words words = *tokens::split_words(values, ~uint64_t{0});
  const Parts parts = cut(words, tokens::choose_phrases(words, 1.0, effort));
  Node node{this, values.type, values.count, {}, {}, {}};
  Buffer& starts = node.streams.emplace_back();
  uint64_t start = 0;
  for (uint32_t tile = 0; tile < tile_count(values.count); ++tile) {
    starts.push(start);
    const uint64_t first = uint64_t{tile} * kTileRows;
    uint64_t ids = 0;
    for (uint32_t i = 0; i < rows_in_tile(values.count, tile); ++i) ids += parts.counts[first + i];
    if (ids > tokens::kMostIdsPerTile) throw Error(ErrorCode::kUnsupported, "tokens: a tile has too many of them");
    start += ids;
  }
  starts.push(start);
  node.children.push_back(encode_tree(number_values(parts.ids), tree.children[tokens::kIds], effort));
  node.children.push_back(encode_tree(number_values(parts.counts), tree.children[tokens::kCounts], effort));
  node.children.push_back(encode_tree(parts.entry_values(), tree.children[tokens::kEntries], effort));
  return node;
}

std::optional<Estimate> TokensCodec::estimate(const Sample& sample, ChildChooser& chooser) const {
  if (sample.values.count == 0) return std::nullopt;
  const auto bytes = static_cast<uint64_t>(sample.values.offsets[sample.values.count] - sample.values.offsets[0]);
  std::optional<Words> words = tokens::split_words(sample.values, bytes);
  if (!words || words->sequence.empty() ||
      static_cast<double>(words->texts.size()) > kMostDistinct * static_cast<double>(words->sequence.size())) {
    return std::nullopt;
  }
  // The fast way is near enough to compare trees.
  const Parts parts = cut(*words, tokens::choose_phrases(*words, sample.scale(), Effort::kFast));
  const double all_ids = static_cast<double>(parts.ids.size()) * sample.scale();
  Estimate ids = chooser.best({number_values(parts.ids), static_cast<uint64_t>(all_ids)}, tokens::kIds);
  Estimate counts = chooser.best({number_values(parts.counts), sample.total_rows}, tokens::kCounts);
  const Values entry_values = parts.entry_values();
  Estimate entries = chooser.best({entry_values, entry_values.count}, tokens::kEntries);
  const double starts = 8.0 * (tile_count(sample.total_rows) + 1);
  return Estimate{starts + ids.bytes + counts.bytes + entries.bytes,
                  {"tokens", {std::move(ids.tree), std::move(counts.tree), std::move(entries.tree)}}};
}

}  // namespace basalt
