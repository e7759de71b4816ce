// What all codecs share: defaults of the interface, views of encoded arrays, and whole-tree operations.
#include "basalt/codec/codec.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "basalt/core/error.h"
#include "codec/column/column.h"
#include "codec/trees.h"

namespace basalt {

bool all_equal(const Values& values) {
  if (values.count < 2 || values.type == Physical::kNone) return true;
  if (values.type == Physical::kBytes) {
    const std::string_view first = values.string(0);
    for (uint64_t i = 1; i < values.count; ++i) {
      if (values.string(i) != first) return false;
    }
    return true;
  }
  // An array equals itself shifted by one value exactly if all values are equal.
  const uint32_t width = width_of(values.type);
  return std::memcmp(values.data, values.as<std::byte>() + width, (values.count - 1) * width) == 0;
}

uint64_t Node::encoded_bytes() const {
  uint64_t total = params.size();
  for (const Buffer& stream : streams) total += stream.size();
  for (const Node& child : children) total += child.encoded_bytes();
  return total;
}

uint64_t encoded_bytes(const NodeView& node) {
  uint64_t total = node.params.size();
  for (const ByteView stream : node.streams) total += stream.size();
  for (const NodeView& child : node.children) total += encoded_bytes(child);
  return total;
}

uint64_t own_bytes(const Node& node) {
  uint64_t total = node.params.size();
  for (const Buffer& stream : node.streams) total += stream.size();
  if (node.codec->source_field(node.params)) return total;
  for (const Node& child : node.children) total += own_bytes(child);
  return total;
}

void check_values(const NodeView& node) {
  if (node.codec == nullptr) return;
  node.codec->check_values(node);
  for (const NodeView& child : node.children) check_values(child);
}

uint64_t held_bytes(const NodeView& node) {
  uint64_t total = node.codec == nullptr ? 0 : node.codec->held_bytes(node);
  for (const NodeView& child : node.children) total += held_bytes(child);
  return total;
}

void fail_decoded_limit(uint64_t needed, uint64_t limit) {
  throw Error(ErrorCode::kOverLimit, "its values would take at least " + std::to_string(needed) +
                                         " bytes when decoded, more than the limit of " + std::to_string(limit) +
                                         " (raised by --memory-limit, in SQL also by basalt_decoded_limit)");
}

NodeView view_of(const Node& node) {
  NodeView view;
  view.codec = node.codec;
  view.type = node.type;
  view.count = node.count;
  view.params = node.params;
  for (const Buffer& stream : node.streams) view.streams.push_back(stream.view());
  for (const Node& child : node.children) view.children.push_back(view_of(child));
  return view;
}

Node copy_of(const NodeView& node) {
  Node copy;
  copy.codec = node.codec;
  copy.type = node.type;
  copy.count = node.count;
  copy.params.assign(node.params.begin(), node.params.end());
  for (const ByteView stream : node.streams) copy.streams.emplace_back().append(stream.data(), stream.size());
  for (const NodeView& child : node.children) copy.children.push_back(copy_of(child));
  return copy;
}

Tree tree_of(const NodeView& node) {
  Tree tree{std::string(node.codec->name()), {}};
  for (const NodeView& child : node.children) tree.children.push_back(tree_of(child));
  return tree;
}

void Reader::decode_tile(uint32_t, void*) {
  throw Error(ErrorCode::kInternal, "this array holds strings, not fixed-width values");
}
void Reader::decode_tile(uint32_t, StringRows&) {
  throw Error(ErrorCode::kInternal, "this array holds fixed-width values, not strings");
}
void Reader::string_lengths(uint32_t, uint32_t*) {
  throw Error(ErrorCode::kInternal, "this array holds fixed-width values, not strings");
}
uint64_t Reader::most_bytes(uint32_t tile) {
  std::array<uint32_t, kTileRows> lengths;
  string_lengths(tile, lengths.data());
  return std::accumulate(lengths.begin(), lengths.begin() + rows_in_tile(count(), tile), uint64_t{0});
}
uint32_t Reader::decode_runs(uint32_t, void*, uint32_t*) { return 0; }
EntryList Reader::decode_codes(uint32_t, uint32_t*) { return {}; }

void Reader::gather(std::span<const uint32_t> rows, void* out) {
  // Without point access: decode the tile a row lies in and keep it while the following rows lie there too.
  const uint32_t width = width_of(type_);
  Buffer tile_values(static_cast<size_t>(kTileRows) * width);
  uint32_t loaded = ~0u;
  auto* to = static_cast<std::byte*>(out);
  for (size_t i = 0; i < rows.size(); ++i) {
    const uint32_t tile = rows[i] / kTileRows;
    if (tile != loaded) {
      decode_tile(tile, tile_values.data());
      loaded = tile;
    }
    std::memcpy(to + i * width, tile_values.data() + static_cast<size_t>(rows[i] % kTileRows) * width, width);
  }
}

Answered Reader::filter_range(uint32_t, int128_t, int128_t, uint8_t*) { return Answered::kNot; }
Answered Reader::filter_strings(uint32_t, const std::shared_ptr<const Automaton>&, uint8_t*) { return Answered::kNot; }
std::optional<ValueBounds> Reader::bounds(uint32_t) const { return std::nullopt; }
std::optional<double> Reader::filter_sum(uint32_t, const uint8_t*) { return std::nullopt; }

void Reader::gather(std::span<const uint32_t> rows, StringRows& out) {
  StringRows tile_rows;
  uint32_t loaded = ~0u;
  tile_rows.limit = out.limit;
  for (const uint32_t row : rows) {
    const uint32_t tile = row / kTileRows;
    if (tile != loaded) {
      tile_rows.clear();
      decode_tile(tile, tile_rows);
      loaded = tile;
    }
    const std::string_view text = tile_rows.at(row % kTileRows);
    out.check_room(text.size());
    out.bytes.append(text.data(), text.size());
    out.offsets.push_back(static_cast<int64_t>(out.bytes.size()));
  }
}

bool BytesReader::test(uint32_t, std::span<const uint32_t>, const std::shared_ptr<const Automaton>&, uint8_t*) {
  return false;
}

Tree Codec::default_child(Physical type, size_t child) const {
  const ChildSlot slot = children(type).at(child);
  return slot.is_bytes ? Tree{"plain", {}} : default_tree(slot.type);
}

std::unique_ptr<Reader> Codec::open(const NodeView&) const {
  throw Error(ErrorCode::kInternal, std::string(name()) + " does not decode values");
}
std::unique_ptr<BytesReader> Codec::open_bytes(const NodeView&) const {
  throw Error(ErrorCode::kUnsupported, std::string(name()) + " does not store bytes");
}
DeviceReader Codec::device_reader(const NodeView&) const { return {}; }
DeviceReader Codec::device_codes(const NodeView&) const { return {}; }
DeviceReader Codec::device_filter(const NodeView&) const {
  DeviceReader none;
  none.reason = "strings encoded as " + std::string(name()) + " are not tested on the device";
  return none;
}
std::shared_ptr<const TextAlphabet> Codec::text_alphabet(const NodeView&) const { return nullptr; }
uint64_t Codec::filter_table_bytes(const NodeView&, uint32_t) const { return 0; }

Node encode_tree(const Values& values, const Tree& tree, Aims aims) {
  if (is_column_name(tree)) return column::encode_source(values, tree);
  return get_codec(tree.codec).encode(values, tree, aims);
}

bool may_hold(const Codec& codec, Physical type, TreePlace place) {
  return codec.accepts(type, place == TreePlace::kBytes) && (!codec.holds_nulls() || place == TreePlace::kColumn);
}

namespace {

void validate_node(const NodeView& node, TreePlace place, uint32_t levels, uint32_t& nodes) {
  if (node.codec == nullptr) throw Error(ErrorCode::kUnsupported, "unknown codec");
  const std::string name(node.codec->name());
  if (levels > kMaxTreeLevels || ++nodes > kMaxTreeNodes) {
    throw Error(ErrorCode::kCorrupt, "its encoding has more than " + std::to_string(kMaxTreeLevels) + " levels or " +
                                         std::to_string(kMaxTreeNodes) + " nodes");
  }
  if (!may_hold(*node.codec, node.type, place)) {
    throw Error(ErrorCode::kCorrupt, name + " cannot hold " +
                                         (place == TreePlace::kBytes ? "the bytes of strings" : words_for(node.type)) +
                                         (node.codec->holds_nulls() ? " inside of a tree" : ""));
  }
  const auto slots = node.codec->children(node.type);
  if (node.children.size() != slots.size()) {
    throw Error(ErrorCode::kCorrupt, name + " has " + std::to_string(node.children.size()) + " children instead of " +
                                         std::to_string(slots.size()));
  }
  for (size_t i = 0; i < slots.size(); ++i) {
    if (node.children[i].codec == nullptr) throw Error(ErrorCode::kUnsupported, "unknown codec");
    if (node.children[i].type != slots[i].type) {
      throw Error(ErrorCode::kCorrupt, name + ": its child \"" + std::string(slots[i].name) + "\" has another type");
    }
  }
  node.codec->validate(node);
  for (size_t i = 0; i < slots.size(); ++i) {
    validate_node(node.children[i], place_of(slots[i]), levels + 1, nodes);
  }
}

}  // namespace

void validate_tree(const NodeView& root, TreePlace place) {
  uint32_t nodes = 0;
  validate_node(root, place, 1, nodes);
}

std::unique_ptr<Reader> open_reader(const NodeView& node) {
  if (!may_hold(*node.codec, node.type, TreePlace::kColumn)) {
    throw Error(ErrorCode::kInternal,
                std::string(node.codec->name()) + " was opened for values of type " + to_string(node.type));
  }
  return node.codec->open(node);
}

}  // namespace basalt
