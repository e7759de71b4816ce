// Other columns in a tree.
#include <algorithm>
#include <cstring>

#include "basalt/core/error.h"
#include "codec/child_values.h"
#include "codec/codecs.h"
#include "codec/column/column.h"
#include "codec/column/layout.h"
#include "codec/device_names.h"
#include "codec/integer_types.h"
#include "core/dispatch.h"

namespace basalt {

std::vector<std::unique_ptr<Codec>> make_columns() {
  std::vector<std::unique_ptr<Codec>> codecs;
  for (const Physical type : {Physical::kI8, Physical::kI16, Physical::kI32, Physical::kI64, Physical::kU8,
                              Physical::kU16, Physical::kU32, Physical::kU64}) {
    codecs.push_back(std::make_unique<ColumnCodec>(type));
  }
  return codecs;
}

bool ColumnCodec::accepts(Physical type, bool is_bytes) const { return !is_bytes && fits_word(type); }

std::vector<ChildSlot> ColumnCodec::children(Physical) const { return {{"source", source_}}; }

namespace {

[[noreturn]] void fail_source(const std::string& what) { throw Error(ErrorCode::kUnsupported, "column: " + what); }

Node column_node(const Codec& codec, const Values& values, uint32_t field, Node source) {
  Node node{&codec, values.type, values.count, {}, {}, {}};
  node.params.resize(column::kParameterBytes);
  std::memcpy(node.params.data(), &field, sizeof(field));
  node.children.push_back(std::move(source));
  return node;
}

void check_equal(const Node& node, const Values& values) {
  const Buffer decoded = decoded_values(view_of(node));
  if (values.count > 0 && std::memcmp(decoded.data(), values.data, values.count * width_of(values.type)) != 0) {
    fail_source("the values are others");
  }
}

}  // namespace

namespace column {

Node encode_source(const Values& values, const Tree& tree) {
  const std::string name = column_of(tree);
  const SourceColumn* source = nullptr;
  if (values.sources != nullptr) {
    const auto found = std::find_if(values.sources->begin(), values.sources->end(),
                                    [&](const SourceColumn& one) { return one.name == name; });
    if (found != values.sources->end()) source = &*found;
  }
  if (source == nullptr) fail_source("there is no " + name + " to encode by");
  if (!fits_word(source->array.type)) fail_source(name + " is not of integers");
  if (source->array.count != values.count) throw Error(ErrorCode::kInternal, "column: " + name + " has other rows");
  const Codec& codec = get_codec(std::string("column_") + to_string(source->array.type));
  Node node = column_node(codec, values, source->field_id, copy_of(source->array));
  if (!values.may_miss) check_equal(node, values);
  return node;
}

}  // namespace column

// Without another column, the values are their own source.
Node ColumnCodec::encode(const Values& values, const Tree& tree, Aims aims) const {
  Buffer numbers(values.count * width_of(source_));
  dispatch_typed(values.type, [&](auto from) {
    dispatch_typed(source_, [&](auto to) {
      if constexpr (sizeof(from) <= 8 && sizeof(to) <= 8) {
        for (uint64_t i = 0; i < values.count; ++i) {
          numbers.as<decltype(to)>()[i] = static_cast<decltype(to)>(values.as<decltype(from)>()[i]);
        }
      }
    });
  });
  Values source;
  source.type = source_;
  source.count = values.count;
  source.data = numbers.data();
  Node node = column_node(*this, values, column::kNoField, encode_tree(source, tree.children[column::kSource], aims));
  check_equal(node, values);
  return node;
}

std::optional<Estimate> ColumnCodec::estimate(const Sample&, ChildChooser&) const { return std::nullopt; }

DeviceReader ColumnCodec::device_reader(const NodeView& node) const {
  const DeviceReader source = device_reader_of(node.children[column::kSource]);
  DeviceReader reader = device_reader_named("OtherColumn", node, {source});
  if (reader.empty()) return reader;
  reader.type.header = "codec/column/gpu/kernels.cuh";
  reader.type.arguments.push_back({is_signed(source_) ? "true" : "false"});
  reader.scratch_bytes = source.scratch_bytes;
  return reader;
}

}  // namespace basalt
