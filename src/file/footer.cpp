// Reading the postscript and the footer. The order of checks is the order of trust: magic, version, checksums, the
// FlatBuffers verifier, then every number against the file and against each other.
#include "file/footer.h"

#include <fmt/format.h>
#include <format_generated.h>

#include <algorithm>
#include <bit>
#include <string_view>
#include <unordered_set>

#include "basalt/core/error.h"
#include "basalt/encoding/chooser.h"
#include "core/utf8.h"
#include "file/flatbuffer_checks.h"
#include "file/format.h"

namespace basalt::format_v1 {

static_assert(std::endian::native == std::endian::little, "the format is little-endian and read in place");

namespace {

class FooterReader {
 public:
  explicit FooterReader(const Source& source) : source_(source), name_(source.name()), size_(source.size()) {}

  FooterData read() {
    const Postscript postscript = read_postscript();
    data_.version = postscript.version;
    data_.offset = postscript.footer_offset;
    data_.length = postscript.footer_length;
    const Buffer bytes = footer_bytes(postscript);
    const auto& footer = root_of(bytes);
    copy_budget_ = bytes.size();

    data_.rows = footer.rows();
    read_chunks(footer);
    read_schema(footer);
    read_codecs(footer);
    read_shapes(footer);
    read_columns(footer);
    read_rest(footer);
    check_blocks();
    return std::move(data_);
  }

 private:
  static constexpr uint64_t kMostPathBytes = 16;  // of sort columns, for each byte of the footer

  [[noreturn]] void fail(const std::string& reason) const {
    throw Error(ErrorCode::kCorrupt, fmt::format("{}: {}", name_, reason));
  }
  void require(bool holds, const char* reason) const {
    if (!holds) fail(fmt::format("the footer at byte {} is damaged: {}", data_.offset, reason));
  }

  Postscript read_postscript() {
    if (size_ < kHeaderBytes + sizeof(Postscript)) {
      fail(fmt::format("not a Basalt file: {} bytes are too few", size_));
    }
    tail_offset_ = size_ - std::min(size_, kTailRead);
    tail_.resize(static_cast<size_t>(size_ - tail_offset_));
    source_.read({tail_offset_, tail_.size()}, tail_.data());

    Postscript postscript;
    std::memcpy(&postscript, tail_.data() + tail_.size() - sizeof(Postscript), sizeof(Postscript));
    if (std::memcmp(postscript.magic, kMagic, sizeof(kMagic)) != 0) fail_magic();
    if (postscript.version > kVersion) {
      throw Error(
          ErrorCode::kUnsupported,
          fmt::format("{}: the file was written by a newer version of Basalt (format {}; this build reads up to {})",
                      name_, postscript.version, kVersion));
    }
    if (checksum(&postscript, kPostscriptChecked) != postscript.checksum) {
      fail(fmt::format("the checksum of the postscript at byte {} is wrong", size_ - sizeof(Postscript)));
    }
    if (postscript.version == 0 || postscript.length != sizeof(Postscript)) {
      fail(fmt::format("the postscript at byte {} is damaged", size_ - sizeof(Postscript)));
    }
    if ((postscript.required_features & ~kKnownFeatures) != 0) {
      throw Error(ErrorCode::kUnsupported,
                  fmt::format("{}: the file needs features that this build does not have (bits {:#x})", name_,
                              postscript.required_features & ~kKnownFeatures));
    }
    if (tail_offset_ == 0) check_header(tail_.data());
    return postscript;
  }

  const format::Footer& root_of(const Buffer& bytes) const {
    try {
      return verified_root<format::Footer>(bytes.view(), kMaxFooterTables, "the footer");
    } catch (const Error& error) {
      throw error.within(name_);
    }
  }

  // A good beginning with a bad end is what an interrupted copy looks like: worth its own sentence.
  [[noreturn]] void fail_magic() const {
    char front[sizeof(kMagic)];
    source_.read({0, sizeof(front)}, reinterpret_cast<std::byte*>(front));
    if (std::memcmp(front, kMagic, sizeof(kMagic)) == 0) {
      fail(fmt::format("the file is cut off or its end is damaged: no postscript in its last {} bytes",
                       sizeof(Postscript)));
    }
    fail("not a Basalt file: the magic bytes are missing");
  }

  void check_header(const std::byte* bytes) const {
    uint32_t version = 0;
    uint32_t zero = 0;
    std::memcpy(&version, bytes + 8, 4);
    std::memcpy(&zero, bytes + 12, 4);
    if (std::memcmp(bytes, kMagic, sizeof(kMagic)) != 0 || version == 0 || version > kVersion || zero != 0) {
      fail("the header at byte 0 is damaged");
    }
  }

  Buffer footer_bytes(const Postscript& postscript) {
    const uint64_t end = size_ - sizeof(Postscript);
    if (postscript.footer_length == 0 || postscript.footer_offset < kHeaderBytes || postscript.footer_offset > end ||
        postscript.footer_length != end - postscript.footer_offset) {
      fail(fmt::format("the postscript at byte {} places the footer outside of the file", end));
    }
    Buffer bytes(static_cast<size_t>(postscript.footer_length));
    const uint64_t have_from = std::max(tail_offset_, postscript.footer_offset);
    if (postscript.footer_offset < have_from) {
      source_.read({postscript.footer_offset, have_from - postscript.footer_offset}, bytes.data());
    }
    std::memcpy(bytes.data() + (have_from - postscript.footer_offset), tail_.data() + (have_from - tail_offset_),
                static_cast<size_t>(end - have_from));
    if (checksum(bytes.data(), bytes.size()) != postscript.footer_checksum) {
      fail(fmt::format("the checksum of the footer at byte {} is wrong", postscript.footer_offset));
    }
    return bytes;
  }

  // FlatBuffers may point at one string from many places: what is copied in all never exceeds the footer itself.
  std::string copy(const flatbuffers::String* text) {
    if (text == nullptr) return {};
    require(text->size() <= copy_budget_, "its texts are longer than the footer");
    copy_budget_ -= text->size();
    require(is_utf8({text->c_str(), text->size()}), "a name or text in it is not UTF-8");
    return text->str();
  }

  void read_chunks(const format::Footer& footer) {
    uint64_t next = 0;
    require(is_aligned(footer.chunks()), "the list of chunks is not aligned");
    if (footer.chunks() != nullptr) {
      data_.chunks.reserve(footer.chunks()->size());
      for (const format::ChunkRows* chunk : *footer.chunks()) {
        require(chunk->first_row() == next, "the first rows of the chunks do not follow each other");
        require(chunk->rows() >= 1 && chunk->rows() <= kMaxChunkRows, "a chunk has no rows or more than 2^20");
        next += chunk->rows();
        data_.chunks.push_back({chunk->first_row(), chunk->rows()});
      }
    }
    require(next == data_.rows, "the rows of the chunks do not add up to those of the file");
  }

  void read_schema(const format::Footer& footer) {
    if (footer.fields() == nullptr) return;
    uint32_t at = 0;
    const uint32_t count = footer.fields()->size();
    while (at < count) data_.schema.fields.push_back(read_field(*footer.fields(), at, 0, at));
    check_names(data_.schema.fields);
  }

  // Columns are asked for by name: a second one of the same name could never be meant.
  void check_names(const std::vector<Field>& fields) const {
    std::unordered_set<std::string_view> names;
    for (const Field& field : fields) {
      require(names.insert(field.name).second, "two fields of one parent have the same name");
      check_names(field.children);
    }
  }

  Field read_field(const flatbuffers::Vector<flatbuffers::Offset<format::Field>>& fields, uint32_t& at, uint32_t depth,
                   uint32_t parent) {
    require(at < fields.size(), "a field has more children than there are fields");
    require(depth < kMaxSchemaDepth, "the schema is nested too deeply");
    const format::Field* from = fields.Get(at);
    Field field;
    field.name = copy(from->name());
    field.id = at;
    require(from->id() == at, "field ids do not follow each other");
    require(from->kind() >= static_cast<uint8_t>(TypeKind::kBool) &&
                from->kind() <= static_cast<uint8_t>(TypeKind::kStruct),
            "a field has an unknown type");
    require(from->unit() <= static_cast<uint8_t>(TimeUnit::kNano), "a field has an unknown time unit");
    field.type = {static_cast<TypeKind>(from->kind()), from->precision(), from->scale(),
                  static_cast<TimeUnit>(from->unit())};
    field.nullable = from->nullable();
    if (field.type.kind == TypeKind::kDecimal) {
      require(field.type.precision >= 1 && field.type.precision <= 38 && field.type.scale <= field.type.precision,
              "a decimal has an impossible precision or scale");
    }
    const bool nested = field.type.kind == TypeKind::kStruct;
    const uint32_t children = from->child_count();
    require(field.type.kind == TypeKind::kList ? children == 1 : nested || children == 0,
            "a field has a wrong number of children");
    data_.columns.emplace_back();
    data_.parents.push_back(parent);
    const uint32_t self = at++;
    for (uint32_t i = 0; i < children; ++i) field.children.push_back(read_field(fields, at, depth + 1, self));
    if (from->meaning() <= static_cast<uint8_t>(Meaning::kNull)) {
      field.meaning = static_cast<Meaning>(from->meaning());
      field.array_size = field.meaning == Meaning::kArray ? from->array_size() : 0;
      require(fits_meaning(field), "a field is not stored as its meaning asks");
    }
    return field;
  }

  void read_codecs(const format::Footer& footer) {
    if (footer.codecs() == nullptr) return;
    require(footer.codecs()->size() <= 65535, "there are too many codecs");
    for (const format::Codec* codec : *footer.codecs()) {
      require(codec->name() == nullptr || codec->name()->size() <= kMaxCodecNameBytes, "a codec's name is too long");
      CodecEntry entry{copy(codec->name()), codec->version(), nullptr};
      entry.codec = find_codec(entry.name);
      if (entry.codec != nullptr && entry.codec->version() < entry.version) entry.codec = nullptr;
      data_.codecs.push_back(std::move(entry));
    }
  }

  void read_shapes(const format::Footer& footer) {
    if (footer.shapes() == nullptr) return;
    require(footer.shapes()->size() <= 65535, "there are too many encoding trees");
    for (const format::Shape* shape : *footer.shapes()) {
      ShapeEntry entry;
      const uint32_t count = shape->nodes() == nullptr ? 0 : shape->nodes()->size();
      require(count <= kMaxTreeNodes, "an encoding tree has too many nodes");
      require(uint64_t{count} * sizeof(format::ShapeNode) <= copy_budget_,
              "its encoding trees are longer than the footer");
      copy_budget_ -= uint64_t{count} * sizeof(format::ShapeNode);
      for (uint32_t i = 0; i < count; ++i) {
        const format::ShapeNode* node = shape->nodes()->Get(i);
        require(node->codec() < data_.codecs.size(), "an encoding tree names a codec that is not in the table");
        entry.nodes.push_back({node->codec(), node->child_count()});
      }
      size_t at = 0;
      if (count != 0) check_tree(entry, at, 1);
      require(at == entry.nodes.size(), "an encoding tree has nodes without a parent");
      data_.shapes.push_back(std::move(entry));
    }
  }

  void check_tree(const ShapeEntry& shape, size_t& at, uint32_t level) const {
    require(at < shape.nodes.size(), "an encoding tree lacks nodes");
    require(level <= kMaxTreeLevels, "an encoding tree is nested too deeply");
    const uint32_t children = shape.nodes[at++].child_count;
    for (uint32_t i = 0; i < children; ++i) check_tree(shape, at, level + 1);
  }

  void read_columns(const format::Footer& footer) {
    const uint32_t count = footer.columns() == nullptr ? 0 : footer.columns()->size();
    require(count == data_.columns.size(), "the number of columns differs from the number of fields");
    const std::vector<const Field*> fields = flatten(data_.schema);
    for (uint32_t i = 0; i < count; ++i) read_column(*footer.columns()->Get(i), *fields[i], data_.columns[i]);
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t parent = data_.parents[i];
      const uint64_t rows = data_.columns[i].stats.rows;
      if (parent == i) {
        require(rows == data_.rows, "a column has other rows than the file");
      } else if (fields[parent]->type.kind == TypeKind::kStruct) {
        require(rows == data_.columns[parent].stats.rows, "a member of a struct has other rows than the struct");
      }
    }
  }

  void read_column(const format::Column& from, const Field& field, ColumnEntry& column) {
    const uint32_t shapes = from.shapes() == nullptr ? 0 : from.shapes()->size();
    require(shapes <= kMaxShapes, "a column has more than 4 encoding trees");
    for (uint32_t i = 0; i < shapes; ++i) {
      require(from.shapes()->Get(i) < data_.shapes.size(), "a column names an encoding tree that is not in the table");
      column.shapes.push_back(from.shapes()->Get(i));
    }
    require(from.metadata() != nullptr, "a column has no metadata");
    column.metadata = {from.metadata()->offset(), from.metadata()->length(), from.metadata()->checksum()};
    if (from.dictionary() != nullptr) {
      column.dictionary =
          Block{from.dictionary()->offset(), from.dictionary()->length(), from.dictionary()->checksum()};
    }
    Statistics& stats = column.stats;
    stats.rows = from.rows();
    require(stats.rows <= kMaxElements * std::max<uint64_t>(data_.chunks.size(), 1), "a column has too many rows");
    stats.null_count = from.null_count();
    require(stats.null_count <= stats.rows, "a column has more NULLs than rows");
    stats.distinct = from.distinct();
    const uint16_t flags = from.flags();
    stats.ascending = (flags & kAscending) != 0;
    stats.descending = (flags & kDescending) != 0;
    stats.strict = (flags & kStrict) != 0;
    stats.constant = (flags & kConstant) != 0;
    stats.dense = (flags & kDense) != 0;
    const auto view = [](const flatbuffers::Vector<uint8_t>* bytes) {
      return bytes == nullptr ? ByteView{} : ByteView{reinterpret_cast<const std::byte*>(bytes->data()), bytes->size()};
    };
    try {
      set_bounds(stats, physical_of(field.type), static_cast<uint8_t>(flags >> kBoundShift), view(from.min()),
                 view(from.max()));
    } catch (const Error& error) {
      fail(fmt::format("the footer at byte {} is damaged: column {}: {}", data_.offset, field.name, error.what()));
    }
  }

  uint64_t path_bytes_of(const std::vector<const Field*>& fields, uint32_t id) const {
    uint64_t bytes = fields[id]->name.size();
    for (; data_.parents[id] != id; id = data_.parents[id]) bytes += 1 + fields[data_.parents[id]]->name.size();
    return bytes;
  }

  void read_rest(const format::Footer& footer) {
    if (footer.sort_columns() != nullptr) {
      require(footer.sort_columns()->size() <= data_.columns.size(), "there are more sort columns than columns");
      // A long name above many members is in each of their paths.
      const std::vector<const Field*> fields = flatten(data_.schema);
      uint64_t path_bytes = 0;
      std::unordered_set<uint32_t> seen;  // each one is checked against all rows
      for (const uint32_t id : *footer.sort_columns()) {
        require(id < data_.columns.size(), "a sort column does not exist");
        require(seen.insert(id).second, "a sort column is named twice");
        data_.sort_columns.push_back(id);
        path_bytes += path_bytes_of(fields, id);
      }
      require(path_bytes <= kMostPathBytes * data_.length, "the names of its sort columns are too long");
    }
    data_.created_by = copy(footer.created_by());
    if (footer.metadata() != nullptr) {
      for (const format::KeyValue* entry : *footer.metadata()) {
        std::string key = copy(entry->key());
        data_.metadata.emplace_back(std::move(key), copy(entry->value()));
      }
    }
  }

  void check_blocks() const {
    std::vector<Block> blocks;
    for (const ColumnEntry& column : data_.columns) {
      blocks.push_back(column.metadata);
      if (column.dictionary) blocks.push_back(*column.dictionary);
    }
    for (const Block& block : blocks) {
      require(block.length != 0 && block.offset >= kHeaderBytes && block.offset <= data_.offset &&
                  block.length <= data_.offset - block.offset,
              "the metadata of a column lies outside of the file");
    }
    std::sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) { return a.offset < b.offset; });
    for (size_t i = 1; i < blocks.size(); ++i) {
      require(blocks[i - 1].offset + blocks[i - 1].length <= blocks[i].offset, "the metadata of two columns overlap");
    }
  }

  const Source& source_;
  std::string name_;
  uint64_t size_;
  uint64_t tail_offset_ = 0;
  Buffer tail_;
  uint64_t copy_budget_ = 0;
  FooterData data_;
};

}  // namespace

FooterData read_footer(const Source& source) { return FooterReader(source).read(); }

std::string path_of(const FooterData& footer, const std::vector<const Field*>& fields, uint32_t field_id) {
  const uint32_t parent = footer.parents[field_id];
  if (parent == field_id) return fields[field_id]->name;
  return path_of(footer, fields, parent) + "." + fields[field_id]->name;
}

std::string shown_path_of(const FooterData& footer, const std::vector<const Field*>& fields, uint32_t field_id) {
  std::string path;
  for (uint32_t id = field_id;; id = footer.parents[id]) {
    const std::string& name = fields[id]->name;
    if (path.size() + name.size() > kMaxShownPathBytes) {
      size_t end = kMaxShownPathBytes - std::min(path.size(), kMaxShownPathBytes);
      while (end > 0 && (name[end] & 0xC0) == 0x80) --end;  // a character stays whole
      return name.substr(0, end) + "…" + path;
    }
    path.insert(0, name);
    if (footer.parents[id] == id) return path;
    path.insert(0, ".");
  }
}

Buffer read_block(const Source& source, const Block& block, const std::string& what) {
  Buffer bytes(static_cast<size_t>(block.length));
  source.read({block.offset, block.length}, bytes.data());
  if (checksum(bytes.data(), bytes.size()) != block.checksum) {
    throw Error(ErrorCode::kCorrupt,
                fmt::format("{}: the checksum of the {} at byte {} is wrong", source.name(), what, block.offset));
  }
  return bytes;
}

void set_bounds(Statistics& stats, Physical type, uint8_t flags, ByteView min, ByteView max) {
  stats.min = Value::of_null(type);
  stats.max = Value::of_null(type);
  stats.has_nan = (flags & kHasNan) != 0;
  stats.min_exact = (flags & kMinExact) != 0;
  stats.max_exact = (flags & kMaxExact) != 0;
  const auto load = [type](ByteView bytes) {
    if (type == Physical::kBytes) {
      if (bytes.size() > kMaxBoundBytes) throw Error(ErrorCode::kCorrupt, "a bound is longer than 64 bytes");
      return Value::of_bytes(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    }
    if (type == Physical::kNone || bytes.size() != width_of(type)) {
      throw Error(ErrorCode::kCorrupt, "a bound has a wrong length");
    }
    return load_value(type, bytes.data());
  };
  if ((flags & kHasMin) != 0) stats.min = load(min);
  if ((flags & kHasMax) != 0) stats.max = load(max);
}

}  // namespace basalt::format_v1
