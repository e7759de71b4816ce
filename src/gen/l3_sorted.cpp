// Sorted keys: linear and normal by their formulas; books and planet as sums of gaps whose size and noise are those of
// the originals.
#include <algorithm>

#include "gen/l3_source.h"

namespace basalt::gen {
namespace {

// floor((2^32 − 1)·i / (n − 1)).
class Linear {
 public:
  explicit Linear(uint64_t rows) : last_(rows > 1 ? rows - 1 : 1) {}
  uint64_t next() { return 0xFFFFFFFFu * row_++ / last_; }  // fits 64 bits: fewer than 2^32 rows

 private:
  uint64_t last_, row_ = 0;
};

// Normal quantiles of (i + 1)/(n + 1), scaled so that they reach from 0 to 2^32 − 1.
class Normal {
 public:
  explicit Normal(uint64_t rows)
      : parts_(static_cast<double>(rows + 1)), low_(at(1)), range_(rows > 1 ? sub(at(rows), low_) : 1) {}
  uint64_t next() { return static_cast<uint64_t>(mul(div(sub(at(++row_), low_), range_), 4294967295.0)); }

 private:
  double at(uint64_t row) const { return normal_quantile(div(static_cast<double>(row), parts_)); }
  double parts_, low_, range_;
  uint64_t row_ = 0;
};

// 200 million keys below 2^32: gaps of 17 on average, log-normal, around a level that changes every few thousand keys.
class Books {
 public:
  uint64_t next() {
    if (left_-- == 0) {
      left_ = draws_.between(1000, 8000) - 1;
      level_ = 17 * level_spread_(draws_.bits());
    }
    key_ += std::max<uint64_t>(1, gap_spread_.scaled(draws_.bits(), level_));
    return key_;
  }

 private:
  Draws draws_{1};
  Quantiles level_spread_ = lognormal_quantiles(0.6), gap_spread_ = lognormal_quantiles(0.55);
  uint64_t left_ = 0, level_ = 0, key_ = 0;
};

// Identifiers of map objects: gaps grow with time, so that the keys drift like a parabola. In 23 % of the zones objects
// were imported in blocks: small gaps with rare leaps of any size.
class Planet {
 public:
  uint64_t next() {
    if (left_-- == 0) {
      left_ = draws_.between(1000, 6000) - 1;
      leaping_ = draws_.between(1, 100) <= 23;
      level_ = (150 + 300 * row_ / 200'000'000) * draws_.between(45'000, 92'000);
    }
    ++row_;
    const uint64_t random = draws_.bits();
    if (leaping_) {
      key_ += 1 + (Draws::leaps(random) ? draws_.between_powers(8, 17) : random & 7);
    } else {
      key_ += (level_ * (16'384 + (random >> 40 & 0x1FFFF) * 3 / 4) + (uint64_t{1} << 31)) >> 32;  // 0.25 to 1.75 times
    }
    return key_;
  }

 private:
  Draws draws_{2};
  uint64_t left_ = 0, level_ = 0, row_ = 0, key_ = 20'000'000;
  bool leaping_ = false;
};

}  // namespace

std::unique_ptr<L3Source> make_sorted_source(std::string_view set, uint64_t rows) {
  if (set == "linear") return source_of(Linear(rows));
  if (set == "normal") return source_of(Normal(rows));
  if (set == "books") return source_of(Books());
  if (set == "planet") return source_of(Planet());
  return nullptr;
}

}  // namespace basalt::gen
