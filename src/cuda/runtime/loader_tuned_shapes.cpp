// See tuned_shapes.h. Part of libbasalt, so that it is tested without a GPU.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <sstream>
#include <vector>

#include "cuda/runtime/kernel_cache.h"
#include "cuda/runtime/tuned_shapes.h"

namespace basalt::cuda {

namespace {

constexpr uint32_t kMostWarpPlaces = 4;  // 1, 2, 4, 8
constexpr uint32_t kTilePlaces = 5;      // 1, 2, 4, 8, 16

uint32_t place_of_power(uint32_t value) { return static_cast<uint32_t>(std::bit_width(value)) - 1; }

bool is_place(uint32_t value, uint32_t places) { return std::has_single_bit(value) && place_of_power(value) < places; }

uint64_t hash_of(const std::string& source) { return XXH3_64bits(source.data(), source.size()); }

std::string file_of(std::string gpu) {
  std::ranges::replace_if(
      gpu, [](unsigned char c) { return std::isalnum(c) == 0; }, '-');
  return "shapes-" + gpu + ".txt";
}

std::map<uint64_t, LaunchShape> stored_shapes(const std::string& file) {
  std::vector<char> text;
  return load_cached(file, text) ? parse_shapes({text.data(), text.size()}) : std::map<uint64_t, LaunchShape>();
}

}  // namespace

TunedShapes::TunedShapes(std::string gpu) : file_(file_of(std::move(gpu))), shapes_(stored_shapes(file_)) {}

LaunchShape TunedShapes::of(const std::string& source) const {
  const std::lock_guard lock(mutex_);
  const auto found = shapes_.find(hash_of(source));
  return found == shapes_.end() ? LaunchShape() : found->second;
}

void TunedShapes::set(const std::string& source, LaunchShape shape) {
  const std::lock_guard lock(mutex_);
  // What other processes have stored since is newer than what was read before.
  std::map<uint64_t, LaunchShape> all = stored_shapes(file_);
  all.merge(shapes_);
  shapes_ = std::move(all);
  shapes_[hash_of(source)] = shape;
  const std::string text = shapes_text(shapes_);
  store_cached(file_, {text.begin(), text.end()});
}

std::vector<SearchAxis> shape_axes(uint32_t most_warps, LaunchShape start) {
  // The last place means as many as there is room for.
  const auto places =
      std::min(static_cast<uint32_t>(std::bit_width(std::max(most_warps, 1u) - 1)) + 1, kMostWarpPlaces);
  return {{places, std::min(place_of_power(start.warps), places - 1)}, {kTilePlaces, place_of_power(start.tiles)}};
}

LaunchShape shape_at(const SearchPlace& place) { return {1u << place.at(0), 1u << place.at(1)}; }

std::string shapes_text(const std::map<uint64_t, LaunchShape>& shapes) {
  std::string out;
  for (const auto& [hash, shape] : shapes) {
    out += std::to_string(hash) + " " + std::to_string(shape.warps) + " " + std::to_string(shape.tiles) + "\n";
  }
  return out;
}

std::map<uint64_t, LaunchShape> parse_shapes(std::string_view text) {
  std::map<uint64_t, LaunchShape> out;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    uint64_t hash = 0;
    LaunchShape shape;
    if (!(words >> hash >> shape.warps >> shape.tiles)) continue;
    if (is_place(shape.warps, kMostWarpPlaces) && is_place(shape.tiles, kTilePlaces)) out[hash] = shape;
  }
  return out;
}

}  // namespace basalt::cuda
