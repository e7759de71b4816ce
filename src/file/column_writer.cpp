// Gathering a column's chunks and writing them, its dictionary and its metadata.
#include "file/column_writer.h"

#include <format_generated.h>

#include <algorithm>
#include <cstring>

#include "basalt/core/error.h"
#include "codec/trees.h"
#include "file/format.h"
#include "file/packed_widths.h"

namespace basalt::format_v1 {

static_assert(sizeof(NodeRecord) == sizeof(format::Node) && sizeof(StreamRecord) == sizeof(format::Stream) &&
              sizeof(ChunkRecord) == sizeof(format::ColumnChunk));

// Smaller regions wait together in one piece of memory.
constexpr uint64_t kOwnMemory = 4096;

uint16_t ShapeTable::add(const Tree& tree) {
  const std::string text = tree.codec.empty() ? std::string() : to_string(tree);
  const auto known = by_text_.find(text);
  if (known != by_text_.end()) return known->second;
  const std::function<void(const Tree&)> note = [&](const Tree& node) {
    if (std::find(codecs_.begin(), codecs_.end(), node.codec) == codecs_.end()) codecs_.push_back(node.codec);
    for (const Tree& child : node.children) note(child);
  };
  if (!tree.codec.empty()) note(tree);
  if (shapes_.size() >= 65535) throw Error(ErrorCode::kUnsupported, "the file needs more than 65535 encoding trees");
  const auto number = static_cast<uint16_t>(shapes_.size());
  shapes_.push_back(tree);
  by_text_.emplace(text, number);
  return number;
}

uint16_t ShapeTable::codec_index(const std::string& name) const {
  return static_cast<uint16_t>(std::find(codecs_.begin(), codecs_.end(), name) - codecs_.begin());
}

void ArrayRecords::append(const EncodedArray& array) {
  const auto add = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  add(nodes, array.nodes);
  add(params, array.params);
  add(streams, array.streams);
  add(checksums, array.checksums);
}

ColumnWriter::ColumnWriter(const Field& field)
    : type_(physical_of(field.type)), statistics_(type_), dictionary_(type_) {}

void ColumnWriter::add(EncodedColumn chunk, ShapeTable& shapes) {
  const uint16_t shape = shapes.add(chunk.array.tree);
  size_t local = static_cast<size_t>(std::find(shapes_.begin(), shapes_.end(), shape) - shapes_.begin());
  if (local == shapes_.size()) {
    if (shapes_.size() == kMaxShapes) throw Error(ErrorCode::kInternal, "a column has more than 4 encoding trees");
    shapes_.push_back(shape);
    encodings_.push_back(chunk.encoding);
    shape_chunks_.push_back(0);
  }
  ++shape_chunks_[local];

  if (dictionary_.add(chunk)) {
    const DictionaryEntries& entries = *chunk.entries;
    const Tree& root = chunk.array.tree;
    const Tree& dict = holds_nulls(root.codec) ? root.children[1] : root;
    entries_places_.push_back({arrays_.nodes.size() + entries.first_node, arrays_.streams.size() + entries.first_stream,
                               arrays_.checksums.size() + entries.first_checksum,
                               arrays_.params.size() + entries.first_param, dict.children[1]});
  } else {
    entries_places_.clear();
  }

  ChunkRecord record;
  record.rows = chunk.rows;
  record.plain_bytes = chunk.plain_bytes;
  record.region_length = chunk.array.region.size();
  record.distinct = chunk.statistics.stats.distinct;
  record.shape = static_cast<uint16_t>(local);
  record.flags = chunk.statistics.flags();
  plain_bytes_ += chunk.plain_bytes;
  encoded_bytes_ += chunk.array.params.size();
  for (const StreamRecord& stream : chunk.array.streams) encoded_bytes_ += stream.length;
  for (SharedStreams shared : chunk.array.shared) {
    for (uint32_t i = 0; i < shared.count; ++i) encoded_bytes_ -= chunk.array.streams[shared.first + i].length;
    shared.first += static_cast<uint32_t>(arrays_.streams.size());
    waiting_shared_.push_back({static_cast<uint32_t>(chunks_.size()), shared});
  }

  for (SharedEntriesPlace place : chunk.array.entries) {
    place.node += static_cast<uint32_t>(arrays_.nodes.size());
    place.stream += static_cast<uint32_t>(arrays_.streams.size());
    place.checksum += static_cast<uint32_t>(arrays_.checksums.size());
    entries_open_.push_back(place);
  }

  Waiting waiting;
  waiting.chunk = static_cast<uint32_t>(chunks_.size());
  waiting.first_stream = arrays_.streams.size();
  waiting.stream_count = chunk.array.streams.size();
  if (record.region_length >= kOwnMemory) {
    waiting.own = std::move(chunk.array.region);
  } else {
    waiting.small_offset = small_.size();
    small_.append(chunk.array.region.data(), chunk.array.region.size());
  }
  waiting_bytes_ += record.region_length;
  if (record.region_length != 0) waiting_.push_back(std::move(waiting));

  chunks_.push_back(record);
  arrays_.append(chunk.array);
  stream_ends_.push_back(arrays_.streams.size());
  zones_.append(chunk.statistics.zones);
  statistics_.add(chunk.statistics);
  add_widths(chunk.width_tiles, 1);
}

void ColumnWriter::add_widths(const std::vector<uint64_t>& tiles, uint64_t times) {
  if (width_tiles_.size() < tiles.size()) width_tiles_.resize(tiles.size());
  for (size_t i = 0; i < tiles.size(); ++i) width_tiles_[i] += tiles[i] * times;
}

void ColumnWriter::flush(OutputFile& out) {
  for (Waiting& waiting : waiting_) {
    ChunkRecord& record = chunks_[waiting.chunk];
    out.pad_to(record.region_length >= kLargeRegion ? kLargeRegionAlignment : kStreamAlignment);
    record.region_offset = out.position();
    out.write(!waiting.own.empty()
                  ? waiting.own.view()
                  : ByteView{small_.data() + waiting.small_offset, static_cast<size_t>(record.region_length)});
    for (size_t i = 0; i < waiting.stream_count; ++i) {
      StreamRecord& stream = arrays_.streams[waiting.first_stream + i];
      if (stream.length != 0) stream.offset += record.region_offset;
    }
    waiting.own = Buffer();
  }
  waiting_.clear();
  small_ = Buffer();
  waiting_bytes_ = 0;
}

void ColumnWriter::place_shared(const std::vector<ColumnWriter>& columns) {
  for (const auto& [chunk, shared] : waiting_shared_) {
    const ColumnWriter& source = columns[shared.field];
    const auto end = source.arrays_.streams.begin() + static_cast<ptrdiff_t>(source.stream_ends_[chunk]);
    std::copy(end - shared.count, end, arrays_.streams.begin() + shared.first);
  }
  waiting_shared_.clear();
}

namespace {

flatbuffers::Offset<format::Arrays> build_arrays(flatbuffers::FlatBufferBuilder& builder, const ArrayRecords& arrays) {
  const auto nodes =
      builder.CreateVectorOfStructs(reinterpret_cast<const format::Node*>(arrays.nodes.data()), arrays.nodes.size());
  const auto params = builder.CreateVector(arrays.params);
  const auto streams = builder.CreateVectorOfStructs(reinterpret_cast<const format::Stream*>(arrays.streams.data()),
                                                     arrays.streams.size());
  const auto checksums = builder.CreateVector(arrays.checksums);
  return format::CreateArrays(builder, nodes, params, streams, checksums);
}

std::vector<uint8_t> finished(flatbuffers::FlatBufferBuilder& builder) {
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

size_t node_count(const Tree& tree) {
  size_t count = 1;
  for (const Tree& child : tree.children) count += node_count(child);
  return count;
}

// Writes an array outside of the chunks and notes its records.
void write_array(EncodedArray array, OutputFile& out, ArrayRecords& records) {
  out.pad_to(array.region.size() >= kLargeRegion ? kLargeRegionAlignment : kStreamAlignment);
  for (StreamRecord& stream : array.streams) {
    if (stream.length != 0) stream.offset += out.position();
  }
  out.write(array.region.view());
  records.append(array);
}

EncodedArray encode_entries(const DictionaryEntries& entries, Physical type, const Tree& tree,
                            const ArrayEncoder& encoder) {
  Values values;
  values.type = type;
  values.count = entries.count;
  values.data = entries.values.data();
  values.offsets = entries.strings.offsets.data();
  values.bytes = entries.strings.bytes.as<char>();
  try {
    return lay_out(encoder(values, tree));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnsupported) throw;
  }
  return lay_out(encoder(values, plain_tree(type)));
}

}  // namespace

void ColumnWriter::write_entries(const SharedEntries& entries, OutputFile& out) {
  if (entries_open_.empty()) return;
  const Buffer table = entries.whole();
  Values values;
  values.type = entries.type();
  values.count = entries.count();
  values.data = table.data();
  const Node node = encode_tree(values, packed_tree());
  encoded_bytes_ += node.encoded_bytes();
  std::vector<uint64_t> widths;
  add_packed_widths(view_of(node), widths);
  add_widths(widths, entries_open_.size());
  write_array(lay_out(node), out, entries_);
}

// With the records of shared entries in their places.
ArrayRecords ColumnWriter::whole_arrays() const {
  ArrayRecords whole = arrays_;
  for (const SharedEntriesPlace& place : entries_open_) {
    std::copy(entries_.nodes.begin(), entries_.nodes.end(), whole.nodes.begin() + place.node);
    std::copy(entries_.streams.begin(), entries_.streams.end(), whole.streams.begin() + place.stream);
  }
  // Nobody knew how many checksums there would be.
  whole.checksums.clear();
  size_t at = 0;
  for (const SharedEntriesPlace& place : entries_open_) {
    whole.checksums.insert(whole.checksums.end(), arrays_.checksums.begin() + static_cast<ptrdiff_t>(at),
                           arrays_.checksums.begin() + place.checksum);
    whole.checksums.insert(whole.checksums.end(), entries_.checksums.begin(), entries_.checksums.end());
    at = place.checksum;
  }
  whole.checksums.insert(whole.checksums.end(), arrays_.checksums.begin() + static_cast<ptrdiff_t>(at),
                         arrays_.checksums.end());
  return whole;
}

std::optional<std::vector<uint8_t>> ColumnWriter::write_dictionary(uint32_t field_id, const ArrayEncoder& encoder,
                                                                   OutputFile& out, ShapeTable& shapes) {
  if (!dictionary_.alive() || entries_places_.empty()) return std::nullopt;
  const DictionaryUnion::Result result = dictionary_.finish();
  ArrayRecords records;
  Tree entries_tree = entries_places_[0].tree;
  if (result.whole_chunk) {
    const EntriesPlace& place = entries_places_[*result.whole_chunk];
    entries_tree = place.tree;
    size_t stream = place.stream;
    size_t param = place.param;
    size_t checksum = place.checksum;
    for (size_t i = 0; i < node_count(entries_tree); ++i) {
      const NodeRecord& node = arrays_.nodes[place.node + i];
      records.nodes.push_back(node);
      for (uint32_t p = 0; p < node.param_bytes; ++p) records.params.push_back(arrays_.params[param++]);
      for (uint32_t s = 0; s < node.stream_count; ++s) {
        records.streams.push_back(arrays_.streams[stream]);
        const uint64_t blocks = checksum_blocks(arrays_.streams[stream++].length);
        for (uint64_t b = 0; b < blocks; ++b) records.checksums.push_back(arrays_.checksums[checksum++]);
      }
    }
  } else {
    EncodedArray array = encode_entries(result.values, type_, entries_tree, encoder);
    entries_tree = array.tree;
    write_array(std::move(array), out, records);
  }
  const Tree map_tree = ascending_tree();
  std::vector<uint8_t> has_map;
  for (const std::vector<uint32_t>& map : result.maps) {
    has_map.push_back(map.empty() ? 0 : 1);
    if (map.empty()) continue;
    Values values;
    values.type = Physical::kU32;
    values.count = map.size();
    values.data = map.data();
    write_array(lay_out(encoder(values, map_tree)), out, records);
  }
  flatbuffers::FlatBufferBuilder builder(4096);
  const auto arrays = build_arrays(builder, records);
  const auto chunk_has_map = builder.CreateVector(has_map);
  const uint16_t entries_shape = shapes.add(entries_tree);
  const uint16_t map_shape = shapes.add(map_tree);
  builder.Finish(format::CreateDictionaryMetadata(builder, field_id, result.entries, entries_shape, map_shape,
                                                  chunk_has_map, arrays));
  return finished(builder);
}

std::vector<uint8_t> ColumnWriter::metadata(uint32_t field_id) const {
  flatbuffers::FlatBufferBuilder builder(4096);
  const auto chunks =
      builder.CreateVectorOfStructs(reinterpret_cast<const format::ColumnChunk*>(chunks_.data()), chunks_.size());
  const auto arrays = build_arrays(builder, whole_arrays());
  const auto optional = [&](const std::vector<uint8_t>& bytes) {
    return bytes.empty() ? flatbuffers::Offset<flatbuffers::Vector<uint8_t>>() : builder.CreateVector(bytes);
  };
  const bool any_null =
      std::any_of(zones_.null_counts.begin(), zones_.null_counts.end(), [](uint32_t n) { return n != 0; });
  const auto flags = builder.CreateVector(zones_.flags);
  flatbuffers::Offset<flatbuffers::Vector<uint32_t>> nulls;
  if (any_null) nulls = builder.CreateVector(zones_.null_counts);
  const auto mins = optional(zones_.mins);
  const auto maxs = optional(zones_.maxs);
  const auto min_lengths = optional(zones_.min_lengths);
  const auto max_lengths = optional(zones_.max_lengths);
  const auto zones = format::CreateZones(builder, flags, nulls, mins, maxs, min_lengths, max_lengths);
  const auto widths = builder.CreateVector(width_tiles_);
  builder.Finish(format::CreateColumnMetadata(builder, field_id, chunks, arrays, zones, widths));
  return finished(builder);
}

}  // namespace basalt::format_v1
