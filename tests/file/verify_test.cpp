// What verify says of files that lie under checksums that fit: every statistic, every flag, the sort order, the schema,
// and every byte between the parts of a file. A sound file, taken apart and sealed again, stays sound.
#include "basalt/file/verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "basalt/core/error.h"
#include "file/format.h"
#include "file/test_files.h"
#include "support/crafted_file.h"

namespace basalt::test {
namespace {

using namespace format_v1;

std::string verdict(const std::vector<std::byte>& bytes) {
  try {
    ThreadPool pool(1);
    verify_file(*open_bytes(bytes), pool);
    return "sound";
  } catch (const Error& error) {
    EXPECT_TRUE(error.code() == ErrorCode::kCorrupt || error.code() == ErrorCode::kUnsupported) << error.what();
    return error.what();
  }
}

std::vector<std::byte> file_of(const Table& table, const WriteOptions& options = {}) {
  TemporaryFolder folder;
  write(folder.path("t.basalt"), table, options);
  return read_bytes(folder.path("t.basalt"));
}

// Two chunks, three zones.
constexpr uint64_t kRows = 20000;
constexpr uint64_t kChunkRows = 16384;

enum Fields : uint32_t { kNumber, kFalling, kSame, kSteps, kReal, kNan, kText, kWithNulls, kDecimal, kNulls, kList };

Table table_of_many() {
  const auto i64 = type_of(TypeKind::kInt64);
  const auto i32 = type_of(TypeKind::kInt32);
  return make_table(
      kRows,
      {integers("number", i64, kRows, [](uint64_t i) { return static_cast<int64_t>(i); }),
       integers("falling", i32, kRows, [](uint64_t i) { return 50000 - 2 * static_cast<int64_t>(i); }),
       integers("same", i32, kRows, [](uint64_t) { return 7; }),
       integers("steps", i32, kRows, [](uint64_t i) { return static_cast<int64_t>(i / 100); }),
       reals("real", TypeKind::kFloat64, kRows, [](uint64_t i) { return static_cast<double>(scramble(i) % 1000) / 8; }),
       reals("nan", TypeKind::kFloat64, kRows,
             [](uint64_t i) { return i == 100 ? std::numeric_limits<double>::quiet_NaN() : 1.5; }),
       strings("text", TypeKind::kUtf8, kRows, [](uint64_t i) { return "t" + std::to_string(scramble(i) % 5000); }),
       integers(
           "with nulls", i32, kRows, [](uint64_t i) { return static_cast<int64_t>(scramble(i) % 100) - 50; },
           [](uint64_t i) { return i % 3 == 0; }),
       integers("decimal", type_of(TypeKind::kDecimal, 9, 2), kRows,
                [](uint64_t i) { return static_cast<int64_t>(scramble(i) % 100000000); }),
       integers(
           "nulls", i32, kRows, [](uint64_t) { return 0; }, [](uint64_t) { return true; }),
       list_of(
           "list", kRows, [](uint64_t i) { return i % 4; },
           [&](uint64_t n) { return integers("element", i32, n, [](uint64_t i) { return static_cast<int64_t>(i); }); },
           [](uint64_t i) { return i % 5 == 0; })});
}

const std::vector<std::byte>& sound_file() {
  static const std::vector<std::byte> bytes = file_of(table_of_many(), chunks_of(kChunkRows, 1));
  return bytes;
}

template <typename T>
std::vector<uint8_t> bound(T value) {
  std::vector<uint8_t> bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}
std::vector<uint8_t> bound(const char* text) { return {text, text + std::strlen(text)}; }

// The bound of one zone of fixed width.
template <typename T>
void set_bound(std::vector<uint8_t>& bounds, size_t zone, T value) {
  std::memcpy(bounds.data() + zone * sizeof(T), &value, sizeof(T));
}

struct ChunkEdit {
  uint64_t plain_bytes;
  uint64_t distinct;
  uint16_t flags;
  uint32_t reserved;
};
void edit_chunk(CraftedFile& file, uint32_t field, size_t chunk, const std::function<void(ChunkEdit&)>& edit) {
  format::ColumnChunk& record = file.columns[field].metadata.chunks[chunk];
  ChunkEdit values{record.plain_bytes(), record.distinct(), record.flags(), record.reserved()};
  edit(values);
  record = format::ColumnChunk(record.rows(), values.plain_bytes, record.region_offset(), record.region_length(),
                               values.distinct, record.shape(), values.flags, values.reserved);
}

struct Lie {
  const char* name;
  std::function<void(CraftedFile&)> tell;
  const char* found;
};

void expect_found(const std::vector<Lie>& lies) {
  for (const Lie& lie : lies) {
    CraftedFile file(sound_file());
    lie.tell(file);
    EXPECT_NE(verdict(file.seal()).find(lie.found), std::string::npos) << lie.name << ": " << verdict(file.seal());
  }
}

TEST(Verify, ASoundFileStaysSoundWhenItIsSealedAgain) {
  EXPECT_EQ(verdict(sound_file()), "sound");
  EXPECT_EQ(verdict(CraftedFile(sound_file()).seal()), "sound");
}

TEST(Verify, FindsLiesAboutBoundsInTheFooter) {
  const auto column = [](CraftedFile& file, uint32_t field) -> format::ColumnT& { return *file.footer.columns[field]; };
  expect_found({
      {"max too small", [&](auto& f) { column(f, kNumber).max = bound<int64_t>(7); }, "bounds in the footer"},
      {"min too large", [&](auto& f) { column(f, kNumber).min = bound<int64_t>(7); }, "bounds in the footer"},
      {"max too large", [&](auto& f) { column(f, kNumber).max = bound<int64_t>(99999); }, "call exact"},
      {"min too small", [&](auto& f) { column(f, kNumber).min = bound<int64_t>(-1); }, "call exact"},
      {"real", [&](auto& f) { column(f, kReal).max = bound(100.0); }, "bounds in the footer"},
      {"text min", [&](auto& f) { column(f, kText).min = bound("t5"); }, "bounds in the footer"},
      {"text max", [&](auto& f) { column(f, kText).max = bound("t5"); }, "bounds in the footer"},
      {"not UTF-8", [&](auto& f) { column(f, kText).max = bound("\xFF"); }, "not UTF-8"},
      {"NaN as bound", [&](auto& f) { column(f, kReal).max = bound(std::nan("")); }, "NaN"},
      {"zero of the wrong sign", [&](auto& f) { column(f, kReal).min = bound(0.0); }, "wrong sign"},
      {"a NaN that is not there", [&](auto& f) { column(f, kReal).flags |= kHasNan << kBoundShift; }, "NaN"},
      {"a NaN left out", [&](auto& f) { column(f, kNan).flags &= ~(kHasNan << kBoundShift); }, "NaN"},
      {"bounds of NULLs",
       [&](auto& f) {
         column(f, kNulls).min = column(f, kNulls).max = bound<int32_t>(0);
         column(f, kNulls).flags |= (kHasMin | kHasMax) << kBoundShift;
       },
       "no values"},
      {"exact without a bound", [&](auto& f) { column(f, kNulls).flags |= kMinExact << kBoundShift; },
       "call a minimum"},
      {"a bound without its flag", [&](auto& f) { column(f, kNulls).min = bound<int32_t>(0); }, "without its flag"},
      {"bounds of lists",
       [&](auto& f) {
         column(f, kList).min = bound<int32_t>(0);
         column(f, kList).flags |= kHasMin << kBoundShift;
       },
       "lists and structs"},
      {"NULLs", [&](auto& f) { ++column(f, kWithNulls).null_count; }, "NULLs differ"},
      {"rows", [&](auto& f) { ++column(f, kNumber).rows; }, "rows"},
      {"an unknown flag", [&](auto& f) { column(f, kNumber).flags |= 32; }, "no meaning"},
      {"another unknown flag", [&](auto& f) { column(f, kNumber).flags |= 32 << kBoundShift; }, "no meaning"},
  });
}

TEST(Verify, FindsLiesAboutOrderAndDistinctValues) {
  struct Claim {
    uint32_t field;
    uint16_t flag;
    const char* found;
  };
  const std::vector<Claim> claims = {
      {kFalling, kAscending, "ascending"},
      {kNumber, kDescending, "descending"},
      {kSteps, kStrict, "strict"},
      {kWithNulls, kStrict, "strict"},
      {kSteps, kConstant, "constant"},
      {kNulls, kConstant, "constant"},
      {kSteps, kDense, "dense"},
      {kFalling, kDense, "dense"},
      {kReal, kAscending, "ascending"},
      {kText, kAscending, "ascending"},
      {kText, kDescending, "descending"},
      {kNan, kAscending, "NaN"},
      {kNan, kConstant, "NaN"},
      {kList, kAscending, "lists"},
  };
  for (const Claim& claim : claims) {
    SCOPED_TRACE(std::to_string(claim.field) + " with flag " + std::to_string(claim.flag));
    expect_found(
        {{"footer", [&](auto& f) { f.footer.columns[claim.field]->flags |= claim.flag; }, claim.found},
         {"chunk",
          [&](auto& f) { edit_chunk(f, claim.field, 0, [&](ChunkEdit& chunk) { chunk.flags |= claim.flag; }); },
          claim.found}});
  }
  expect_found({
      {"distinct of the footer", [](auto& f) { f.footer.columns[kNumber]->distinct = 3; }, "different values"},
      {"more than there are", [](auto& f) { f.footer.columns[kSame]->distinct = 1000; }, "different values"},
      {"of NULLs", [](auto& f) { f.footer.columns[kNulls]->distinct = 1; }, "different values"},
      {"of a chunk", [](auto& f) { edit_chunk(f, kText, 1, [](ChunkEdit& c) { c.distinct *= 2; }); }, "different"},
      {"plain bytes", [](auto& f) { edit_chunk(f, kNumber, 1, [](ChunkEdit& c) { c.plain_bytes /= 2; }); }, "plain"},
      {"more plain bytes", [](auto& f) { edit_chunk(f, kText, 0, [](ChunkEdit& c) { c.plain_bytes *= 2; }); }, "plain"},
      {"reserved", [](auto& f) { edit_chunk(f, kNumber, 1, [](ChunkEdit& c) { c.reserved = 1; }); }, "reserved"},
      {"a flag", [](auto& f) { edit_chunk(f, kNumber, 1, [](ChunkEdit& c) { c.flags |= 64; }); }, "no meaning"},
  });
}

TEST(Verify, OrdersOverChunkBordersCountForTheFooterOnly) {
  const auto table = make_table(kRows, {integers("n", type_of(TypeKind::kInt32), kRows,
                                                 [](uint64_t i) { return static_cast<int64_t>(i % kChunkRows); })});
  const std::vector<std::byte> bytes = file_of(table, chunks_of(kChunkRows, 1));
  ASSERT_EQ(verdict(bytes), "sound");
  for (const uint16_t flag : {kAscending, kStrict, kDense}) {
    CraftedFile file(bytes);
    for (const auto& chunk : file.columns[0].metadata.chunks) EXPECT_NE(chunk.flags() & flag, 0);
    EXPECT_EQ(file.footer.columns[0]->flags & flag, 0);
    file.footer.columns[0]->flags |= flag;
    EXPECT_NE(verdict(file.seal()), "sound") << flag;
  }
}

TEST(Verify, FindsLiesAboutZones) {
  const auto zones = [](CraftedFile& file, uint32_t field) -> format::ZonesT& {
    return *file.columns[field].metadata.zones;
  };
  expect_found({
      {"max", [&](auto& f) { set_bound<int64_t>(zones(f, kNumber).maxs, 0, 7); }, "zone 0: it holds values beyond"},
      {"min", [&](auto& f) { set_bound<int64_t>(zones(f, kNumber).mins, 1, 8193); }, "zone 1: it holds values beyond"},
      {"exact", [&](auto& f) { set_bound<int64_t>(zones(f, kNumber).maxs, 2, 99999); }, "call exact"},
      {"real", [&](auto& f) { set_bound(zones(f, kReal).maxs, 0, 1.0); }, "beyond"},
      {"text", [&](auto& f) { zones(f, kText).maxs[0] = 'a'; }, "beyond"},
      {"NULLs", [&](auto& f) { --zones(f, kWithNulls).null_counts[0], ++zones(f, kWithNulls).null_counts[1]; },
       "NULLs"},
      {"NULLs of lists", [&](auto& f) { --zones(f, kList).null_counts[0], ++zones(f, kList).null_counts[1]; }, "NULLs"},
      {"a NaN too many", [&](auto& f) { zones(f, kReal).flags[1] |= kHasNan; }, "NaN"},
      {"a NaN too few", [&](auto& f) { zones(f, kNan).flags[0] &= ~kHasNan; }, "NaN"},
      {"bounds of NULLs", [&](auto& f) { zones(f, kNulls).flags[0] |= kHasMin; }, "no values"},
      {"exact alone", [&](auto& f) { zones(f, kNulls).flags[0] |= kMaxExact; }, "call a maximum"},
      {"bytes without a flag", [&](auto& f) { zones(f, kNulls).maxs[2] = 1; }, "without its flag"},
      {"a length without a flag", [&](auto& f) { zones(f, kText).flags[0] &= ~(kHasMin | kMinExact); }, "its flag"},
      {"lengths too many", [&](auto& f) { zones(f, kText).min_lengths.push_back(0); }, "lengths of bounds"},
      {"lengths of numbers", [&](auto& f) { zones(f, kNumber).max_lengths.push_back(1); }, "fixed width"},
      {"an unknown flag", [&](auto& f) { zones(f, kNumber).flags[0] |= 128; }, "no meaning"},
  });
}

// Less than could be said is no lie.
TEST(Verify, ClaimsMayBeLeftOut) {
  CraftedFile file(sound_file());
  for (const auto& column : file.footer.columns) {
    column->flags = static_cast<uint16_t>(column->flags & (kHasNan << kBoundShift));
    column->distinct = 0;
    column->min.clear();
    column->max.clear();
  }
  for (uint32_t field = 0; field < file.columns.size(); ++field) {
    for (size_t chunk = 0; chunk < 2; ++chunk) {
      edit_chunk(file, field, chunk, [](ChunkEdit& edit) { edit.flags = 0, edit.distinct = 0; });
    }
  }
  auto& numbers = *file.columns[kNumber].metadata.zones;
  for (uint8_t& flags : numbers.flags) flags = kHasMin | kHasMax;
  set_bound<int64_t>(numbers.mins, 0, -1000);
  set_bound<int64_t>(numbers.maxs, 0, 1000000);
  EXPECT_EQ(verdict(file.seal()), "sound");
}

TEST(Verify, FindsLiesAboutWidthsSchemaAndSortOrder) {
  expect_found({
      {"widths", [](auto& f) { ++f.columns[kWithNulls].metadata.width_tiles.back(); }, "packed tiles"},
      {"no widths", [](auto& f) { f.columns[kWithNulls].metadata.width_tiles.clear(); }, "packed tiles"},
      {"NULLs", [](auto& f) { f.footer.fields[kWithNulls]->nullable = false; }, "rules out"},
      {"NULL lists", [](auto& f) { f.footer.fields[kList]->nullable = false; }, "rules out"},
      {"digits", [](auto& f) { f.footer.fields[kDecimal]->precision = 6; }, "more digits"},
      {"falling", [](auto& f) { f.footer.sort_columns = {kFalling}; }, "row 1 "},
      {"second column",
       [](auto& f) {
         f.footer.sort_columns = {kSame, kSteps, kFalling};
       },
       "row 1 "},
      {"NULLs first",
       [](auto& f) {
         f.footer.sort_columns = {kSame, kWithNulls};
       },
       "sort order"},
      {"text", [](auto& f) { f.footer.sort_columns = {kText}; }, "sort order"},
      {"NaN", [](auto& f) { f.footer.sort_columns = {kNan}; }, "row 101 "},
      {"twice",
       [](auto& f) {
         f.footer.sort_columns = {kSame, kSame};
       },
       "named twice"},
      {"a list", [](auto& f) { f.footer.sort_columns = {kList}; }, "cannot be sorted"},
      {"elements", [](auto& f) { f.footer.sort_columns = {kList + 1}; }, "cannot be sorted"},
  });
  CraftedFile file(sound_file());
  file.footer.sort_columns = {kSame, kNulls, kSteps, kNumber};
  EXPECT_EQ(verdict(file.seal()), "sound");
}

TEST(Verify, SortOrderHoldsOverChunkBorders) {
  const auto table = make_table(kRows, {integers("n", type_of(TypeKind::kInt32), kRows,
                                                 [](uint64_t i) { return static_cast<int64_t>(i % kChunkRows); })});
  CraftedFile file(file_of(table, chunks_of(kChunkRows, 1)));
  file.footer.sort_columns = {0};
  EXPECT_NE(verdict(file.seal()).find("row 16384 "), std::string::npos) << verdict(file.seal());
}

// Under a NULL struct a member may be NULL, whatever the schema says.
TEST(Verify, MembersOfNullStructsMayBeNull) {
  const IsNull some = [](uint64_t i) { return i % 4 == 0; };
  const auto value = [](uint64_t i) { return static_cast<int64_t>(i); };
  for (const bool null_struct : {true, false}) {
    Table table = make_table(100, {struct_of("s", 100, {integers("a", type_of(TypeKind::kInt32), 100, value, some)},
                                             null_struct ? some : IsNull())});
    CraftedFile file(file_of(table));
    file.footer.fields[1]->nullable = false;
    EXPECT_EQ(verdict(file.seal()) == "sound", null_struct);
  }
}

TEST(Verify, ADeclarationWithoutNullsGivesWayToTheRows) {
  Table table = make_table(
      10, {integers(
              "a", type_of(TypeKind::kInt32), 10, [](uint64_t) { return 1; }, [](uint64_t i) { return i == 3; })});
  table.schema.fields[0].nullable = false;
  const std::vector<std::byte> bytes = file_of(table);
  EXPECT_TRUE(open_bytes(bytes)->schema().fields[0].nullable);
  EXPECT_EQ(verdict(bytes), "sound");
}

TEST(Verify, DecimalsWithTooManyDigitsAreNotWritten) {
  const Table table = make_table(
      2, {integers("d", type_of(TypeKind::kDecimal, 4, 1), 2, [](uint64_t i) { return i == 0 ? 9999 : 10000; })});
  EXPECT_THROW(file_of(table), Error);
}

// Lengths of lists are numbers and no strings: files with a dictionary of them over the whole file exist.
TEST(Verify, DictionariesOfAllPhysicalTypesAreCompared) {
  const uint64_t rows = 40;
  const auto narrow = [](uint64_t i) { return static_cast<int64_t>(scramble(i) % 3); };
  const std::vector<NamedColumn> columns = {
      list_of(
          "c", rows, [](uint64_t i) { return scramble(i) % 3; },
          [&](uint64_t n) { return integers("e", type_of(TypeKind::kInt8), n, narrow); }),
      integers("c", type_of(TypeKind::kBool), rows, [](uint64_t i) { return static_cast<int64_t>(i % 2); }),
      integers("c", type_of(TypeKind::kInt128), rows, narrow, [](uint64_t i) { return i % 4 == 0; }),
      reals("c", TypeKind::kFloat32, rows, [&](uint64_t i) { return static_cast<double>(narrow(i)); }),
      strings("c", TypeKind::kUtf8, rows, [&](uint64_t i) { return "w" + std::to_string(narrow(i)); }),
      strings("c", TypeKind::kBinary, rows, [&](uint64_t i) { return "w" + std::to_string(narrow(i)); }),
  };
  for (const NamedColumn& column : columns) {
    SCOPED_TRACE(to_string(column.field.type));
    const bool text = physical_of(column.field.type) == Physical::kBytes;
    WriteOptions options;
    options.encodings["c"] = parse_tree(text ? "dict(packed, strings(packed, plain))" : "dict(packed, plain)");
    CraftedFile file(file_of(make_table(rows, {column}), options));
    const bool list = column.field.type.kind == TypeKind::kList;
    EXPECT_EQ(file.columns[0].dictionary == nullptr, list);
    ASSERT_EQ(verdict(file.seal()), "sound");
    if (!list) continue;
    // As older writers did: the only chunk's entries are those of the file.
    auto dictionary = std::make_unique<format::DictionaryMetadataT>();
    const auto& arrays = *file.columns[0].metadata.arrays;
    const format::Node entries = arrays.nodes.back();
    dictionary->entries = entries.count();
    dictionary->chunk_has_map = {0};
    dictionary->arrays = std::make_unique<format::ArraysT>();
    dictionary->arrays->nodes = {entries};
    dictionary->arrays->streams = {arrays.streams.back()};
    CraftedNode plain;
    plain.codec = "plain";
    dictionary->entries_shape = file.shape(plain);
    file.columns[0].dictionary = std::move(dictionary);
    EXPECT_EQ(verdict(file.seal()), "sound");
    EXPECT_TRUE(open_bytes(file.seal())->column(0).has_dictionary);
  }
}

TEST(Verify, DictionariesOfStructsAreRefused) {
  const Table table =
      make_table(10, {struct_of("s", 10, {integers("a", type_of(TypeKind::kInt32), 10, [](uint64_t) { return 1; })},
                                [](uint64_t i) { return i == 2; }),
                      strings("t", TypeKind::kUtf8, 10, [](uint64_t i) { return std::to_string(i % 2); })});
  WriteOptions options;
  options.encodings["t"] = parse_tree("dict(packed, strings(packed, plain))");
  CraftedFile file(file_of(table, options));
  ASSERT_NE(file.columns[2].dictionary, nullptr);
  file.columns[0].dictionary = std::make_unique<format::DictionaryMetadataT>(*file.columns[2].dictionary);
  file.columns[0].dictionary->field = 0;
  EXPECT_NE(verdict(file.seal()), "sound");
}

TEST(Verify, DictionariesOverTheFileHoldNothingElse) {
  const auto word = [](uint64_t i) { return std::string(1, static_cast<char>('a' + i % 3)); };
  const Table table = make_table(kRows, {strings("t", TypeKind::kUtf8, kRows, word)});
  WriteOptions options = chunks_of(kChunkRows, 1);
  options.encodings["t"] = parse_tree("dict(packed, strings(plain, plain))");
  const std::vector<std::byte> bytes = file_of(table, options);
  ASSERT_EQ(verdict(bytes), "sound");
  CraftedFile file(bytes);
  // Entries a, b, c of both chunks, and a fourth one in the union.
  auto& dictionary = *file.columns[0].dictionary;
  const std::vector<uint32_t> lengths = {1, 1, 1, 1};
  const std::vector<uint64_t> starts = {0, 4};
  const std::vector<char> texts = {'a', 'b', 'c', 'd'};
  CraftedNode entries{
      "strings",
      4,
      {},
      {},
      {{"plain", 4, {}, {bytes_of(lengths)}, {}}, {"plain", 4, {}, {bytes_of(starts), bytes_of(texts)}, {}}}};
  const std::vector<uint32_t> codes = {0, 1, 2};
  CraftedNode map{"plain", 3, {}, {bytes_of(codes)}, {}};
  dictionary.entries = 4;
  dictionary.entries_shape = file.shape(entries);
  dictionary.map_shape = file.shape(map);
  dictionary.chunk_has_map = {1, 1};
  dictionary.arrays = std::make_unique<format::ArraysT>();
  format::ArraysT& arrays = *dictionary.arrays;
  arrays.nodes = {{4, 0, 0}, {4, 0, 1}, {4, 0, 2}, {3, 0, 1}, {3, 0, 1}};
  arrays.streams = {file.add_stream(bytes_of(lengths)), file.add_stream(bytes_of(starts)),
                    file.add_stream(bytes_of(texts)), file.add_stream(bytes_of(codes)),
                    file.add_stream(bytes_of(codes))};
  EXPECT_NE(verdict(file.seal()).find("entry 3 is in no chunk"), std::string::npos) << verdict(file.seal());
}

TEST(Verify, BytesThatBelongToNothingAreZeroAndFew) {
  CraftedFile hidden(sound_file());
  hidden.add_stream(std::vector<std::byte>(10, std::byte{42}));
  EXPECT_NE(verdict(hidden.seal()).find("is not zero"), std::string::npos) << verdict(hidden.seal());
  CraftedFile hole(sound_file());
  hole.body.resize(hole.body.size() + kLargeRegionAlignment);
  EXPECT_NE(verdict(hole.seal()).find("belong to nothing"), std::string::npos) << verdict(hole.seal());
  CraftedFile few(sound_file());
  few.body.resize(few.body.size() + kMetadataAlignment);
  EXPECT_EQ(verdict(few.seal()), "sound");
}

TEST(Verify, UnknownOptionalFeaturesAreNoted) {
  std::vector<std::byte> bytes = sound_file();
  Postscript postscript;
  std::byte* end = bytes.data() + bytes.size() - sizeof(postscript);
  std::memcpy(&postscript, end, sizeof(postscript));
  postscript.optional_features = 4;
  seal(postscript);
  std::memcpy(end, &postscript, sizeof(postscript));
  ThreadPool pool(1);
  const VerifyReport report = verify_file(*open_bytes(bytes), pool);
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_NE(report.notes[0].find("0x4"), std::string::npos);
}

// Streams and blocks lie under checksums, which single bytes of large files are enough to try; what matters are the
// bytes between them.
std::vector<bool> under_checksums(const std::vector<std::byte>& bytes) {
  std::vector<bool> under(bytes.size(), false);
  const auto mark = [&](uint64_t offset, uint64_t length) {
    std::fill_n(under.begin() + static_cast<ptrdiff_t>(offset), length, true);
  };
  const auto file = open_bytes(bytes);
  for (uint32_t field = 0; field < file->fields().size(); ++field) {
    for (const ColumnChunkInfo& chunk : file->column(field).chunks) {
      for (const NodePlace& node : chunk.nodes) {
        for (const StreamPlace& stream : node.streams) mark(stream.offset, stream.length);
      }
    }
  }
  Postscript postscript;
  std::memcpy(&postscript, bytes.data() + bytes.size() - sizeof(postscript), sizeof(postscript));
  mark(postscript.footer_offset, postscript.footer_length);
  const auto* footer = flatbuffers::GetRoot<format::Footer>(bytes.data() + postscript.footer_offset);
  for (const format::Column* column : *footer->columns()) {
    mark(column->metadata()->offset(), column->metadata()->length());
    if (column->dictionary() != nullptr) mark(column->dictionary()->offset(), column->dictionary()->length());
  }
  return under;
}

TEST(Verify, EveryChangedByteOfGoldenFilesIsNoticed) {
  constexpr size_t kSmall = 4096;
  ThreadPool pool(1);
  for (const char* name :
       {"chunks", "codecs", "compressed", "floats", "learned", "no_columns", "no_rows", "one_row", "texts", "types"}) {
    std::vector<std::byte> bytes = read_bytes(std::string("tests/golden/v1/") + name + ".basalt");
    ASSERT_EQ(verdict(bytes), "sound") << name;
    const std::vector<bool> under = under_checksums(bytes);
    for (size_t at = 0; at < bytes.size(); ++at) {
      if (bytes.size() > kSmall && at % (under[at] ? 211 : 3) != 0) continue;
      const auto mask = static_cast<std::byte>(at % 3 == 0 ? 0xFF : 1u << (scramble(at) % 8));
      bytes[at] ^= mask;
      ASSERT_NE(verdict(bytes), "sound") << name << ", byte " << at;
      bytes[at] ^= mask;
    }
  }
}

}  // namespace
}  // namespace basalt::test
