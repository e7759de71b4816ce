// Launch shapes that were found fastest on a GPU (`basalt tune`), by the source of the kernel. They lie beside the
// compiled kernels, a file for each kind of GPU. What is not there is launched as LaunchShape() says.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "basalt/cuda/backend.h"
#include "core/shape_search.h"

namespace basalt::cuda {

class TunedShapes {
 public:
  // What is kept for this kind of GPU; nothing where there is no cache.
  explicit TunedShapes(std::string gpu);

  LaunchShape of(const std::string& source) const;
  // Keeps it on disk, too, where there is a cache.
  void set(const std::string& source, LaunchShape shape);

 private:
  std::string file_;
  mutable std::mutex mutex_;
  std::map<uint64_t, LaunchShape> shapes_;
};

// The shapes as axes: warps, then tiles. A kernel has room for so many warps.
std::vector<SearchAxis> shape_axes(uint32_t most_warps, LaunchShape start);
LaunchShape shape_at(const SearchPlace& place);

// Lines of text: the kernel's hash, warps, tiles. Lines that say something else are left out.
std::string shapes_text(const std::map<uint64_t, LaunchShape>& shapes);
std::map<uint64_t, LaunchShape> parse_shapes(std::string_view text);

}  // namespace basalt::cuda
