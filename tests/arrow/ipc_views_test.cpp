// String views and compressed dictionaries in Arrow IPC, as other programs write them: streams made by hand, sound and
// damaged.
#include <arrow_message_generated.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lz4frame.h>
#include <unistd.h>
#include <zstd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>

#include "basalt/core/error.h"
#include "basalt/file/ipc.h"
#include "core/arrow_reader.h"
#include "support/untrusted_ipc.h"

namespace basalt {
namespace {

namespace message = arrow_message;
using testing::ElementsAre;

constexpr uint8_t kInt = 2;
constexpr uint8_t kUtf8 = 5;
constexpr uint8_t kList = 12;
constexpr uint8_t kUtf8View = 24;
enum Codec : int8_t { kLz4 = 0, kZstd = 1, kNone = 2 };

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string view(std::string_view text, int32_t buffer = 0, int32_t offset = 0) {
  const auto length = static_cast<int32_t>(text.size());
  std::string out(reinterpret_cast<const char*>(&length), 4);
  out += text.substr(0, length <= 12 ? 12 : 4);
  out.resize(length <= 12 ? 16 : 8);
  if (length <= 12) return out;
  out.append(reinterpret_cast<const char*>(&buffer), 4).append(reinterpret_cast<const char*>(&offset), 4);
  return out;
}

std::string packed(const std::string& bytes, Codec codec) {
  if (codec == kNone || bytes.empty()) return bytes;
  const auto size = static_cast<int64_t>(bytes.size());
  std::string out(reinterpret_cast<const char*>(&size), 8);
  const size_t bound =
      codec == kLz4 ? LZ4F_compressFrameBound(bytes.size(), nullptr) : ZSTD_compressBound(bytes.size());
  std::string room(bound, 0);
  room.resize(codec == kLz4 ? LZ4F_compressFrame(room.data(), bound, bytes.data(), bytes.size(), nullptr)
                            : ZSTD_compress(room.data(), bound, bytes.data(), bytes.size(), 1));
  return out + room;
}

// A batch as its parts; buffers in order, and how many of them hold the bytes of each column of views.
struct Batch {
  int64_t rows = 0;
  std::vector<message::FieldNode> nodes;
  std::vector<std::string> buffers;
  std::vector<int64_t> variadic;
  Codec codec = kNone;
  std::optional<int64_t> dictionary = std::nullopt;
};

std::string sealed(const flatbuffers::FlatBufferBuilder& builder, const std::string& body = "") {
  const uint32_t padded = (builder.GetSize() + 7) / 8 * 8;
  std::string out = bytes_of(std::vector<uint32_t>{0xffffffff, padded});
  out.append(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
  out.resize(8 + padded);
  return out + body;
}

std::string sealed(const Batch& batch) {
  flatbuffers::FlatBufferBuilder builder;
  std::string body;
  std::vector<message::Buffer> places;
  for (const std::string& buffer : batch.buffers) {
    const std::string bytes = packed(buffer, batch.codec);
    places.emplace_back(static_cast<int64_t>(body.size()), static_cast<int64_t>(bytes.size()));
    body += bytes;
    body.resize((body.size() + 63) / 64 * 64);
  }
  const auto nodes = builder.CreateVectorOfStructs(batch.nodes);
  const auto buffers = builder.CreateVectorOfStructs(places);
  const auto counts = builder.CreateVector(batch.variadic);
  flatbuffers::Offset<message::Compression> compression;
  if (batch.codec != kNone) compression = message::CreateCompression(builder, batch.codec, 0);
  const auto rows = message::CreateRecordBatch(builder, batch.rows, nodes, buffers, compression, counts);
  if (batch.dictionary) {
    const auto dictionary = message::CreateDictionaryBatch(builder, *batch.dictionary, rows);
    builder.Finish(message::CreateMessage(builder, 4, message::Header::DictionaryBatch, dictionary.Union(),
                                          static_cast<int64_t>(body.size())));
  } else {
    builder.Finish(message::CreateMessage(builder, 4, message::Header::RecordBatch, rows.Union(),
                                          static_cast<int64_t>(body.size())));
  }
  return sealed(builder, body);
}

// Arrow's table of integers: bits and sign.
flatbuffers::Offset<message::Any> int32_type(flatbuffers::FlatBufferBuilder& builder) {
  const auto start = builder.StartTable();
  builder.AddElement<int32_t>(4, 32, 0);
  builder.AddElement<uint8_t>(6, 1, 0);
  return flatbuffers::Offset<message::Any>(builder.EndTable(start));
}

flatbuffers::Offset<message::Schema> build_schema(flatbuffers::FlatBufferBuilder& builder,
                                                  const std::vector<uint8_t>& kinds,
                                                  std::optional<int64_t> dictionary = std::nullopt) {
  std::vector<flatbuffers::Offset<message::Field>> fields;
  for (const uint8_t kind : kinds) {
    const auto name = builder.CreateString("c" + std::to_string(fields.size()));
    flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<message::Field>>> children;
    if (kind == kList) {
      const std::vector element{
          message::CreateField(builder, builder.CreateString("item"), true, kUtf8View, message::CreateAny(builder))};
      children = builder.CreateVector(element);
    }
    flatbuffers::Offset<message::DictionaryEncoding> coded;
    if (dictionary) coded = message::CreateDictionaryEncoding(builder, *dictionary, int32_type(builder));
    const auto type = kind == kInt ? int32_type(builder) : message::CreateAny(builder);
    fields.push_back(message::CreateField(builder, name, true, kind, type, coded, children));
  }
  return message::CreateSchema(builder, 0, builder.CreateVector(fields));
}

std::string schema_of(const std::vector<uint8_t>& kinds, std::optional<int64_t> dictionary = std::nullopt) {
  flatbuffers::FlatBufferBuilder builder;
  const auto schema = build_schema(builder, kinds, dictionary);
  builder.Finish(message::CreateMessage(builder, 4, message::Header::Schema, schema.Union()));
  return sealed(builder);
}

ByteReader reader_of(const std::string& bytes) {
  return [bytes, at = size_t{0}](void* out, size_t wanted) mutable {
    const size_t count = std::min(wanted, bytes.size() - at);
    std::memcpy(out, bytes.data() + at, count);
    at += count;
    return count;
  };
}

Table read(const std::string& bytes) {
  ArrowArrayStream stream{};
  open_ipc(reader_of(bytes), "views", &stream);
  arrow::StreamReader batches(&stream, "views", nullptr);
  std::unique_ptr<Table> table = batches.next();
  if (table == nullptr) throw Error(ErrorCode::kCorrupt, "no batch");
  return std::move(*table);
}

std::vector<std::string> strings_of(const Column& column) {
  std::vector<std::string> out;
  for (uint64_t row = 0; row < column.length; ++row)
    out.push_back(column.is_valid(row) ? std::string(column.string_at(row)) : "NULL");
  return out;
}

const std::string kLong = "a string of more than twelve bytes";
const std::string kOther = "another one in the second buffer";

// An integer, views with a NULL over garbage, an integer.
Batch three_columns(Codec codec) {
  const std::string numbers = bytes_of(std::vector<int32_t>{1, 2, 3, 4});
  const std::string views = view("short") + view(kLong, 0, 3) + std::string(16, 0x7f) + view(kOther, 1, 0);
  return {4,
          {{4, 0}, {4, 1}, {4, 0}},
          {"", numbers, std::string(1, 0x0b), views, "xyz" + kLong, kOther, "", numbers},
          {2},
          codec};
}

TEST(IpcViews, BecomeStrings) {
  for (const Codec codec : {kNone, kLz4, kZstd}) {
    const Table table = read(schema_of({kInt, kUtf8View, kInt}) + sealed(three_columns(codec)));
    ASSERT_EQ(table.columns.size(), 3u);
    EXPECT_EQ(table.schema.fields[1].type.kind, TypeKind::kUtf8);
    EXPECT_THAT(strings_of(table.columns[1]), ElementsAre("short", kLong, "NULL", kOther)) << int{codec};
    EXPECT_EQ(table.columns[2].values.as<int32_t>()[3], 4);
  }
}

TEST(IpcViews, InListsAndWithoutRows) {
  const Batch batch{2,
                    {{2, 0}, {3, 0}},
                    {"", bytes_of(std::vector<int32_t>{0, 1, 3}), "", view("a") + view("b") + view(kLong), kLong},
                    {1}};
  const Table table = read(schema_of({kList}) + sealed(batch));
  EXPECT_THAT(strings_of(table.columns[0].children[0]), ElementsAre("a", "b", kLong));
  const Table empty = read(schema_of({kUtf8View}) + sealed(Batch{0, {{0, 0}}, {"", ""}, {0}}));
  EXPECT_EQ(empty.rows, 0u);
}

TEST(IpcViews, InDictionaries) {
  for (const Codec codec : {kNone, kLz4, kZstd}) {
    const Batch entries{2, {{2, 0}}, {"", view("red") + view(kLong, 0, 0), kLong}, {1}, codec, 7};
    const Batch codes{3, {{3, 0}}, {"", bytes_of(std::vector<int32_t>{1, 0, 1})}, {}, codec};
    const Table table = read(schema_of({kUtf8View}, 7) + sealed(entries) + sealed(codes));
    EXPECT_THAT(strings_of(table.columns[0]), ElementsAre(kLong, "red", kLong)) << int{codec};
  }
}

TEST(IpcDictionaries, MayBeCompressed) {
  for (const Codec codec : {kLz4, kZstd}) {
    const Batch entries{2, {{2, 0}}, {"", bytes_of(std::vector<int32_t>{0, 3, 8}), "redgreen"}, {}, codec, 7};
    const Batch codes{3, {{3, 0}}, {"", bytes_of(std::vector<int32_t>{1, 0, 1})}, {}, codec};
    const Table table = read(schema_of({kUtf8}, 7) + sealed(entries) + sealed(codes));
    EXPECT_THAT(strings_of(table.columns[0]), ElementsAre("green", "red", "green")) << int{codec};
  }
}

TEST(IpcViews, DamageIsRefused) {
  const auto read_with = [](const std::function<void(Batch&)>& damage) {
    Batch batch = three_columns(kNone);
    damage(batch);
    return read(schema_of({kInt, kUtf8View, kInt}) + sealed(batch));
  };
  EXPECT_NO_THROW(read_with([](Batch&) {}));
  EXPECT_THROW(read_with([](Batch& b) { b.buffers[3].resize(63); }), Error);
  EXPECT_THROW(read_with([](Batch& b) { b.nodes[1] = {40, 1}; }), Error);
  EXPECT_THROW(read_with([](Batch& b) { b.buffers[4].resize(5); }), Error);
  EXPECT_THROW(read_with([](Batch& b) { b.variadic = {1}; }), Error);
  EXPECT_THROW(read_with([](Batch& b) { b.variadic = {3}; }), Error);
  EXPECT_THROW(read_with([](Batch& b) { b.variadic = {}; }), Error);
  EXPECT_THROW(read_with([](Batch& b) { b.variadic = {2, 0}; }), Error);
  EXPECT_THROW(read_with([](Batch& b) { b.variadic = {-1}; }), Error);
  EXPECT_THROW(read_with([](Batch& b) { b.variadic = {INT64_MAX}; }), Error);
  for (const int32_t buffer : {2, -1, INT32_MAX})
    EXPECT_THROW(read_with([&](Batch& b) { b.buffers[3].replace(16, 16, view(kLong, buffer, 0)); }), Error) << buffer;
  for (const int32_t offset : {4, -1, INT32_MAX})
    EXPECT_THROW(read_with([&](Batch& b) { b.buffers[3].replace(16, 16, view(kLong, 0, offset)); }), Error) << offset;
  EXPECT_THROW(read_with([](Batch& b) {
                 const int32_t length = -5;
                 std::memcpy(b.buffers[3].data(), &length, 4);
               }),
               Error);
}

// A file as some writers make it: what stands in front is no message, and the footer tells where batches lie.
using Blocks = std::vector<message::Block>;
std::string file_of(const std::function<void(Blocks&)>& damage = nullptr) {
  std::string out = "ARROW1";
  out.append(2, 0).append(56, 'g');
  Blocks blocks;
  for (const Codec codec : {kNone, kLz4}) {
    const std::string batch = sealed(three_columns(codec));
    uint32_t metadata = 0;
    std::memcpy(&metadata, batch.data() + 4, 4);
    blocks.emplace_back(static_cast<int64_t>(out.size()), static_cast<int32_t>(metadata + 8),
                        static_cast<int64_t>(batch.size() - metadata - 8));
    out += batch;
  }
  if (damage) damage(blocks);
  flatbuffers::FlatBufferBuilder builder;
  const auto schema = build_schema(builder, {kInt, kUtf8View, kInt});
  const auto batches = builder.CreateVectorOfStructs(blocks);
  builder.Finish(message::CreateFooter(builder, 4, schema, 0, batches));
  out.append(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
  return out + bytes_of(std::vector<uint32_t>{builder.GetSize()}) + "ARROW1";
}

uint64_t rows_of_file(const std::string& bytes) {
  const std::string path = std::filesystem::temp_directory_path() / ("basalt_" + std::to_string(::getpid()) + ".arrow");
  std::ofstream(path, std::ios::binary) << bytes;
  ArrowArrayStream stream{};
  const std::shared_ptr<void> remover(nullptr, [&](void*) { std::filesystem::remove(path); });
  open_ipc(path, &stream);
  arrow::StreamReader batches(&stream, path, nullptr);
  uint64_t rows = 0;
  while (const std::unique_ptr<Table> table = batches.next()) {
    EXPECT_THAT(strings_of(table->columns[1]), ElementsAre("short", kLong, "NULL", kOther));
    rows += table->rows;
  }
  return rows;
}

TEST(IpcFiles, AreReadByTheirFooter) { EXPECT_EQ(rows_of_file(file_of()), 8u); }

TEST(IpcFiles, FootersThatLieAreRefused) {
  EXPECT_EQ(rows_of_file(file_of([](Blocks& blocks) { std::swap(blocks[0], blocks[1]); })), 8u);
  const auto refused = [](const std::function<void(Blocks&)>& damage) {
    EXPECT_THROW(rows_of_file(file_of(damage)), Error);
  };
  refused([](Blocks& b) { b[0] = {b[0].offset(), b[0].metadata_bytes(), int64_t{1} << 40}; });
  refused([](Blocks& b) { b[0] = {b[0].offset(), b[0].metadata_bytes(), -1}; });
  refused([](Blocks& b) { b[0] = {b[0].offset(), 0, b[0].body_bytes()}; });
  refused([](Blocks& b) { b[0] = {b[0].offset(), -8, b[0].body_bytes()}; });
  refused([](Blocks& b) { b[0] = {-64, b[0].metadata_bytes(), b[0].body_bytes()}; });
  refused([](Blocks& b) { b[0] = {INT64_MAX, b[0].metadata_bytes(), b[0].body_bytes()}; });
  refused([](Blocks& b) { b[0] = {8, b[0].metadata_bytes(), b[0].body_bytes()}; });
  refused([](Blocks& b) { b[0] = {b[0].offset(), b[0].metadata_bytes(), b[0].body_bytes() - 64}; });
  refused([](Blocks& b) { b.insert(b.end(), 100, b[0]); });
  // Zeros, which end a stream: the batch behind would be missing.
  refused([](Blocks& b) { b[0] = {b[0].offset() + b[0].metadata_bytes() + b[0].body_bytes() - 16, 8, 0}; });
  const std::string sound = file_of();
  for (const int32_t length : {-1, 0, 7, 1 << 30}) {
    std::string damaged = sound;
    std::memcpy(damaged.data() + damaged.size() - 10, &length, 4);
    EXPECT_THROW(rows_of_file(damaged), Error) << length;
  }
}

TEST(IpcViews, BesideUnionsAreRefused) {
  constexpr uint8_t kUnion = 14;
  ArrowArrayStream stream{};
  std::string bytes =
      schema_of({kUtf8View, kUnion}) + sealed(Batch{1, {{1, 0}, {1, 0}}, {"", view("a"), std::string(8, 0)}, {0}});
  open_ipc(reader_of(bytes), "views", &stream);
  ArrowArray array{};
  EXPECT_NE(stream.get_next(&stream, &array), 0);
  stream.release(&stream);
}

// The kind of a field is a part of the list of fields, too: calling it another makes the list point elsewhere.
TEST(IpcViews, SchemasWhosePartsOverlapAreRefused) {
  const std::string sound = schema_of({kUtf8View, kInt});
  uint64_t refused = 0;
  for (size_t from = 8; from + 4 <= sound.size(); ++from) {
    // Every field of a table may lie anywhere: move the place of each into the byte of another.
    for (const int shift : {-4, -2, 2, 4, 8}) {
      std::string damaged = sound + sealed(Batch{0, {{0, 0}, {0, 0}}, {"", "", "", ""}, {0}});
      damaged[from] = static_cast<char>(damaged[from] + shift);
      try {
        test::import_untrusted(damaged);
      } catch (const Error& error) {
        EXPECT_NE(error.code(), ErrorCode::kInternal);
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 0u);
}

TEST(IpcViews, MayNotStandForAnyNumberOfBytes) {
  const std::string text(4 << 20, 'x');
  std::string views;
  constexpr int kRows = 1000;  // of four megabytes each, all the same
  for (int row = 0; row < kRows; ++row) views += view(text);
  EXPECT_THROW(read(schema_of({kUtf8View}) + sealed(Batch{kRows, {{kRows, 0}}, {"", views, text}, {1}})), Error);
}

TEST(IpcViews, EveryFlippedByteIsAnErrorOrRows) {
  for (const Codec codec : {kNone, kLz4, kZstd}) {
    const std::string sound = schema_of({kInt, kUtf8View, kInt}) + sealed(three_columns(codec));
    for (size_t at = 0; at < sound.size(); ++at) {
      std::string damaged = sound;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x15);
      try {
        test::import_untrusted(damaged);
      } catch (const Error& error) {
        EXPECT_NE(error.code(), ErrorCode::kInternal) << at;
      }
    }
  }
}

}  // namespace
}  // namespace basalt
