// Ranges of floats asked by comparisons of floats give what their keys say.
#include "core/float_key.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace basalt {
namespace {

template <typename Float, typename Bits>
void expect_ranges() {
  using Limits = std::numeric_limits<Float>;
  std::vector<Float> values = {0,          Limits::denorm_min(), Limits::min(),     1,
                               Float{1.5}, Limits::max(),        Limits::infinity()};
  const size_t positive = values.size();
  for (size_t i = 0; i < positive; ++i) values.push_back(-values[i]);
  values.push_back(Limits::quiet_NaN());
  values.push_back(-Limits::quiet_NaN());
  std::vector<int64_t> keys = {std::numeric_limits<int64_t>::min(), -kNanKey, kNanKey, kNanKey - 1};
  for (const Float value : values) {
    for (const int64_t beside : {-1, 0, 1}) {
      if (!std::isnan(value)) keys.push_back(float_key(value) + beside);
    }
  }
  for (const int64_t first : keys) {
    for (const int64_t last : keys) {
      const FloatKeyRange<Bits> range(first, last);
      for (const Float value : values) {
        const int64_t key = float_key(value);
        EXPECT_EQ(range.holds(value), key >= first && key <= last) << value << " from " << first << " to " << last;
      }
    }
  }
}

TEST(FloatKey, RangesOfDoubles) { expect_ranges<double, uint64_t>(); }
TEST(FloatKey, RangesOfFloats) { expect_ranges<float, uint32_t>(); }

}  // namespace
}  // namespace basalt
