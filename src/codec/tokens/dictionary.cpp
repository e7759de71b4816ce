// Choosing phrases. Candidates are all frequent runs of one to four words; those that save most are taken, rows are cut
// with them, and what then is hardly used makes room for others. How many there may be is a power of two, since every
// id takes the same bits: sizes are tried on few rows, the best one is refined on more.
#include "codec/tokens/dictionary.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace basalt::tokens {

namespace {

constexpr uint32_t kLeastCount = 3;  // of phrases of two words and more, in the rows looked at
constexpr uint32_t kLeastBits = 6;
constexpr uint32_t kMostBits = 17;
constexpr uint64_t kWordsToTrySizes = 1 << 16;
constexpr int kRounds = 6;
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

// Counts runs of n words whose two runs of n − 1 are frequent, for n = 2, 3, 4 in turn.
class PhraseCounter {
 public:
  PhraseCounter(const Words& words, const RowSet& rows) : words_(words) {
    for (uint64_t row = 0; row < words.rows(); row += rows.step) {
      sequence_.insert(sequence_.end(), words.sequence.begin() + static_cast<ptrdiff_t>(words.row_starts[row]),
                       words.sequence.begin() + static_cast<ptrdiff_t>(words.row_starts[row + 1]));
      row_ends_.push_back(sequence_.size());
    }
  }

  std::vector<Phrase> run() {
    std::vector<Phrase> all;
    std::vector<Phrase> runs(words_.texts.size());
    for (uint32_t word = 0; word < runs.size(); ++word) {
      runs[word].words[0] = word;
      runs[word].length = 1;
    }
    for (const uint32_t word : sequence_) ++runs[word].count;
    std::copy_if(runs.begin(), runs.end(), std::back_inserter(all), [](const Phrase& p) { return p.count > 0; });
    std::vector<uint32_t> at = sequence_;  // number of the run that begins here
    for (uint32_t length = 2; length <= kLongestPhrase; ++length) {
      runs = lengthen(runs, at, length);
      all.insert(all.end(), runs.begin(), runs.end());
    }
    return all;
  }

 private:
  static constexpr uint32_t kNone = ~0u;

  std::vector<Phrase> lengthen(const std::vector<Phrase>& shorter, std::vector<uint32_t>& at, uint32_t length) const {
    const auto each = [&](auto&& body) {
      uint64_t begin = 0;
      for (const uint64_t end : row_ends_) {
        for (uint64_t i = begin; i < end; ++i) {
          const bool known = i + length <= end && at[i] != kNone && at[i + 1] != kNone;
          body(i, known && shorter[at[i]].count >= kLeastCount && shorter[at[i + 1]].count >= kLeastCount);
        }
        begin = end;
      }
    };
    PairMap counts;
    each([&](uint64_t i, bool frequent) {
      if (frequent) ++counts.at(at[i], at[i + 1], 0);
    });
    std::vector<Phrase> longer;
    PairMap numbers;
    std::vector<uint32_t> next(at.size(), kNone);
    each([&](uint64_t i, bool frequent) {
      if (!frequent) return;
      const uint32_t count = counts.find(at[i], at[i + 1]);
      if (count < kLeastCount) return;
      next[i] = numbers.at(at[i], at[i + 1], static_cast<uint32_t>(longer.size()));
      if (next[i] < longer.size()) return;
      Phrase& phrase = longer.emplace_back(shorter[at[i]]);
      phrase.words[length - 1] = sequence_[i + length - 1];
      phrase.length = length;
      phrase.count = count;
    });
    at = std::move(next);
    return longer;
  }

  const Words& words_;
  std::vector<uint32_t> sequence_;
  std::vector<uint64_t> row_ends_;
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
  Chooser(const Words& words, const RowSet& rows, const CountUses& count_uses) : count_uses_(count_uses), rows_(rows) {
    candidates_ = PhraseCounter(words, rows).run();
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
      double bytes = static_cast<double>(used.ids) * rows_.scale * bits / 8;
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
    for (const uint32_t candidate : taken) phrases.push_back(candidates_[candidate]);
    return count_uses_(phrases, rows_.step);
  }

  const CountUses& count_uses_;
  RowSet rows_;
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

Speller::Speller(const Words& words, const std::vector<Phrase>& phrases)
    : words_(words), is_phrase_(words.texts.size()), known_(words.texts.size()) {
  for (uint32_t i = 0; i < phrases.size(); ++i) {
    if (phrases[i].length > 1) continue;
    const std::string_view text = words.texts[phrases[i].words[0]];
    is_phrase_[phrases[i].words[0]] = true;
    if (text.size() <= kLongestPart) parts_.emplace(text, i);
  }
}

const std::vector<Piece>& Speller::pieces(uint32_t word) {
  std::vector<Piece>& out = known_[word];
  if (!out.empty()) return out;
  struct Reached {
    uint32_t ids;
    uint32_t length;
    Piece piece;
  };
  const std::string_view text = words_.texts[word];
  std::vector<Reached> steps(text.size() + 1, {~0u, 0, {}});
  steps[0].ids = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const uint32_t ids = steps[at].ids + 1;
    const size_t most = std::min(kLongestPart, text.size() - at);
    for (uint32_t length = 1; length <= most; ++length) {
      if (ids >= steps[at + length].ids) continue;
      const auto part = parts_.find(text.substr(at, length));
      if (part != parts_.end()) {
        steps[at + length] = {ids, length, {part->second, 0}};
      } else if (length == 1) {
        steps[at + 1] = {ids, 1, {kNoPhrase, static_cast<uint8_t>(text[at])}};
      }
    }
  }
  for (size_t at = text.size(); at > 0; at -= steps[at].length) out.push_back(steps[at].piece);
  std::reverse(out.begin(), out.end());
  return out;
}

Spelling spell_words(const Words& words, const std::vector<Phrase>& phrases, uint64_t step) {
  std::vector<bool> wanted(words.texts.size(), step == 1);
  for (uint64_t row = 0; step > 1 && row < words.rows(); row += step) {
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
  const uint64_t count = words_.row_starts[row + 1] - first;
  const uint32_t* sequence = words_.sequence.data() + first;
  steps_.resize(count + 1);
  const auto spelled = [&](uint32_t word) {
    return speller_.is_phrase(word) ? 0 : static_cast<uint32_t>(speller_.pieces(word).size());
  };
  find_steps(table_.view(), sequence, count, spelled, steps_.data());
  pieces_.clear();
  for (uint64_t i = count; i > 0; i -= steps_[i].length()) {
    if (steps_[i].phrase() != Step::kSpelled) {
      pieces_.push_back({steps_[i].phrase(), 0});
      continue;
    }
    const std::vector<Piece>& letters = speller_.pieces(sequence[i - 1]);
    pieces_.insert(pieces_.end(), letters.rbegin(), letters.rend());
  }
  std::reverse(pieces_.begin(), pieces_.end());
  return pieces_;
}

std::vector<Phrase> choose_phrases(const Words& words, double scale, Effort effort) {
  return choose_phrases(words, scale, effort, [&](const std::vector<Phrase>& phrases, uint64_t step) {
    RowParser parser(words, phrases);
    Uses uses;
    uses.counts.resize(phrases.size());
    for (uint64_t row = 0; row < words.rows(); row += step) {
      const std::vector<Piece>& pieces = parser.parse(row);
      uses.ids += pieces.size();
      for (const Piece& piece : pieces) {
        if (piece.phrase != kNoPhrase) ++uses.counts[piece.phrase];
      }
    }
    return uses;
  });
}

std::vector<Phrase> choose_phrases(const Words& words, double scale, Effort effort, const CountUses& count_uses) {
  if (words.sequence.empty()) return {};
  const RowSet few_rows = rows_of_about(words, kWordsToTrySizes, scale);
  const Chooser few(words, few_rows, count_uses);
  // Room for an eighth of the words at least; larger as long as that makes it smaller.
  const auto of_words = static_cast<uint32_t>(std::bit_width(words.texts.size()));
  uint32_t bits = std::clamp(of_words - std::min(of_words, 3u), kLeastBits, kMostBits);
  double least = few.choose(bits, 1).bytes;
  while (bits < kMostBits && (size_t{1} << bits) < few.candidates()) {
    const double bytes = few.choose(bits + 1, 1).bytes;
    if (bytes >= least) break;
    least = bytes;
    ++bits;
  }
  const uint64_t most_words = effort == Effort::kFast ? 1 << 17 : effort == Effort::kBalanced ? 1 << 19 : ~uint64_t{0};
  const int rounds = effort == Effort::kFast ? 1 : kRounds;
  const RowSet rows = rows_of_about(words, most_words, scale);
  if (rows.step == few_rows.step) return few.choose(bits, rounds).phrases;
  return Chooser(words, rows, count_uses).choose(bits, rounds).phrases;
}

}  // namespace basalt::tokens
