#include "bench/columns/texts.h"

#include <fmt/format.h>

#include <numeric>

#include "basalt/core/error.h"
#include "basalt/sql/session.h"
#include "gen/random.h"
#include "gen/ssb_words.h"

namespace basalt::bench {
namespace {

Texts customer_names(uint64_t bytes) {
  Texts texts;
  for (uint64_t row = 1; texts.bytes() < bytes; ++row) texts.add(fmt::format("Customer#{:09}", row));
  return texts;
}

// As lineitem has them; there are no others for tables above scale 1, only repetitions.
Texts line_comments(uint64_t bytes) {
  constexpr double kBytesAtScale1 = 159e6;
  Session session;
  session.generate_tpch(std::clamp(static_cast<double>(bytes) / kBytesAtScale1, 0.01, 1.0));
  Texts texts;
  QueryResult result = session.execute("select l_comment from lineitem order by l_orderkey, l_linenumber");
  while (const auto batch = result.next()) {
    for (uint64_t row = 0; row < batch->rows; ++row) texts.add(batch->columns[0].string_at(row));
  }
  return bytes < 2 * texts.bytes() ? texts : shuffled(texts, bytes);
}

std::string capitalized(std::string_view name) {
  std::string out(name);
  bool first = true;
  for (char& letter : out) {
    if (!first && letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    if (first && letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
    first = letter == ' ';
  }
  return out;
}

std::string place_name(const gen::Stream& random, uint64_t place) {
  static constexpr const char* kSyllables[] = {"al",  "ba",  "car", "den", "er",  "fo", "gra", "ham",
                                               "in",  "ko",  "lin", "ma",  "nor", "os", "pur", "ra",
                                               "san", "ton", "ur",  "vil", "wes", "zan"};
  const gen::Stream parts(random.bits(place));
  std::string name;
  for (int64_t left = parts.between(0, 2, 4); left > 0; --left) {
    name += kSyllables[parts.between(static_cast<uint64_t>(left), 0, std::ssize(kSyllables) - 1)];
  }
  return capitalized(name);
}

// "City, Region, Country" as news are tagged with: the n-th most frequent of 2^18 places comes up about 1/n as often as
// the first.
Texts locations(uint64_t bytes) {
  constexpr int64_t kPlaceBits = 18;
  constexpr uint64_t kRegionsOfCountry = 24;
  const gen::Stream scale(1), within(2), countries(3), regions(4), region_names(5), cities(6);
  Texts texts;
  for (uint64_t row = 0; texts.bytes() < bytes; ++row) {
    const int64_t least = int64_t{1} << scale.between(row, 0, kPlaceBits - 1);
    const auto place = static_cast<uint64_t>(within.between(row, least, 2 * least - 1));
    const uint64_t country = countries.bits(place) % gen::kNations.size();
    const uint64_t region = country * kRegionsOfCountry + regions.bits(place) % kRegionsOfCountry;
    texts.add(fmt::format("{}, {}, {}", place_name(cities, place), place_name(region_names, region),
                          capitalized(gen::kNations[country].name)));
  }
  return texts;
}

}  // namespace

Texts shuffled(const Texts& texts, uint64_t bytes) {
  std::vector<uint64_t> order(texts.rows());
  std::iota(order.begin(), order.end(), 0);
  Texts out;
  uint64_t repetition = 0;
  do {
    const gen::Stream random(repetition++);
    for (size_t left = order.size(); left > 1; --left) {
      std::swap(order[left - 1], order[static_cast<size_t>(random.between(left, 0, static_cast<int64_t>(left) - 1))]);
    }
    for (const uint64_t row : order) out.add(texts.at(row));
  } while (out.bytes() + texts.bytes() <= bytes);
  return out;
}

std::span<const MadeColumn> made_columns() {
  static constexpr MadeColumn kColumns[] = {
      {"c_name", customer_names}, {"l_comment", line_comments}, {"locations", locations}};
  return kColumns;
}

}  // namespace basalt::bench
