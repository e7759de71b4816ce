// Curves: a periodic signal by its formula, and growth along polynomials, logarithms and exponentials whose parameters
// change from block to block.
#include "gen/l3_source.h"

namespace basalt::gen {
namespace {

// (sin(x/60π) + sin(3x/60π)/10)·10^6 plus normal noise of 100, x from 10.
class Cosmos {
 public:
  uint64_t next() {
    const double angle = div(static_cast<double>(x_++), 188.49555921538757);
    const double wave = add(sine(angle), mul(0.1, sine(mul(3, angle))));
    return static_cast<uint64_t>(to_integer(add(mul(wave, 1e6), mul(100, draws_.normal()))));
  }

 private:
  Draws draws_{30};
  uint64_t x_ = 10;
};

// Pieces of 500 rows, in turn a parabola or cubic and a logarithm, each from where the last one ended.
class Polylog {
 public:
  uint64_t next() {
    if (row_ == kPiece) begin_piece();
    const double share = logarithm_ ? mul(natural_log(static_cast<double>(row_ + 1)), 1 / 6.214608098422191)  // ln 500
                                    : power(div(static_cast<double>(row_), kPiece));
    ++row_;
    return start_ + static_cast<uint64_t>(mul(rise_, share));
  }

 private:
  static constexpr uint64_t kPiece = 500;
  double power(double u) const { return cubic_ ? mul(mul(u, u), u) : mul(u, u); }
  void begin_piece() {
    start_ += static_cast<uint64_t>(rise_);
    logarithm_ = !logarithm_;
    cubic_ = draws_.one_in(2);
    rise_ = logarithm_ ? draws_.between_logs(15, 300) : draws_.between_logs(100, 1200);
    row_ = 0;
  }
  Draws draws_{31};
  uint64_t row_ = kPiece, start_ = 1000;
  double rise_ = 0;
  bool logarithm_ = true, cubic_ = false;
};

// Growth that gets faster (or slower) by a constant factor per row, each step 50 to 150 % of what the curve says.
class Exp {
 public:
  uint64_t next() {
    if (left_-- == 0) begin_block();
    slope_ = mul(slope_, factor_);
    value_ += fixed_point(mul(slope_, add(0.5, draws_.unit())), kFraction);
    return value_ >> kFraction;
  }

 private:
  static constexpr uint32_t kFraction = 16;
  void begin_block() {
    left_ = draws_.between(2048, 16'384);
    const double growth = add(0.5, mul(2.5, draws_.unit()));
    const double low = draws_.one_in(50) ? 0.01 : draws_.between_logs(4, 80);
    const bool slowing = draws_.one_in(2);
    slope_ = slowing ? mul(low, exponential(growth)) : low;
    factor_ = exponential(div(slowing ? -growth : growth, static_cast<double>(left_)));
    --left_;
  }
  Draws draws_{32};
  uint64_t left_ = 0, value_ = uint64_t{1000} << kFraction;
  double slope_ = 0, factor_ = 1;
};

// Cubics that rise and fall: per block the slope is a parabola through three random slopes, each step 50 to 150 % of
// it.
class Poly {
 public:
  uint64_t next() {
    if (left_-- == 0) begin_block();
    const double step = mul(slope_, add(0.5, draws_.unit()));
    slope_ = add(slope_, change_);
    change_ = add(change_, bend_);
    value_ += static_cast<uint64_t>(to_integer(mul(step, 1 << kFraction)));  // wraps downwards too
    return value_ >> kFraction;
  }

 private:
  static constexpr uint32_t kFraction = 16;
  double random_slope() { return mul(steepest_, sub(mul(2, draws_.unit()), 1)); }
  void begin_block() {
    left_ = draws_.between(2048, 16'384);
    steepest_ = draws_.one_in(33) ? 0.02 : draws_.between_logs(64, 1024);
    const double first = random_slope(), middle = random_slope(), last = random_slope();
    // slope(u) = first + b·u + c·u², u = row/rows, as differences from row to row.
    const double c = mul(2, add(sub(first, mul(2, middle)), last)), b = sub(sub(last, first), c);
    const double h = div(1, static_cast<double>(left_));
    slope_ = first;
    change_ = add(mul(b, h), mul(c, mul(h, h)));
    bend_ = mul(mul(2, c), mul(h, h));
    --left_;
  }
  Draws draws_{33};
  uint64_t left_ = 0, value_ = uint64_t{1} << (32 + kFraction);
  double steepest_ = 0, slope_ = 0, change_ = 0, bend_ = 0;
};

}  // namespace

std::unique_ptr<L3Source> make_curve_source(std::string_view set, uint64_t /*rows*/) {
  if (set == "cosmos") return source_of(Cosmos());
  if (set == "polylog") return source_of(Polylog());
  if (set == "exp") return source_of(Exp());
  if (set == "poly") return source_of(Poly());
  return nullptr;
}

}  // namespace basalt::gen
