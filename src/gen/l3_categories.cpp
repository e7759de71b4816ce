// Sorted columns of few distinct values: prices that people round, and categories.
#include "gen/l3_source.h"

namespace basalt::gen {
namespace {

// exp(N(ln 300,000; 0.8)), rounded as prices are: to 10,000 more often than to 5,000, 1,000 and 100.
class House {
 public:
  explicit House(uint64_t rows) : spread_(40, rows) {}
  uint64_t next() {
    const double exact = exponential(add(12.611537753638338, mul(0.8, normal_quantile(spread_.next()))));
    const auto cents = static_cast<uint64_t>(mul(exact, 100));
    const uint64_t range = cents / kRange;
    if (range != range_) begin_range(range);
    const uint64_t place = cents % kRange * total_ / kRange;
    while (up_to_[price_] <= place) ++price_;
    return range * (kRange / 100) + price_ * 100;
  }

 private:
  static constexpr uint64_t kRange = 1'000'000;  // cents: 100 prices
  // How often each price of the range is asked for, with some luck.
  void begin_range(uint64_t range) {
    range_ = range;
    price_ = 0;
    total_ = 0;
    for (uint64_t i = 0; i < up_to_.size(); ++i) {
      const uint64_t often = i == 0 ? 3000 : i == 50 ? 1500 : i % 10 == 0 ? 500 : 10;
      up_to_[i] = total_ += often * luck_.between(1, 1000);
    }
  }
  SpreadDraws spread_;
  Draws luck_{41};
  std::array<uint64_t, 100> up_to_{};
  uint64_t range_ = ~uint64_t{0}, price_ = 0, total_ = 0;
};

// round(100·exp(N(0; 0.5))): about 350 distinct values, the large ones rare.
class Adult {
 public:
  explicit Adult(uint64_t rows) : spread_(42, rows) {}
  uint64_t next() {
    return static_cast<uint64_t>(to_integer(mul(100, exponential(mul(0.5, normal_quantile(spread_.next()))))));
  }

 private:
  SpreadDraws spread_;
};

// 16,000 sites, the k-th visited with a share of 1/k.
class Site {
 public:
  explicit Site(uint64_t rows) : spread_(43, rows) {}
  uint64_t next() {
    return static_cast<uint64_t>(exponential(mul(spread_.next(), 9.680406499268875)));  // ln 16,001
  }

 private:
  SpreadDraws spread_;
};

// Half pounds, N(127.08; 11.66) pounds.
class Weight {
 public:
  explicit Weight(uint64_t rows) : spread_(44, rows) {}
  uint64_t next() {
    return static_cast<uint64_t>(to_integer(add(254.16, mul(23.32, normal_quantile(spread_.next())))));
  }

 private:
  SpreadDraws spread_;
};

}  // namespace

std::unique_ptr<L3Source> make_category_source(std::string_view set, uint64_t rows) {
  if (set == "house") return source_of(House(rows));
  if (set == "adult") return source_of(Adult(rows));
  if (set == "site") return source_of(Site(rows));
  if (set == "weight") return source_of(Weight(rows));
  return nullptr;
}

}  // namespace basalt::gen
