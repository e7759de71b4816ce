// Choosing phrases. Candidates are all frequent runs of one to four words; those that save most are taken, rows are cut
// with them, and what then is hardly used makes room for others. How many there may be is a power of two, since every
// id takes the same bits: sizes are tried on few rows, the best one is refined on more.
#include "codec/tokens/dictionary.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>

namespace basalt::tokens {

namespace {

constexpr uint32_t kLeastBits = 6;
constexpr uint32_t kMostBits = 17;
constexpr uint32_t kMostEntropyBits = 12;  // the alphabet of `ans`
constexpr uint64_t kWordsToTrySizes = 1 << 16;
// An entry's bytes, its length, and a share of what else dictionaries cost.
constexpr double kBytesPerEntry = 1.5;

// Rows looked at: every `step`-th.
struct RowSet {
  uint64_t step = 1;
  double scale = 1;
};
RowSet rows_of_about(const Words& words, uint64_t most_words, double scale) {
  RowSet rows;
  rows.step = std::max<uint64_t>(1, (words.sequence.size() + most_words - 1) / most_words);
  rows.scale = scale * static_cast<double>(rows.step);
  return rows;
}

// The runs of one to four words that are frequent in some rows, and where they are: runs of n words are counted whose
// two runs of n − 1 are frequent, for n = 2, 3, 4 in turn.
class PhraseCounter {
 public:
  static constexpr uint32_t kNone = ~0u;

  PhraseCounter(const Words& words, uint64_t step) {
    for (uint64_t row = 0; row < words.rows(); row += step) {
      sequence_.insert(sequence_.end(), words.sequence.begin() + static_cast<ptrdiff_t>(words.row_starts[row]),
                       words.sequence.begin() + static_cast<ptrdiff_t>(words.row_starts[row + 1]));
      row_ends_.push_back(sequence_.size());
    }
    std::vector<uint64_t> counts(words.texts.size());
    for (const uint32_t word : sequence_) ++counts[word];
    std::vector<uint32_t> numbers(counts.size(), kNone);
    for (uint32_t word = 0; word < counts.size(); ++word) {
      if (counts[word] == 0) continue;
      numbers[word] = static_cast<uint32_t>(phrases_.size());
      Phrase& phrase = phrases_.emplace_back();
      phrase.words[0] = word;
      phrase.length = 1;
      phrase.count = counts[word];
      frequent_.push_back(counts[word] >= kLeastCount ? 1 : 0);
    }
    at_[0].reserve(sequence_.size());
    for (const uint32_t word : sequence_) at_[0].push_back(numbers[word]);
    for (uint32_t length = 2; length <= kLongestPhrase; ++length) lengthen(length);
  }

  const std::vector<Phrase>& phrases() const { return phrases_; }
  // Words of the rows, one row after the other, and the ends of rows.
  const std::vector<uint32_t>& sequence() const { return sequence_; }
  const std::vector<uint64_t>& row_ends() const { return row_ends_; }
  // Number of the phrase of this length that begins at a word; kNone: there is none, nor a longer one.
  uint32_t at(uint64_t word, uint32_t length) const { return at_[length - 1][word]; }

 private:
  void lengthen(uint32_t length) {
    const std::vector<uint32_t>& shorter = at_[length - 2];
    std::vector<uint32_t>& at = at_[length - 1];
    const auto each_pair = [&](auto&& body) {
      const auto is_frequent = [&](uint32_t run) { return run != kNone && frequent_[run] != 0; };
      uint64_t begin = 0;
      for (const uint64_t end : row_ends_) {
        for (uint64_t i = begin; i + length <= end; ++i) {
          if (is_frequent(shorter[i]) && is_frequent(shorter[i + 1])) body(i);
        }
        begin = end;
      }
    };
    // Most pairs are rare, and most of those are known to be from a count that others of the same hash share: the
    // table of exact counts stays small.
    std::vector<uint8_t> at_most(size_t{1} << kSharedCounts);
    const auto shared_count = [&](uint64_t i) -> uint8_t& {
      return at_most[(uint64_t{shorter[i]} << 32 | shorter[i + 1]) * 0x9E3779B97F4A7C15ull >> (64 - kSharedCounts)];
    };
    each_pair([&](uint64_t i) {
      uint8_t& count = shared_count(i);
      count = static_cast<uint8_t>(count + (count < kLeastCount ? 1 : 0));
    });
    at.assign(shorter.size(), kNone);
    PairMap numbers;
    std::vector<uint32_t> counts;
    each_pair([&](uint64_t i) {
      if (shared_count(i) < kLeastCount) return;
      at[i] = numbers.at(shorter[i], shorter[i + 1], static_cast<uint32_t>(counts.size()));
      if (at[i] == counts.size()) counts.push_back(0);
      ++counts[at[i]];
    });
    // Rare ones are dropped; the others keep the order in which they were met.
    std::vector<uint32_t> kept(counts.size(), kNone);
    for (uint64_t i = 0; i < at.size(); ++i) {
      const uint32_t run = at[i];
      if (run == kNone) continue;
      if (counts[run] >= kLeastCount && kept[run] == kNone) {
        kept[run] = static_cast<uint32_t>(phrases_.size());
        Phrase phrase = phrases_[shorter[i]];
        phrase.words[length - 1] = sequence_[i + length - 1];
        phrase.length = length;
        phrase.count = counts[run];
        phrases_.push_back(phrase);
        frequent_.push_back(1);
      }
      at[i] = kept[run];
    }
  }

  static constexpr uint32_t kSharedCounts = 18;  // bits

  std::vector<Phrase> phrases_;
  std::vector<uint8_t> frequent_;  // of phrases_: whether longer ones may have it
  std::vector<uint32_t> sequence_;
  std::vector<uint64_t> row_ends_;
  std::array<std::vector<uint32_t>, kLongestPhrase> at_;
};

uint64_t bytes_of(const Phrase& phrase, const Words& words) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < phrase.length; ++i) bytes += words.texts[phrase.words[i]].size();
  return bytes;
}

// Ids saved by each use: a phrase would be its words, a word be spelled. Parts of words make that shorter than it is
// taken for here, but rows of many ids make all counts wider: l_comment 4.29 against 4.22 with half of it.
double saved_ids(const Phrase& phrase, const Words& words) {
  return static_cast<double>(phrase.length == 1 ? bytes_of(phrase, words) - 1 : phrase.length - 1);
}

class Chooser {
 public:
  Chooser(const Words& words, const RowSet& rows, IdBits id_bits, const RowPasses* elsewhere)
      : words_(words), elsewhere_(elsewhere), rows_(rows), id_bits_(id_bits) {
    if (elsewhere_ == nullptr) runs_.emplace(words, rows.step);
    candidates_ = elsewhere_ == nullptr ? runs_->phrases() : elsewhere_->find_candidates(rows.step);
    for (const Phrase& candidate : candidates_) {
      entry_bytes_.push_back(static_cast<double>(bytes_of(candidate, words)) + kBytesPerEntry);
      saved_ids_.push_back(saved_ids(candidate, words));
    }
    bool seen[256] = {};
    for (const std::string_view text : words.texts) {
      for (const char byte : text) seen[static_cast<uint8_t>(byte)] = true;
    }
    spelled_ = static_cast<size_t>(std::count(std::begin(seen), std::end(seen), true));
  }

  size_t candidates() const { return candidates_.size(); }

  struct Choice {
    std::vector<Phrase> phrases;
    double bytes = 1e300;  // of ids and entries
  };

  // At most 2^bits entries; `rounds` of replacing what is not used.
  Choice choose(uint32_t bits, int rounds) const {
    const size_t capacity = (size_t{1} << bits) - std::min(size_t{1} << (bits - 1), spelled_);
    std::vector<double> gains(candidates_.size());
    for (size_t i = 0; i < gains.size(); ++i) gains[i] = gain(i, candidates_[i].count, bits);
    std::vector<uint32_t> order = by_gain(gains);
    size_t next = std::min(capacity, order.size());
    std::vector<uint32_t> taken(order.begin(), order.begin() + static_cast<ptrdiff_t>(next));
    Choice best;
    for (int round = 0; round <= rounds; ++round) {
      const Uses used = count(taken);
      // What the next in line saves if it is used wherever it occurs.
      const double bar = next < order.size() ? gains[order[next]] : 0;
      Choice now;
      double bytes = bits_of_ids(used, bits) * rows_.scale / 8;
      std::vector<uint32_t> kept;
      for (size_t i = 0; i < taken.size(); ++i) {
        const uint32_t candidate = taken[i];
        if (used.counts[i] == 0) continue;
        bytes += entry_bytes_[candidate];
        now.phrases.push_back(candidates_[candidate]);
        if (gain(candidate, used.counts[i], bits) > bar) kept.push_back(candidate);
      }
      now.bytes = bytes + static_cast<double>(spelled_) * (1 + kBytesPerEntry);
      if (now.bytes < best.bytes) best = std::move(now);
      while (kept.size() < capacity && next < order.size()) kept.push_back(order[next++]);
      taken = std::move(kept);
    }
    return best;
  }

 private:
  double gain(size_t candidate, uint64_t count, uint32_t bits) const {
    return static_cast<double>(count) * rows_.scale * saved_ids_[candidate] * bits / 8 - entry_bytes_[candidate];
  }

  double bits_of_ids(const Uses& used, uint32_t bits) const {
    const auto ids = static_cast<double>(used.ids);
    if (id_bits_ == IdBits::kEqual || used.ids == 0) return ids * bits;
    double total = 0;
    uint64_t letters = used.ids;
    for (const uint64_t count : used.counts) {
      if (count > 0) total += static_cast<double>(count) * std::log2(ids / static_cast<double>(count));
      letters -= count;
    }
    if (letters == 0) return total;
    return total +
           static_cast<double>(letters) * std::log2(ids / static_cast<double>(letters) * static_cast<double>(spelled_));
  }

  static std::vector<uint32_t> by_gain(const std::vector<double>& gains) {
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < gains.size(); ++i) {
      if (gains[i] > 0) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return gains[a] > gains[b]; });
    return order;
  }

  Uses count(const std::vector<uint32_t>& taken) const {
    std::vector<Phrase> phrases;
    std::vector<uint32_t> place(candidates_.size(), kNoPhrase);  // among those that are taken
    for (uint32_t i = 0; i < taken.size(); ++i) {
      phrases.push_back(candidates_[taken[i]]);
      place[taken[i]] = i;
    }
    if (elsewhere_ != nullptr) return elsewhere_->count_uses(phrases, rows_.step);
    Speller speller(words_, phrases);
    FewestIds fewest(speller);
    Uses used;
    used.counts.resize(taken.size());
    std::vector<uint64_t> spelled(words_.texts.size());
    uint64_t begin = 0;
    for (const uint64_t end : runs_->row_ends()) {
      const uint32_t* words = runs_->sequence().data() + begin;
      fewest.find(words, static_cast<uint32_t>(end - begin), [&](uint32_t i, auto&& body) {
        for (uint32_t length = 1; length <= kLongestPhrase; ++length) {
          const uint32_t run = runs_->at(begin + i, length);
          if (run == PhraseCounter::kNone) break;
          if (place[run] != kNoPhrase) body(length, place[run]);
        }
      });
      fewest.each_from_end(words, [&](uint32_t phrase, uint32_t word) {
        ++(phrase == kNoPhrase ? spelled[word] : used.counts[phrase]);
      });
      used.ids += fewest.ids();
      begin = end;
    }
    for (uint32_t word = 0; word < spelled.size(); ++word) {
      if (spelled[word] == 0) continue;
      for (const Piece& piece : speller.pieces(word)) {
        if (piece.phrase != kNoPhrase) used.counts[piece.phrase] += spelled[word];
      }
    }
    return used;
  }

  const Words& words_;
  const RowPasses* elsewhere_;  // nullptr: here
  RowSet rows_;
  IdBits id_bits_;
  std::optional<PhraseCounter> runs_;
  std::vector<Phrase> candidates_;
  std::vector<double> entry_bytes_;
  std::vector<double> saved_ids_;
  size_t spelled_ = 0;  // entries of one byte that there may have to be
};

}  // namespace

PhraseTable::PhraseTable(const std::vector<Phrase>& phrases, uint64_t words) : first_(words, kNoPhrase) {
  for (uint32_t i = 0; i < phrases.size(); ++i) {
    uint32_t& first = first_[phrases[i].words[0]];
    if (first == kNoPhrase) first = add_node();
    uint32_t node = first;
    for (uint32_t at = 1; at < phrases[i].length; ++at) {
      const uint32_t known = next_.find(node, phrases[i].words[at]);
      node = known != kNoPhrase ? known : next_.at(node, phrases[i].words[at], add_node());
    }
    phrase_[node] = i;
  }
}

uint32_t PhraseTable::add_node() {
  phrase_.push_back(kNoPhrase);
  return static_cast<uint32_t>(phrase_.size() - 1);
}

Speller::Part Speller::part_of(std::string_view text) {
  Part part;
  std::memcpy(&part.low, text.data(), std::min<size_t>(text.size(), 8));
  if (text.size() > 8) std::memcpy(&part.high, text.data() + 8, text.size() - 8);
  part.high |= uint64_t{text.size()} << 32;
  return part;
}

size_t Speller::place(const Part& part) const {
  const uint64_t hash = (part.low ^ part.high * 0xD6E8FEB86659FD93ull) * 0x9E3779B97F4A7C15ull;
  size_t at = hash >> 32 & (parts_.size() - 1);
  while (parts_[at].high != 0 && (parts_[at].low != part.low || parts_[at].high != part.high)) {
    at = (at + 1) & (parts_.size() - 1);
  }
  return at;
}

Speller::Speller(const Words& words, const std::vector<Phrase>& phrases)
    : words_(words),
      is_phrase_(words.texts.size()),
      parts_(std::bit_ceil(2 * phrases.size() + 2)),
      known_(words.texts.size()) {
  for (uint32_t i = 0; i < phrases.size(); ++i) {
    if (phrases[i].length > 1) continue;
    const std::string_view text = words.texts[phrases[i].words[0]];
    is_phrase_[phrases[i].words[0]] = 1;
    if (text.size() > kLongestPart) continue;
    Part part = part_of(text);
    part.phrase = i;
    parts_[place(part)] = part;
  }
}

void Speller::spell(uint32_t word) {
  struct Reached {
    uint32_t ids;
    uint32_t length;
    Piece piece;
  };
  const std::string_view text = words_.texts[word];
  std::array<Reached, kLongestWord + 1> steps;
  for (size_t i = 0; i <= text.size(); ++i) steps[i] = {~0u, 0, {}};
  steps[0].ids = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const uint32_t ids = steps[at].ids + 1;
    const auto most = static_cast<uint32_t>(std::min<size_t>(kLongestPart, text.size() - at));
    Part part;
    for (uint32_t length = 1; length <= most; ++length) {
      const uint64_t byte = static_cast<uint8_t>(text[at + length - 1]);
      part.low |= length <= 8 ? byte << 8 * (length - 1) : 0;
      part.high |= length <= 8 ? 0 : byte << 8 * (length - 9);
      if (ids >= steps[at + length].ids) continue;
      part.high = (part.high & 0xFFFFFFFF) | uint64_t{length} << 32;
      const Part& found = parts_[place(part)];
      if (found.high != 0) {
        steps[at + length] = {ids, length, {found.phrase, 0}};
      } else if (length == 1) {
        steps[at + 1] = {ids, 1, {kNoPhrase, static_cast<uint8_t>(text[at])}};
      }
    }
  }
  std::vector<Piece>& out = known_[word];
  for (size_t at = text.size(); at > 0; at -= steps[at].length) out.push_back(steps[at].piece);
  std::reverse(out.begin(), out.end());
}

Spelling spell_words(const Words& words, const std::vector<Phrase>& phrases, uint64_t step) {
  // Where rows have more words than there are, finding out which they have takes longer than to spell all.
  const bool all = step == 1 || words.texts.size() <= words.sequence.size() / step;
  std::vector<bool> wanted(words.texts.size(), all);
  for (uint64_t row = 0; !all && row < words.rows(); row += step) {
    for (uint64_t i = words.row_starts[row]; i < words.row_starts[row + 1]; ++i) wanted[words.sequence[i]] = true;
  }
  Speller speller(words, phrases);
  Spelling out;
  out.starts.push_back(0);
  for (uint32_t word = 0; word < words.texts.size(); ++word) {
    if (wanted[word] && !speller.is_phrase(word)) {
      for (const Piece& piece : speller.pieces(word)) out.ids.push_back(piece.id(phrases.size()));
    }
    out.starts.push_back(static_cast<uint32_t>(out.ids.size()));
  }
  return out;
}

const std::vector<Piece>& RowParser::parse(uint64_t row) {
  const uint64_t first = words_.row_starts[row];
  const auto count = static_cast<uint32_t>(words_.row_starts[row + 1] - first);
  const uint32_t* sequence = words_.sequence.data() + first;
  fewest_.find(sequence, count, [&](uint32_t i, auto&& body) { table_.view().each(sequence + i, count - i, body); });
  pieces_.clear();
  fewest_.each_from_end(sequence, [&](uint32_t phrase, uint32_t word) {
    if (phrase != kNoPhrase) {
      pieces_.push_back({phrase, 0});
      return;
    }
    const std::vector<Piece>& spelled = speller_.pieces(word);
    pieces_.insert(pieces_.end(), spelled.rbegin(), spelled.rend());
  });
  std::reverse(pieces_.begin(), pieces_.end());
  return pieces_;
}

std::vector<Phrase> candidates(const Words& words, uint64_t step) { return PhraseCounter(words, step).phrases(); }

IdBits id_bits_under(const Tree& ids) { return ids.codec == "ans" ? IdBits::kEntropy : IdBits::kEqual; }

std::vector<Phrase> choose_phrases(const Words& words, double scale, Effort effort, IdBits id_bits,
                                   const RowPasses* elsewhere) {
  if (words.sequence.empty()) return {};
  const RowSet few_rows = rows_of_about(words, kWordsToTrySizes, scale);
  const Chooser few(words, few_rows, id_bits, elsewhere);
  // Room for an eighth of the words at least; larger as long as that makes it smaller.
  const auto of_words = static_cast<uint32_t>(std::bit_width(words.texts.size()));
  const uint32_t most_bits = id_bits == IdBits::kEntropy ? kMostEntropyBits : kMostBits;
  uint32_t bits = std::clamp(of_words - std::min(of_words, 3u), kLeastBits, most_bits);
  double least = few.choose(bits, 0).bytes;
  while (bits < most_bits && (size_t{1} << bits) < few.candidates()) {
    const double bytes = few.choose(bits + 1, 0).bytes;
    if (bytes >= least) break;
    least = bytes;
    ++bits;
  }
  const uint64_t most_words = effort == Effort::kFast ? 1 << 17 : effort == Effort::kBalanced ? 1 << 19 : ~uint64_t{0};
  // More rounds make some columns smaller, others larger, by less than a per cent.
  const int rounds = effort == Effort::kFast ? 1 : effort == Effort::kBalanced ? 3 : 6;
  const RowSet rows = rows_of_about(words, most_words, scale);
  if (rows.step == few_rows.step) return few.choose(bits, rounds).phrases;
  return Chooser(words, rows, id_bits, elsewhere).choose(bits, rounds).phrases;
}

}  // namespace basalt::tokens
