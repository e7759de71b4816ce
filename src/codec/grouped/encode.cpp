// Numbers that values become side by side; see choose.h for how many.
#include <algorithm>
#include <cstring>
#include <optional>

#include "basalt/core/error.h"
#include "codec/child_values.h"
#include "codec/codecs.h"
#include "codec/device_names.h"
#include "codec/grouped/choose.h"
#include "codec/grouped/grouped.h"
#include "codec/grouped/layout.h"
#include "core/dispatch.h"

namespace basalt {

std::unique_ptr<Codec> make_grouped() { return std::make_unique<GroupedCodec>(); }

namespace {

// Values above the smallest one.
struct Codes {
  uint64_t reference = 0;
  uint32_t bits = 1;
  std::vector<uint64_t> codes;
};

grouped::Parameters parameters_of(const Codes& codes, uint32_t values) { return {codes.reference, values, codes.bits}; }

std::optional<Codes> codes_of(const Values& values) {
  Codes out;
  dispatch_typed(values.type, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_integral_v<T> && sizeof(T) <= 8) {
      using Number = std::make_unsigned_t<T>;
      if (values.count == 0) return;
      const T* from = values.as<T>();
      const auto [low, high] = std::minmax_element(from, from + values.count);
      const auto reference = static_cast<Number>(*low);
      out.reference = reference;
      const auto span = static_cast<Number>(static_cast<Number>(*high) - reference);
      out.bits = grouped::bits_of(span);
      out.codes.resize(values.count);
      for (uint64_t i = 0; i < values.count; ++i) {
        out.codes[i] = static_cast<Number>(static_cast<Number>(from[i]) - reference);
      }
    }
  });
  if (!grouped::fits(parameters_of(out, grouped::kFewestValues))) return std::nullopt;
  return out;
}

struct Groups {
  std::vector<uint64_t> numbers;
  uint32_t values = grouped::kFewestValues;
  uint64_t distinct = 0;

  double bits() const { return grouped::bits_in_all(numbers.size(), distinct); }
};

Groups groups_of(const Codes& codes, uint32_t values) {
  Groups groups{std::vector<uint64_t>(grouped::groups_of(codes.codes.size(), values), 0), values, 0};
  for (size_t i = 0; i < codes.codes.size(); ++i) {
    groups.numbers[i / values] |= codes.codes[i] << (i % values * codes.bits);
  }
  std::vector<uint64_t> sorted = groups.numbers;
  std::sort(sorted.begin(), sorted.end());
  groups.distinct = static_cast<uint64_t>(std::unique(sorted.begin(), sorted.end()) - sorted.begin());
  return groups;
}

// With the number of values that gives the smallest dictionary and codes, the fewest of equals.
Groups best_groups(const Codes& codes) {
  Groups best = groups_of(codes, grouped::kFewestValues);
  for (uint32_t tried = 2 * best.values; grouped::fits(parameters_of(codes, tried)); tried *= 2) {
    Groups groups = groups_of(codes, tried);
    if (groups.bits() < best.bits()) best = std::move(groups);
  }
  return best;
}

}  // namespace

Node GroupedCodec::encode(const Values& values, const Tree& tree, Aims aims) const {
  const std::optional<Codes> codes = codes_of(values);
  if (!codes) throw Error(ErrorCode::kUnsupported, grouped::kTooWide);
  const Groups groups = best_groups(*codes);
  const grouped::Parameters parameters = parameters_of(*codes, groups.values);
  Node node{this, values.type, values.count, {}, {}, {}};
  node.params.resize(sizeof(parameters));
  std::memcpy(node.params.data(), &parameters, sizeof(parameters));
  node.children.push_back(encode_tree(number_values(groups.numbers), tree.children[grouped::kGroups], aims));
  return node;
}

// Only where a tree names it: docs/decisions/progressions.md has what searches made of it.
std::optional<Estimate> GroupedCodec::estimate(const Sample& sample, ChildChooser& chooser) const {
  if (chooser.forced(grouped::kGroups) == nullptr) return std::nullopt;
  const std::optional<Codes> codes = codes_of(sample.values);
  if (!codes) return std::nullopt;
  const Groups groups = best_groups(*codes);
  const uint64_t total = grouped::groups_of(sample.total_rows, groups.values);
  Estimate child = chooser.best({number_values(groups.numbers), total}, grouped::kGroups);
  return Estimate{child.bytes + grouped::kParameterBytes, {"grouped", {std::move(child.tree)}}};
}

DeviceReader GroupedCodec::device_reader(const NodeView& node) const {
  const DeviceReader groups = device_reader_of(node.children[grouped::kGroups]);
  DeviceReader reader = device_reader_named("Grouped", node, {groups});
  reader.scratch_bytes = grouped::scratch_bytes(groups.scratch_bytes);
  reader.rows_in_shared = true;
  reader.long_code = true;
  return reader;
}

}  // namespace basalt
