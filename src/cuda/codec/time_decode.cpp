// How long whole arrays take to be decoded on the device, all of them together, and in which shape their kernel is
// fastest.
#include "cuda/backend.h"
#include "cuda/codec/timed_arrays.h"

namespace basalt::cuda {

void CudaBackend::require_timed(std::span<const NodeView> arrays) {
  if (arrays.empty()) throw Error(ErrorCode::kInvalidArgument, "there is no array to time");
  std::string reason = why_not_decode(arrays[0]);
  if (reason.empty() && width_of(arrays[0].type) == 0) reason = "strings are not timed";
  if (!reason.empty()) throw Error(ErrorCode::kUnsupported, reason);
  const Tree tree = tree_of(arrays[0]);
  for (const NodeView& array : arrays) {
    if (array.type != arrays[0].type || tree_of(array) != tree) {
      throw Error(ErrorCode::kInvalidArgument, "arrays of several trees are not timed together");
    }
  }
}

DecodeTiming CudaBackend::time_decode(std::span<const NodeView> arrays, bool unfused, int rounds) {
  const std::lock_guard lock(mutex_);
  use_device();
  require_timed(arrays);
  const TimedArrays timed(arrays, unfused, modules_, compute_);
  const double seconds = timed.seconds(ColdCache(compute_), rounds, compute_);
  timed.compare(0, arrays.front(), compute_);
  timed.compare(arrays.size() - 1, arrays.back(), compute_);
  return {seconds, timed.kernels()};
}

TunedDecoder CudaBackend::tune_decoder(std::span<const NodeView> arrays, bool try_all) {
  constexpr int kRounds = 5;
  const std::lock_guard lock(mutex_);
  use_device();
  require_timed(arrays);
  TimedArrays timed(arrays, false, modules_, compute_);
  const auto kernel = timed.generated();
  if (!kernel) throw Error(ErrorCode::kUnsupported, "a precompiled decoder reads it, in a shape of its own");
  const ColdCache cold(compute_);
  const MeasurePlace measure = [&](const SearchPlace& place) {
    timed.set_shape(shape_at(place));
    const double seconds = timed.seconds(cold, kRounds, compute_);
    timed.compare(arrays.size() - 1, arrays.back(), compute_);
    return seconds;
  };
  // From the untuned shape, whatever was found before: the same search each time.
  const std::vector<SearchAxis> axes = shape_axes(kernel->most_warps, LaunchShape());
  const SearchResult found = search_downhill(axes, measure);
  TunedDecoder out;
  out.before = shape_at({axes[0].start, axes[1].start});
  out.before_seconds = found.start_seconds;
  out.found = shape_at(found.place);
  out.found_seconds = found.seconds;
  out.probes = found.probes;
  if (try_all) {
    const SearchResult all = search_all(axes, measure);
    out.fastest = shape_at(all.place);
    out.fastest_seconds = all.seconds;
    out.all_probes = all.probes;
  }
  modules_.shapes().set(kernel->source, out.found);
  return out;
}

}  // namespace basalt::cuda
