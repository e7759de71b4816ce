// Taking a file apart and sealing it again; the layout is that of docs/format.md.
#include "support/crafted_file.h"

#include <algorithm>
#include <cstring>

#include "file/format.h"
#include "file/wrapped.h"

namespace basalt::test {

namespace {

using namespace format_v1;

Postscript postscript_of(const std::vector<std::byte>& bytes) {
  Postscript postscript;
  std::memcpy(&postscript, bytes.data() + bytes.size() - sizeof(Postscript), sizeof(postscript));
  return postscript;
}

void pad(std::vector<std::byte>& bytes, uint64_t alignment) {
  bytes.resize(static_cast<size_t>(align_up(bytes.size(), alignment)));
}

void add_shape(const CraftedNode& node, CraftedFile& file, format::ShapeT& shape) {
  shape.nodes.emplace_back(file.codec(node.codec), static_cast<uint16_t>(node.children.size()));
  for (const CraftedNode& child : node.children) add_shape(child, file, shape);
}

bool same_nodes(const std::vector<format::ShapeNode>& a, const std::vector<format::ShapeNode>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.codec() == y.codec() && x.child_count() == y.child_count();
  });
}

// How many tiles of which width the packed nodes of an array have, as far as their descriptors say.
void count_widths(const CraftedNode& node, std::vector<uint64_t>& widths) {
  if (node.codec == "packed" && node.streams.size() == 3) {
    for (size_t at = 0; at + 4 <= node.streams[1].size(); at += 4) {
      const auto width = static_cast<size_t>(node.streams[1][at]);
      if (width > 64) continue;
      if (widths.size() <= width) widths.resize(width + 1);
      ++widths[width];
    }
  }
  for (const CraftedNode& child : node.children) count_widths(child, widths);
}

// Streams outside of the body have sums of zero: a reader refuses their place first.
void sum_streams(const std::vector<std::byte>& body, format::ArraysT& arrays) {
  arrays.checksums.clear();
  for (const format::Stream& stream : arrays.streams) {
    const bool inside = stream.offset() <= body.size() && stream.length() <= body.size() - stream.offset();
    if (!inside) {
      arrays.checksums.resize(arrays.checksums.size() + std::min<uint64_t>(checksum_blocks(stream.length()), 1024));
      continue;
    }
    for (uint64_t at = 0; at < stream.length(); at += kChecksumBlock) {
      const uint64_t length = std::min(kChecksumBlock, stream.length() - at);
      arrays.checksums.push_back(checksum(body.data() + stream.offset() + at, static_cast<size_t>(length)));
    }
  }
}

template <typename Object>
format::Place add_block(const Object& object, std::vector<std::byte>& out) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(Object::TableType::Pack(builder, &object));
  pad(out, kMetadataAlignment);
  const format::Place place(out.size(), builder.GetSize(), checksum(builder.GetBufferPointer(), builder.GetSize()));
  const auto* data = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  out.insert(out.end(), data, data + builder.GetSize());
  return place;
}

template <typename Object>
format::Place add_summed(Object object, const std::vector<std::byte>& body, std::vector<std::byte>& out) {
  if (object.arrays) sum_streams(body, *object.arrays);
  return add_block(object, out);
}

template <typename Table>
auto unpacked(const std::vector<std::byte>& bytes, uint64_t offset) {
  typename Table::NativeTableType object;
  flatbuffers::GetRoot<Table>(bytes.data() + offset)->UnPackTo(&object);
  return object;
}

}  // namespace

CraftedNode crafted(const Node& node) {
  CraftedNode out{std::string(node.codec->name()), node.count, node.params, {}, {}};
  for (const Buffer& stream : node.streams) out.streams.emplace_back(stream.data(), stream.data() + stream.size());
  for (const Node& child : node.children) out.children.push_back(crafted(child));
  return out;
}

CraftedFile::CraftedFile(const std::vector<std::byte>& sound) {
  Buffer copy;
  copy.append(sound.data(), sound.size());
  const auto source = unwrap(memory_source(std::move(copy)));
  std::vector<std::byte> bytes(static_cast<size_t>(source->size()));
  source->read({0, bytes.size()}, bytes.data());
  const Postscript postscript = postscript_of(bytes);
  footer = unpacked<format::Footer>(bytes, postscript.footer_offset);
  uint64_t end = postscript.footer_offset;
  for (const auto& column : footer.columns) {
    CraftedColumn& out = columns.emplace_back();
    out.metadata = unpacked<format::ColumnMetadata>(bytes, column->metadata->offset());
    end = std::min(end, column->metadata->offset());
    if (!column->dictionary) continue;
    out.dictionary = std::make_unique<format::DictionaryMetadataT>(
        unpacked<format::DictionaryMetadata>(bytes, column->dictionary->offset()));
    end = std::min(end, column->dictionary->offset());
  }
  body.assign(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(end));
}

format::Stream CraftedFile::add_stream(const std::vector<std::byte>& bytes) {
  if (bytes.empty()) return {0, 0};
  pad(body, kStreamAlignment);
  const uint64_t offset = body.size();
  body.insert(body.end(), bytes.begin(), bytes.end());
  return {offset, bytes.size()};
}

uint16_t CraftedFile::codec(const std::string& name) {
  const auto found =
      std::find_if(footer.codecs.begin(), footer.codecs.end(), [&](const auto& entry) { return entry->name == name; });
  const auto index = static_cast<uint16_t>(found - footer.codecs.begin());
  if (found == footer.codecs.end()) {
    footer.codecs.push_back(std::make_unique<format::CodecT>());
    footer.codecs.back()->name = name;
  }
  return index;
}

uint16_t CraftedFile::shape(const CraftedNode& root) {
  auto shape = std::make_unique<format::ShapeT>();
  add_shape(root, *this, *shape);
  const auto found = std::find_if(footer.shapes.begin(), footer.shapes.end(),
                                  [&](const auto& entry) { return same_nodes(entry->nodes, shape->nodes); });
  const auto index = static_cast<uint16_t>(found - footer.shapes.begin());
  if (found == footer.shapes.end()) footer.shapes.push_back(std::move(shape));
  return index;
}

void CraftedFile::add_nodes(const CraftedNode& node, format::ArraysT& arrays) {
  arrays.nodes.emplace_back(node.count, static_cast<uint32_t>(node.params.size()),
                            static_cast<uint32_t>(node.streams.size()));
  for (const std::byte param : node.params) arrays.params.push_back(static_cast<uint8_t>(param));
  for (const auto& stream : node.streams) arrays.streams.push_back(add_stream(stream));
  for (const CraftedNode& child : node.children) add_nodes(child, arrays);
}

// Where the last stream ends: what lies behind it belongs to nothing.
uint64_t CraftedFile::streams_end() const {
  uint64_t end = kHeaderBytes;
  const auto look = [&](const auto& arrays) {
    if (!arrays) return;
    for (const format::Stream& stream : arrays->streams) end = std::max(end, stream.offset() + stream.length());
  };
  for (const CraftedColumn& column : columns) {
    look(column.metadata.arrays);
    if (column.dictionary) look(column.dictionary->arrays);
  }
  return end;
}

void CraftedFile::set_array(uint32_t field, const CraftedNode& root) {
  CraftedColumn& column = columns.at(field);
  footer.columns.at(field)->shapes = {shape(root)};
  footer.columns.at(field)->dictionary.reset();
  column.dictionary.reset();
  column.metadata.arrays.reset();
  body.resize(static_cast<size_t>(std::min<uint64_t>(streams_end(), body.size())));
  // Every region may start where a large one must.
  pad(body, kLargeRegionAlignment);
  const uint64_t begin = body.size();
  column.metadata.width_tiles.clear();
  count_widths(root, column.metadata.width_tiles);
  column.metadata.arrays = std::make_unique<format::ArraysT>();
  add_nodes(root, *column.metadata.arrays);
  const uint64_t length = body.size() - begin;
  format::ColumnChunk& chunk = column.metadata.chunks.at(0);
  chunk = format::ColumnChunk(chunk.rows(), chunk.plain_bytes(), length == 0 ? 0 : begin, length, chunk.distinct(), 0,
                              chunk.flags(), 0);
}

std::vector<std::byte> CraftedFile::seal() const {
  std::vector<std::byte> out = body;
  format::FooterT sealed = footer;
  for (size_t i = 0; i < sealed.columns.size(); ++i) {
    const CraftedColumn& column = columns.at(i);
    sealed.columns[i]->metadata = std::make_unique<format::Place>(add_summed(column.metadata, body, out));
    sealed.columns[i]->dictionary.reset();
    if (!column.dictionary) continue;
    sealed.columns[i]->dictionary = std::make_unique<format::Place>(add_summed(*column.dictionary, body, out));
  }
  // The footer ends where the postscript begins.
  const format::Place place = add_block(sealed, out);
  Postscript postscript;
  postscript.footer_offset = place.offset();
  postscript.footer_length = place.length();
  postscript.footer_checksum = place.checksum();
  std::memcpy(postscript.magic, kMagic, sizeof(kMagic));
  format_v1::seal(postscript);
  const auto* data = reinterpret_cast<const std::byte*>(&postscript);
  out.insert(out.end(), data, data + sizeof(postscript));
  return out;
}

}  // namespace basalt::test
