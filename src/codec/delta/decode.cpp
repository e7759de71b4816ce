// Running sums from a tile's checkpoint.
#include <algorithm>
#include <cstring>

#include "codec/checks.h"
#include "codec/delta/delta.h"
#include "codec/delta/layout.h"
#include "core/dispatch.h"

namespace basalt {

namespace {

// Running sums in place; `values` has room for a whole tile.
template <typename T>
void add_up(T* values, uint32_t rows) {
  T sum = 0;
#pragma GCC unroll 8
  for (uint32_t i = 0; i < rows; ++i) {
    sum = static_cast<T>(sum + values[i]);
    values[i] = sum;
  }
}

// Four at a time. What is before them is added last, so that it waits for one addition only.
void add_up(uint32_t* values, uint32_t rows) {
  using Four = uint32_t __attribute__((vector_size(16)));
  constexpr Four kZero = {};
  std::fill(values + rows, values + (rows + 3) / 4 * 4, 0u);  // which nobody has written
  Four before = {};
  for (uint32_t i = 0; i < rows; i += 4) {
    Four sums;
    std::memcpy(&sums, values + i, sizeof(sums));
    sums += __builtin_shufflevector(kZero, sums, 0, 4, 5, 6);
    sums += __builtin_shufflevector(kZero, sums, 0, 1, 4, 5);
    const Four out = sums + before;
    std::memcpy(values + i, &out, sizeof(out));
    before += __builtin_shufflevector(sums, sums, 3, 3, 3, 3);
  }
}

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
    values[0] = checkpoints_[tile];
    add_up(values, rows_in_tile(count(), tile));
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
