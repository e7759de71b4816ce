// Reading the widths off the descriptors of packed tiles.
#include "file/packed_widths.h"

#include <cstring>

#include "codec/packed/layout.h"

namespace basalt::format_v1 {

void add_packed_widths(const NodeView& root, std::vector<uint64_t>& widths) {
  if (root.codec != nullptr && root.codec->holds_packed_tiles() && root.streams.size() == packed::kStreams) {
    const ByteView stream = root.streams[packed::kDescriptors];
    for (size_t at = 0; at + 4 <= stream.size(); at += 4) {
      uint32_t descriptor = 0;
      std::memcpy(&descriptor, stream.data() + at, 4);
      const uint32_t width = packed::descriptor_width(descriptor);
      if (width >= widths.size()) widths.resize(width + 1);
      ++widths[width];
    }
  }
  for (const NodeView& child : root.children) add_packed_widths(child, widths);
}

}  // namespace basalt::format_v1
