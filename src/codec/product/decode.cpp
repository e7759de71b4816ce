// Two arrays multiplied row by row.
#include <array>
#include <cstring>
#include <type_traits>

#include "codec/product/layout.h"
#include "codec/product/product.h"
#include "core/dispatch.h"

namespace basalt {

namespace {

template <typename T>
class ProductReader final : public Reader {
  using U = std::make_unsigned_t<T>;

 public:
  explicit ProductReader(const NodeView& node)
      : Reader(node.type, node.count),
        factor_(open_reader(node.children[product::kFactor])),
        source_(open_reader(node.children[product::kSource])) {
    product::Parameters parameters;
    std::memcpy(&parameters, node.params.data(), sizeof(parameters));
    multiplier_ = static_cast<U>(parameters.multiplier);
    shift_ = parameters.shift;
  }

  void decode_tile(uint32_t tile, void* out) override {
    std::array<U, kTileRows> factors;
    factor_->decode_tile(tile, factors.data());
    source_->decode_tile(tile, out);
    multiply(factors.data(), rows_in_tile(count(), tile), static_cast<U*>(out));
  }
  void gather(std::span<const uint32_t> rows, void* out) override {
    std::vector<U> factors(rows.size());
    factor_->gather(rows, factors.data());
    source_->gather(rows, out);
    multiply(factors.data(), rows.size(), static_cast<U*>(out));
  }
  using Reader::decode_tile;
  using Reader::gather;

 private:
  void multiply(const U* factors, size_t rows, U* to) {
    for (size_t i = 0; i < rows; ++i) {
      to[i] = static_cast<U>(uint64_t{factors[i]} * product::scaled<T>(to[i], multiplier_, shift_));
    }
    mark_corrupt(factor_->corrupt() || source_->corrupt());
  }

  std::unique_ptr<Reader> factor_;
  std::unique_ptr<Reader> source_;
  U multiplier_;
  uint32_t shift_;
};

}  // namespace

std::unique_ptr<Reader> ProductCodec::open(const NodeView& node) const {
  return dispatch_typed(node.type, [&](auto tag) -> std::unique_ptr<Reader> {
    using T = decltype(tag);
    if constexpr (std::is_integral_v<T> && sizeof(T) <= 8) {
      return std::make_unique<ProductReader<T>>(node);
    } else {
      return nullptr;  // not accepted
    }
  });
}

}  // namespace basalt
