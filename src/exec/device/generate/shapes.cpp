// What the generator reads off the columns' metadata: device readers of their chunks, descriptor sizes, common widths.
#include <algorithm>
#include <set>

#include "basalt/core/error.h"
#include "basalt/exec/expressions.h"
#include "codec/dict/layout.h"
#include "codec/validity/layout.h"
#include "core/packed_tile.h"
#include "exec/column_facts.h"
#include "exec/device/generate/decode_ahead.h"
#include "exec/device/generate/file_shapes.h"
#include "exec/device/generate/generate.h"
#include "exec/device/generate/texts.h"

namespace basalt::device {

namespace {

NodeView view_from(const std::vector<NodePlace>& nodes, size_t& at) {
  if (at >= nodes.size()) throw Error(ErrorCode::kCorrupt, "an encoding tree ends before its last node");
  const NodePlace& place = nodes[at++];
  NodeView view;
  view.codec = place.codec;
  view.type = place.type;
  view.count = place.count;
  view.params = place.params;
  // Lengths only: nothing here looks at a stream's bytes.
  for (const StreamPlace& stream : place.streams) {
    view.streams.emplace_back(static_cast<const std::byte*>(nullptr), static_cast<size_t>(stream.length));
  }
  for (uint32_t child = 0; child < place.child_count; ++child) view.children.push_back(view_from(nodes, at));
  return view;
}

// Whether entries are not stored so that one of them can be read alone at the price of a load. A file may name any
// number of them.
bool is_nested(const NodeView& entries) {
  constexpr uint64_t kMostEntries = 1 << 20;
  return entries.codec != nullptr && entries.codec->name() != "plain" && !entries.codec->holds_packed_tiles() &&
         entries.count <= kMostEntries;
}

ByteView unread_values(const NodeView& array) {
  return {static_cast<const std::byte*>(nullptr), static_cast<size_t>(array.count * width_of(array.type))};
}

void add_once(std::vector<DeviceReader>& list, const DeviceReader& reader) {
  if (std::find(list.begin(), list.end(), reader) == list.end()) list.push_back(reader);
}

}  // namespace

bool is_known(const NodeView& node) {
  return node.codec != nullptr && std::all_of(node.children.begin(), node.children.end(), is_known);
}

namespace {

// Groups; columns of strings that have a list are read as places in it where that is enough.
DevicePipeline groups_to_device(const Pipeline& pipeline, const std::vector<ArrayShape>& arrays, uint64_t rows,
                                const TextNumbers* known) {
  DevicePipeline device;
  device.pipeline = pipeline;
  device.codes.resize(pipeline.columns.size());
  device.arrays.assign(arrays.begin(), arrays.end());
  device.arrays.resize(pipeline.columns.size());
  device.rows = rows;
  for (Expr& key : device.pipeline.keys) {
    if (key.type != Physical::kBytes || key.op != ExprOp::kColumn) continue;
    const std::optional<uint32_t> codes = add_code_column(device, key.column);
    if (codes) key = column_reference(*codes, Physical::kU32);
  }
  TextNumbering(device, known).rewrite();
  decode_ahead(device);
  return device;
}

}  // namespace

DevicePipeline to_device(const Pipeline& pipeline, const TextNumbers* known) {
  if (pipeline.sink == Sink::kRows) return rows_to_device(pipeline, {}, 0, known, known != nullptr);
  return groups_to_device(pipeline, {}, exec::row_count(pipeline), known);
}

DevicePipeline to_device(const Pipeline& pipeline, const std::vector<ArrayShape>& arrays, uint64_t rows,
                         const TextNumbers* known) {
  if (pipeline.sink == Sink::kRows) return rows_to_device(pipeline, arrays, rows, known, true);
  return groups_to_device(pipeline, arrays, rows, known);
}

std::vector<uint64_t> array_descriptor(uint64_t rows, uint64_t address) { return {rows, address}; }

namespace {

// The reader of an array of this type, and of its NULLs.
DeviceReader array_reader(Physical type) {
  NodeView array;
  array.codec = &get_codec("plain");
  array.type = type;
  return array.codec->device_reader(array);
}

ColumnShapes shapes_of(const ArrayShape& array) {
  ColumnShapes shapes;
  shapes.values.push_back(array_reader(array.type));
  shapes.value_words = static_cast<uint32_t>(array_descriptor(0, 0).size());
  if (array.nullable) {
    shapes.validity.push_back(array_reader(Physical::kU8));
    shapes.validity_words = shapes.value_words;
  }
  shapes.width_tiles.assign(kMaxPackedWidth + 1, 0);
  shapes.stats = array.stats;
  return shapes;
}

// What is known of codes.
Statistics code_statistics(const Statistics& texts, uint32_t entries) {
  Statistics stats;
  stats.rows = texts.rows;
  stats.null_count = texts.null_count;
  stats.min = Value::of_integer(Physical::kU32, 0);
  stats.max = Value::of_integer(Physical::kU32, entries == 0 ? 0 : entries - 1);
  return stats;
}

}  // namespace

std::vector<ColumnShapes> shapes_of(const DevicePipeline& device) {
  const Pipeline& pipeline = device.pipeline;
  std::vector<ColumnShapes> out;
  for (size_t i = 0; i < pipeline.columns.size(); ++i) {
    const PipelineColumn& column = pipeline.columns[i];
    if (device.arrays[i]) {
      out.push_back(shapes_of(*device.arrays[i]));
      continue;
    }
    ColumnShapes shapes;
    shapes.as_codes = column.as_codes;
    shapes.width_tiles.assign(kMaxPackedWidth + 1, 0);
    for (const auto& file : pipeline.files) {
      const ColumnInfo& info = file->column(column.field_id);
      for (size_t w = 0; w < info.width_tiles.size() && w <= kMaxPackedWidth; ++w) {
        shapes.width_tiles[w] += info.width_tiles[w];
      }
      const auto found = file_shapes(file, column.field_id, column.as_codes);
      if (found->lacks_values)
        throw Error(ErrorCode::kCorrupt, file->name() + ": a chunk of " + column.name + " has no values");
      for (const DeviceReader& reader : found->values) add_once(shapes.values, reader);
      for (const DeviceReader& reader : found->validity) add_once(shapes.validity, reader);
      shapes.value_words = std::max(shapes.value_words, found->value_words);
      shapes.validity_words = std::max(shapes.validity_words, found->validity_words);
    }
    shapes.stats = exec::merged_statistics(pipeline, column.field_id);
    if (pipeline.sink == Sink::kGroups && pipeline.keys.size() == 1 && pipeline.keys[0].op == ExprOp::kColumn &&
        pipeline.keys[0].column == i) {
      shapes.runs = exec::sorted_values(pipeline, column.field_id);
    }
    if (column.as_codes) {
      shapes.entries = static_cast<uint32_t>(device.codes[i]->entries.size());
      shapes.stats = code_statistics(shapes.stats, shapes.entries);
    }
    out.push_back(std::move(shapes));
  }
  return out;
}

void place_entries(NodeView& root, const std::function<ByteView(const NodeView&)>& values) {
  const bool of_numbers = root.codec != nullptr && root.codec->holds_entries() && root.type != Physical::kBytes;
  if (of_numbers && root.children.size() == 2 && is_nested(root.children[dict::kEntries])) {
    NodeView& entries = root.children[dict::kEntries];
    NodeView plain;
    plain.codec = &get_codec("plain");
    plain.type = entries.type;
    plain.count = entries.count;
    plain.streams = {values(entries)};
    entries = std::move(plain);
  }
  for (NodeView& child : root.children) place_entries(child, values);
}

void make_device_forms(NodeView& root, const MadeNode& made) {
  if (root.codec == nullptr) return;
  if (std::optional<NodeView> form = root.codec->device_form(root)) {
    made(root, *form);
    root = std::move(*form);
  }
  for (NodeView& child : root.children) make_device_forms(child, made);
}

uint64_t device_form_bytes(const ColumnChunkInfo& chunk) {
  const auto has_form = [](const NodePlace& node) { return node.codec != nullptr && node.codec->has_device_form(); };
  if (std::ranges::none_of(chunk.nodes, has_form)) return 0;
  uint64_t bytes = 0;
  size_t at = 0;
  NodeView root = view_from(chunk.nodes, at);
  place_entries(root, unread_values);
  make_device_forms(root, [&](const NodeView&, const NodeView& form) {
    for (const ByteView stream : form.streams) {
      bytes += (stream.size() + kFormAlignment - 1) / kFormAlignment * kFormAlignment;
    }
  });
  return bytes;
}

NodeView shape_of(const ColumnChunkInfo& chunk) {
  size_t at = 0;
  NodeView root = view_from(chunk.nodes, at);
  place_entries(root, unread_values);
  make_device_forms(root, [](const NodeView&, const NodeView&) {});
  return root;
}

std::vector<uint64_t> sizes_of_placed_entries(const ColumnChunkInfo& chunk) {
  std::vector<uint64_t> out;
  const auto has_entries = [](const NodePlace& node) {
    return node.type != Physical::kBytes && node.codec != nullptr && node.codec->holds_entries();
  };
  if (std::ranges::none_of(chunk.nodes, has_entries)) return out;
  size_t at = 0;
  NodeView root = view_from(chunk.nodes, at);
  place_entries(root, [&](const NodeView& entries) {
    out.push_back(unread_values(entries).size());
    return unread_values(entries);
  });
  return out;
}

uint32_t descriptor_words(const NodeView& node) {
  uint32_t words = 1 + static_cast<uint32_t>(node.streams.size()) + static_cast<uint32_t>((node.params.size() + 7) / 8);
  for (const NodeView& child : node.children) words += descriptor_words(child);
  return words;
}

void append_descriptor(const NodeView& node, const std::vector<uint64_t>& addresses, size_t& next_stream,
                       std::vector<uint64_t>& out) {
  // Above the rows: the size of the last stream, for readers of streams whose form depends on it.
  const uint64_t last_words = node.streams.empty() ? 0 : node.streams.back().size() / sizeof(uint32_t);
  out.push_back(node.count | std::min<uint64_t>(last_words, UINT32_MAX) << 32);
  for (size_t i = 0; i < node.streams.size(); ++i) out.push_back(addresses.at(next_stream++));
  const size_t at = out.size();
  out.resize(at + (node.params.size() + 7) / 8, 0);
  if (!node.params.empty()) std::copy_n(node.params.data(), node.params.size(), reinterpret_cast<std::byte*>(&out[at]));
  for (const NodeView& child : node.children) append_descriptor(child, addresses, next_stream, out);
}

ChunkReaders readers_of(const NodeView& root, bool as_codes) {
  ChunkReaders readers;
  readers.value_node = &root;
  if (!is_known(root)) return readers;
  if (root.codec != nullptr && root.codec->holds_nulls()) {
    if (root.children.size() != 2) return readers;
    readers.validity_node = &root.children[validity::kValid];
    readers.value_node = &root.children[validity::kValues];
    readers.validity = readers.validity_node->codec->device_reader(*readers.validity_node);
  }
  const NodeView& values = *readers.value_node;
  if (as_codes) {
    readers.values = values.codec->device_codes(values);
    return readers;
  }
  readers.values =
      values.type == Physical::kBytes ? values.codec->device_filter(values) : values.codec->device_reader(values);
  return readers;
}

std::string codec_includes(const std::vector<DeviceType>& types) {
  std::set<std::string> headers;
  for (const DeviceType& type : types) type.add_headers(headers);
  std::string out;
  for (const std::string& header : headers) out += "#include \"" + header + "\"\n";
  return out;
}

DeviceType with_widths(DeviceType type, const std::vector<uint32_t>& widths) {
  for (DeviceType& argument : type.arguments) argument = with_widths(std::move(argument), widths);
  if (!type.takes_widths || widths.empty()) return type;
  DeviceType list{"Widths"};
  for (const uint32_t width : widths) list.arguments.push_back({std::to_string(width)});
  type.arguments.push_back(std::move(list));
  return type;
}

std::vector<uint32_t> common_widths(const std::vector<uint64_t>& width_tiles, size_t most) {
  uint64_t total = 0;
  std::vector<std::pair<uint64_t, uint32_t>> order;
  for (uint32_t width = 0; width < width_tiles.size() && width <= kMaxPackedWidth; ++width) {
    total += width_tiles[width];
    if (width_tiles[width] > 0) order.emplace_back(width_tiles[width], width);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<uint32_t> out;
  uint64_t covered = 0;
  for (const auto& [tiles, width] : order) {
    if (out.size() == most || covered * 100 >= total * 98) break;
    out.push_back(width);
    covered += tiles;
  }
  std::sort(out.begin(), out.end());  // the source must not depend on counts that do not matter
  return out;
}

std::string decode_source(const DeviceReader& reader, const std::string& value_type) {
  return "// Writes every row of some arrays; one warp per tile.\n" + codec_includes({reader.type}) +
         "#include \"exec/device/decode.cuh\"\n\nnamespace basalt::device {\n\nusing Reader = " + reader.type.text() +
         ";\n\nextern \"C\" __global__ void __launch_bounds__(decode_warps<Reader>() * kLanes)\n" + kDecodeKernel +
         "(ChunkBatch batch, " + value_type + "* out, uint32_t* bad) {\n" +
         "  decode_arrays<Reader>(batch, out, bad);\n}\n\n}  // namespace basalt::device\n";
}

}  // namespace basalt::device
