// A source, divided by what all its values are multiples of, and the factor of each row.
#include <bit>
#include <cstring>
#include <numeric>
#include <type_traits>

#include "basalt/core/error.h"
#include "codec/child_values.h"
#include "codec/codecs.h"
#include "codec/device_names.h"
#include "codec/integer_types.h"
#include "codec/product/layout.h"
#include "codec/product/product.h"
#include "core/dispatch.h"

namespace basalt {

std::unique_ptr<Codec> make_product() { return std::make_unique<ProductCodec>(); }

bool ProductCodec::accepts(Physical type, bool is_bytes) const { return !is_bytes && fits_word(type); }

std::vector<ChildSlot> ProductCodec::children(Physical type) const { return {{"factor", type}, {"source", type}}; }

namespace {

// Of an odd number, modulo 2^64: each step doubles the bits that are right.
uint64_t inverse_of(uint64_t odd) {
  uint64_t inverse = odd;
  for (int step = 0; step < 6; ++step) inverse *= 2 - odd * inverse;
  return inverse;
}

template <typename T>
uint64_t common_divisor(const T* values, uint64_t count) {
  uint64_t divisor = 0;
  for (uint64_t i = 0; i < count && divisor != 1; ++i) {
    const auto number = static_cast<uint64_t>(values[i]);
    divisor = std::gcd(divisor, values[i] < T{0} ? 0 - number : number);
  }
  return divisor;
}

product::Parameters dividing_by(uint64_t divisor) {
  if (divisor == 0) return {};
  const auto shift = static_cast<uint32_t>(std::countr_zero(divisor));
  return {inverse_of(divisor >> shift), shift, 0};
}

// What the scaled source has to be multiplied by; where there is no such number, the factor before.
template <typename T>
bool find_factors(const T* values, const T* scaled, uint64_t count, T* factors) {
  bool exact = true;
  T last = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const bool overflows = std::is_signed_v<T> && scaled[i] == static_cast<T>(-1);
    if (overflows) {
      last = static_cast<T>(T{0} - static_cast<std::make_unsigned_t<T>>(values[i]));
    } else if (scaled[i] != 0 && values[i] % scaled[i] == 0) {
      last = static_cast<T>(values[i] / scaled[i]);
    } else {
      exact = exact && scaled[i] == 0 && values[i] == 0;
    }
    factors[i] = last;
  }
  return exact;
}

}  // namespace

Node ProductCodec::encode(const Values& values, const Tree& tree, Aims aims) const {
  Node node{this, values.type, values.count, {}, {}, {}};
  Values near = values;
  near.may_miss = true;
  Node source = encode_tree(near, tree.children[product::kSource], aims);
  Buffer scaled = decoded_values(view_of(source));
  Buffer factors(values.count * width_of(values.type));
  product::Parameters parameters;
  bool exact = true;
  dispatch_typed(values.type, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_integral_v<T> && sizeof(T) <= 8) {
      using U = std::make_unsigned_t<T>;
      parameters = dividing_by(common_divisor(scaled.as<T>(), values.count));
      for (uint64_t i = 0; i < values.count; ++i) {
        U& value = scaled.as<U>()[i];
        value = product::scaled<T>(value, static_cast<U>(parameters.multiplier), parameters.shift);
      }
      exact = find_factors(values.as<T>(), scaled.as<T>(), values.count, factors.as<T>());
    }
  });
  if (!exact && !values.may_miss) throw Error(ErrorCode::kUnsupported, "product: not every value is one");
  near.data = factors.data();
  near.may_miss = values.may_miss;
  node.params.resize(sizeof(parameters));
  std::memcpy(node.params.data(), &parameters, sizeof(parameters));
  node.children.push_back(encode_tree(near, tree.children[product::kFactor], aims));
  node.children.push_back(std::move(source));
  return node;
}

std::optional<Estimate> ProductCodec::estimate(const Sample&, ChildChooser&) const { return std::nullopt; }

DeviceReader ProductCodec::device_reader(const NodeView& node) const {
  const DeviceReader factor = device_reader_of(node.children[product::kFactor]);
  const DeviceReader source = device_reader_of(node.children[product::kSource]);
  DeviceReader reader = device_reader_named("Product", node, {factor, source});
  if (reader.empty()) return reader;
  reader.type.arguments.push_back({is_signed(node.type) ? "true" : "false"});
  reader.scratch_bytes = product::source_scratch(factor.scratch_bytes) + source.scratch_bytes;
  return reader;
}

}  // namespace basalt
