// The changes, one function for each kind of object in a file.
#include "support/mutated_file.h"

#include <algorithm>
#include <array>

#include "file/format.h"

namespace basalt::test {

namespace {

constexpr uint32_t kMostChanges = 8;

template <typename T>
T* any_of(std::vector<T>& values, Choices& choices) {
  return values.empty() ? nullptr : &values[choices.below(values.size())];
}

template <typename T>
void change(T& value, Choices& choices) {
  value = static_cast<T>(choices.number(value));
}

void change_byte(std::vector<uint8_t>& bytes, Choices& choices) {
  if (uint8_t* byte = any_of(bytes, choices)) *byte = choices.byte();
}

// A vector whose length other numbers must match: one element more or less, or another value.
template <typename T>
void change_vector(std::vector<T>& values, Choices& choices) {
  switch (choices.below(4)) {
    case 0: values.push_back(static_cast<T>(choices.number(0))); break;
    case 1:
      if (!values.empty()) values.pop_back();
      break;
    default:
      if (T* value = any_of(values, choices)) change(*value, choices);
  }
}

void change_field(format::FieldT& field, Choices& choices) {
  switch (choices.below(7)) {
    case 0: field.kind = static_cast<uint8_t>(choices.below(26)); break;
    case 1: change(field.precision, choices); break;
    case 2: change(field.scale, choices); break;
    case 3: field.unit = static_cast<uint8_t>(choices.below(6)); break;
    case 4: field.nullable = !field.nullable; break;
    case 5: change(field.child_count, choices); break;
    default: field.name.assign(choices.below(300), static_cast<char>(choices.byte()));
  }
}

void change_shape(CraftedFile& file, Choices& choices) {
  auto* shape = any_of(file.footer.shapes, choices);
  if (shape == nullptr) return;
  format::ShapeNode* node = any_of((*shape)->nodes, choices);
  if (node == nullptr) return;
  const auto codecs = all_codecs();
  const uint16_t codec = file.codec(std::string(codecs[choices.below(codecs.size())]->name()));
  const bool children_too = choices.below(4) == 0;
  *node = format::ShapeNode(codec, children_too ? static_cast<uint16_t>(choices.below(5)) : node->child_count());
}

void change_column(CraftedFile& file, format::ColumnT& column, Choices& choices) {
  switch (choices.below(8)) {
    case 0: change(column.rows, choices); break;
    case 1: change(column.null_count, choices); break;
    case 2: change(column.flags, choices); break;
    case 3: change_byte(column.min, choices); break;
    case 4: change_byte(column.max, choices); break;
    case 5: change_vector(column.min, choices); break;
    case 6: change(column.distinct, choices); break;
    default:
      column.shapes.assign(1 + choices.below(4), static_cast<uint16_t>(choices.below(file.footer.shapes.size())));
  }
}

void change_arrays(format::ArraysT& arrays, uint64_t end, Choices& choices) {
  switch (choices.below(6)) {
    case 0:
    case 1:
      if (format::Node* node = any_of(arrays.nodes, choices)) {
        std::array<uint64_t, 3> parts = {node->count(), node->param_bytes(), node->stream_count()};
        uint64_t& part = parts[choices.below(3)];
        part = choices.number(part);
        *node = format::Node(parts[0], static_cast<uint32_t>(parts[1]), static_cast<uint32_t>(parts[2]));
      }
      break;
    case 2:
      if (format::Stream* stream = any_of(arrays.streams, choices)) {
        *stream = arrays.streams[choices.below(arrays.streams.size())];
      }
      break;
    case 3:
      if (format::Stream* stream = any_of(arrays.streams, choices)) {
        *stream = format::Stream(choices.below(end) / 128 * 128, choices.number(stream->length()));
      }
      break;
    case 4:
      if (format::Stream* stream = any_of(arrays.streams, choices)) {
        *stream = format::Stream(stream->offset(), choices.number(stream->length()));
      }
      break;
    default: change_byte(arrays.params, choices);
  }
}

void change_chunk(format::ColumnMetadataT& metadata, Choices& choices) {
  format::ColumnChunk* chunk = any_of(metadata.chunks, choices);
  if (chunk == nullptr) return;
  std::array<uint64_t, 8> parts = {chunk->rows(),          chunk->plain_bytes(), chunk->region_offset(),
                                   chunk->region_length(), chunk->distinct(),    chunk->shape(),
                                   chunk->flags(),         chunk->reserved()};
  uint64_t& part = parts[choices.below(parts.size())];
  part = choices.number(part);
  *chunk = format::ColumnChunk(parts[0], parts[1], parts[2], parts[3], parts[4], static_cast<uint16_t>(parts[5]),
                               static_cast<uint16_t>(parts[6]), static_cast<uint32_t>(parts[7]));
}

void change_zones(format::ZonesT& zones, Choices& choices) {
  switch (choices.below(6)) {
    case 0: change_vector(zones.flags, choices); break;
    case 1: change_vector(zones.null_counts, choices); break;
    case 2: change_byte(zones.mins, choices); break;
    case 3: change_byte(zones.maxs, choices); break;
    case 4: change_vector(zones.min_lengths, choices); break;
    default: change_vector(zones.max_lengths, choices);
  }
}

void change_dictionary(format::DictionaryMetadataT& dictionary, uint64_t end, Choices& choices) {
  switch (choices.below(5)) {
    case 0: change(dictionary.entries, choices); break;
    case 1: change(dictionary.entries_shape, choices); break;
    case 2: change(dictionary.map_shape, choices); break;
    case 3: change_vector(dictionary.chunk_has_map, choices); break;
    default:
      if (dictionary.arrays) change_arrays(*dictionary.arrays, end, choices);
  }
}

void change_metadata(CraftedFile& file, Choices& choices) {
  CraftedColumn* column = any_of(file.columns, choices);
  if (column == nullptr) return;
  format::ColumnMetadataT& metadata = column->metadata;
  switch (choices.below(6)) {
    case 0: change_chunk(metadata, choices); break;
    case 1:
      if (metadata.zones) change_zones(*metadata.zones, choices);
      break;
    case 2: change_vector(metadata.width_tiles, choices); break;
    case 3:
      if (column->dictionary) change_dictionary(*column->dictionary, file.body.size(), choices);
      break;
    default:
      if (metadata.arrays) change_arrays(*metadata.arrays, file.body.size(), choices);
  }
}

void change_streams(CraftedFile& file, Choices& choices) {
  constexpr uint64_t kFirst = format_v1::kStreamAlignment;
  if (file.body.size() <= kFirst) return;
  const uint64_t bytes = 1 + choices.below(16);
  for (uint64_t i = 0; i < bytes; ++i) {
    file.body[kFirst + choices.below(file.body.size() - kFirst)] = static_cast<std::byte>(choices.byte());
  }
}

void change_footer(CraftedFile& file, Choices& choices) {
  format::FooterT& footer = file.footer;
  switch (choices.below(7)) {
    case 0: change(footer.rows, choices); break;
    case 1:
      if (format::ChunkRows* chunk = any_of(footer.chunks, choices)) {
        *chunk = format::ChunkRows(chunk->first_row(), choices.number(chunk->rows()));
      }
      break;
    case 2: change_vector(footer.sort_columns, choices); break;
    case 3:
      if (auto* codec = any_of(footer.codecs, choices)) (*codec)->name.assign(choices.below(100), 'x');
      break;
    case 4:
      if (auto* codec = any_of(footer.codecs, choices)) change((*codec)->version, choices);
      break;
    case 5:
      if (auto* field = any_of(footer.fields, choices)) change_field(**field, choices);
      break;
    default:
      if (auto* column = any_of(footer.columns, choices)) change_column(file, **column, choices);
  }
}

void replace_array(CraftedFile& file, Choices& choices) {
  if (file.columns.empty() || file.footer.chunks.size() != 1) return;
  const auto field = static_cast<uint32_t>(choices.below(file.columns.size()));
  if (file.columns[field].metadata.chunks.empty()) return;
  const auto type = static_cast<Physical>(choices.below(13));
  file.set_array(field, random_array(choices, type, file.columns[field].metadata.chunks[0].rows()));
}

}  // namespace

uint8_t Choices::byte() {
  if (left_ == 0) return 0;
  --left_;
  return *data_++;
}

uint64_t Choices::word() {
  const uint64_t low = byte();
  return low | uint64_t{byte()} << 8;
}

uint64_t Choices::number(uint64_t now) {
  static constexpr uint64_t kEdges[] = {0,          1,          2,          255,        256,        1023,
                                        1024,       8192,       65536,      (1 << 20),  (1 << 24),  INT32_MAX,
                                        UINT32_MAX, 1ull << 32, 1ull << 40, 1ull << 62, 1ull << 63, UINT64_MAX};
  switch (below(5)) {
    case 0: return now + 1;
    case 1: return now - 1;
    case 2: return kEdges[below(std::size(kEdges))];
    case 3: return now ^ uint64_t { 1 } << below(64);
    default: return word();
  }
}

CraftedNode random_array(Choices& choices, Physical type, uint64_t count, uint32_t depth) {
  const auto codecs = all_codecs();
  const Codec* codec = codecs[choices.below(codecs.size())];
  CraftedNode node;
  node.codec = std::string(codec->name());
  node.count = choices.below(8) == 0 ? choices.number(count) : count;
  node.params.resize(choices.below(20));
  for (std::byte& param : node.params) param = static_cast<std::byte>(choices.byte());
  const uint64_t streams = choices.below(6);
  for (uint64_t i = 0; i < streams; ++i) {
    static constexpr uint64_t kPerTile[] = {1, 2, 4, 8, 16};
    const uint64_t tiles = std::min<uint64_t>(count, 1 << 20) / kTileRows + 1;
    auto& stream = node.streams.emplace_back(static_cast<size_t>(
        choices.below(2) == 0 ? choices.below(4096) : kPerTile[choices.below(5)] * (tiles + choices.below(2))));
    const std::byte fill = static_cast<std::byte>(choices.below(3) == 0 ? choices.byte() : 0);
    std::fill(stream.begin(), stream.end(), fill);
    for (size_t at = 0; at < std::min<size_t>(stream.size(), 16); ++at)
      stream[at] = static_cast<std::byte>(choices.byte());
  }
  if (depth > 10) return node;
  // Mostly the children that the codec asks for, so that something gets past the count.
  if (codec->accepts(type, false) || codec->accepts(type, true)) {
    for (const ChildSlot& slot : codec->children(type)) {
      node.children.push_back(
          random_array(choices, slot.type, choices.below(4) == 0 ? choices.below(5000) : count, depth + 1));
    }
  } else {
    const uint64_t children = choices.below(4);
    for (uint64_t i = 0; i < children && !choices.empty(); ++i) {
      node.children.push_back(random_array(choices, Physical::kU32, count, depth + 1));
    }
  }
  return node;
}

void mutate(CraftedFile& file, Choices& choices) {
  switch (choices.below(8)) {
    case 0: change_footer(file, choices); break;
    case 1: change_shape(file, choices); break;
    case 2: replace_array(file, choices); break;
    case 3:
    case 4: change_streams(file, choices); break;
    default: change_metadata(file, choices);
  }
}

std::vector<std::byte> mutated(const std::vector<std::byte>& sound, const uint8_t* data, size_t size) {
  CraftedFile file(sound);
  Choices choices(data, size);
  for (uint32_t i = 0; i < kMostChanges && !choices.empty(); ++i) mutate(file, choices);
  return file.seal();
}

}  // namespace basalt::test
