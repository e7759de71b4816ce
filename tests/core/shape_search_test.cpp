// The search for launch shapes finds what trying all of them finds, with few measurements.
#include "core/shape_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace basalt {
namespace {

// Times that fall and rise along each axis, the same way wherever the others are.
class Valley {
 public:
  Valley(std::vector<SearchAxis> axes, std::mt19937_64& random) : axes_(std::move(axes)) {
    for (const SearchAxis& axis : axes_) {
      const auto bottom = static_cast<int>(random() % axis.values);
      std::vector<double> factors(axis.values, 1);
      std::uniform_real_distribution<double> slope(1.001, 1.6);
      for (int i = bottom + 1; i < static_cast<int>(axis.values); ++i) factors[i] = factors[i - 1] * slope(random);
      for (int i = bottom - 1; i >= 0; --i) factors[i] = factors[i + 1] * slope(random);
      factors_.push_back(factors);
    }
  }
  const std::vector<SearchAxis>& axes() const { return axes_; }
  MeasurePlace measure() {
    return [this](const SearchPlace& place) {
      ++probes_;
      double seconds = 1e-3;
      for (size_t i = 0; i < place.size(); ++i) seconds *= factors_[i].at(place[i]);
      return seconds;
    };
  }
  uint32_t probes() const { return probes_; }

 private:
  std::vector<SearchAxis> axes_;
  std::vector<std::vector<double>> factors_;
  uint32_t probes_ = 0;
};

TEST(ShapeSearch, FindsTheFastestOfValleysWithTenProbes) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    // The axes of a decoder, from where it is launched untuned.
    Valley valley({{4, 3}, {5, 0}}, random);
    const SearchResult all = search_all(valley.axes(), valley.measure());
    const uint32_t tried = valley.probes();
    EXPECT_EQ(tried, 20u);
    const SearchResult found = search_downhill(valley.axes(), valley.measure());
    EXPECT_LE(valley.probes() - tried, kMostProbes);
    EXPECT_EQ(found.probes, valley.probes() - tried);
    EXPECT_LE(found.seconds, all.seconds * 1.03);
    EXPECT_EQ(found.start_seconds, all.start_seconds);
    EXPECT_EQ(valley.measure()(found.place), found.seconds);
  }
}

TEST(ShapeSearch, NeverProbesMoreThanItMay) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 500; ++round) {
    // The published axes: threads, cooperating threads, iterations.
    Valley valley({{6, 3}, {11, 5}, {5, 2}}, random);
    const auto most = static_cast<uint32_t>(1 + random() % 14);
    const SearchResult found = search_downhill(valley.axes(), valley.measure(), most);
    EXPECT_LE(valley.probes(), most);
    EXPECT_LE(found.seconds, found.start_seconds);
  }
}

TEST(ShapeSearch, ValleysThatTurnAreFollowed) {
  // The best place on the second axis depends on the first one.
  const MeasurePlace measure = [](const SearchPlace& place) {
    const double along = std::abs(static_cast<double>(place[0]) - 2), across = static_cast<double>(place[1]) - place[0];
    return 1 + 0.2 * along + 0.1 * across * across;
  };
  const std::vector<SearchAxis> axes = {{4, 1}, {5, 0}};
  EXPECT_EQ(search_downhill(axes, measure).place, (SearchPlace{2, 2}));
}

TEST(ShapeSearch, StaysWhereNothingIsMuchFaster) {
  const MeasurePlace flat = [](const SearchPlace& place) { return 1 - 0.001 * place[0]; };
  const std::vector<SearchAxis> axes = {{8, 2}};
  EXPECT_EQ(search_downhill(axes, flat).place, SearchPlace{2});
}

TEST(ShapeSearch, WhatCannotRunIsNotTaken) {
  const MeasurePlace measure = [](const SearchPlace& place) {
    return place[0] > 3 ? std::numeric_limits<double>::infinity() : 10.0 - place[0];
  };
  const std::vector<SearchAxis> axes = {{8, 1}};
  EXPECT_EQ(search_downhill(axes, measure).place, SearchPlace{3});
}

}  // namespace
}  // namespace basalt
