// Parsing ColumnMetadata and DictionaryMetadata. All vectors are consumed from the front, so that counts that do not
// add up are found; every place is compared with the file's size before anybody allocates for it.
#include "file/column_metadata.h"

#include <fmt/format.h>
#include <format_generated.h>

#include <algorithm>
#include <set>

#include "basalt/core/error.h"
#include "file/flatbuffer_checks.h"
#include "file/format.h"
#include "file/statistics.h"

namespace basalt::format_v1 {

namespace {

[[noreturn]] void fail(const std::string& reason) { throw Error(ErrorCode::kCorrupt, reason); }
void require(bool holds, const char* reason) {
  if (!holds) fail(reason);
}

// Walks the arrays of a column, one after the other.
class ArrayCursor {
 public:
  ArrayCursor(const FooterData& footer, const format::Arrays* arrays) : footer_(footer), arrays_(arrays) {
    if (arrays == nullptr) return;
    require(is_aligned(arrays->nodes()) && is_aligned(arrays->streams()) && is_aligned(arrays->checksums()),
            "a list of nodes, streams or checksums is not aligned");
  }

  // `top`: kColumn, or kInner where there are no NULLs.
  ArrayPlace next(const ShapeEntry& shape, Physical type, TreePlace top) {
    ArrayPlace place;
    size_t at = 0;
    if (!shape.nodes.empty()) next_node(shape, at, type, top, true, place);
    return place;
  }

  void finish() const {
    if (arrays_ == nullptr) return;
    require(node_ == size_of(arrays_->nodes()) && param_ == size_of(arrays_->params()) &&
                stream_ == size_of(arrays_->streams()) && checksum_ == size_of(arrays_->checksums()),
            "there are more nodes, parameters, streams or checksums than the encoding trees use");
  }

 private:
  void next_node(const ShapeEntry& shape, size_t& at, Physical type, TreePlace where, bool known, ArrayPlace& place) {
    const auto& shape_node = shape.nodes[at++];
    const CodecEntry& codec = footer_.codecs[shape_node.codec];
    require(arrays_ != nullptr && node_ < size_of(arrays_->nodes()),
            "there are fewer nodes than the encoding trees need");
    const format::Node* from = arrays_->nodes()->Get(node_++);
    NodePlace& node = place.nodes.emplace_back();
    node.codec = known ? codec.codec : nullptr;
    node.codec_name = codec.name;
    node.codec_version = codec.version;
    node.type = type;
    if (node.codec != nullptr && !may_hold(*node.codec, type, where)) {
      fail(fmt::format("{} cannot hold {} at its place of the encoding tree", node.codec_name,
                       where == TreePlace::kBytes ? "the bytes of strings" : words_for(type)));
    }
    node.count = from->count();
    node.child_count = shape_node.child_count;
    require(node.count <= kMaxElements, "a node has an absurd number of values");
    take_params(*from, node);
    take_streams(*from, node, place);

    // Below an unknown codec nobody knows the types; such a chunk cannot be read anyway.
    std::vector<ChildSlot> slots;
    if (node.codec != nullptr) {
      slots = node.codec->children(type);
      require(slots.size() == shape_node.child_count, "a node has a wrong number of children");
    }
    const bool children_known = node.codec != nullptr;
    for (uint32_t i = 0; i < shape_node.child_count; ++i) {
      next_node(shape, at, children_known ? slots[i].type : Physical::kNone,
                children_known ? place_of(slots[i]) : TreePlace::kInner, children_known, place);
    }
  }

  void take_params(const format::Node& from, NodePlace& node) {
    require(from.param_bytes() <= size_of(arrays_->params()) - param_,
            "there are fewer parameters than the nodes need");
    if (from.param_bytes() == 0) return;
    const auto* bytes = reinterpret_cast<const std::byte*>(arrays_->params()->data()) + param_;
    node.params.assign(bytes, bytes + from.param_bytes());
    param_ += from.param_bytes();
  }

  void take_streams(const format::Node& from, NodePlace& node, ArrayPlace& place) {
    require(from.stream_count() <= kMaxNodeStreams, "a node has too many streams");
    require(from.stream_count() <= size_of(arrays_->streams()) - stream_,
            "there are fewer streams than the nodes need");
    for (uint32_t i = 0; i < from.stream_count(); ++i) {
      const format::Stream* stream = arrays_->streams()->Get(stream_++);
      const uint64_t offset = stream->offset();
      const uint64_t length = stream->length();
      if (length != 0 && (offset < kHeaderBytes || offset > footer_.offset || length > footer_.offset - offset)) {
        fail(fmt::format("a stream of {} bytes at byte {} lies outside of the file", length, offset));
      }
      if (offset % kStreamAlignment != 0) fail(fmt::format("the stream at byte {} is not aligned", offset));
      node.streams.push_back({offset, length});
      const uint64_t blocks = checksum_blocks(length);
      require(blocks <= size_of(arrays_->checksums()) - checksum_, "there are fewer checksums than the streams need");
      for (uint64_t block = 0; block < blocks; ++block)
        place.checksums.push_back(arrays_->checksums()->Get(checksum_++));
    }
  }

  const FooterData& footer_;
  const format::Arrays* arrays_;
  uint32_t node_ = 0;
  uint32_t param_ = 0;
  uint32_t stream_ = 0;
  uint32_t checksum_ = 0;
};

// Walks the zones of a column and gives each chunk its own.
class ZoneCursor {
 public:
  // `block_bytes`: of the metadata that they lie in.
  ZoneCursor(const format::Zones* zones, Physical type, bool has_bounds, uint64_t block_bytes,
             std::atomic<uint64_t>& room)
      : zones_(zones),
        type_(type),
        has_bounds_(has_bounds),
        tells_something_(zones != nullptr && (has_bounds || zones->null_counts() != nullptr)),
        room_(room) {
    take_memory(block_bytes);
  }
  // What a column that cannot be read has taken is there for others.
  ~ZoneCursor() {
    if (!finished_) room_ += taken_;
  }
  ZoneCursor(const ZoneCursor&) = delete;
  ZoneCursor& operator=(const ZoneCursor&) = delete;

  void next(ColumnChunkInfo& chunk) {
    const uint64_t count = (chunk.rows + kZoneRows - 1) / kZoneRows;
    if (count == 0) return;
    require(zones_ != nullptr && count <= size_of(zones_->flags()) - zone_, "there are fewer zones than the rows need");
    if (!tells_something_) {
      for (uint64_t i = 0; i < count; ++i) require(zones_->flags()->Get(zone_++) == 0, "a zone has bounds");
      return;
    }
    chunk.zones.reserve(count);
    for (uint64_t i = 0; i < count; ++i) {
      Statistics& stats = chunk.zones.emplace_back();
      stats.rows = std::min<uint64_t>(kZoneRows, chunk.rows - i * kZoneRows);
      if (zones_->null_counts() != nullptr) {
        require(zone_ < zones_->null_counts()->size(), "there are fewer null counts than zones");
        stats.null_count = zones_->null_counts()->Get(zone_);
        require(stats.null_count <= stats.rows, "a zone has more NULLs than rows");
      }
      const uint8_t flags = zones_->flags()->Get(zone_++);
      ByteView min;
      ByteView max;
      if (has_bounds_) {
        min = take(zones_->mins(), zones_->min_lengths(), min_);
        max = take(zones_->maxs(), zones_->max_lengths(), max_);
      }
      set_bounds(stats, type_, flags, min, max);
    }
    chunk.zone_bounds = zone_bounds(chunk.zones);
  }

  void finish() {
    finished_ = zones_ == nullptr;
    if (finished_) return;
    require(zones_->null_counts() == nullptr || zone_ == zones_->null_counts()->size(),
            "there are more null counts than zones");
    require(zone_ == size_of(zones_->flags()) && min_ == size_of(zones_->mins()) && max_ == size_of(zones_->maxs()),
            "there are more zones or bounds than the rows need");
    finished_ = true;
  }

 private:
  // Vectors of a FlatBuffer may share their bytes, so that a zone of two bounds takes no more than one byte of the
  // file. The narrowest honest one has three, a flag and two bounds: 64 bytes of memory for each byte, and some to
  // spare. Those that have a flag only, of lists and structs without NULLs, take no memory; the rest, where bytes are
  // shared, comes from the file's room.
  void take_memory(uint64_t block_bytes) {
    constexpr uint64_t kMostPerByte = 80;
    constexpr uint64_t kZone = sizeof(Statistics) + 2 * sizeof(int64_t);
    static_assert(kZone <= 3 * kMostPerByte);
    const uint64_t needed = (tells_something_ ? size_of(zones_->flags()) : 0) * kZone;
    const uint64_t wanted = needed - std::min(needed, kMostPerByte * block_bytes);
    uint64_t left = room_.load();
    do {
      require(wanted <= left, "there are more zones than its bytes can hold");
    } while (!room_.compare_exchange_weak(left, left - wanted));
    taken_ = wanted;
  }

  ByteView take(const flatbuffers::Vector<uint8_t>* bytes, const flatbuffers::Vector<uint8_t>* lengths, uint32_t& at) {
    uint32_t length = width_of(type_);
    if (type_ == Physical::kBytes) {
      require(zone_ - 1 < size_of(lengths), "there are fewer lengths of bounds than zones");
      length = lengths->Get(zone_ - 1);
    }
    require(length <= size_of(bytes) - at, "there are fewer bounds than zones");
    if (length == 0) return {};
    const auto* data = reinterpret_cast<const std::byte*>(bytes->data()) + at;
    at += length;
    return {data, length};
  }

  const format::Zones* zones_;
  Physical type_;
  bool has_bounds_;
  bool tells_something_;
  std::atomic<uint64_t>& room_;
  uint64_t taken_ = 0;
  bool finished_ = false;
  uint32_t zone_ = 0;
  uint32_t min_ = 0;
  uint32_t max_ = 0;
};

// A chunk's bounds are those of its zones taken together.
void sum_zones(ColumnChunkInfo& chunk, Physical type) {
  Statistics& stats = chunk.stats;
  stats.rows = chunk.rows;
  stats.min = Value::of_null(type);
  stats.max = Value::of_null(type);
  bool min_known = true;
  bool max_known = true;
  for (const Statistics& zone : chunk.zones) {
    stats.null_count += zone.null_count;
    stats.has_nan = stats.has_nan || zone.has_nan;
    if (zone.null_count == zone.rows) continue;
    // A zone of NaNs only has no bounds and takes nothing away from those of the others.
    const bool only_nan = zone.has_nan && zone.min.null && zone.max.null;
    if (only_nan) continue;
    min_known = min_known && !zone.min.null;
    max_known = max_known && !zone.max.null;
    if (min_known && (stats.min.null || compare(zone.min, stats.min) < 0)) {
      stats.min = zone.min;
      stats.min_exact = zone.min_exact;
    }
    if (max_known && (stats.max.null || compare(zone.max, stats.max) > 0)) {
      stats.max = zone.max;
      stats.max_exact = zone.max_exact;
    }
  }
  if (!min_known) stats.min = Value::of_null(type);
  if (!max_known) stats.max = Value::of_null(type);
}

void set_chunk_flags(Statistics& stats, uint16_t flags, uint64_t distinct) {
  stats.ascending = (flags & kAscending) != 0;
  stats.descending = (flags & kDescending) != 0;
  stats.strict = (flags & kStrict) != 0;
  stats.constant = (flags & kConstant) != 0;
  stats.dense = (flags & kDense) != 0;
  stats.distinct = distinct;
}

bool inside(const StreamPlace& stream, const StreamPlace& region) {
  return stream.offset >= region.offset && stream.length <= region.length &&
         stream.offset - region.offset <= region.length - stream.length;
}

void check_region(const FooterData& footer, const ColumnChunkInfo& chunk) {
  const StreamPlace& region = chunk.region;
  if (region.length == 0) return;
  if (region.offset < kHeaderBytes || region.offset > footer.offset || region.length > footer.offset - region.offset) {
    fail(fmt::format("its {} bytes at byte {} lie outside of the file", region.length, region.offset));
  }
  const uint64_t alignment = region.length >= kLargeRegion ? kLargeRegionAlignment : kStreamAlignment;
  if (region.offset % alignment != 0) fail(fmt::format("its bytes at byte {} are not aligned", region.offset));
  // The region holds streams and the padding between them, nothing else: what is read is what is needed.
  uint64_t end = region.offset;
  uint64_t used = 0;
  for (const NodePlace& node : chunk.nodes) {
    for (const StreamPlace& stream : node.streams) {
      if (stream.length == 0 || !inside(stream, region)) continue;
      end = std::max(end, stream.offset + stream.length);
      used += align_up(stream.length, kStreamAlignment);
    }
  }
  require(end == region.offset + region.length, "its region does not end with its last stream");
  require(region.length <= used, "its region holds more than its streams");
}

}  // namespace

size_t subtree_end(const std::vector<NodePlace>& nodes, size_t at) {
  size_t end = at + 1;
  for (size_t open = nodes.at(at).child_count; open > 0; ++end) open += nodes.at(end).child_count - size_t{1};
  return end;
}

void check_overlaps(std::vector<StreamPlace> places) {
  std::erase_if(places, [](const StreamPlace& place) { return place.length == 0; });
  std::sort(places.begin(), places.end(), [](const StreamPlace& a, const StreamPlace& b) {
    return a.offset != b.offset ? a.offset < b.offset : a.length < b.length;
  });
  for (size_t i = 1; i < places.size(); ++i) {
    const StreamPlace& before = places[i - 1];
    const StreamPlace& place = places[i];
    const bool same = before.offset == place.offset && before.length == place.length;
    if (!same && before.offset + before.length > place.offset) {
      fail(fmt::format("the streams at bytes {} and {} overlap", before.offset, place.offset));
    }
  }
}

namespace {

// From the node at `at` on, which it leaves behind.
Tree tree_of(const FooterData& footer, const ShapeEntry& shape, size_t& at) {
  const ShapeEntry::NodeEntry& node = shape.nodes[at++];
  Tree tree{footer.codecs[node.codec].name, {}};
  for (uint32_t i = 0; i < node.child_count; ++i) tree.children.push_back(tree_of(footer, shape, at));
  return tree;
}

// The field whose column a node stands for.
std::optional<uint32_t> source_of(const NodePlace& node) {
  return node.codec == nullptr ? std::nullopt : node.codec->source_field(node.params);
}

// The tree of an array from the node at `at` on, which it leaves behind, with the names of other columns.
Tree shown_tree(const MetadataContext& context, const std::vector<NodePlace>& nodes, size_t& at) {
  const NodePlace& node = nodes[at];
  const std::optional<uint32_t> source = source_of(node);
  if (source && *source < context.fields.size()) {
    at = subtree_end(nodes, at);
    return column_named(shown_path_of(context.footer, context.fields, *source));
  }
  ++at;
  Tree tree{std::string(node.codec_name), {}};
  for (uint32_t i = 0; i < node.child_count; ++i) tree.children.push_back(shown_tree(context, nodes, at));
  return tree;
}

// Whether a field's rows are the table's rows: everything above it is a struct.
bool has_table_rows(const MetadataContext& context) {
  const std::vector<uint32_t>& parents = context.footer.parents;
  for (uint32_t id = context.field_id; parents[id] != id; id = parents[id]) {
    if (context.fields[parents[id]]->type.kind != TypeKind::kStruct) return false;
  }
  return true;
}

// Walks the chunks of a column.
class ChunkCursor {
 public:
  // `block_bytes`: of the metadata.
  ChunkCursor(const MetadataContext& context, const format::ColumnMetadata& metadata, uint64_t block_bytes,
              std::atomic<uint64_t>& zone_room)
      : context_(context),
        footer_(context.footer),
        entry_(context.footer.columns[context.field_id]),
        kind_(context.fields[context.field_id]->type.kind),
        type_(physical_of(context.fields[context.field_id]->type)),
        table_rows_(has_table_rows(context)),
        shape_used_(entry_.shapes.size()),
        arrays_(footer_, metadata.arrays()),
        zones_(metadata.zones(), type_, kind_ != TypeKind::kList && kind_ != TypeKind::kStruct, block_bytes,
               zone_room) {}

  // `file_rows`: of the file's chunk.
  void next(const format::ColumnChunk& from, uint64_t file_rows, ColumnChunkInfo& chunk) {
    chunk.rows = from.rows();
    require(chunk.rows <= kMaxElements, "it has an absurd number of rows");
    require(!table_rows_ || chunk.rows == file_rows, "its rows differ from those of the file's chunk");
    chunk.plain_bytes = from.plain_bytes();
    chunk.region = {from.region_offset(), from.region_length()};
    chunk.shape = from.shape();
    take_array(chunk);
    check_region(footer_, chunk);
    zones_.next(chunk);
    sum_zones(chunk, type_);
    set_chunk_flags(chunk.stats, from.flags(), from.distinct());
  }

  void finish() {
    arrays_.finish();
    zones_.finish();
  }

  // By what the first chunk of each shape is.
  std::vector<std::string> encodings(const std::vector<ColumnChunkInfo>& chunks) const {
    std::vector<std::string> texts(entry_.shapes.size());
    for (const ColumnChunkInfo& chunk : chunks) {
      if (chunk.nodes.empty() || !texts[chunk.shape].empty()) continue;
      size_t node = 0;
      texts[chunk.shape] = to_string(shown_tree(context_, chunk.nodes, node));
    }
    return texts;
  }

  // Copied only when all chunks are read: what a tree takes in memory is paid for by the nodes of a chunk that has it.
  std::vector<Tree> shapes() const {
    std::vector<Tree> trees;
    for (size_t i = 0; i < entry_.shapes.size(); ++i) {
      require(shape_used_[i], "the column has an encoding tree that no chunk uses");
      size_t node = 0;
      const ShapeEntry& shape = footer_.shapes[entry_.shapes[i]];
      trees.push_back(shape.nodes.empty() ? Tree{} : tree_of(footer_, shape, node));
    }
    return trees;
  }

 private:
  void take_array(ColumnChunkInfo& chunk) {
    require(chunk.shape < entry_.shapes.size(), "it has an encoding tree that the column does not have");
    ArrayPlace array = arrays_.next(footer_.shapes[entry_.shapes[chunk.shape]], type_, TreePlace::kColumn);
    shape_used_[chunk.shape] = true;
    chunk.nodes = std::move(array.nodes);
    chunk.checksums = std::move(array.checksums);
    require(chunk.nodes.empty() ? kind_ == TypeKind::kStruct : chunk.nodes[0].count == chunk.rows,
            "its values differ in number from its rows");
    size_t source_end = 0;  // of the nodes of other columns
    for (size_t i = 0; i < chunk.nodes.size(); ++i) {
      const NodePlace& node = chunk.nodes[i];
      const bool is_source = i < source_end;
      chunk.encoded_bytes += node.params.size();
      if (is_source) chunk.shared_bytes += node.params.size();
      for (const StreamPlace& stream : node.streams) {
        chunk.encoded_bytes += stream.length;
        if (stream.length == 0 || inside(stream, chunk.region)) continue;
        const bool is_new = !is_source && elsewhere_.insert(stream.offset).second;
        if (!is_new) chunk.shared_bytes += stream.length;
      }
      if (i >= source_end && source_of(node)) source_end = subtree_end(chunk.nodes, i);
    }
  }

  const MetadataContext& context_;
  const FooterData& footer_;
  const ColumnEntry& entry_;
  TypeKind kind_;
  Physical type_;
  bool table_rows_;
  std::vector<bool> shape_used_;
  std::set<uint64_t> elsewhere_;  // streams outside of the regions
  ArrayCursor arrays_;
  ZoneCursor zones_;
};

std::vector<StreamPlace> stream_places(const std::vector<ColumnChunkInfo>& chunks) {
  std::vector<StreamPlace> places;
  for (const ColumnChunkInfo& chunk : chunks) {
    for (const NodePlace& node : chunk.nodes) places.insert(places.end(), node.streams.begin(), node.streams.end());
  }
  return places;
}

std::vector<uint64_t> read_width_tiles(const format::ColumnMetadata& metadata) {
  constexpr uint32_t kWidths = 65;
  const uint32_t given = size_of(metadata.width_tiles());
  require(given <= kWidths, "there are more bit widths than 65");
  std::vector<uint64_t> tiles(kWidths, 0);
  for (uint32_t i = 0; i < given; ++i) tiles[i] = metadata.width_tiles()->Get(i);
  return tiles;
}

}  // namespace

ColumnInfo parse_column(const MetadataContext& context, ByteView bytes, std::atomic<uint64_t>& zone_room) {
  const FooterData& footer = context.footer;
  const ColumnEntry& entry = footer.columns[context.field_id];
  const auto& metadata = verified_root<format::ColumnMetadata>(bytes, kMaxBlockTables, "the column's metadata");
  require(is_aligned(metadata.chunks()) && is_aligned(metadata.width_tiles()), "a list in it is not aligned");
  require(metadata.field() == context.field_id, "the metadata belongs to another column");

  ColumnInfo info;
  info.field_id = context.field_id;
  info.path = shown_path_of(footer, context.fields, context.field_id);
  info.stats = entry.stats;
  info.has_dictionary = entry.dictionary.has_value();

  const uint32_t count = metadata.chunks() == nullptr ? 0 : metadata.chunks()->size();
  require(count == footer.chunks.size(), "the column's number of chunks differs from the file's");
  ChunkCursor chunks(context, metadata, bytes.size(), zone_room);
  uint64_t rows = 0;
  uint64_t nulls = 0;
  info.chunks.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    ColumnChunkInfo& chunk = info.chunks.emplace_back();
    try {
      chunks.next(*metadata.chunks()->Get(i), footer.chunks[i].rows, chunk);
    } catch (const Error& error) {
      throw error.within(fmt::format("chunk {}", i));
    }
    rows += chunk.rows;
    nulls += chunk.stats.null_count;
    info.plain_bytes += chunk.plain_bytes;
    info.encoded_bytes += chunk.encoded_bytes;
    info.shared_bytes += chunk.shared_bytes;
  }
  chunks.finish();
  info.shapes = chunks.shapes();
  info.encodings = chunks.encodings(info.chunks);
  check_overlaps(stream_places(info.chunks));
  require(rows == entry.stats.rows, "the column's rows differ from those in the footer");
  require(nulls == entry.stats.null_count, "the column's NULLs differ from those in the footer");
  info.width_tiles = read_width_tiles(metadata);
  return info;
}

DictionaryInfo parse_dictionary(const MetadataContext& context, ByteView bytes) {
  const FooterData& footer = context.footer;
  const auto& metadata = verified_root<format::DictionaryMetadata>(bytes, kMaxBlockTables, "the dictionary's metadata");
  require(metadata.field() == context.field_id, "the dictionary belongs to another column");
  require(metadata.entries_shape() < footer.shapes.size() && metadata.map_shape() < footer.shapes.size(),
          "the dictionary names an encoding tree that is not in the table");

  DictionaryInfo info;
  info.entries = metadata.entries();
  require(info.entries >= 1 && info.entries <= kMaxDictionaryEntries, "the dictionary has an absurd number of entries");
  ArrayCursor arrays(footer, metadata.arrays());
  info.values = arrays.next(footer.shapes[metadata.entries_shape()],
                            physical_of(context.fields[context.field_id]->type), TreePlace::kInner);
  require(!info.values.nodes.empty() && info.values.nodes[0].count == info.entries,
          "the dictionary's values differ in number from its entries");
  const Codec* codec = info.values.nodes[0].codec;
  require(codec == nullptr || codec->point_access(), "the dictionary's values cannot be read one by one");
  require(size_of(metadata.chunk_has_map()) == footer.chunks.size(),
          "the dictionary's number of chunks differs from the file's");
  for (uint32_t i = 0; i < footer.chunks.size(); ++i) {
    const uint8_t has_map = metadata.chunk_has_map()->Get(i);
    require(has_map <= 1, "the dictionary's list of code maps is damaged");
    ArrayPlace map;
    if (has_map != 0) {
      map = arrays.next(footer.shapes[metadata.map_shape()], Physical::kU32, TreePlace::kInner);
      require(!map.nodes.empty() && map.nodes[0].count <= info.entries, "a code map is longer than the dictionary");
    }
    info.maps.push_back(std::move(map));
  }
  arrays.finish();
  return info;
}

}  // namespace basalt::format_v1
