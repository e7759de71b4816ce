// Times of events: sensors that fire in bursts (by its formula), edits of an encyclopedia, samples of a device.
#include "gen/l3_source.h"

namespace basalt::gen {
namespace {

// Nanoseconds. Bursts begin Poisson(10^12) apart; a burst is 1,500 to 2,000 events, Poisson(2·10^6) apart.
class Poisson {
 public:
  uint64_t next() {
    if (left_ == 0) {
      left_ = 2000 - draws_.between(0, 500);
      start_ += draws_.poisson(1e12);
      time_ = start_;
    } else {
      time_ += draws_.poisson(2e6);
    }
    --left_;
    return time_;
  }

 private:
  Draws draws_{10};
  uint64_t left_ = 0, start_ = 0, time_ = 0;
};

// Seconds. About one edit per second, more by day than by night; in a tenth of the zones programs edit, dozens of times
// per second.
class Wiki {
 public:
  uint64_t next() {
    if (left_-- == 0) {
      left_ = draws_.between(500, 6000) - 1;
      pace_ = draws_.one_in(10) ? draws_.between(300, 3000) : draws_.between(40'000, 100'000);
    }
    // How far the time of day is from noon, 0 to 43,200: nights are 1.7 times as slow.
    const uint64_t of_day = (time_ >> Quantiles::kFraction) % 86'400;
    const uint64_t from_noon = of_day < 43'200 ? 43'200 - of_day : of_day - 43'200;
    time_ += (gap_(draws_.bits()) * (pace_ + pace_ * 16 * from_noon / 1'000'000)) >> Quantiles::kFraction;
    return time_ >> Quantiles::kFraction;
  }

 private:
  Draws draws_{11};
  Quantiles gap_ = exponential_quantiles();
  uint64_t left_ = 0, pace_ = 0, time_ = uint64_t{1'000'000'000} << Quantiles::kFraction;
};

// Milliseconds. A period that holds for a while, then another; every sample is up to 24 ms early or late. In a quarter
// of the stretches the period drifts. Between stretches the device pauses, sometimes for days.
class MachineLearning {
 public:
  uint64_t next() {
    if (left_-- == 0) begin_stretch();
    time_ += period_;
    period_ += drift_;
    return (time_ >> kFraction) + draws_.between(0, 48);
  }

 private:
  static constexpr uint32_t kFraction = 20;
  void begin_stretch() {
    left_ = draws_.between(1000, 12'000);
    period_ = draws_.between(64, 1000) << kFraction;
    drift_ = draws_.one_in(4) ? draws_.between(0, period_ / 2) / left_ : 0;  // at most half as long again
    const uint64_t pause = draws_.one_in(32) ? draws_.between(0, 1 << 28) : draws_.between(64, 4000);
    time_ += pause << kFraction;
    --left_;
  }
  Draws draws_{12};
  uint64_t left_ = 0, period_ = 0, drift_ = 0;
  uint64_t time_ = uint64_t{1'300'000'000'000} << kFraction;
};

}  // namespace

std::unique_ptr<L3Source> make_event_source(std::string_view set, uint64_t /*rows*/) {
  if (set == "poisson") return source_of(Poisson());
  if (set == "wiki") return source_of(Wiki());
  if (set == "ml") return source_of(MachineLearning());
  return nullptr;
}

}  // namespace basalt::gen
