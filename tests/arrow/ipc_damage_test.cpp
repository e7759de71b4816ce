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

TEST(IpcDamage, LengthsBeyondTheInputTakeNoMemory) {
  std::string metadata;
  append_number(metadata, 0xffffffff);
  append_number(metadata, 0x7ffffff0);
  EXPECT_THAT(refusal(metadata + "few bytes"), HasSubstr("it ends inside of a message"));

  for (const int64_t body : {int64_t{1} << 62, int64_t{1} << 31, int64_t{65} << 20}) {
    message::MessageT schema = schema_of(typed_field(kUtf8));
    schema.body_bytes = body;
    EXPECT_THAT(refusal(sealed(schema) + "few bytes"), HasSubstr("it ends inside of a message")) << body;
  }
  message::MessageT schema = schema_of(typed_field(kUtf8));
  schema.body_bytes = -1;
  EXPECT_THAT(refusal(sealed(schema)), HasSubstr("fewer than no bytes"));

  // Of a file it is known what follows, whatever its messages say.
  schema.body_bytes = 4096;
  const auto path =
      std::filesystem::temp_directory_path() / ("basalt_promise_" + std::to_string(::getpid()) + ".arrow");
  std::ofstream(path, std::ios::binary) << sealed(schema) << "few bytes";
  ArrowArrayStream stream{};
  open_ipc(path.string(), &stream);
  ArrowSchema unread{};
  EXPECT_NE(stream.get_schema(&stream, &unread), 0);
  EXPECT_THAT(stream.get_last_error(&stream), HasSubstr("it ends inside of a message"));
  stream.release(&stream);
  std::filesystem::remove(path);
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
