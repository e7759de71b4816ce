// Streams are equal or apart: identical references share bytes, everything that overlaps partly is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "basalt/core/error.h"
#include "basalt/file/verify.h"
#include "file/test_files.h"
#include "support/crafted_file.h"

namespace basalt::test {
namespace {

using testing::HasSubstr;

constexpr uint64_t kRows = 3 * 8192;

std::vector<std::byte> file_bytes(const std::vector<NamedColumn>& columns, const std::string& tree) {
  TemporaryFolder folder;
  WriteOptions options = chunks_of(8192, 1);
  for (const NamedColumn& column : columns) options.encodings[column.field.name] = parse_tree(tree);
  write(folder.path("t.basalt"), make_table(kRows, columns), options);
  return read_bytes(folder.path("t.basalt"));
}

// The same 8192 values in every chunk.
NamedColumn repeating(const std::string& name) {
  return integers(name, type_of(TypeKind::kInt32), kRows,
                  [](uint64_t i) { return static_cast<int64_t>(scramble(i % 8192) % 1000); });
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCorrupt) << error.what();
    return error.what();
  }
  return "no error";
}

void verify(const File& file) {
  ThreadPool pool(1);
  verify_file(file, pool);
}

TEST(Sharing, ChunksMayShareAStream) {
  const NamedColumn column = repeating("a");
  CraftedFile crafted(file_bytes({column}, "plain"));
  format::ColumnMetadataT& metadata = crafted.columns[0].metadata;
  std::vector<format::Stream>& streams = metadata.arrays->streams;
  ASSERT_EQ(streams.size(), 3u);
  streams[1] = streams[2] = streams[0];
  for (const size_t i : {1, 2}) {
    const format::ColumnChunk& chunk = metadata.chunks[i];
    metadata.chunks[i] =
        format::ColumnChunk(chunk.rows(), chunk.plain_bytes(), 0, 0, chunk.distinct(), chunk.shape(), chunk.flags(), 0);
  }
  crafted.body.resize(streams[0].offset() + streams[0].length());
  const auto file = open_bytes(crafted.seal());
  EXPECT_EQ(file->read_chunk(0, 0).shared.size(), 0u);
  EXPECT_EQ(file->read_chunk(0, 2).shared.size(), 1u);
  EXPECT_TRUE(equal(read_table(*file).columns[0], column.column));
  verify(*file);
}

TEST(Sharing, AStreamUsedTwiceInAChunkIsReadOnce) {
  // The values and the run ends of rows that all differ, made one stream that lies elsewhere.
  const NamedColumn column =
      integers("a", type_of(TypeKind::kUInt32), kRows, [](uint64_t i) { return static_cast<int64_t>(i % 8192 + 1); });
  std::vector<std::byte> bytes = file_bytes({column}, "rle(plain, plain)");
  edit_places(bytes, 0, [](ColumnPlaces& places) {
    ASSERT_EQ(places.streams.size(), 9u);
    places.streams[8] = places.streams[7] = places.streams[1];
    places.regions[2].length = places.streams[6].length;
  });
  const auto file = open_bytes(bytes);
  EXPECT_EQ(file->read_chunk(0, 2).shared.size(), 1u);
  EXPECT_TRUE(equal(read_table(*file).columns[0], column.column));
}

TEST(Sharing, TheDictionaryMayUseAChunksStreams) {
  const std::vector<std::byte> bytes = file_bytes({repeating("a")}, "dict(packed, plain)");
  std::vector<std::byte> copy = bytes;
  edit_places(copy, 0, [](ColumnPlaces& places) {
    ASSERT_FALSE(places.dictionary.empty());
    const StreamPlace entries = places.dictionary[0];
    EXPECT_TRUE(std::any_of(places.streams.begin(), places.streams.end(), [&](const StreamPlace& stream) {
      return stream.offset == entries.offset && stream.length == entries.length;
    }));
  });
  EXPECT_EQ(copy, bytes);
  const auto file = open_bytes(bytes);
  EXPECT_GT(file->read_dictionary(0).root.count, 900u);
  verify(*file);
}

TEST(Sharing, ChunksThatOverlapPartlyAreRefused) {
  for (const int64_t shift : {-128, 128, 4096}) {
    std::vector<std::byte> bytes = file_bytes({repeating("a")}, "plain");
    edit_places(bytes, 0, [&](ColumnPlaces& places) {
      places.streams[2].offset = places.streams[1].offset + static_cast<uint64_t>(shift);
      places.regions[2] = {0, 0};
    });
    const auto file = open_bytes(bytes);
    const std::string message = message_of([&] { file->read_chunk(0, 0); });
    EXPECT_THAT(message, HasSubstr("column a"));
    EXPECT_THAT(message, HasSubstr("overlap")) << shift;
  }
}

TEST(Sharing, ADictionaryThatOverlapsItsColumnIsRefused) {
  std::vector<std::byte> bytes = file_bytes({repeating("a")}, "dict(packed, plain)");
  edit_places(bytes, 0, [](ColumnPlaces& places) { places.dictionary[0].offset += 128; });
  const auto file = open_bytes(bytes);
  EXPECT_THAT(message_of([&] { file->read_dictionary(0); }), HasSubstr("overlap"));
  EXPECT_THAT(message_of([&] { file->read_code_map(0, 1); }), HasSubstr("overlap"));
  EXPECT_NO_THROW(file->read_chunk(0, 0));
}

TEST(Sharing, ColumnsThatOverlapAreFoundByVerify) {
  std::vector<std::byte> bytes = file_bytes({repeating("a"), repeating("b")}, "plain");
  StreamPlace other;
  edit_places(bytes, 0, [&](ColumnPlaces& places) { other = places.streams[0]; });
  edit_places(bytes, 1, [&](ColumnPlaces& places) {
    places.streams[0].offset = other.offset + 128;
    places.regions[0] = {0, 0};
  });
  const auto file = open_bytes(bytes);
  EXPECT_THAT(message_of([&] { verify(*file); }), HasSubstr("overlap"));
}

}  // namespace
}  // namespace basalt::test
