// For each value of the source the one that most of its rows have.
#include <cstring>
#include <span>

#include "basalt/core/error.h"
#include "codec/child_values.h"
#include "codec/codecs.h"
#include "codec/device_names.h"
#include "codec/integer_types.h"
#include "codec/map/layout.h"
#include "codec/map/map.h"
#include "codec/map/shared_entries.h"
#include "core/dispatch.h"

namespace basalt {

std::unique_ptr<Codec> make_map() { return std::make_unique<MapCodec>(); }

bool MapCodec::accepts(Physical type, bool is_bytes) const { return !is_bytes && fits_word(type); }

std::vector<ChildSlot> MapCodec::children(Physical type) const {
  return {{"source", Physical::kI64}, {"entries", type, false, true}};
}

namespace {

bool holds(const Values& values, std::span<const int64_t> source, int64_t base, const Buffer& table) {
  return dispatch_width(width_of(values.type), [&](auto tag) {
    using T = decltype(tag);
    for (size_t i = 0; i < source.size(); ++i) {
      const uint64_t place = static_cast<uint64_t>(source[i]) - static_cast<uint64_t>(base);
      if (table.as<T>()[place] != values.as<T>()[i]) return false;
    }
    return true;
  });
}

}  // namespace

// Without another column, the values are their own source.
Node MapCodec::encode(const Values& values, const Tree& tree, Aims aims) const {
  Node node{this, values.type, values.count, {}, {}, {}};
  const Tree& source_tree = tree.children[map::kSource];
  Values numbers = values;
  const Buffer wide = is_column_name(source_tree) ? Buffer() : widened(values);  // which is encoded without values
  numbers.type = Physical::kI64;
  numbers.data = wide.data();
  numbers.may_miss = !columns_of(source_tree).empty();
  Node source = encode_tree(numbers, source_tree, aims);
  const Buffer decoded = decoded_values(view_of(source));
  const std::span<const int64_t> rows{decoded.as<int64_t>(), static_cast<size_t>(values.count)};
  if (values.only_learns) {
    values.entries->learn(rows, values);
    return node;
  }
  SharedEntries own(false);
  if (values.entries == nullptr) own.learn(rows, values);
  const SharedEntries& function = values.entries != nullptr ? *values.entries : own;
  const Buffer table = values.entries != nullptr ? function.entries_of(rows) : own.whole();
  if (!values.may_miss && !holds(values, rows, function.base(), table)) {
    throw Error(ErrorCode::kUnsupported, "map: the values are no function");
  }
  const int64_t base = function.base();
  node.params.resize(map::kParameterBytes);
  std::memcpy(node.params.data(), &base, sizeof(base));
  Values entries;
  entries.type = values.type;
  entries.count = function.count();
  entries.data = table.data();
  node.children.push_back(std::move(source));
  node.children.push_back(encode_tree(entries, tree.children[map::kEntries], aims));
  return node;
}

std::optional<Estimate> MapCodec::estimate(const Sample&, ChildChooser&) const { return std::nullopt; }

DeviceReader MapCodec::device_reader(const NodeView& node) const {
  const DeviceReader source = device_reader_of(node.children[map::kSource]);
  DeviceReader reader = device_reader_named("Map", node, {source, device_reader_of(node.children[map::kEntries])});
  reader.scratch_bytes = source.scratch_bytes;  // entries are looked up where they lie
  return reader;
}

}  // namespace basalt
