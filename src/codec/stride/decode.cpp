// Bases plus their rows' slope; runs of bases are expanded by their own reader.
#include <cstring>

#include "basalt/core/error.h"
#include "codec/stride/layout.h"
#include "codec/stride/stride.h"
#include "core/dispatch.h"

namespace basalt {

namespace {

template <typename T>
class StrideReader final : public Reader {
 public:
  explicit StrideReader(const NodeView& node)
      : Reader(node.type, node.count), bases_(open_reader(node.children[stride::kBases])) {
    stride::Parameters parameters;
    std::memcpy(&parameters, node.params.data(), sizeof(parameters));
    step_ = static_cast<T>(parameters.step);
  }

  void decode_tile(uint32_t tile, void* out) override {
    bases_->decode_tile(tile, out);
    mark_corrupt(bases_->corrupt());
    auto* values = static_cast<T*>(out);
    const uint32_t rows = rows_in_tile(count(), tile);
    T rise = stride::rise(step_, uint64_t{tile} * kTileRows);
    for (uint32_t i = 0; i < rows; ++i, rise = static_cast<T>(rise + step_))
      values[i] = static_cast<T>(values[i] + rise);
  }
  void gather(std::span<const uint32_t> rows, void* out) override {
    bases_->gather(rows, out);
    mark_corrupt(bases_->corrupt());
    auto* values = static_cast<T*>(out);
    for (size_t i = 0; i < rows.size(); ++i) values[i] = static_cast<T>(values[i] + stride::rise(step_, rows[i]));
  }
  using Reader::decode_tile;
  using Reader::gather;

 private:
  std::unique_ptr<Reader> bases_;
  T step_;
};

}  // namespace

std::unique_ptr<Reader> StrideCodec::open(const NodeView& node) const {
  return dispatch_width(width_of(node.type), [&](auto tag) -> std::unique_ptr<Reader> {
    if constexpr (sizeof(tag) <= 8) return std::make_unique<StrideReader<decltype(tag)>>(node);
    throw Error(ErrorCode::kInternal, "stride holds integers of up to 64 bits");
  });
}

}  // namespace basalt
