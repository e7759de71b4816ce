// Words to ids: the dictionary is chosen, and rows are cut.
#include <algorithm>

#include "basalt/core/error.h"
#include "codec/child_values.h"
#include "codec/codecs.h"
#include "codec/tokens/dictionary.h"
#include "codec/tokens/entries.h"
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
// Of the words in a sample's second half, those that its first half has not shown. Where most are new, a sample's words
// say nothing about the others', however often each is repeated within its row.
constexpr double kMostUnseen = 0.5;

double unseen_share(const Words& words) {
  const auto middle = words.sequence.begin() + static_cast<ptrdiff_t>(words.row_starts[words.rows() / 2]);
  uint32_t seen = 0;  // numbers follow the order in which words are met
  for (auto word = words.sequence.begin(); word != middle; ++word) seen = std::max(seen, *word + 1);
  const auto unseen = std::count_if(middle, words.sequence.end(), [&](uint32_t word) { return word >= seen; });
  return static_cast<double>(unseen) / static_cast<double>(std::max<ptrdiff_t>(1, words.sequence.end() - middle));
}

struct Parts {
  std::vector<uint32_t> ids;
  std::vector<uint32_t> counts;
  tokens::Entries entries;
};

Parts cut(const Words& words, const std::vector<Phrase>& phrases) {
  tokens::RowParser parser(words, phrases);
  Parts parts;
  std::vector<uint64_t> used(phrases.size() + 256, 0);
  for (uint64_t row = 0; row < words.rows(); ++row) {
    const size_t before = parts.ids.size();
    for (const Piece& piece : parser.parse(row)) parts.ids.push_back(piece.id(phrases.size()));
    for (size_t i = before; i < parts.ids.size(); ++i) ++used[parts.ids[i]];
    parts.counts.push_back(static_cast<uint32_t>(parts.ids.size() - before));
  }
  parts.entries = tokens::order_entries(words, phrases, used);
  for (uint32_t& id : parts.ids) id = parts.entries.numbers[id];
  return parts;
}

std::vector<tokens::IdBits> id_bits_to_try(const ChildChooser& chooser) {
  if (const Tree* ids = chooser.forced(tokens::kIds)) return {tokens::id_bits_under(*ids)};
  if (chooser.purpose() != Purpose::kDisk) return {tokens::IdBits::kEqual};
  return {tokens::IdBits::kEqual, tokens::IdBits::kEntropy};
}

// `new_words`: those that the sample does not show; they are entries, too.
Estimate estimate_with(const Words& words, tokens::IdBits id_bits, const Sample& sample, double new_words,
                       ChildChooser& chooser) {
  // The fast way is near enough to compare trees.
  const Parts parts = cut(words, tokens::choose_phrases(words, sample.scale(), Effort::kFast, id_bits));
  const double all_ids = static_cast<double>(parts.ids.size()) * sample.scale();
  Estimate ids = chooser.best({number_values(parts.ids), static_cast<uint64_t>(all_ids)}, tokens::kIds);
  Estimate counts = chooser.best({number_values(parts.counts), sample.total_rows}, tokens::kCounts);
  const Values entry_values = parts.entries.values();
  Estimate entries = chooser.best({entry_values, entry_values.count}, tokens::kEntries);
  const double starts = 8.0 * (tile_count(sample.total_rows) + 1);
  const double new_entries = new_words * entries.bytes / static_cast<double>(std::max<uint64_t>(1, entry_values.count));
  return {starts + ids.bytes + counts.bytes + entries.bytes + new_entries,
          {"tokens", {std::move(ids.tree), std::move(counts.tree), std::move(entries.tree)}}};
}

}  // namespace

Node TokensCodec::encode(const Values& values, const Tree& tree, Aims aims) const {
  const Words words = *tokens::split_words(values, ~uint64_t{0});
  const Parts parts =
      cut(words, tokens::choose_phrases(words, 1.0, aims.effort, tokens::id_bits_under(tree.children[tokens::kIds])));
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
  node.children.push_back(encode_tree(number_values(parts.ids), tree.children[tokens::kIds], aims));
  node.children.push_back(encode_tree(number_values(parts.counts), tree.children[tokens::kCounts], aims));
  node.children.push_back(encode_tree(parts.entries.values(), tree.children[tokens::kEntries], aims));
  return node;
}

std::optional<Estimate> TokensCodec::estimate(const Sample& sample, ChildChooser& chooser) const {
  if (sample.values.count == 0) return std::nullopt;
  // To choose words takes several times as long as to train and use symbols of `fsst`.
  if (chooser.effort() == Effort::kFast && chooser.forced(tokens::kIds) == nullptr) return std::nullopt;
  const auto bytes = static_cast<uint64_t>(sample.values.offsets[sample.values.count] - sample.values.offsets[0]);
  std::optional<Words> words = tokens::split_words(sample.values, bytes);
  if (!words || words->sequence.empty() ||
      static_cast<double>(words->texts.size()) > kMostDistinct * static_cast<double>(words->sequence.size())) {
    return std::nullopt;
  }
  const double unseen = sample.scale() > 1.0 ? unseen_share(*words) : 0.0;
  if (unseen > kMostUnseen) return std::nullopt;
  const double new_words = unseen * static_cast<double>(words->sequence.size()) * (sample.scale() - 1.0);
  std::optional<Estimate> best;
  for (const tokens::IdBits id_bits : id_bits_to_try(chooser)) {
    Estimate one = estimate_with(*words, id_bits, sample, new_words, chooser);
    if (!best || one.bytes < best->bytes) best = std::move(one);
  }
  return best;
}

}  // namespace basalt
