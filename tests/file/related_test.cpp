// Columns that are stored by other columns of their table: found where there is a relation and nowhere else, read back
// alone and together, the same bytes whatever the threads, and nothing that a damaged file could make of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "basalt/core/error.h"
#include "basalt/file/verify.h"
#include "file/test_files.h"
#include "support/crafted_file.h"

namespace basalt::test {
namespace {

using testing::HasSubstr;

constexpr uint64_t kRows = 5 * 8192 + 100;

int64_t noise(uint64_t i, uint64_t range) { return static_cast<int64_t>(scramble(i) % range); }
int64_t shipped(uint64_t i) { return 9000 + noise(i, 2500); }
int64_t part(uint64_t i) { return 1 + noise(i + kRows, 2000); }
int64_t quantity(uint64_t i) { return 100 * (1 + noise(i + 2 * kRows, 50)); }
int64_t price(int64_t of_part) {
  return 90000 + static_cast<int64_t>(scramble(static_cast<uint64_t>(of_part)) % 90000);
}

const DataType kDay = type_of(TypeKind::kDate);
const DataType kMoney = type_of(TypeKind::kDecimal, 15, 2);

NamedColumn days(const std::string& name, const std::function<int64_t(uint64_t)>& value, const IsNull& is_null = {}) {
  return integers(name, kDay, kRows, value, is_null);
}

// Orders in which everything is related to something.
std::vector<NamedColumn> orders() {
  return {
      days("received", [](uint64_t i) { return shipped(i) + 1 + noise(i + 3 * kRows, 30); }),
      days("shipped", shipped),
      integers("part", type_of(TypeKind::kInt32), kRows, part),
      integers("quantity", kMoney, kRows, quantity),
      integers("amount", kMoney, kRows, [](uint64_t i) { return quantity(i) / 100 * price(part(i)); }),
      strings("state", TypeKind::kUtf8, kRows, [](uint64_t i) { return "state " + std::to_string(shipped(i) / 200); }),
      integers("random", type_of(TypeKind::kInt64), kRows, [](uint64_t i) { return noise(i + 4 * kRows, 1 << 30); })};
}

struct Written {
  TemporaryFolder folder;
  WriteSummary summary;
  std::shared_ptr<File> file;

  Written(const std::vector<NamedColumn>& columns, const WriteOptions& options) {
    const Table table = make_table(kRows, columns);
    summary = write_table(folder.path("t.basalt"), table, options);
    file = File::open(folder.path("t.basalt"));
    expect_equal(table, read_table(*file));
    ThreadPool pool(2);
    verify_file(*file, pool);
  }
  const ColumnInfo& column(const std::string& name) const { return file->column(file->find_column(name)); }
  std::string encoding(const std::string& name) const { return column(name).encodings.at(0); }
  uint64_t own_bytes(const std::string& name) const { return column(name).encoded_bytes - column(name).shared_bytes; }
  std::vector<std::byte> bytes() const { return read_bytes(folder.path("t.basalt")); }
};

WriteOptions for_disk(uint32_t threads = 2) {
  WriteOptions options = chunks_of(2 * 8192, threads);
  options.purpose = Purpose::kDisk;
  return options;
}
WriteOptions forced(const std::string& column, const std::string& tree) {
  WriteOptions options = chunks_of(2 * 8192, 2);
  options.encodings[column] = parse_tree(tree);
  return options;
}

TEST(Related, RelationsAreFound) {
  const Written file(orders(), for_disk());
  EXPECT_THAT(file.encoding("received"), HasSubstr("@shipped"));
  EXPECT_THAT(file.encoding("amount"), HasSubstr("product(map(@part, packed), @quantity)"));
  EXPECT_THAT(file.encoding("state"), HasSubstr("map(@shipped, packed)"));
  for (const char* source : {"shipped", "part", "quantity", "random"}) EXPECT_EQ(file.column(source).shared_bytes, 0u);
  WriteOptions apart = chunks_of(2 * 8192, 2);
  const Written plain(orders(), apart);
  EXPECT_LT(file.own_bytes("received") * 2, plain.own_bytes("received") * 1u);
  EXPECT_LT(file.own_bytes("amount") * 3, plain.own_bytes("amount") * 1u);
  EXPECT_LT(file.own_bytes("state") * 2, plain.own_bytes("state") * 1u);
  // What the summary counts is what lies in the file.
  uint64_t summed = 0;
  for (const ColumnSummary& column : file.summary.columns) summed += column.encoded_bytes;
  EXPECT_LT(summed, file.summary.file_bytes);
  EXPECT_EQ(file.summary.columns[4].encoded_bytes, file.own_bytes("amount"));
  EXPECT_THAT(file.summary.columns[4].trees.at(0), HasSubstr("@quantity"));
}

// Bills: lines of an order, which is a run of rows, and totals of two amounts.
struct Bill {
  int64_t number;
  int64_t line;
};
const Bill& bill_of(uint64_t i) {
  static const std::vector<Bill> rows = [] {
    std::vector<Bill> out;
    for (int64_t number = 0; out.size() < kRows; ++number) {
      const int64_t lines = 1 + noise(static_cast<uint64_t>(number), 7);
      for (int64_t line = 0; line < lines; ++line) out.push_back({number * 3, line});
    }
    return out;
  }();
  return rows[i];
}
int64_t line(uint64_t i) { return bill_of(i).line; }
int64_t net(uint64_t i) { return noise(i + 5 * kRows, 1 << 20) * 3; }
int64_t tax(uint64_t i) { return noise(i + 6 * kRows, 1 << 17); }
std::vector<NamedColumn> bills() {
  return {integers("bill", type_of(TypeKind::kInt64), kRows, [](uint64_t i) { return bill_of(i).number; }),
          integers("line", type_of(TypeKind::kInt16), kRows, [](uint64_t i) { return line(i) + 1; }),
          integers("net", kMoney, kRows, net),
          integers("tax", kMoney, kRows, tax),
          integers("total", kMoney, kRows, [](uint64_t i) { return net(i) + tax(i) + 500; }),
          integers("random", type_of(TypeKind::kInt32), kRows, [](uint64_t i) { return noise(i + 7 * kRows, 7); })};
}

TEST(Related, SumsOfTwoAndPlacesInRunsAreFound) {
  WriteOptions options = for_disk();
  options.chunk_rows = 4 * 8192;  // lines are small, and few of them not worth a search
  const Written file(bills(), options);
  EXPECT_THAT(file.encoding("line"), HasSubstr("place(@bill)"));
  EXPECT_THAT(file.encoding("total"), HasSubstr("sum(@net, @tax)"));
  EXPECT_LT(file.own_bytes("line"), 1500u);
  EXPECT_LT(file.own_bytes("total"), 1500u);
  for (const char* apart : {"bill", "net", "tax", "random"}) EXPECT_EQ(file.column(apart).shared_bytes, 0u) << apart;
  // All but a few rows.
  std::vector<NamedColumn> columns = bills();
  columns[1] =
      integers("line", type_of(TypeKind::kInt16), kRows, [](uint64_t i) { return i % 2100 == 7 ? 99 : line(i) + 1; });
  columns[4] = integers("total", kMoney, kRows, [](uint64_t i) { return i % 2100 == 9 ? 3 : net(i) + tax(i); });
  const Written nearly(columns, options);
  EXPECT_THAT(nearly.encoding("line"), HasSubstr("place(@bill)"));
  EXPECT_THAT(nearly.encoding("total"), HasSubstr("sum(@net, @tax)"));
  const Written plain(columns, chunks_of(2 * 8192, 2));
  EXPECT_LT(nearly.own_bytes("line") * 3, plain.own_bytes("line"));
  EXPECT_LT(nearly.own_bytes("total") * 3, plain.own_bytes("total"));
}

// A tree has eight levels at most, and a source may need six: then there is none for what would be missed, which is
// nothing.
TEST(Related, DeepSourcesLeaveNoRoomForAResidual) {
  WriteOptions options = for_disk();
  options.chunk_rows = 4 * 8192;
  options.encodings["bill"] = parse_tree("rle(stride(rle(stride(dict(l3, plain)), delta(ans))), delta(ans))");
  EXPECT_EQ(Written(bills(), options).encoding("line"), "place(@bill)");
  std::vector<NamedColumn> columns = bills();
  columns[1] = integers("line", type_of(TypeKind::kInt16), kRows, [](uint64_t i) { return i == 7 ? 99 : line(i) + 1; });
  const Written file(columns, options);
  EXPECT_EQ(file.column("line").chunks.at(0).shared_bytes, 0u);
  EXPECT_GT(file.column("line").chunks.at(1).shared_bytes, 0u);
}

// Runs and amounts that have nothing to do with each other.
TEST(Related, SumsAndPlacesThatAreNoneAreNot) {
  std::vector<NamedColumn> columns = bills();
  columns[1] = integers("line", type_of(TypeKind::kInt16), kRows, [](uint64_t i) { return noise(i, 5); });
  columns[4] = integers("total", kMoney, kRows, [](uint64_t i) { return noise(i + 8 * kRows, 1 << 22); });
  const Written file(columns, for_disk());
  for (const NamedColumn& column : columns) EXPECT_EQ(file.column(column.field.name).shared_bytes, 0u);
}

// The entries of a function lie behind the chunks, and every chunk names them; one with other sources goes its own way.
TEST(Related, ChunksShareTheEntriesOfAFunction) {
  const auto key = [](uint64_t i) { return i < 4 * 8192 ? part(i) : part(i) * 50; };
  std::vector<NamedColumn> columns = {integers("key", type_of(TypeKind::kInt32), kRows, key),
                                      integers("value", kMoney, kRows, [&](uint64_t i) { return price(key(i)); })};
  const Written file(columns, for_disk());
  const ColumnInfo& value = file.column("value");
  ASSERT_EQ(value.chunks.size(), 3u);
  EXPECT_THAT(file.encoding("value"), HasSubstr("map(@key, packed)"));
  EXPECT_LT(value.chunks[1].encoded_bytes - value.chunks[1].shared_bytes, 200u);
  EXPECT_GT(value.chunks[0].encoded_bytes - value.chunks[0].shared_bytes, 2000u * 16 / 8);
  EXPECT_EQ(value.chunks[2].shared_bytes, 0u);
  EXPECT_EQ(Written(columns, for_disk(7)).bytes(), file.bytes());
}

TEST(Related, OtherFilesHaveNone) {
  WriteOptions fast = for_disk();
  fast.effort = Effort::kFast;
  for (const WriteOptions& options : {chunks_of(2 * 8192, 2), fast}) {
    const Written file(orders(), options);
    for (const NamedColumn& column : orders()) EXPECT_EQ(file.column(column.field.name).shared_bytes, 0u);
  }
}

TEST(Related, RandomColumnsAreLeftAlone) {
  std::vector<NamedColumn> columns;
  for (uint64_t c = 0; c < 6; ++c) {
    const uint64_t range = uint64_t{7} << 3 * c;
    columns.push_back(integers("c" + std::to_string(c), type_of(TypeKind::kInt64), kRows,
                               [=](uint64_t i) { return noise(i + c * kRows, range); }));
  }
  const Written file(columns, for_disk());
  for (const NamedColumn& column : columns) EXPECT_EQ(file.column(column.field.name).shared_bytes, 0u);
}

TEST(Related, FewRowsMayBreakTheRelation) {
  std::vector<NamedColumn> columns = orders();
  columns[0] = days("received", [](uint64_t i) { return i % 2500 == 7 ? 1000000 : shipped(i) + noise(i, 5); });
  columns[4] = integers("amount", kMoney, kRows,
                        [](uint64_t i) { return i % 2500 == 9 ? 17 : quantity(i) / 100 * price(part(i)); });
  const Written file(columns, for_disk());
  const Written plain(columns, chunks_of(2 * 8192, 2));
  EXPECT_LT(file.own_bytes("amount") * 3, plain.own_bytes("amount") * 2u);
  EXPECT_GT(file.column("amount").shared_bytes, 0u);
}

// In a later chunk the first one's relation costs more than it saves: there the column is encoded by itself.
TEST(Related, ChunksMayGoTheirOwnWay) {
  std::vector<NamedColumn> columns = orders();
  columns[0] = days("received", [](uint64_t i) { return i < 2 * 8192 ? shipped(i) + noise(i, 5) : noise(i + 9, 40); });
  const Written file(columns, for_disk());
  const ColumnInfo& received = file.column("received");
  ASSERT_EQ(received.chunks.size(), 3u);
  EXPECT_GT(received.chunks[0].shared_bytes, 0u);
  EXPECT_EQ(received.chunks[1].shared_bytes, 0u);
}

TEST(Related, NullsOfBothSides) {
  const IsNull some = [](uint64_t i) { return scramble(i + 77) % 9 == 0; };
  const IsNull others = [](uint64_t i) { return i > 9000 && scramble(i + 78) % 5 == 0; };
  const auto near = [](uint64_t i) { return shipped(i) + noise(i, 5); };
  for (const auto& [a, b] : {std::pair<IsNull, IsNull>{some, {}}, {{}, some}, {some, others}, {others, others}}) {
    const Written file({days("a", near, a), days("b", shipped, b)}, forced("a", "sum(packed, @b)"));
    EXPECT_THAT(file.encoding("a"), HasSubstr("sum(packed, @b)"));
    EXPECT_GT(file.column("a").chunks.back().shared_bytes, 0u);
  }
}

TEST(Related, SameBytesWhateverTheThreads) {
  const std::vector<std::byte> one = Written(orders(), for_disk(1)).bytes();
  for (const uint32_t threads : {2, 3, 8}) EXPECT_EQ(Written(orders(), for_disk(threads)).bytes(), one) << threads;
}

TEST(Related, ForcedTreesNameColumns) {
  const Written file(orders(), forced("random", "sum(packed, product(packed, @part))"));
  EXPECT_EQ(file.encoding("random"), "sum(packed, product(packed, @part))");
  // A column on its own, and single rows of it.
  ReadOptions read;
  read.columns = {"random"};
  read.first_row = 9000;
  read.rows = 20000;
  const Table some = read_table(*file.file, read);
  for (uint64_t i = 0; i < 20000; ++i) {
    ASSERT_EQ(some.columns[0].values.as<int64_t>()[i], noise(9000 + i + 4 * kRows, 1 << 30));
  }
  // A function that there is not: the column by itself.
  EXPECT_EQ(Written(orders(), forced("random", "map(@part, packed)")).column("random").shared_bytes, 0u);
}

TEST(Related, WhatCannotBeIsRefusedByName) {
  const auto refused = [](const WriteOptions& options) -> std::string {
    TemporaryFolder folder;
    try {
      write_table(folder.path("t.basalt"), make_table(kRows, orders()), options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      return error.what();
    }
    return "nothing";
  };
  EXPECT_THAT(refused(forced("received", "sum(packed, @missing)")), HasSubstr("missing"));
  EXPECT_THAT(refused(forced("received", "sum(packed, @state)")), HasSubstr("state"));
  EXPECT_THAT(refused(forced("received", "sum(packed, @received)")), HasSubstr("received"));
  EXPECT_THAT(refused(forced("received", "@shipped")), HasSubstr("cannot stand"));
  WriteOptions chain = forced("received", "sum(packed, @shipped)");
  chain.encodings["shipped"] = parse_tree("sum(packed, @part)");
  EXPECT_THAT(refused(chain), HasSubstr("by other"));
}

TEST(Related, ElementsOfListsHaveOtherRows) {
  TemporaryFolder folder;
  const Table table = make_table(
      kRows,
      {days("shipped", shipped), list_of(
                                     "dates", kRows, [](uint64_t) { return 1; },
                                     [](uint64_t elements) { return integers("day", kDay, elements, shipped); })});
  WriteOptions options = forced("dates.day", "sum(packed, @shipped)");
  try {
    write_table(folder.path("t.basalt"), table, options);
    FAIL() << "was written";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.what(), HasSubstr("elements of lists"));
  }
}

// A source whose codec only a later version knows is an error that names it, whatever its nodes look like.
TEST(Related, SourcesOfUnknownCodecs) {
  WriteOptions one_chunk = forced("received", "sum(packed, @shipped)");
  one_chunk.chunk_rows = 8 * 8192;
  const Written file(orders(), one_chunk);
  CraftedFile copy(file.bytes());
  copy.columns[0].metadata.arrays->params[0] = 6;
  copy.set_array(6, {"validity", kRows, {}, {}, {}});
  for (auto& codec : copy.footer.codecs) {
    if (codec->name == "validity") codec->version = 99;
  }
  try {
    const auto crafted = File::open(memory_source(to_buffer(copy.seal()), "crafted"));
    ThreadPool pool(1);
    verify_file(*crafted, pool);
    FAIL() << "was sound";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::AnyOf(HasSubstr("not by its array"), HasSubstr("validity' version 99")));
  }
}

TEST(Related, DamagedSourcesAreFound) {
  const Written file(orders(), forced("received", "sum(packed, @shipped)"));
  const std::vector<std::byte> sound = file.bytes();
  const auto message = [](std::vector<std::byte> bytes) -> std::string {
    try {
      const auto damaged = File::open(memory_source(to_buffer(bytes), "damaged"));
      ThreadPool pool(1);
      verify_file(*damaged, pool);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCorrupt) << error.what();
      return error.what();
    }
    return "nothing";
  };
  EXPECT_EQ(message(sound), "nothing");
  // Another column, one that there is not, and one too few rows.
  const auto crafted = [&](const std::function<void(format::ArraysT&)>& edit) {
    CraftedFile copy(sound);
    edit(*copy.columns[0].metadata.arrays);
    return copy.seal();
  };
  EXPECT_THAT(message(crafted([](format::ArraysT& arrays) { arrays.params[0] = 2; })), HasSubstr("not by its array"));
  EXPECT_THAT(message(crafted([](format::ArraysT& arrays) { arrays.params[0] = 99; })), HasSubstr("there is not"));
  EXPECT_THAT(message(crafted([](format::ArraysT& arrays) {
                format::Node& node = arrays.nodes[3];
                node = format::Node(node.count() - 1, node.param_bytes(), node.stream_count());
              })),
              HasSubstr("values instead of"));
  // A damaged byte of the source is an error of both.
  std::vector<std::byte> flipped = sound;
  flipped[file.column("shipped").chunks[0].region.offset + 3] ^= std::byte{1};
  const auto damaged = File::open(memory_source(to_buffer(flipped), "damaged"));
  for (const uint32_t column : {0u, 1u}) EXPECT_THROW(damaged->read_chunk(column, 0), Error);
}

}  // namespace
}  // namespace basalt::test
