// Identifiers: in long runs, with leaps, as places on a map, per user, and in no order at all.
#include <algorithm>
#include <functional>
#include <vector>

#include "gen/l3_source.h"

namespace basalt::gen {
namespace {

// Repositories, each repeated for everything it owns: geometric runs of 110 rows on average, identifiers 200 apart.
class Libio {
 public:
  uint64_t next() {
    if (left_ == 0) {
      if (runs_-- == 0) {
        runs_ = 64;
        mean_ = draws_.between(40, 180);
      }
      left_ = 1 + spread_.scaled(draws_.bits(), mean_ << Quantiles::kFraction);
      id_ += 1 + spread_.scaled(draws_.bits(), uint64_t{200} << Quantiles::kFraction);
    }
    --left_;
    return id_;
  }

 private:
  Draws draws_{20};
  Quantiles spread_ = exponential_quantiles();
  uint64_t left_ = 0, runs_ = 0, mean_ = 0, id_ = 1'000'000;
};

// Users, sorted. In 30 % of the zones they are uniform, else they lie in clumps with leaps between; a few gaps are
// enormous.
class Facebook {
 public:
  uint64_t next() {
    if (left_-- == 0) {
      left_ = draws_.between(1000, 8000) - 1;
      uniform_ = draws_.between(1, 10) <= 3;
      if (draws_.one_in(200)) id_ += uint64_t{1} << draws_.between(36, 44);
    }
    const uint64_t random = draws_.bits();
    if (!uniform_ && Draws::leaps(random)) {
      id_ += draws_.between_powers(11, 19);
    } else {
      const uint64_t mean = uniform_ ? 250 : 24;
      id_ += 1 + spread_.scaled(random << 16, mean << Quantiles::kFraction);
    }
    return id_;
  }

 private:
  Draws draws_{21};
  Quantiles spread_ = exponential_quantiles();
  uint64_t left_ = 0, id_ = 1 << 20;
  bool uniform_ = false;
};

// 800 million places as Morton codes of 58 bits, above 2^62. The map is cut into quarters again and again, the places
// of a square going to its quarters in random shares, until few are left: clusters of clusters, and they come out in
// order.
class Osm {
 public:
  Osm() { squares_.push_back({uint64_t{1} << 62, 800'000'000, 58}); }
  uint64_t next() {
    while (ready_ == 0) open_square();
    return places_[--ready_];
  }

 private:
  static constexpr uint64_t kFew = 4;
  struct Square {
    uint64_t code, places;
    uint32_t bits;  // of the code inside this square
  };
  void open_square() {
    const Square square = squares_.back();
    squares_.pop_back();
    if (square.places <= kFew || square.bits == 0) {
      take_places(square);
      return;
    }
    uint64_t shares[4], total = 0;
    for (uint64_t& share : shares) {
      // No quarter is favoured more than five to one: 256 places then span 36 to 37 bits all along the column.
      share = (1 << 18) + (draws_.bits() >> 44);
      total += share;
    }
    uint64_t left = square.places;
    const uint32_t bits = square.bits - 2;
    for (uint64_t i = 4; i-- > 0;) {  // the first quarter ends on top of the stack
      const auto part = static_cast<unsigned __int128>(square.places) * shares[i] / total;
      const uint64_t places = i == 0 ? left : static_cast<uint64_t>(part);
      left -= places;
      if (places != 0) squares_.push_back({square.code + (i << bits), places, bits});
    }
  }
  void take_places(const Square& square) {
    const uint64_t mask = (uint64_t{1} << square.bits) - 1;
    ready_ = std::min<uint64_t>(square.places, kFew);
    for (uint64_t i = 0; i < ready_; ++i) places_[i] = square.code + (draws_.bits() & mask);
    std::sort(places_.begin(), places_.begin() + static_cast<ptrdiff_t>(ready_), std::greater<>());
    // Only a square of one code has more places than that: they are all alike.
    if (square.places > ready_) squares_.push_back({square.code, square.places - ready_, square.bits});
  }
  Draws draws_{22};
  std::vector<Square> squares_;
  std::array<uint64_t, kFew> places_{};
  uint64_t ready_ = 0;
};

// Films that users rated, ascending per user: about 140, old films (small numbers) far more often than new ones, and
// nothing newer than the user's last visit.
class MovieId {
 public:
  uint64_t next() {
    if (next_ == films_.size()) begin_user();
    return films_[next_++];
  }

 private:
  static constexpr double kFilms = 131'262, kOften = 300;  // the share of a film falls with 1/(number + 300)
  // Number of the film at p of the distribution.
  static double film_at(double p) { return mul(kOften, sub(exponential(mul(p, natural_log(1 + kFilms / kOften))), 1)); }
  void begin_user() {
    const uint64_t count = 20 + spread_.scaled(draws_.bits(), uint64_t{124} << Quantiles::kFraction);
    // Sums of exponential gaps, divided by the last, are sorted uniform draws.
    films_.clear();
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; ++i) films_.push_back(sum += spread_(draws_.bits()));
    sum += spread_(draws_.bits());
    const uint64_t last_visit = draws_.between(uint64_t{30} << 25, (uint64_t{100} << 25) - 1) / 100 << 7;  // of 2^32
    uint64_t smallest = 1;
    for (uint64_t& film : films_) {
      const uint64_t p = film * last_visit / sum;  // of 2^32
      film = std::max(smallest, 1 + (film_(p << 32) >> Quantiles::kFraction));
      smallest = film + 1;
    }
    next_ = 0;
  }
  Draws draws_{23};
  Quantiles spread_ = exponential_quantiles(), film_ = Quantiles(film_at);
  std::vector<uint64_t> films_;
  size_t next_ = 0;
};

// No order: 256 values at a time from a window of 2^38 somewhere below 2^44.
class Medicare {
 public:
  uint64_t next() {
    if ((row_++ & 255) == 0) window_ = draws_.bits() >> 20;
    return window_ + (draws_.bits() >> 26);
  }

 private:
  Draws draws_{24};
  uint64_t row_ = 0, window_ = 0;
};

}  // namespace

std::unique_ptr<L3Source> make_identifier_source(std::string_view set, uint64_t /*rows*/) {
  if (set == "libio") return source_of(Libio());
  if (set == "facebook") return source_of(Facebook());
  if (set == "osm") return source_of(Osm());
  if (set == "movieid") return source_of(MovieId());
  if (set == "medicare") return source_of(Medicare());
  return nullptr;
}

}  // namespace basalt::gen
