// Integers of one type as integers of another.
#include <array>

#include "codec/column/column.h"
#include "codec/column/layout.h"
#include "core/dispatch.h"

namespace basalt {

namespace {

// S has the sign of the source, T only the width.
template <typename T, typename S>
class ColumnReader final : public Reader {
 public:
  explicit ColumnReader(const NodeView& node)
      : Reader(node.type, node.count), source_(open_reader(node.children[column::kSource])) {}

  void decode_tile(uint32_t tile, void* out) override {
    std::array<S, kTileRows> rows;
    source_->decode_tile(tile, rows.data());
    convert(rows.data(), rows_in_tile(count(), tile), static_cast<T*>(out));
  }
  void gather(std::span<const uint32_t> rows, void* out) override {
    std::vector<S> values(rows.size());
    source_->gather(rows, values.data());
    convert(values.data(), rows.size(), static_cast<T*>(out));
  }
  using Reader::decode_tile;
  using Reader::gather;

 private:
  void convert(const S* from, size_t rows, T* to) {
    for (size_t i = 0; i < rows; ++i) to[i] = static_cast<T>(from[i]);
    mark_corrupt(source_->corrupt());
  }

  std::unique_ptr<Reader> source_;
};

}  // namespace

std::unique_ptr<Reader> ColumnCodec::open(const NodeView& node) const {
  return dispatch_width(width_of(node.type), [&](auto to) {
    return dispatch_typed(source_, [&](auto from) -> std::unique_ptr<Reader> {
      if constexpr (sizeof(to) <= 8 && sizeof(from) <= 8) {
        return std::make_unique<ColumnReader<decltype(to), decltype(from)>>(node);
      } else {
        return nullptr;  // neither is accepted
      }
    });
  });
}

}  // namespace basalt
