// Who looked at which page, when, and where they came from: the part of `gen hits` that columns share. Rows are ordered
// as such tables usually are, in parts, by site, then by day, then by visit. Every row is a function of the seed, the
// number of rows and its own number; to know its visit, at most 63 rows before it are looked at.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gen/random.h"

namespace basalt::gen {

// An address, a title or where a visitor came from, as a number that a text is made of: 0 is the empty text.
namespace page_key {
constexpr uint64_t kPage = uint64_t{1} << 62, kSearch = uint64_t{2} << 62, kGoogle = uint64_t{1} << 61;
constexpr uint64_t page(uint64_t site, uint64_t number) { return kPage | site << 40 | number; }
constexpr uint64_t search(uint64_t engine, uint64_t phrase) { return kSearch | engine << 40 | phrase; }
constexpr bool is_search(uint64_t key) { return key >> 63 != 0; }
constexpr uint64_t upper(uint64_t key) { return (key >> 40) & 0x1FFFFF; }  // the site or the search engine
constexpr uint64_t lower(uint64_t key) { return key & 0xFFFFFFFFFF; }      // the page or the phrase
}  // namespace page_key

// What brought a visitor to a page.
enum class HitSource : uint64_t { kDirect, kInside, kLink, kSearch, kAdvertisement };

// Some rows one after the other, field by field.
struct HitRows {
  static constexpr size_t kMost = 4096;
  template <typename T>
  using Values = std::array<T, kMost>;

  size_t count = 0;
  Values<uint64_t> row;                   // its number in the table
  Values<uint64_t> site;                  // from 0, see HitWorld
  Values<uint64_t> visit, user, address;  // random bits, the same for the same one
  Values<int64_t> time;                   // seconds since 1970
  Values<uint64_t> url, referer, title;   // see page_key
  Values<uint64_t> phrase;                // 0: nothing was searched for
  Values<HitSource> source;
};

struct HitSite {
  int64_t id;
  uint64_t pages, titles;  // how many there are to choose from
  uint64_t before;         // rows of sites before it, in 2^40-ths of a part
};

// The sites, and how many of each thing there are in a table of so many rows.
class HitWorld {
 public:
  HitWorld(uint64_t rows, uint64_t seed);

  uint64_t rows() const { return rows_; }
  uint64_t site_count() const { return sites_.size() - 1; }
  const HitSite& site(uint64_t index) const { return sites_[index]; }
  static constexpr uint64_t kPlantedIndex = 1;  // of the site that queries ask for
  static bool is_planted(uint64_t site) { return site == kPlantedIndex; }
  uint64_t planted_links() const { return planted_links_; }  // chance() of rows of the planted site
  // Streams of columns are told apart by their names.
  Stream stream(uint64_t number) const { return Stream(mix(seed_ + 0x68697473) + number); }

 private:
  friend class HitSequence;
  static constexpr uint32_t kDays = 31;
  using Days = std::array<uint64_t, kDays + 1>;  // rows before each day, in 2^40-ths

  uint64_t rows_, seed_, parts_;
  uint64_t users_, addresses_, phrases_;
  uint64_t google_address_, google_title_, planted_home_, planted_referer_, planted_links_;
  std::vector<HitSite> sites_;  // by id; one more behind the last
  Days days_, planted_days_;
  std::array<uint64_t, 8> planted_blocks_;
};

// All rows from one on.
class HitSequence {
 public:
  HitSequence(const HitWorld& world, uint64_t begin);
  // At most HitRows::kMost, and not beyond the last row.
  void next(HitRows& out, size_t count);

 private:
  void find_site();
  void enter_site();
  void start_visit();
  void step();
  uint64_t part_begin(uint64_t part) const;
  uint64_t site_begin(uint64_t site) const;

  const HitWorld& world_;
  Stream breaks_, visits_, users_, user_keys_, addresses_, address_keys_, clocks_, landings_, phrases_, pages_,
      googles_, details_;
  uint64_t row_ = 0;
  uint64_t part_ = 0, part_begin_ = 0, part_end_ = 0;
  uint64_t site_ = 0, site_begin_ = 0, site_end_ = 0;
  uint64_t visit_begin_ = 0, visit_ = 0, user_ = 0, address_ = 0, phrase_ = 0, landing_key_ = 0;
  int64_t midnight_ = 0, visit_second_ = 0;
  HitSource landing_ = HitSource::kDirect, source_ = HitSource::kDirect;
  uint64_t url_ = 0, title_ = 0, referer_ = 0;
};

// The upper half of the product.
constexpr uint64_t high_product(uint64_t a, uint64_t b) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(a) * b) >> 64);
}
// `uniform` has 64 random bits: a number below `count`, small ones more often. The k-th is about k^(1 / Power - 1) as
// frequent as the first.
template <int Power>
constexpr uint64_t skewed(uint64_t uniform, uint64_t count) {
  uint64_t power = uniform;
  for (int i = 1; i < Power; ++i) power = high_product(power, uniform);
  return high_product(power, count);
}

}  // namespace basalt::gen
