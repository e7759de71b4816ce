// What a small file can make a reader do: time and memory stay bounded, and no codec is given values of a type that it
// does not take, wherever in a file it stands.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>

#include "basalt/core/error.h"
#include "basalt/encoding/chooser.h"
#include "basalt/exec/expressions.h"
#include "basalt/exec/scan.h"
#include "basalt/file/ipc.h"
#include "basalt/file/verify.h"
#include "codec/entry_limit.h"
#include "core/peak_memory.h"
#include "file/test_files.h"
#include "support/hostile_files.h"
#include "support/sanitized.h"

namespace basalt::test {

namespace {

constexpr uint64_t kMostMemory = 256 << 20;           // above the file
constexpr double kMostSeconds = kSanitized ? 30 : 2;  // of all threads together: other processes do not count

// Runs `body` within the bounds; gives the sentence that it ended with, or nothing.
std::string within_bounds(const std::string& what, uint64_t file_bytes, const std::function<void()>& body) {
  const PeakMemory memory;
  const std::clock_t start = std::clock();
  std::string sentence;
  try {
    body();
  } catch (const Error& error) {
    sentence = error.what();
    EXPECT_FALSE(sentence.empty());
    EXPECT_NE(error.code(), ErrorCode::kInternal) << sentence;
  }
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_LT(seconds, kMostSeconds) << what;
  if (!kSanitized) {
    EXPECT_LT(memory.bytes(), kMostMemory + file_bytes) << what;
  }
  return sentence;
}

void verify(const File& file) {
  ThreadPool pool(2);
  verify_file(file, pool);
}

void scan_rows(const std::shared_ptr<File>& file) {
  std::vector<uint32_t> columns(file->schema().fields.size());
  for (uint32_t i = 0; i < columns.size(); ++i) columns[i] = i;
  for (uint32_t chunk = 0; chunk < file->chunks().size(); ++chunk) {
    ChunkScan scan(file, chunk, columns, nullptr, {});
    Table table;
    // All rows of some of them are gigabytes: the first batches show what one takes.
    for (int batch = 0; batch < 3 && scan.next(table); ++batch) {
    }
  }
}

void read_as_arrow(const std::shared_ptr<File>& file) {
  ArrowArrayStream stream;
  stream_file(file, {}, &stream);
  ArrowArray array;
  array.release = nullptr;
  const int code = stream.get_next(&stream, &array);
  if (array.release != nullptr) array.release(&array);
  const std::string sentence = code != 0 ? stream.get_last_error(&stream) : "";
  stream.release(&stream);
  if (code != 0) throw Error(ErrorCode::kCorrupt, sentence);
}

int64_t zero_or_one(uint64_t row) { return row < 4000 ? 1 : 0; }
bool is_third(uint64_t row) { return row % 3 == 0; }

class Hostile : public testing::TestWithParam<size_t> {};

TEST_P(Hostile, EveryWayInIsBounded) {
  const HostileFile file = hostile_files()[GetParam()];
  const std::vector<std::byte> bytes = file.make();
  const auto bounded = [&](const char* what, const std::function<void()>& body) {
    return within_bounds(what, bytes.size(), body);
  };
  std::shared_ptr<File> opened;
  const std::string refusal = bounded("open", [&] { opened = open_bytes(bytes); });
  ASSERT_EQ(opened != nullptr, file.opens) << refusal;
  if (opened == nullptr) return;
  const std::string metadata = bounded("metadata", [&] {
    for (uint32_t i = 0; i < opened->fields().size(); ++i) opened->column(i);
  });
  const std::string fault = bounded("verify", [&] { verify(*opened); });
  EXPECT_EQ(fault.empty(), file.sound) << fault;
  const std::string scan = bounded("scan", [&] { scan_rows(opened); });
  const std::string table = bounded("read_table", [&] { read_table(*opened); });
  const std::string arrow = bounded("arrow", [&] { read_as_arrow(opened); });
  EXPECT_EQ(table.empty(), file.sound) << table;
  EXPECT_EQ(arrow.empty(), file.sound) << arrow;
  if (file.sound) {
    EXPECT_EQ(metadata, "");
    EXPECT_EQ(scan, "");
  }
  // A refusal for want of memory says where, how much, and what would allow it.
  if (fault.find("more than the limit of") != std::string::npos) {
    EXPECT_NE(fault.find("column"), std::string::npos) << fault;
    EXPECT_NE(fault.find("chunk 0"), std::string::npos) << fault;
    EXPECT_NE(fault.find("--memory-limit"), std::string::npos) << fault;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Hostile, testing::Range<size_t>(0, hostile_files().size()),
                         [](const auto& test) { return hostile_files()[test.param].name; });

// The test of the program names a folder and finds them there.
TEST(HostileFiles, AreWrittenWhereAsked) {
  const TemporaryFolder own;
  const char* asked = std::getenv("BASALT_HOSTILE_FOLDER");
  const std::filesystem::path folder = asked == nullptr ? own.folder() : std::filesystem::path(asked);
  for (const HostileFile& file : hostile_files()) {
    const std::string path = folder / (file.name + (file.sound ? ".sound" : "") + ".basalt");
    const std::vector<std::byte> bytes = file.make();
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    EXPECT_EQ(read_bytes(path), bytes) << file.name;
  }
}

TEST(HostileFiles, RowsOfLongStringsComeInParts) {
  for (const HostileFile& file : hostile_files()) {
    if (file.name != "constant_strings" && file.name != "tokens_of_a_tile") continue;
    const auto opened = open_bytes(file.make());
    ChunkScan scan(opened, 0, {0}, nullptr, {});
    Table table;
    uint64_t rows = 0;
    for (int batch = 0; batch < 10; ++batch) {
      ASSERT_TRUE(scan.next(table));
      ASSERT_GT(table.rows, 0u);
      EXPECT_LE(table.columns[0].bytes.size(), size_t{16} << 20);
      const std::string_view text = table.columns[0].string_at(table.rows - 1);
      EXPECT_EQ(text.find_first_not_of('x'), std::string_view::npos);
      EXPECT_EQ(text.size(), file.name == "constant_strings" ? 1700u : 255u << 14);
      rows += table.rows;
    }
    EXPECT_LT(rows, opened->rows());
  }
}

// Strings of no bytes take memory for their offsets.
TEST(HostileFiles, AListJustBelowTheLimitIsBounded) {
  const uint64_t most = kDecodedLimit / sizeof(int64_t);
  const std::vector<std::byte> above = list_of_strings(most + 1024);
  try {
    open_bytes(above)->decode_column(0, 0);
    FAIL() << "it was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOverLimit);  // not kOutOfMemory, after which programs try again with less
  }
  const std::vector<std::byte> bytes = list_of_strings(most - 1024);
  const auto file = open_bytes(bytes);
  EXPECT_EQ(within_bounds("decode", bytes.size(), [&] { file->decode_column(0, 0); }), "");
  EXPECT_EQ(within_bounds("scan", bytes.size(), [&] { scan_rows(file); }), "");
  EXPECT_EQ(within_bounds("read_table", bytes.size(), [&] { read_table(*file); }), "");
  EXPECT_EQ(within_bounds("arrow", bytes.size(), [&] { read_as_arrow(file); }), "");
  within_bounds("verify", bytes.size(), [&] { verify(*file); });
}

TEST(HostileFiles, AFilterReadsFewOfManyLongStrings) {
  const uint32_t length = 1 << 20;
  const std::vector<std::byte> bytes = long_strings(kTileRows, length);
  const auto file = open_bytes(bytes);
  std::vector<PipelineColumn> columns;
  const Expr filter = equal(column(*file, "id", columns), literal(int64_t{5}));
  const std::string fault = within_bounds("filter", bytes.size(), [&] {
    ChunkScan scan(file, 0, {0, 1}, &filter, columns);
    Table table;
    ASSERT_TRUE(scan.next(table));
    ASSERT_EQ(table.rows, 1u);
    EXPECT_EQ(table.columns[0].values.as<int64_t>()[0], 5);
    EXPECT_EQ(table.columns[1].string_at(0), std::string(length, 'x'));
    EXPECT_FALSE(scan.next(table));
  });
  EXPECT_EQ(fault, "");
}

// Wide chunks of a writer are full of values; their bitmaps come on top.
TEST(HostileFiles, BitmapsDoNotCountInArrowStreams) {
  const uint64_t rows = 8192;
  const uint32_t count = 40;
  std::vector<NamedColumn> columns;
  for (uint32_t i = 0; i < count; ++i) {
    columns.push_back(integers("b" + std::to_string(i), type_of(TypeKind::kBool), rows, zero_or_one, is_third));
  }
  const Table table = make_table(rows, std::move(columns));
  TemporaryFolder folder;
  write(folder.path("a.basalt"), table);
  const auto file = File::open(folder.path("a.basalt"));
  const auto batch = [&](uint64_t limit) {
    ArrowArrayStream stream;
    stream_file(file, {}, &stream, {limit, nullptr});
    ArrowArray array;
    array.release = nullptr;
    const int code = stream.get_next(&stream, &array);
    if (array.release != nullptr) array.release(&array);
    stream.release(&stream);
    return code;
  };
  EXPECT_EQ(batch(count * rows), 0);
  EXPECT_EQ(batch(~uint64_t{0}), 0);
  EXPECT_NE(batch(count / 2 * rows), 0);
}

TEST(HostileFiles, LengthsAreAddedUpToTheLimitOnly) {
  const auto file = open_bytes(long_strings(100 * kTileRows, 1000));
  const EncodedChunk chunk = file->read_chunk(1, 0);
  const DataType type = type_of(TypeKind::kUtf8);
  const uint64_t all = 100 * kTileRows * uint64_t{1008};
  EXPECT_EQ(decoded_bytes(chunk.root, type, {~uint64_t{0}, nullptr}), all);
  const uint64_t some = decoded_bytes(chunk.root, type, {all / 2, nullptr});
  EXPECT_GT(some, all / 2);
  EXPECT_LT(some, all / 2 + all / 50);
  CancelToken cancel;
  cancel.cancel();
  EXPECT_THROW(decoded_bytes(chunk.root, type, {all, &cancel}), Error);
}

// What readers refuse, no writer makes.
TEST(HostileFiles, EntriesOfAWriterAreNotTooLarge) {
  const uint64_t rows = 800;
  const auto text = [](uint64_t i) { return std::string(100'000, 'x') + std::to_string(i / 2); };
  const Table table = make_table(rows, {strings("s", TypeKind::kUtf8, rows, text)});
  TemporaryFolder folder;
  WriteOptions options;
  options.chunk_bytes = 256 << 20;  // one chunk
  options.memory_limit = uint64_t{16} << 30;
  // And what takes the place of entries that are.
  for (const Tree& entries : {parse_tree("strings(packed, tokens)"), readable_entries()}) {
    options.encodings["s"] = {"dict", {{"packed", {}}, entries}};
    write(folder.path("a.basalt"), table, options);
    const auto file = File::open(folder.path("a.basalt"));
    EXPECT_EQ(to_string(file->column(0).shapes.at(0)), "dict(packed, strings(packed, fsst(packed)))");
    expect_equal(table, read_table(*file));
  }
}

TEST(HostileFiles, AHigherLimitReadsThem) {
  const uint64_t rows = 20000;
  const Table table = make_table(rows, {strings("s", TypeKind::kUtf8, rows, [](uint64_t) { return "text"; })});
  TemporaryFolder folder;
  write(folder.path("a.basalt"), table);
  const auto file = File::open(folder.path("a.basalt"));
  ReadOptions options;
  options.limits.bytes = 1000;
  EXPECT_THROW(read_table(*file, options), Error);
  options.limits.bytes = rows * 12;
  expect_equal(table, read_table(*file, options));
  ThreadPool pool(2);
  VerifyOptions little;
  little.memory_limit = 1000;
  EXPECT_THROW(verify_file(*file, pool, little), Error);
  little.memory_limit = rows * 12;
  EXPECT_NO_THROW(verify_file(*file, pool, little));
}

TEST(HostileFiles, DecodingStopsWhenItIsCancelled) {
  const auto file = open_bytes(CraftedFile([] {
                                 TemporaryFolder folder;
                                 write(folder.path("a.basalt"), everything(5000));
                                 return read_bytes(folder.path("a.basalt"));
                               }())
                                   .seal());
  CancelToken cancel;
  cancel.cancel();
  for (uint32_t column = 0; column < file->schema().fields.size(); ++column) {
    if (file->schema().fields[column].type.kind == TypeKind::kStruct) continue;
    EXPECT_THROW(file->decode_column(column, 0, {kDecodedLimit, &cancel}), Error);
    ChunkScan scan(file, 0, {column}, nullptr, {}, false, 2048, {}, {kDecodedLimit, &cancel});
    Table table;
    EXPECT_THROW(scan.next(table), Error);
  }
}

// Every codec on every type that it does not take, at every place in which a root stands.
class Roots : public testing::Test {
 protected:
  static constexpr uint64_t kRows = 2500;

  // Sound arrays of every codec: what they were encoded from, and where such an array may stand.
  struct Donor {
    Physical type;
    bool is_bytes;
    Node node;
  };
  static std::vector<Donor> donors() {
    std::vector<Donor> out;
    const std::vector<int64_t> offsets = [] {
      std::vector<int64_t> ends(kRows + 1);
      for (uint64_t i = 0; i <= kRows; ++i) ends[i] = static_cast<int64_t>(i * 8);
      return ends;
    }();
    std::vector<uint64_t> numbers(kRows * 2, 0x3030303030303030);  // the digit 0
    for (const Codec* codec : all_codecs()) {
      for (int type = 0; type <= static_cast<int>(Physical::kBytes); ++type) {
        for (const bool is_bytes : {false, true}) {
          Values values;
          values.type = static_cast<Physical>(type);
          values.count = kRows;
          values.data = numbers.data();
          values.bytes = reinterpret_cast<const char*>(numbers.data());
          values.offsets = offsets.data();
          if (!codec->accepts(values.type, is_bytes)) continue;
          Tree tree{std::string(codec->name()), {}};
          if (is_bytes) tree = {"strings", {{"packed", {}}, tree}};
          Node node;
          try {
            node = encode_tree(values, bind_tree(tree, values.type));
          } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::kUnsupported);  // a column of a narrower type
            continue;
          }
          out.push_back({values.type, is_bytes, is_bytes ? std::move(node.children[1]) : std::move(node)});
        }
      }
    }
    return out;
  }

  // Columns of every physical type, as columns, members of structs, elements of lists; and lists and structs.
  static Table columns() {
    const auto none = [](uint64_t i) { return static_cast<int64_t>(i % 2); };
    const auto of = [&](const std::string& prefix) {
      std::vector<NamedColumn> out;
      for (const TypeKind kind :
           {TypeKind::kInt8, TypeKind::kInt16, TypeKind::kInt32, TypeKind::kInt64, TypeKind::kInt128, TypeKind::kUInt8,
            TypeKind::kUInt16, TypeKind::kUInt32, TypeKind::kUInt64}) {
        out.push_back(integers(prefix + std::to_string(static_cast<int>(kind)), type_of(kind), kRows, none));
      }
      out.push_back(reals(prefix + "f", TypeKind::kFloat32, kRows, [](uint64_t) { return 1.0; }));
      out.push_back(reals(prefix + "d", TypeKind::kFloat64, kRows, [](uint64_t) { return 1.0; }));
      out.push_back(strings(prefix + "s", TypeKind::kUtf8, kRows, [](uint64_t) { return "s"; }));
      return out;
    };
    std::vector<NamedColumn> all = of("c");
    all.push_back(struct_of("t", kRows, of("m")));
    for (NamedColumn& element : of("e")) {
      all.push_back(list_of(
          "l" + element.field.name, kRows, [](uint64_t) { return 1; }, [&](uint64_t) { return element; }));
    }
    return make_table(kRows, std::move(all));
  }

  // Whether a file in which the array stands in the field's place is refused by all that read it.
  static void expect_refused(const std::vector<std::byte>& bytes, uint32_t field, const std::string& what) {
    const auto file = open_bytes(bytes);
    EXPECT_THROW(file->read_chunk(field, 0), Error) << what;
    EXPECT_THROW(verify(*file), Error) << what;
    uint32_t top = field;
    while (file->parent(top) != top) top = file->parent(top);
    const auto& fields = file->schema().fields;
    const auto column = std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.id == top; });
    EXPECT_THROW(file->decode_column(static_cast<uint32_t>(column - fields.begin()), 0), Error) << what;
  }
};

TEST_F(Roots, HoldOnlyWhatTheirCodecTakes) {
  TemporaryFolder folder;
  write(folder.path("a.basalt"), columns());
  const std::vector<std::byte> base = read_bytes(folder.path("a.basalt"));
  const auto sound = open_bytes(base);
  uint32_t refused = 0;
  for (const Donor& donor : donors()) {
    for (const Field* field : sound->fields()) {
      const Physical type = physical_of(field->type);
      if (may_hold(*donor.node.codec, type, TreePlace::kColumn) && !donor.is_bytes) continue;
      CraftedFile file(base);
      file.set_array(field->id, crafted(donor.node));
      expect_refused(file.seal(), field->id,
                     std::string(donor.node.codec->name()) + " of " + to_string(donor.type) + " in " +
                         to_string(field->type) + " " + sound->path(field->id));
      ++refused;
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(refused, 300u);
}

TEST_F(Roots, OfDictionariesHoldOnlyWhatTheirCodecTakes) {
  // Two chunks with different entries: there is a map.
  const Table table = make_table(16384, {strings("s", TypeKind::kUtf8, 16384, [](uint64_t i) {
                                   return "text number " + std::to_string(i % 10 + i / 8192 * 5);
                                 })});
  TemporaryFolder folder;
  WriteOptions options = chunks_of(8192);
  options.encodings["s"] = parse_tree("dict");
  write(folder.path("a.basalt"), table, options);
  const std::vector<std::byte> base = read_bytes(folder.path("a.basalt"));
  ASSERT_TRUE(open_bytes(base)->column(0).has_dictionary);
  for (const bool entries : {true, false}) {
    for (const char* codec : {"validity", "galp", "plain", "fsst", "tokens", "constant", "l3", "rle", "strings"}) {
      CraftedFile file(base);
      format::DictionaryMetadataT& dictionary = *file.columns[0].dictionary;
      const uint16_t shape = entries ? dictionary.entries_shape : dictionary.map_shape;
      auto changed = std::make_unique<format::ShapeT>(*file.footer.shapes.at(shape));
      const std::string before = file.footer.codecs.at(changed->nodes[0].codec())->name;
      const Physical type = entries ? Physical::kBytes : Physical::kU32;
      if (before == codec || may_hold(get_codec(codec), type, TreePlace::kInner)) continue;
      changed->nodes[0] = format::ShapeNode(file.codec(codec), changed->nodes[0].child_count());
      file.footer.shapes.push_back(std::move(changed));
      (entries ? dictionary.entries_shape : dictionary.map_shape) =
          static_cast<uint16_t>(file.footer.shapes.size() - 1);
      const auto opened = open_bytes(file.seal());
      EXPECT_THROW(opened->read_dictionary(0), Error) << codec;
      EXPECT_THROW(opened->read_code_map(0, 0), Error) << codec;
      EXPECT_THROW(verify(*opened), Error) << codec;
    }
  }
}

}  // namespace

}  // namespace basalt::test
