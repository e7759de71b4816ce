// See shape_search.h.
#include "core/shape_search.h"

#include <limits>
#include <map>

namespace basalt {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::infinity();

SearchPlace start_of(std::span<const SearchAxis> axes) {
  SearchPlace out;
  for (const SearchAxis& axis : axes) out.push_back(axis.start);
  return out;
}

// Measures each place once, and none when there are enough.
class Downhill {
 public:
  Downhill(std::span<const SearchAxis> axes, const MeasurePlace& measure, uint32_t most_probes)
      : axes_(axes), measure_(measure), most_probes_(most_probes), best_(start_of(axes)), best_seconds_(at(best_)) {}

  SearchResult run() {
    const SearchPlace start = best_;
    const double start_seconds = best_seconds_;
    SearchPlace before;
    do {
      before = best_;
      for (size_t axis = 0; axis < axes_.size(); ++axis) walk(axis);
    } while (best_ != before && probes() < most_probes_);
    if (best_seconds_ > start_seconds * kWorthMoving) return {start, start_seconds, start_seconds, probes()};
    return {best_, best_seconds_, start_seconds, probes()};
  }

 private:
  uint32_t probes() const { return static_cast<uint32_t>(seconds_.size()); }
  double at(const SearchPlace& place) {
    const auto found = seconds_.find(place);
    if (found != seconds_.end()) return found->second;
    if (probes() >= most_probes_) return kUnknown;
    return seconds_.emplace(place, measure_(place)).first->second;
  }
  // Moves to a neighbour if that is faster.
  bool step(size_t axis, int direction) {
    SearchPlace next = best_;
    if (direction < 0 ? next[axis] == 0 : next[axis] + 1 >= axes_[axis].values) return false;
    next[axis] = direction < 0 ? next[axis] - 1 : next[axis] + 1;
    const double seconds = at(next);
    if (!(seconds < best_seconds_)) return false;
    best_ = next;
    best_seconds_ = seconds;
    return true;
  }
  // Whoever went one way has seen that the other one is slower.
  void walk(size_t axis) {
    const int direction = step(axis, 1) ? 1 : step(axis, -1) ? -1 : 0;
    while (direction != 0 && step(axis, direction)) {
    }
  }

  std::span<const SearchAxis> axes_;
  const MeasurePlace& measure_;
  uint32_t most_probes_;
  std::map<SearchPlace, double> seconds_;
  SearchPlace best_;
  double best_seconds_;
};

}  // namespace

SearchResult search_downhill(std::span<const SearchAxis> axes, const MeasurePlace& measure, uint32_t most_probes) {
  return Downhill(axes, measure, most_probes).run();
}

SearchResult search_all(std::span<const SearchAxis> axes, const MeasurePlace& measure) {
  SearchResult best;
  best.seconds = kUnknown;
  best.place = start_of(axes);
  SearchPlace place(axes.size(), 0);
  for (;;) {
    const double seconds = measure(place);
    ++best.probes;
    if (place == start_of(axes)) best.start_seconds = seconds;
    if (seconds < best.seconds) {
      best.seconds = seconds;
      best.place = place;
    }
    size_t axis = 0;
    while (axis < axes.size() && ++place[axis] == axes[axis].values) place[axis++] = 0;
    if (axis == axes.size()) return best;
  }
}

}  // namespace basalt
