// Two arrays added row by row.
#include <array>

#include "codec/sum/layout.h"
#include "codec/sum/sum.h"
#include "core/dispatch.h"

namespace basalt {

namespace {

template <typename T>
class SumReader final : public Reader {
 public:
  explicit SumReader(const NodeView& node)
      : Reader(node.type, node.count),
        residual_(open_reader(node.children[sum::kResidual])),
        source_(open_reader(node.children[sum::kSource])) {}

  void decode_tile(uint32_t tile, void* out) override {
    std::array<T, kTileRows> residual;
    residual_->decode_tile(tile, residual.data());
    source_->decode_tile(tile, out);
    add(residual.data(), rows_in_tile(count(), tile), static_cast<T*>(out));
  }
  void gather(std::span<const uint32_t> rows, void* out) override {
    std::vector<T> residual(rows.size());
    residual_->gather(rows, residual.data());
    source_->gather(rows, out);
    add(residual.data(), rows.size(), static_cast<T*>(out));
  }
  using Reader::decode_tile;
  using Reader::gather;

 private:
  void add(const T* residual, size_t rows, T* to) {
    for (size_t i = 0; i < rows; ++i) to[i] = static_cast<T>(to[i] + residual[i]);
    mark_corrupt(residual_->corrupt() || source_->corrupt());
  }

  std::unique_ptr<Reader> residual_;
  std::unique_ptr<Reader> source_;
};

}  // namespace

std::unique_ptr<Reader> SumCodec::open(const NodeView& node) const {
  return dispatch_width(width_of(node.type), [&](auto tag) -> std::unique_ptr<Reader> {
    return std::make_unique<SumReader<decltype(tag)>>(node);
  });
}

}  // namespace basalt
