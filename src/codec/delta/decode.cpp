// Running sums from a tile's checkpoint.
#include "codec/checks.h"
#include "codec/delta/delta.h"
#include "codec/delta/layout.h"
#include "core/dispatch.h"

namespace basalt {

namespace {

template <typename T>
class DeltaReader final : public Reader {
 public:
  explicit DeltaReader(const NodeView& node)
      : Reader(node.type, node.count),
        checkpoints_(stream_as<T>(node, delta::kCheckpoints)),
        deltas_(open_reader(node.children[delta::kDeltas])) {}

  void decode_tile(uint32_t tile, void* out) override {
    auto* values = static_cast<T*>(out);
    deltas_->decode_tile(tile, out);
    mark_corrupt(deltas_->corrupt());
    T sum = checkpoints_[tile];
    values[0] = sum;
    const uint32_t rows = rows_in_tile(count(), tile);
    for (uint32_t i = 1; i < rows; ++i) {
      sum = static_cast<T>(sum + values[i]);
      values[i] = sum;
    }
  }
  using Reader::decode_tile;

 private:
  const T* checkpoints_;
  std::unique_ptr<Reader> deltas_;
};

}  // namespace

std::unique_ptr<Reader> DeltaCodec::open(const NodeView& node) const {
  return dispatch_width(width_of(node.type), [&](auto tag) -> std::unique_ptr<Reader> {
    return std::make_unique<DeltaReader<decltype(tag)>>(node);
  });
}

}  // namespace basalt
