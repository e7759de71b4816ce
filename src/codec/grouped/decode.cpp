// Taking groups apart. A tile of groups serves several tiles of rows and is kept for them.
#include <cstring>

#include "basalt/core/error.h"
#include "codec/grouped/grouped.h"
#include "codec/grouped/layout.h"
#include "core/dispatch.h"

namespace basalt {

namespace {

template <typename T>
class GroupedReader final : public Reader {
 public:
  explicit GroupedReader(const NodeView& node)
      : Reader(node.type, node.count), groups_(open_reader(node.children[grouped::kGroups])) {
    std::memcpy(&parameters_, node.params.data(), sizeof(parameters_));
  }

  void decode_tile(uint32_t tile, void* out) override {
    if (tile / parameters_.values != loaded_) {
      loaded_ = tile / parameters_.values;
      groups_->decode_tile(loaded_, tile_of_groups_);
      mark_corrupt(groups_->corrupt());
    }
    const uint64_t* groups = tile_of_groups_ + tile % parameters_.values * (kTileRows / parameters_.values);
    auto* values = static_cast<T*>(out);
    const auto reference = static_cast<T>(parameters_.reference);
    const uint32_t rows = rows_in_tile(count(), tile);
    for (uint32_t row = 0; row < rows; row += parameters_.values) {
      uint64_t group = *groups++;
      const uint32_t end = row + parameters_.values < rows ? row + parameters_.values : rows;
      for (uint32_t i = row; i < end; ++i, group >>= parameters_.bits) {
        values[i] = static_cast<T>(reference + static_cast<T>(grouped::value_in(group, 0, parameters_.bits)));
      }
    }
  }
  using Reader::decode_tile;

 private:
  std::unique_ptr<Reader> groups_;
  grouped::Parameters parameters_;
  uint32_t loaded_ = ~0u;
  uint64_t tile_of_groups_[kTileRows];
};

}  // namespace

std::unique_ptr<Reader> GroupedCodec::open(const NodeView& node) const {
  return dispatch_width(width_of(node.type), [&](auto tag) -> std::unique_ptr<Reader> {
    if constexpr (sizeof(tag) <= 8) return std::make_unique<GroupedReader<decltype(tag)>>(node);
    throw Error(ErrorCode::kInternal, "grouped holds integers of up to 64 bits");
  });
}

}  // namespace basalt
