// Building the footer and everything behind the last chunk.
#include "file/write_footer.h"

#include <format_generated.h>

#include <cstring>
#include <functional>

#include "basalt/core/error.h"
#include "file/format.h"

namespace basalt::format_v1 {

namespace {

ByteView view_of(const std::vector<uint8_t>& bytes) {
  return {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()};
}

format::Place write_block(const std::vector<uint8_t>& bytes, OutputFile& out) {
  out.pad_to(kMetadataAlignment);
  const format::Place place(out.position(), bytes.size(), checksum(bytes.data(), bytes.size()));
  out.write(view_of(bytes));
  return place;
}

struct ColumnPlaces {
  format::Place metadata;
  std::optional<format::Place> dictionary;
};

class FooterBuilder {
 public:
  FooterBuilder(const FooterContents& contents, const std::vector<ColumnWriter>& columns, const ShapeTable& shapes,
                const std::vector<ColumnPlaces>& places)
      : contents_(contents), columns_(columns), shapes_(shapes), places_(places) {}

  std::vector<uint8_t> build() {
    std::vector<flatbuffers::Offset<format::Field>> fields;
    for (const Field* field : flatten(contents_.schema)) fields.push_back(build_field(*field));
    std::vector<flatbuffers::Offset<format::Codec>> codecs;
    for (const std::string& name : shapes_.codecs()) {
      codecs.push_back(format::CreateCodec(builder_, builder_.CreateString(name), get_codec(name).version()));
    }
    std::vector<flatbuffers::Offset<format::Shape>> shapes;
    for (const Tree& tree : shapes_.shapes()) shapes.push_back(build_shape(tree));
    std::vector<format::ChunkRows> chunks;
    for (const ChunkInfo& chunk : contents_.chunks) chunks.emplace_back(chunk.first_row, chunk.rows);
    std::vector<flatbuffers::Offset<format::Column>> columns;
    for (size_t i = 0; i < columns_.size(); ++i) columns.push_back(build_column(columns_[i], places_[i]));
    std::vector<flatbuffers::Offset<format::KeyValue>> metadata;
    for (const auto& [key, value] : contents_.metadata) {
      const auto key_text = builder_.CreateString(key);
      metadata.push_back(format::CreateKeyValue(builder_, key_text, builder_.CreateString(value)));
    }
    const auto field_vector = builder_.CreateVector(fields);
    const auto codec_vector = builder_.CreateVector(codecs);
    const auto shape_vector = builder_.CreateVector(shapes);
    const auto chunk_vector = builder_.CreateVectorOfStructs(chunks);
    const auto column_vector = builder_.CreateVector(columns);
    const auto sort_vector = builder_.CreateVector(contents_.sort_columns);
    const auto created_by = builder_.CreateString(contents_.created_by);
    const auto metadata_vector = builder_.CreateVector(metadata);
    builder_.Finish(format::CreateFooter(builder_, contents_.rows, field_vector, codec_vector, shape_vector,
                                         chunk_vector, column_vector, sort_vector, created_by, metadata_vector));
    return {builder_.GetBufferPointer(), builder_.GetBufferPointer() + builder_.GetSize()};
  }

 private:
  flatbuffers::Offset<format::Field> build_field(const Field& field) {
    const auto name = builder_.CreateString(field.name);
    // The rows decide: a source may declare a column without NULLs and have some.
    const bool nullable = field.nullable || columns_[field.id].statistics().null_count != 0;
    return format::CreateField(builder_, name, static_cast<uint8_t>(field.type.kind), field.type.precision,
                               field.type.scale, static_cast<uint8_t>(field.type.unit), nullable, field.id,
                               static_cast<uint32_t>(field.children.size()), static_cast<uint8_t>(field.meaning),
                               field.array_size);
  }

  flatbuffers::Offset<format::Shape> build_shape(const Tree& tree) {
    std::vector<format::ShapeNode> nodes;
    const std::function<void(const Tree&)> add = [&](const Tree& node) {
      nodes.emplace_back(shapes_.codec_index(node.codec), static_cast<uint16_t>(node.children.size()));
      for (const Tree& child : node.children) add(child);
    };
    if (!tree.codec.empty()) add(tree);
    return format::CreateShape(builder_, builder_.CreateVectorOfStructs(nodes));
  }

  flatbuffers::Offset<format::Column> build_column(const ColumnWriter& column, const ColumnPlaces& places) {
    const Statistics stats = column.statistics();
    const auto shapes = builder_.CreateVector(column.shapes());
    flatbuffers::Offset<flatbuffers::Vector<uint8_t>> min;
    flatbuffers::Offset<flatbuffers::Vector<uint8_t>> max;
    if (!stats.min.null) min = builder_.CreateVector(bound_bytes(stats.min));
    if (!stats.max.null) max = builder_.CreateVector(bound_bytes(stats.max));
    const auto flags = static_cast<uint16_t>(order_flags(stats) | bound_flags(stats) << kBoundShift);
    return format::CreateColumn(builder_, shapes, &places.metadata, places.dictionary ? &*places.dictionary : nullptr,
                                stats.rows, stats.null_count, stats.distinct, flags, min, max);
  }

  flatbuffers::FlatBufferBuilder builder_{1 << 16};
  const FooterContents& contents_;
  const std::vector<ColumnWriter>& columns_;
  const ShapeTable& shapes_;
  const std::vector<ColumnPlaces>& places_;
};

}  // namespace

void write_header(OutputFile& out) {
  std::byte header[kHeaderBytes] = {};
  std::memcpy(header, kMagic, sizeof(kMagic));
  std::memcpy(header + sizeof(kMagic), &kVersion, sizeof(kVersion));
  out.write(header);
}

void write_footer(const FooterContents& contents, std::vector<ColumnWriter>& columns, ShapeTable& shapes,
                  const ArrayEncoder& encoder, OutputFile& out) {
  std::vector<ColumnPlaces> places(columns.size());
  std::vector<std::optional<std::vector<uint8_t>>> dictionaries(columns.size());
  for (uint32_t i = 0; i < columns.size(); ++i) dictionaries[i] = columns[i].write_dictionary(i, encoder, out, shapes);
  for (uint32_t i = 0; i < columns.size(); ++i) {
    places[i].metadata = write_block(columns[i].metadata(i), out);
    if (dictionaries[i]) places[i].dictionary = write_block(*dictionaries[i], out);
  }
  out.pad_to(kMetadataAlignment);
  const std::vector<uint8_t> footer = FooterBuilder(contents, columns, shapes, places).build();
  Postscript postscript;
  postscript.footer_offset = out.position();
  postscript.footer_length = footer.size();
  postscript.footer_checksum = checksum(footer.data(), footer.size());
  seal(postscript);
  std::memcpy(postscript.magic, kMagic, sizeof(kMagic));
  out.write(view_of(footer));
  out.write({reinterpret_cast<const std::byte*>(&postscript), sizeof(postscript)});
}

}  // namespace basalt::format_v1
