// Arrow IPC whose messages lack what they need or promise more than comes: an error with a sentence, and memory only
// for what came. Changed bytes of a sound stream are an error or rows, never a crash.
#include <arrow_message_generated.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "arrow/tables.h"
#include "file/ipc_messages.h"
#include "support/untrusted.h"
#include "support/untrusted_ipc.h"

namespace basalt {
namespace {

namespace message = arrow_message;
using testing::HasSubstr;

void append_number(std::string& to, uint32_t number) {
  to.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

// A stream of the one message that was finished.
std::string sealed(const flatbuffers::FlatBufferBuilder& builder) {
  std::string out;
  append_number(out, 0xffffffff);
  append_number(out, builder.GetSize());
  out.append(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
  return out;
}

std::string sealed(const message::MessageT& content) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(message::Message::Pack(builder, &content));
  return sealed(builder);
}

message::MessageT schema_of(message::FieldT field) {
  message::MessageT out;
  out.version = 4;  // V5
  message::SchemaT schema;
  schema.fields.push_back(std::make_unique<message::FieldT>(std::move(field)));
  out.header.Set(std::move(schema));
  return out;
}

message::FieldT typed_field(uint8_t kind) {
  message::FieldT out;
  out.name = "x";
  out.kind = kind;
  out.type = std::make_unique<message::AnyT>();
  return out;
}

std::string refusal(std::string_view bytes) {
  try {
    test::import_untrusted(bytes);
    return "none";
  } catch (const Error& error) {
    EXPECT_NE(error.code(), ErrorCode::kInternal);
    return error.what();
  }
}

constexpr uint8_t kUtf8 = 5;

TEST(IpcDamage, TheCraftedSchemaIsSoundWithoutDamage) {
  EXPECT_EQ(test::import_untrusted(sealed(schema_of(typed_field(kUtf8)))), 0u);
}

TEST(IpcDamage, WhatAMessageLacksIsNamed) {
  flatbuffers::FlatBufferBuilder headless;
  headless.Finish(message::CreateMessage(headless, 4, message::Header::Schema));
  EXPECT_THAT(refusal(sealed(headless)), HasSubstr("a message lacks its header"));

  for (uint8_t kind = 1; kind <= 26; ++kind) {
    message::FieldT field = typed_field(kind);
    field.type = nullptr;
    EXPECT_THAT(refusal(sealed(schema_of(std::move(field)))), HasSubstr("a field lacks its type")) << int(kind);
  }
  message::FieldT parent = typed_field(12);
  message::FieldT child = typed_field(kUtf8);
  child.type = nullptr;
  parent.children.push_back(std::make_unique<message::FieldT>(std::move(child)));
  EXPECT_THAT(refusal(sealed(schema_of(std::move(parent)))), HasSubstr("a field lacks its type"));

  message::FieldT coded = typed_field(kUtf8);
  coded.dictionary = std::make_unique<message::DictionaryEncodingT>();
  EXPECT_THAT(refusal(sealed(schema_of(std::move(coded)))), HasSubstr("a dictionary lacks the type of its indices"));
}

// An object writes every string it has, so these are built by hand.
TEST(IpcDamage, MetadataWithoutKeyOrValueIsNamed) {
  for (const bool with_key : {true, false}) {
    flatbuffers::FlatBufferBuilder builder;
    const auto text = builder.CreateString("text");
    const std::vector pairs{message::CreateKeyValue(builder, with_key ? text : 0, with_key ? 0 : text)};
    const auto schema = message::CreateSchema(builder, 0, 0, builder.CreateVector(pairs));
    builder.Finish(message::CreateMessage(builder, 4, message::Header::Schema, schema.Union()));
    EXPECT_THAT(refusal(sealed(builder)), HasSubstr("lacks its key or value"));
  }
}

TEST(IpcDamage, ADictionaryWithoutValuesIsNamed) {
  message::MessageT batch;
  batch.version = 4;
  batch.header.Set(message::DictionaryBatchT{});
  EXPECT_THAT(refusal(sealed(schema_of(typed_field(kUtf8))) + sealed(batch)),
              HasSubstr("a dictionary lacks its values"));
}

message::FieldT coded_field(uint8_t kind, int64_t id) {
  message::FieldT out = typed_field(kind);
  out.dictionary = std::make_unique<message::DictionaryEncodingT>();
  out.dictionary->id = id;
  out.dictionary->index_type = std::make_unique<message::AnyT>();
  return out;
}

message::MessageT dictionary_batch(int64_t id, size_t nodes, size_t buffers) {
  message::MessageT out;
  out.version = 4;
  message::DictionaryBatchT batch;
  batch.id = id;
  batch.data = std::make_unique<message::RecordBatchT>();
  batch.data->nodes.resize(nodes);
  batch.data->buffers.resize(buffers);
  out.header.Set(std::move(batch));
  return out;
}

// Whether the bytes are read up to their end: what then is missing is not looked at here.
bool passes_checks(const std::string& bytes) {
  IpcMessages messages(
      [at = size_t{0}, &bytes](void* out, size_t size) mutable {
        const size_t count = std::min(size, bytes.size() - at);
        std::memcpy(out, bytes.data() + at, count);
        at += count;
        return count;
      },
      "", bytes.size());
  std::vector<uint8_t> room(bytes.size() + 8);
  try {
    messages.read(room.data(), room.size());
    return true;
  } catch (const Error&) {
    EXPECT_THROW(messages.read(room.data(), room.size()), Error) << "it is sound when it is asked for again";
    return false;
  }
}

TEST(IpcDamage, DictionariesHaveTheBuffersOfTheirType) {
  const std::string schema = sealed(schema_of(coded_field(kUtf8, 7)));
  EXPECT_TRUE(passes_checks(schema + sealed(dictionary_batch(7, 1, 3))));
  EXPECT_FALSE(passes_checks(schema + sealed(dictionary_batch(7, 1, 2))));
  EXPECT_FALSE(passes_checks(schema + sealed(dictionary_batch(7, 0, 3))));
  EXPECT_FALSE(passes_checks(schema + sealed(dictionary_batch(6, 1, 3))));

  // One for two fields only where these are the same.
  message::MessageT two = schema_of(coded_field(kUtf8, 7));
  const auto add = [&](message::FieldT field) {
    two.header.AsSchema()->fields.push_back(std::make_unique<message::FieldT>(std::move(field)));
  };
  add(coded_field(kUtf8, 7));
  EXPECT_TRUE(passes_checks(sealed(two)));
  add(coded_field(4, 7));  // binary
  EXPECT_FALSE(passes_checks(sealed(two)));
  EXPECT_FALSE(passes_checks(sealed(schema_of(coded_field(kUtf8, INT64_MIN)))));
  EXPECT_FALSE(passes_checks(sealed(schema_of(coded_field(14, 7)))));  // of a union

  message::MessageT packed = dictionary_batch(7, 1, 3);
  packed.header.AsDictionaryBatch()->data->compression = std::make_unique<message::CompressionT>();
  EXPECT_TRUE(passes_checks(schema + sealed(packed)));
}

TEST(IpcDamage, SizesOfTypesAreBounded) {
  for (const uint8_t kind : {15, 16}) {  // binary and list
    for (const int32_t size : {-1, 0, 1, 1000, 1 << 24, 1 << 30}) {
      flatbuffers::FlatBufferBuilder builder;
      const auto type = flatbuffers::Offset<message::Any>(message::CreateFixedSize(builder, size).o);
      const std::vector fields{message::CreateField(builder, 0, false, kind, type)};
      const auto schema = message::CreateSchema(builder, 0, builder.CreateVector(fields));
      builder.Finish(message::CreateMessage(builder, 4, message::Header::Schema, schema.Union()));
      EXPECT_EQ(passes_checks(sealed(builder)), size >= 1 && size <= 1 << 24) << int(kind) << " of " << size;
    }
  }
}

TEST(IpcDamage, SharedPartsOfASchemaAreCounted) {
  flatbuffers::FlatBufferBuilder builder;
  const auto name = builder.CreateString(std::string(100'000, 'n'));
  const auto type = message::CreateAny(builder);
  const auto field = message::CreateField(builder, name, false, kUtf8, type);
  const auto schema_with = [&](size_t times) {
    const auto fields = builder.CreateVector(std::vector(times, field));
    builder.Finish(
        message::CreateMessage(builder, 4, message::Header::Schema, message::CreateSchema(builder, 0, fields).Union()));
    return sealed(builder);
  };
  EXPECT_TRUE(passes_checks(schema_with(3)));
  EXPECT_FALSE(passes_checks(schema_with(10'000)));
}

message::MessageT batch_of(std::vector<message::FieldNode> nodes, std::vector<message::Buffer> buffers, int64_t body) {
  message::MessageT out;
  out.version = 4;
  message::RecordBatchT batch;
  batch.nodes = std::move(nodes);
  batch.buffers = std::move(buffers);
  out.header.Set(std::move(batch));
  out.body_bytes = body;
  return out;
}

TEST(IpcDamage, CountsAndBuffersOfBatchesAreBounded) {
  const std::string body(64, 'b');
  const auto passes = [&](std::vector<message::FieldNode> nodes, std::vector<message::Buffer> buffers) {
    return passes_checks(sealed(batch_of(std::move(nodes), std::move(buffers), 64)) + body);
  };
  EXPECT_TRUE(passes({{5, 2}}, {{0, 0}, {0, 64}}));
  EXPECT_TRUE(passes({{5, -1}}, {{0, 32}, {32, 32}}));
  EXPECT_FALSE(passes({{-1, 0}}, {}));
  EXPECT_FALSE(passes({{int64_t{1} << 61, 0}}, {}));
  EXPECT_FALSE(passes({{5, 6}}, {}));
  EXPECT_FALSE(passes({{5, 0}}, {{8, 64}}));
  EXPECT_FALSE(passes({{5, 0}}, {{-8, 16}}));
  EXPECT_FALSE(passes({{5, 0}}, {{INT64_MAX, INT64_MAX}}));
  EXPECT_FALSE(passes({{5, 0}}, {{60, 4}})) << "nothing lies behind it";
  EXPECT_FALSE(passes({{5, 0}}, {{0, 64}, {0, 64}})) << "one body for two columns";
}

TEST(IpcDamage, WhatBatchesUnpackToIsBounded) {
  const auto passes = [](int64_t unpacked) {
    message::MessageT message = batch_of({{5, 0}}, {{0, 16}, {16, 16}}, 32);
    message.header.AsRecordBatch()->compression = std::make_unique<message::CompressionT>();
    std::string body(32, '\0');
    std::memcpy(body.data() + 16, &unpacked, sizeof(unpacked));
    return passes_checks(sealed(message) + body);
  };
  EXPECT_TRUE(passes(-1));
  EXPECT_TRUE(passes(int64_t{200} << 20));
  EXPECT_FALSE(passes(int64_t{1} << 30));
  EXPECT_FALSE(passes(INT64_MAX));
}

TEST(IpcDamage, LengthsBeyondTheInputTakeNoMemory) {
  std::string metadata;
  append_number(metadata, 0xffffffff);
  append_number(metadata, 200 << 20);
  EXPECT_THAT(refusal(metadata + "few bytes"), HasSubstr("it ends inside of a message"));
  metadata.resize(4);
  append_number(metadata, 0x7ffffff0);
  EXPECT_THAT(refusal(metadata + "few bytes"), HasSubstr("more metadata than can be read"));

  const std::string schema = sealed(schema_of(typed_field(kUtf8)));
  for (const int64_t body : {int64_t{1} << 62, int64_t{1} << 31, int64_t{65} << 20}) {
    EXPECT_THAT(refusal(schema + sealed(batch_of({}, {}, body)) + "few bytes"),
                HasSubstr("it ends inside of a message"))
        << body;
  }
  EXPECT_THAT(refusal(schema + sealed(batch_of({}, {}, -1))), HasSubstr("fewer than no bytes"));

  // Of a file it is known what follows, whatever its messages say.
  const auto path =
      std::filesystem::temp_directory_path() / ("basalt_promise_" + std::to_string(::getpid()) + ".arrow");
  std::ofstream(path, std::ios::binary) << schema << sealed(batch_of({}, {}, 4096)) << "few bytes";
  ArrowArrayStream stream{};
  open_ipc(path.string(), &stream);
  ArrowArray unread{};
  EXPECT_NE(stream.get_next(&stream, &unread), 0);
  EXPECT_THAT(stream.get_last_error(&stream), HasSubstr("it ends inside of a message"));
  stream.release(&stream);
  std::filesystem::remove(path);
}

// A reader that does not take a schema's body would take it for the next message.
TEST(IpcDamage, OnlyBatchesHaveBodies) {
  const std::string unchecked = sealed(dictionary_batch(7, 0, 0));
  message::MessageT schema = schema_of(coded_field(kUtf8, 7));
  schema.body_bytes = static_cast<int64_t>(unchecked.size());
  EXPECT_THAT(refusal(sealed(schema) + unchecked), HasSubstr("no batch has a body"));
}

// What was not read of a batch that is refused is no message, however often the next one is asked for.
TEST(IpcDamage, TheFirstErrorIsTheLast) {
  std::string bytes = sealed(schema_of(typed_field(kUtf8)));
  const std::string unchecked = sealed(dictionary_batch(7, 0, 0));
  bytes += sealed(batch_of({{1, 0}, {1, 0}}, {}, static_cast<int64_t>(unchecked.size())));  // two columns for one
  bytes += unchecked;
  ArrowArrayStream stream{};
  open_ipc(
      [at = size_t{0}, &bytes](void* out, size_t size) mutable {
        const size_t count = std::min(size, bytes.size() - at);
        std::memcpy(out, bytes.data() + at, count);
        at += count;
        return count;
      },
      "damaged", &stream);
  std::string first;
  for (int i = 0; i < 3; ++i) {
    ArrowArray unread{};
    EXPECT_NE(stream.get_next(&stream, &unread), 0);
    EXPECT_EQ(unread.release, nullptr);
    if (first.empty()) first = stream.get_last_error(&stream);
    EXPECT_EQ(stream.get_last_error(&stream), first);
  }
  stream.release(&stream);
}

// Columns that store nothing have any number of rows in no bytes, but offsets and masks in memory.
TEST(IpcDamage, RowsWithoutBytesAreBounded) {
  EXPECT_TRUE(passes_checks(sealed(batch_of({{1 << 20, 0}, {1 << 20, 0}}, {}, 0))));
  EXPECT_FALSE(passes_checks(sealed(batch_of({{int64_t{1} << 32, 0}}, {}, 0))));
  EXPECT_FALSE(passes_checks(sealed(batch_of(std::vector(100, message::FieldNode(1 << 20, 0)), {}, 0))));
}

TEST(IpcDamage, ColumnsAndDictionariesAreBounded) {
  const auto schema_with = [](size_t columns, bool coded) {
    message::MessageT out = schema_of(typed_field(kUtf8));
    auto& fields = out.header.AsSchema()->fields;
    for (size_t i = 1; i < columns; ++i) {
      message::FieldT field = coded ? coded_field(kUtf8, static_cast<int64_t>(i)) : typed_field(kUtf8);
      fields.push_back(std::make_unique<message::FieldT>(std::move(field)));
    }
    return sealed(out);
  };
  EXPECT_TRUE(passes_checks(schema_with(10'000, false)));
  EXPECT_FALSE(passes_checks(schema_with(140'000, false)));
  EXPECT_TRUE(passes_checks(schema_with(8000, true)));
  EXPECT_FALSE(passes_checks(schema_with(9000, true)));
}

TEST(IpcDamage, AFirstOffsetIsWholeOrMissing) {
  const auto passes = [](int64_t unpacked, int64_t rows) {
    message::MessageT message = batch_of({{rows, 0}}, {{0, 0}, {0, 16}, {16, 0}}, 16);
    message.header.AsRecordBatch()->compression = std::make_unique<message::CompressionT>();
    std::string body(16, '\0');
    std::memcpy(body.data(), &unpacked, sizeof(unpacked));
    return passes_checks(sealed(schema_of(typed_field(kUtf8))) + sealed(message) + body);
  };
  EXPECT_TRUE(passes(0, 0));
  EXPECT_TRUE(passes(4, 0));
  EXPECT_FALSE(passes(3, 0));
  EXPECT_TRUE(passes(3, 1)) << "that it is too short for a row is found by who reads it";
}

// One entry for a million rows is given out in pieces.
TEST(IpcDamage, EntriesForManyRowsComeInPieces) {
  const std::string text(100'000, 'e');
  const int32_t offsets[] = {0, static_cast<int32_t>(text.size())};
  const void* entry_buffers[] = {nullptr, offsets, text.data()};
  const std::vector<int8_t> codes(4000);
  const void* code_buffers[] = {nullptr, codes.data()};
  const auto leave = [](auto* released) { released->release = nullptr; };
  ArrowArray entries{};
  entries.length = 1;
  entries.n_buffers = 3;
  entries.buffers = entry_buffers;
  ArrowArray column{};
  column.length = static_cast<int64_t>(codes.size());
  column.n_buffers = 2;
  column.buffers = code_buffers;
  column.dictionary = &entries;
  ArrowArray* columns[] = {&column};
  const void* no_buffers[] = {nullptr};
  ArrowArray batch{};
  batch.length = column.length;
  batch.n_buffers = 1;
  batch.buffers = no_buffers;
  batch.n_children = 1;
  batch.children = columns;
  batch.release = leave;
  struct Source {
    ArrowArray batch;
    bool given = false;
  } source{batch};
  ArrowArrayStream stream{};
  stream.private_data = &source;
  stream.release = leave;
  stream.get_schema = [](ArrowArrayStream*, ArrowSchema* out) {
    static ArrowSchema value{};
    value.format = "u";
    static ArrowSchema code{};
    code.format = "c";
    code.name = "x";
    code.flags = ARROW_FLAG_NULLABLE;
    code.dictionary = &value;
    static ArrowSchema* children[] = {&code};
    *out = {};
    out->format = "+s";
    out->n_children = 1;
    out->children = children;
    out->release = [](ArrowSchema* schema) { schema->release = nullptr; };
    return 0;
  };
  stream.get_next = [](ArrowArrayStream* self, ArrowArray* out) {
    auto& from = *static_cast<Source*>(self->private_data);
    *out = std::exchange(from.given, true) ? ArrowArray{} : from.batch;
    return 0;
  };
  stream.get_last_error = [](ArrowArrayStream*) -> const char* { return nullptr; };
  arrow::StreamReader reader(&stream, "", nullptr);
  uint64_t rows = 0;
  int pieces = 0;
  while (const std::unique_ptr<Table> piece = reader.next()) {
    EXPECT_LE(piece->columns[0].bytes.size(), size_t{64} << 20);
    for (uint64_t row = 0; row < piece->rows; ++row) ASSERT_EQ(piece->columns[0].string_at(row), text);
    rows += piece->rows;
    ++pieces;
  }
  EXPECT_EQ(rows, codes.size());
  EXPECT_GT(pieces, 1);
}

TEST(IpcDamage, ChangedBytesAreAnErrorOrRows) {
  const auto path =
      std::filesystem::temp_directory_path() / ("basalt_changed_" + std::to_string(::getpid()) + ".arrow");
  ArrowArrayStream stream;
  auto given = std::make_shared<bool>(false);
  export_stream(
      test::every_type(),
      [given]() -> std::unique_ptr<Table> {
        if (std::exchange(*given, true)) return nullptr;
        return std::make_unique<Table>(test::random_table(9, 0.3, 1));
      },
      &stream);
  write_ipc(&stream, path.string(), IpcKind::kStream);
  std::ifstream in(path, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  std::filesystem::remove(path);
  EXPECT_EQ(test::import_untrusted(whole), 9u);
  std::mt19937_64 random(7);
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const int change : {0xff, static_cast<int>(random() % 255 + 1)}) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ change);
      test::refusing([&] { test::import_untrusted(bytes); });
    }
  }
}

}  // namespace
}  // namespace basalt
