// What verify and the writer do at the edges: orders over the border of two chunks, sort columns that cannot be, zones
// that share their bytes, waiting that is cancelled, and files that are replaced while they are checked.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "basalt/core/error.h"
#include "basalt/file/verify.h"
#include "file/column_metadata.h"
#include "file/footer.h"
#include "file/memory_gate.h"
#include "file/test_files.h"
#include "support/crafted_file.h"

namespace basalt::test {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
using Real = std::optional<double>;  // nothing: NULL

constexpr uint64_t kBorder = 8192;

// Rows of one value in the first chunk and of another one in the second.
Table rows_over_border(Real before, Real after) {
  const uint64_t rows = kBorder + 100;
  const auto value = [=](uint64_t i) { return i < kBorder ? before : after; };
  return make_table(rows, {reals(
                              "r", TypeKind::kFloat64, rows, [=](uint64_t i) { return value(i).value_or(0); },
                              [=](uint64_t i) { return !value(i); })});
}

std::string verdict(const std::function<void()>& check) {
  try {
    check();
    return "sound";
  } catch (const Error& error) {
    return error.what();
  }
}

// What the writer says of rows that are said to be sorted, in one table or in several.
std::string writers_verdict(const Table& table, uint64_t rows_at_once) {
  TemporaryFolder folder;
  WriteOptions options = chunks_of(kBorder, 1);
  options.sort_columns = {"r"};
  return verdict([&] {
    Writer writer(folder.path("a.basalt"), table.schema, options);
    for (uint64_t row = 0; row < table.rows; row += rows_at_once) {
      Table part{table.schema, std::min(rows_at_once, table.rows - row), {}};
      part.columns.push_back(make_column(table.schema.fields[0]));
      append_rows(part.columns[0], table.columns[0], row, row + part.rows);
      writer.append(std::move(part));
    }
    writer.finish();
  });
}

// What verify says of a file whose footer says so.
std::string verify_verdict(const Table& table) {
  TemporaryFolder folder;
  write(folder.path("a.basalt"), table, chunks_of(kBorder, 1));
  CraftedFile file(read_bytes(folder.path("a.basalt")));
  file.footer.sort_columns = {0};
  ThreadPool pool(1);
  return verdict([&] { verify_file(*open_bytes(file.seal()), pool); });
}

// The order of SQL: both zeros are equal, NaN comes after all numbers, NULL after everything.
TEST(VerifyEdges, SortOrderOfZerosNansAndNulls) {
  const std::vector<std::pair<Real, Real>> sorted = {{0.0, -0.0},   {-0.0, 0.0},   {1.0, kNaN},     {INFINITY, kNaN},
                                                     {kNaN, -kNaN}, {-kNaN, kNaN}, {1.0, Real()},   {kNaN, Real()},
                                                     {-1.0, -0.0},  {0.0, 1.0},    {Real(), Real()}};
  for (const auto& [before, after] : sorted) {
    const Table table = rows_over_border(before, after);
    EXPECT_EQ(verify_verdict(table), "sound");
    for (const uint64_t rows_at_once : {uint64_t{5000}, kBorder, table.rows}) {
      EXPECT_EQ(writers_verdict(table, rows_at_once), "sound");
    }
  }
  const std::vector<std::pair<Real, Real>> unsorted = {
      {kNaN, 1.0}, {-kNaN, -INFINITY}, {Real(), 1.0}, {Real(), kNaN}, {0.0, -1.0}};
  for (const auto& [before, after] : unsorted) {
    const Table table = rows_over_border(before, after);
    EXPECT_NE(verify_verdict(table).find("row 8192 "), std::string::npos);
    for (const uint64_t rows_at_once : {uint64_t{5000}, kBorder, table.rows}) {
      EXPECT_NE(writers_verdict(table, rows_at_once).find("row 8192 "), std::string::npos);
    }
  }
}

// By the first column, then the second, texts and members of structs too; a member of a NULL struct is NULL.
TEST(VerifyEdges, RowsThatAreWrittenUnsortedAreRefused) {
  const IsNull last_ones = [](uint64_t i) { return i >= 80; };
  const auto tens = [](uint64_t i) { return static_cast<int64_t>(i / 10); };
  const auto falling = [](uint64_t i) { return static_cast<int64_t>(100 - i); };
  const auto written = [](const Table& table, std::vector<std::string> by) {
    TemporaryFolder folder;
    WriteOptions options;
    options.sort_columns = std::move(by);
    return verdict([&] { write(folder.path("a.basalt"), table, options); });
  };
  const auto number = [](const char* name, const std::function<int64_t(uint64_t)>& value) {
    return integers(name, type_of(TypeKind::kInt32), 100, value);
  };
  const Table table = make_table(
      100, {number("tens", tens), number("falling", falling),
            struct_of("s", 100, {number("m", [&](uint64_t i) { return i >= 80 ? 0 : static_cast<int64_t>(i); })},
                      last_ones)});
  EXPECT_EQ(written(table, {"tens", "s.m"}), "sound");
  EXPECT_EQ(written(table, {"s.m"}), "sound");
  EXPECT_NE(written(table, {"tens", "falling"}).find("row 1 comes before"), std::string::npos);
  EXPECT_NE(written(table, {"s.m", "falling"}).find("row 81 comes before"), std::string::npos);
}

TEST(VerifyEdges, RowsAreNotSortedByListsAndStructs) {
  const auto number = [](uint64_t i) { return static_cast<int64_t>(i); };
  const auto numbers = [&](const char* name, uint64_t rows) {
    return integers(name, type_of(TypeKind::kInt32), rows, number);
  };
  const Table table = make_table(
      10, {list_of(
               "l", 10, [](uint64_t) { return 1; }, [&](uint64_t n) { return struct_of("e", n, {numbers("m", n)}); }),
           struct_of("s", 10, {numbers("m", 10)})});
  TemporaryFolder folder;
  for (const char* name : {"l", "l.e", "l.e.m", "s"}) {
    WriteOptions options;
    options.sort_columns = {"s.m", name};
    EXPECT_THROW(write(folder.path("a.basalt"), table, options), Error) << name;
  }
  WriteOptions options;
  options.sort_columns = {"s.m", "s.m"};
  write(folder.path("a.basalt"), table, options);
  EXPECT_EQ(File::open(folder.path("a.basalt"))->sort_columns(), std::vector<std::string>{"s.m"});
  ThreadPool pool(1);
  EXPECT_NO_THROW(verify_file(*File::open(folder.path("a.basalt")), pool));
}

// The metadata of a column of so many zones and no chunks, and what is said to it in a file with this room.
std::string refusal_of_zones(uint32_t zones, bool shared, std::atomic<uint64_t>& room,
                             TypeKind kind = TypeKind::kInt8) {
  flatbuffers::FlatBufferBuilder builder;
  const auto bytes = [&] { return builder.CreateVector(std::vector<uint8_t>(zones, 0)); };
  const auto flags = bytes();
  const bool has_bounds = kind != TypeKind::kStruct;
  const auto mins = !has_bounds ? 0 : shared ? flags : bytes();
  const auto maxs = !has_bounds ? 0 : shared ? flags : bytes();
  builder.Finish(
      format::CreateColumnMetadata(builder, 0, 0, 0, format::CreateZones(builder, flags, 0, mins, maxs, 0, 0), 0));
  Field field;
  field.name = "a";
  field.type = type_of(kind);
  format_v1::FooterData footer;
  footer.columns.resize(1);
  footer.parents = {0};
  try {
    const ByteView block{reinterpret_cast<const std::byte*>(builder.GetBufferPointer()), builder.GetSize()};
    format_v1::parse_column({footer, {&field}, 0}, block, room);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(VerifyEdges, ZonesThatShareTheirBytesTakeNoMoreMemoryThanOthers) {
  constexpr const char* kRefusal = "more zones than its bytes can hold";
  const auto refused = [](uint32_t zones, bool shared, std::atomic<uint64_t>& room) {
    return refusal_of_zones(zones, shared, room).find(kRefusal) != std::string::npos;
  };
  std::atomic<uint64_t> room{format_v1::kZoneRoom};
  EXPECT_TRUE(refused(1'000'000, true, room));
  EXPECT_FALSE(refused(1'000'000, false, room));
  EXPECT_EQ(room, format_v1::kZoneRoom);
  EXPECT_FALSE(refused(1000, true, room));
  // Columns share the room, but those that cannot be read for another reason leave it to the others.
  EXPECT_FALSE(refused(300'000, true, room));
  EXPECT_EQ(room, format_v1::kZoneRoom);
  room = format_v1::kZoneRoom / 8;
  EXPECT_TRUE(refused(300'000, true, room));
  // Structs without NULLs have nothing to keep.
  room = 0;
  EXPECT_EQ(refusal_of_zones(1'000'000, false, room, TypeKind::kStruct).find(kRefusal), std::string::npos);
}

TEST(VerifyEdges, WhoWaitsForMemoryCanBeCancelled) {
  MemoryGate gate(10);
  const MemoryGate::Pass pass = gate.enter(10, 0);
  CancelToken cancel;
  cancel.cancel();
  try {
    gate.enter(1, 0, &cancel);
    FAIL() << "it was let in";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled);
  }
}

// Another file after so many reads.
class ReplacedSource : public Source {
 public:
  ReplacedSource(const std::vector<std::byte>& before, const std::vector<std::byte>& after, uint64_t reads)
      : before_(memory_source(to_buffer(before))), after_(memory_source(to_buffer(after))), left_(reads) {}
  std::string name() const override { return "replaced"; }
  uint64_t size() const override { return now().size(); }
  void read(Range range, std::byte* out) const override {
    now().read(range, out);
    if (left_ > 0) --left_;
  }
  bool was_replaced() const { return left_ == 0; }

 private:
  const Source& now() const { return left_ > 0 ? *before_ : *after_; }
  std::shared_ptr<Source> before_;
  std::shared_ptr<Source> after_;
  mutable uint64_t left_;
};

std::vector<std::byte> file_of_texts_and_numbers(uint64_t columns, bool dictionary) {
  const uint64_t rows = 3000;
  std::vector<NamedColumn> all;
  for (uint64_t c = 0; c < columns; ++c) {
    const std::string name = "c" + std::to_string(c);
    all.push_back(strings(name, TypeKind::kUtf8, rows, [](uint64_t i) { return "w" + std::to_string(i % 7); }));
  }
  WriteOptions options;
  options.encodings["c0"] = parse_tree(dictionary ? "dict(packed, strings(packed, plain))" : "strings(packed, plain)");
  TemporaryFolder folder;
  write(folder.path("a.basalt"), make_table(rows, std::move(all)), options);
  return read_bytes(folder.path("a.basalt"));
}

TEST(VerifyEdges, FilesMayBeReplacedAtAnyTime) {
  const std::vector<std::byte> base = file_of_texts_and_numbers(2, true);
  for (const auto& other : {file_of_texts_and_numbers(1, true), file_of_texts_and_numbers(2, false),
                            file_of_texts_and_numbers(3, true), std::vector<std::byte>(base.size(), std::byte{255})}) {
    uint64_t reads = 1;
    for (bool replaced = true; replaced; ++reads) {
      ASSERT_LT(reads, 1000u);
      const auto source = std::make_shared<ReplacedSource>(base, other, reads);
      ThreadPool pool(1);
      try {
        verify_file(*File::open(source), pool);
      } catch (const Error& error) {
        EXPECT_TRUE(error.code() == ErrorCode::kCorrupt || error.code() == ErrorCode::kIo) << error.what();
      }
      replaced = source->was_replaced();
    }
    EXPECT_GT(reads, 5u);
  }
}

}  // namespace
}  // namespace basalt::test
