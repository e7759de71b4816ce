// Arrow arrays built row by row from a list of the rows of a column that they show; a row of -1 is garbage, which lies
// outside a slice or under a NULL and must not be looked at.
#include "support/foreign_arrow.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "basalt/core/host_device.h"
#include "core/arrow_format.h"
#include "core/bitmap.h"

namespace basalt::test {
namespace {

using Random = std::mt19937_64;
using Rows = std::vector<int64_t>;
using Bytes = std::vector<uint8_t>;
constexpr int64_t kGarbage = -1;

// How a field is spelled in Arrow; the same for all batches of a stream.
struct Spelling {
  std::string format;
  std::string name;
  const char* metadata = nullptr;
  bool dictionary = false;
  std::vector<Spelling> children;
};

Spelling random_spelling(const Field& field, const ArrowSchema& plain, const ForeignOptions& options,
                         bool in_dictionary, Random& random) {
  Spelling out;
  out.format = plain.format;
  out.name = field.name;
  out.metadata = plain.metadata;
  out.dictionary = options.dictionaries && !in_dictionary && random() % 5 == 0;
  const uint64_t pick = random() % 3;
  if (field.type.kind == TypeKind::kUtf8) out.format = pick == 0 ? "u" : pick == 1 || !options.views ? "U" : "vu";
  if (field.type.kind == TypeKind::kBinary) out.format = pick == 0 ? "z" : pick == 1 || !options.views ? "Z" : "vz";
  if (field.type.kind == TypeKind::kList) out.format = pick == 0 ? "+L" : "+l";
  for (size_t i = 0; i < field.children.size(); ++i)
    out.children.push_back(
        random_spelling(field.children[i], *plain.children[i], options, in_dictionary || out.dictionary, random));
  return out;
}

// An array or a schema with all that it points at. Only the outermost one is released for real.
struct ArrayNode {
  ArrowArray array{};
  std::vector<Bytes> buffers;
  std::vector<const void*> pointers;
  std::vector<std::unique_ptr<ArrayNode>> children;
  std::vector<ArrowArray*> child_pointers;
  std::unique_ptr<ArrayNode> dictionary;

  void finish(int64_t length, int64_t offset) {
    for (const Bytes& buffer : buffers) pointers.push_back(buffer.data());
    for (const auto& child : children) child_pointers.push_back(&child->array);
    array.length = length;
    array.null_count = buffers.empty() || buffers[0].empty() ? 0 : -1;
    if (!buffers.empty() && buffers[0].empty()) pointers[0] = nullptr;
    array.offset = offset;
    array.n_buffers = static_cast<int64_t>(buffers.size());
    array.n_children = static_cast<int64_t>(children.size());
    array.buffers = pointers.data();
    array.children = child_pointers.data();
    array.dictionary = dictionary == nullptr ? nullptr : &dictionary->array;
    array.release = [](ArrowArray* released) { released->release = nullptr; };
  }
};

class Builder {
 public:
  Builder(Random& random, const ForeignOptions& options) : random_(random), options_(options) {}

  std::unique_ptr<ArrayNode> build(const Column& column, const Field& field, const Spelling& spelling,
                                   const Rows& shown) {
    auto node = std::make_unique<ArrayNode>();
    const int64_t offset = options_.offsets && random_() % 2 == 0 ? static_cast<int64_t>(random_() % 11) : 0;
    Rows rows(static_cast<size_t>(offset), kGarbage);
    rows.insert(rows.end(), shown.begin(), shown.end());
    node->buffers.push_back(validity(column, rows));
    if (spelling.dictionary)
      put_dictionary(*node, column, field, spelling, rows);
    else
      put_values(*node, column, field, spelling, rows);
    node->finish(static_cast<int64_t>(shown.size()), offset);
    return node;
  }

 private:
  static bool has_value(const Column& column, int64_t row) {
    return row != kGarbage && column.is_valid(static_cast<uint64_t>(row));
  }

  // Garbage rows are valid or not, as it happens.
  Bytes validity(const Column& column, const Rows& rows) {
    bool any_null = false;
    for (const int64_t row : rows) any_null = any_null || (row != kGarbage && !has_value(column, row));
    if (!any_null && random_() % 2 == 0) return {};
    Bytes bits((rows.size() + 7) / 8 + 1);
    for (size_t i = 0; i < rows.size(); ++i)
      put_bit(bits.data(), i, rows[i] == kGarbage ? random_() % 2 == 0 : has_value(column, rows[i]));
    return bits;
  }

  // Equal entries may repeat, as in Arrow; indices under NULLs point anywhere.
  void put_dictionary(ArrayNode& node, const Column& column, const Field& field, const Spelling& spelling,
                      const Rows& rows) {
    Rows entries;
    Bytes indices(rows.size() * sizeof(int32_t));
    for (size_t i = 0; i < rows.size(); ++i) {
      auto index = static_cast<int32_t>(random_());
      if (has_value(column, rows[i])) {
        if (entries.empty() || random_() % 4 != 0) entries.push_back(rows[i]);
        index = static_cast<int32_t>(entries.size() - 1);
        if (entries.back() != rows[i]) {
          entries.push_back(rows[i]);
          ++index;
        }
      }
      std::memcpy(indices.data() + i * sizeof(index), &index, sizeof(index));
    }
    node.buffers.push_back(std::move(indices));
    Spelling plain = spelling;
    plain.dictionary = false;
    node.dictionary = build(column, field, plain, entries);
  }

  void put_values(ArrayNode& node, const Column& column, const Field& field, const Spelling& spelling,
                  const Rows& rows) {
    switch (field.type.kind) {
      case TypeKind::kStruct:
        for (size_t i = 0; i < field.children.size(); ++i)
          node.children.push_back(
              build(column.children[i], field.children[i], spelling.children[i], members(column, rows)));
        return;
      case TypeKind::kList: return put_list(node, column, field, spelling, rows);
      case TypeKind::kUtf8:
      case TypeKind::kBinary:
        if (spelling.format[0] == 'v') return put_views(node, column, rows);
        return put_strings(node, column, spelling.format == "U" || spelling.format == "Z", rows);
      case TypeKind::kBool: {
        Bytes bits((rows.size() + 7) / 8 + 1);
        for (size_t i = 0; i < rows.size(); ++i)
          put_bit(bits.data(), i,
                  has_value(column, rows[i]) ? column.values.as<uint8_t>()[rows[i]] != 0 : random_() % 2);
        node.buffers.push_back(std::move(bits));
        return;
      }
      default: return put_fixed(node, column, field, rows);
    }
  }

  static Rows members(const Column& column, const Rows& rows) {
    Rows out;
    for (const int64_t row : rows) out.push_back(has_value(column, row) ? row : kGarbage);
    return out;
  }

  void put_fixed(ArrayNode& node, const Column& column, const Field& field, const Rows& rows) {
    const uint32_t width = width_of(physical_of(field.type));
    const bool decimal = field.type.kind == TypeKind::kDecimal;
    const bool short_time = field.type.kind == TypeKind::kTime && field.type.unit < TimeUnit::kMicro;
    const uint32_t foreign = decimal ? 16 : short_time ? 4 : width;
    Bytes out(rows.size() * foreign);
    for (uint8_t& byte : out) byte = static_cast<uint8_t>(random_());
    for (size_t i = 0; i < rows.size(); ++i) {
      if (!has_value(column, rows[i])) continue;
      int128_t value = 0;
      std::memcpy(&value, column.values.data() + static_cast<size_t>(rows[i]) * width, width);
      if (decimal) value = value << (128 - 8 * width) >> (128 - 8 * width);
      if (field.type.kind == TypeKind::kUuid) {
        arrow::uuid_to_bytes(value, out.data() + i * foreign);
      } else {
        std::memcpy(out.data() + i * foreign, &value, foreign);
      }
    }
    node.buffers.push_back(std::move(out));
  }

  template <typename Offset>
  static void push_offset(Bytes& bytes, uint64_t value) {
    const auto offset = static_cast<Offset>(value);
    const auto* begin = reinterpret_cast<const uint8_t*>(&offset);
    bytes.insert(bytes.end(), begin, begin + sizeof(offset));
  }
  static void push_offset(Bytes& bytes, uint64_t value, bool large) {
    large ? push_offset<int64_t>(bytes, value) : push_offset<int32_t>(bytes, value);
  }

  void put_list(ArrayNode& node, const Column& column, const Field& field, const Spelling& spelling, const Rows& rows) {
    const bool large = spelling.format == "+L";
    Rows elements(options_.offsets ? random_() % 4 : 0, kGarbage);  // before the first list
    Bytes offsets;
    push_offset(offsets, elements.size(), large);
    for (const int64_t row : rows) {
      if (has_value(column, row)) {
        const int64_t* at = column.offsets.as<int64_t>() + row;
        for (int64_t i = at[0]; i < at[1]; ++i) elements.push_back(i);
      } else {
        elements.insert(elements.end(), random_() % 4, kGarbage);
      }
      push_offset(offsets, elements.size(), large);
    }
    node.buffers.push_back(std::move(offsets));
    node.children.push_back(build(column.children[0], field.children[0], spelling.children[0], elements));
  }

  // Not UTF-8, most of the time.
  void append_garbage(Bytes& bytes) {
    for (uint64_t i = random_() % 5; i > 0; --i) bytes.push_back(static_cast<uint8_t>(random_() | 0x80));
  }

  void put_strings(ArrayNode& node, const Column& column, bool large, const Rows& rows) {
    Bytes bytes, offsets;
    push_offset(offsets, 0, large);
    for (const int64_t row : rows) {
      if (has_value(column, row)) {
        const std::string_view text = column.string_at(static_cast<uint64_t>(row));
        bytes.insert(bytes.end(), text.begin(), text.end());
      } else {
        append_garbage(bytes);
      }
      push_offset(offsets, bytes.size(), large);
    }
    node.buffers.push_back(std::move(offsets));
    node.buffers.push_back(std::move(bytes));
  }

  void put_views(ArrayNode& node, const Column& column, const Rows& rows) {
    Bytes bytes, views(rows.size() * 16);
    for (size_t i = 0; i < rows.size(); ++i) {
      uint8_t* view = views.data() + i * 16;
      for (size_t k = 0; k < 16; ++k) view[k] = static_cast<uint8_t>(random_());
      if (!has_value(column, rows[i])) continue;
      const std::string_view text = column.string_at(static_cast<uint64_t>(rows[i]));
      const std::array<int32_t, 4> parts = {static_cast<int32_t>(text.size()), 0, 0,
                                            text.size() <= 12 ? 0 : static_cast<int32_t>(bytes.size())};
      std::memcpy(view, parts.data(), 16);
      if (!text.empty()) std::memcpy(view + 4, text.data(), std::min<size_t>(text.size(), text.size() <= 12 ? 12 : 4));
      if (text.size() > 12) bytes.insert(bytes.end(), text.begin(), text.end());
    }
    Bytes sizes;
    push_offset<int64_t>(sizes, bytes.size());
    node.buffers.push_back(std::move(views));
    node.buffers.push_back(std::move(bytes));
    node.buffers.push_back(std::move(sizes));
  }

  Random& random_;
  const ForeignOptions& options_;
};

struct SchemaNode {
  ArrowSchema schema{};
  Spelling spelling;
  std::vector<std::unique_ptr<SchemaNode>> children;
  std::vector<ArrowSchema*> child_pointers;
  std::unique_ptr<SchemaNode> dictionary;

  explicit SchemaNode(const Spelling& from) : spelling(from) {
    if (spelling.dictionary) {
      Spelling entries = spelling;
      entries.dictionary = false;
      dictionary = std::make_unique<SchemaNode>(entries);
      spelling.format = "i";
      spelling.children.clear();
      spelling.metadata = nullptr;
    }
    for (const Spelling& child : spelling.children) children.push_back(std::make_unique<SchemaNode>(child));
    for (const auto& child : children) child_pointers.push_back(&child->schema);
    schema.format = spelling.format.c_str();
    schema.name = spelling.name.c_str();
    schema.metadata = spelling.metadata;
    schema.flags = ARROW_FLAG_NULLABLE;
    schema.n_children = static_cast<int64_t>(children.size());
    schema.children = child_pointers.data();
    schema.dictionary = dictionary == nullptr ? nullptr : &dictionary->schema;
    schema.release = [](ArrowSchema* released) { released->release = nullptr; };
  }
};

struct ForeignStream {
  std::vector<Table> tables;
  ForeignOptions options;
  Random random;
  ArrowSchema plain{};
  Spelling spelling;
  size_t next = 0;

  ~ForeignStream() { plain.release(&plain); }
};

ForeignStream& self(ArrowArrayStream* stream) { return *static_cast<ForeignStream*>(stream->private_data); }

int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  auto node = std::make_unique<SchemaNode>(self(stream).spelling);
  *out = node->schema;
  out->flags = 0;
  out->private_data = node.release();
  out->release = [](ArrowSchema* schema) {
    delete static_cast<SchemaNode*>(schema->private_data);
    schema->release = nullptr;
  };
  return 0;
}

int get_next(ArrowArrayStream* stream, ArrowArray* out) {
  ForeignStream& own = self(stream);
  *out = ArrowArray{};
  if (own.next == own.tables.size()) return 0;
  const Table& table = own.tables[own.next++];
  Builder builder(own.random, own.options);
  Rows rows;
  const int64_t offset = own.options.offsets ? static_cast<int64_t>(own.random() % 3) : 0;
  for (int64_t i = 0; i < offset; ++i) rows.push_back(kGarbage);
  for (uint64_t i = 0; i < table.rows; ++i) rows.push_back(static_cast<int64_t>(i));
  auto node = std::make_unique<ArrayNode>();
  node->buffers.emplace_back();
  for (size_t i = 0; i < table.columns.size(); ++i)
    node->children.push_back(builder.build(table.columns[i], table.schema.fields[i], own.spelling.children[i], rows));
  node->finish(static_cast<int64_t>(table.rows), offset);
  *out = node->array;
  out->private_data = node.release();
  out->release = [](ArrowArray* array) {
    delete static_cast<ArrayNode*>(array->private_data);
    array->release = nullptr;
  };
  return 0;
}

}  // namespace

void foreign_stream(std::vector<Table> tables, uint64_t seed, const ForeignOptions& options, ArrowArrayStream* out) {
  auto stream = std::make_unique<ForeignStream>();
  stream->options = options;
  stream->random.seed(seed);
  export_schema(tables.at(0).schema, &stream->plain);
  stream->spelling.format = "+s";
  for (size_t i = 0; i < tables[0].schema.fields.size(); ++i)
    stream->spelling.children.push_back(
        random_spelling(tables[0].schema.fields[i], *stream->plain.children[i], options, false, stream->random));
  stream->tables = std::move(tables);
  *out = ArrowArrayStream{};
  out->get_schema = get_schema;
  out->get_next = get_next;
  out->get_last_error = [](ArrowArrayStream*) -> const char* { return nullptr; };
  out->release = [](ArrowArrayStream* released) {
    delete &self(released);
    released->release = nullptr;
  };
  out->private_data = stream.release();
}

}  // namespace basalt::test
