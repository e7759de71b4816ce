// Shares of symbols; see the header.
#include "codec/ans/shares.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <queue>

#include "codec/ans/layout.h"

namespace basalt::ans {

namespace {

// A symbol's next slot, or its last, is worth about count / (2 · share ± 1): the derivative of count · log2(share) in
// the middle between both.
struct Offer {
  uint64_t count;
  uint32_t twice_share;
  uint32_t symbol;
};
bool is_worth_less(const Offer& a, const Offer& b) {
  const auto left = static_cast<unsigned __int128>(a.count) * b.twice_share;
  const auto right = static_cast<unsigned __int128>(b.count) * a.twice_share;
  return left != right ? left < right : a.symbol > b.symbol;
}
bool is_worth_more(const Offer& a, const Offer& b) { return is_worth_less(b, a); }

}  // namespace

std::vector<uint32_t> share_out(std::span<const uint64_t> counts, uint32_t bits) {
  const uint64_t rows = std::accumulate(counts.begin(), counts.end(), uint64_t{0});
  std::vector<uint32_t> shares(counts.size(), 0);
  int64_t left = int64_t{1} << bits;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    shares[i] = std::max(1u, static_cast<uint32_t>((static_cast<unsigned __int128>(counts[i]) << bits) / rows));
    left -= shares[i];
  }
  // Rounding down leaves slots, rare symbols take some that others paid for: these go to whom they are worth most, or
  // come from whom they are worth least.
  const auto offer = [&](size_t symbol, bool more) {
    return Offer{counts[symbol], 2 * shares[symbol] + (more ? 1 : -1), static_cast<uint32_t>(symbol)};
  };
  const auto trade = [&](bool more, auto before) {
    std::priority_queue<Offer, std::vector<Offer>, decltype(before)> offers(before);
    for (size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] > 0 && (more || shares[i] > 1)) offers.push(offer(i, more));
    }
    while (left != 0) {
      const uint32_t symbol = offers.top().symbol;
      offers.pop();
      shares[symbol] += more ? 1 : -1;
      left += more ? -1 : 1;
      if (more || shares[symbol] > 1) offers.push(offer(symbol, more));
    }
  };
  if (left > 0) trade(true, is_worth_less);
  if (left < 0) trade(false, is_worth_more);
  return shares;
}

Buffer pack_shares(std::span<const uint32_t> shares) {
  const auto symbols = static_cast<uint32_t>(shares.size());
  std::vector<uint8_t> widths(size_t{table_head_words(symbols)} * 4, 0);
  std::vector<uint32_t> words;
  for (uint32_t group = 0; group < groups_of(symbols); ++group) {
    const auto own = shares.subspan(size_t{group} * kGroup, symbols_in_group(symbols, group));
    const auto width = static_cast<uint32_t>(std::bit_width(*std::max_element(own.begin(), own.end())));
    widths[group] = static_cast<uint8_t>(width);
    const size_t first = words.size();
    words.resize(first + group_words(static_cast<uint32_t>(own.size()), width), 0);
    for (size_t i = 0; i < own.size(); ++i) {
      const size_t bit = i * width;
      const uint64_t shifted = static_cast<uint64_t>(own[i]) << (bit & 31);
      if (width == 0) break;
      words[first + bit / 32] |= static_cast<uint32_t>(shifted);
      if (shifted >> 32 != 0) words[first + bit / 32 + 1] |= static_cast<uint32_t>(shifted >> 32);
    }
  }
  Buffer out;
  out.append(widths.data(), widths.size());
  out.append(words.data(), words.size() * sizeof(uint32_t));
  return out;
}

}  // namespace basalt::ans
