// Unpacking tiles and single rows.
#include <algorithm>

#include "codec/checks.h"
#include "codec/packed/layout.h"
#include "codec/packed/packed.h"
#include "core/dispatch.h"
#include "core/packing.h"

namespace basalt {

namespace {

template <typename T>
class PackedReader final : public Reader {
 public:
  explicit PackedReader(const NodeView& node)
      : Reader(node.type, node.count),
        references_(stream_as<T>(node, packed::kReferences)),
        descriptors_(stream_as<uint32_t>(node, packed::kDescriptors)),
        words_(stream_as<uint32_t>(node, packed::kWords)) {}

  void decode_tile(uint32_t tile, void* out) override {
    const uint32_t descriptor = descriptors_[tile];
    unpack_tile(words_ + packed::descriptor_word(descriptor), packed::descriptor_width(descriptor), references_[tile],
                static_cast<T*>(out));
  }
  void gather(std::span<const uint32_t> rows, void* out) override {
    auto* to = static_cast<T*>(out);
    for (size_t i = 0; i < rows.size(); ++i) {
      const uint32_t tile = rows[i] / kTileRows;
      const uint32_t descriptor = descriptors_[tile];
      const uint64_t offset = packed_row(words_ + packed::descriptor_word(descriptor),
                                         packed::descriptor_width(descriptor), rows[i] % kTileRows);
      to[i] = static_cast<T>(references_[tile] + static_cast<T>(offset));
    }
  }
  using Reader::decode_tile;
  using Reader::gather;

 private:
  const T* references_;
  const uint32_t* descriptors_;
  const uint32_t* words_;
};

}  // namespace

std::unique_ptr<Reader> PackedCodec::open(const NodeView& node) const {
  return dispatch_width(width_of(node.type), [&](auto tag) -> std::unique_ptr<Reader> {
    return std::make_unique<PackedReader<decltype(tag)>>(node);
  });
}

}  // namespace basalt
