// Scans give exactly the rows for which the filter holds, in order, with every column as it was written.
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>

#include "basalt/exec/expressions.h"
#include "basalt/exec/scan.h"
#include "basalt/file/remote_source.h"
#include "exec/tables.h"

namespace basalt::test {
namespace {

std::vector<uint64_t> rows_where(const TestTable& table, const Expr* filter) {
  std::vector<uint64_t> out;
  for (uint64_t row = 0; row < table.rows; ++row) {
    if (filter == nullptr || holds(*filter, table.pointers(), row)) out.push_back(row);
  }
  return out;
}

Column pick(const Column& column, const std::vector<uint64_t>& rows) {
  Field field;
  field.type = column.type;
  Column out = make_column(field);
  for (const uint64_t row : rows) append_rows(out, column, row, row + 1);
  return out;
}

struct Counters : ScanCounters {
  uint64_t rows_as_codes = 0;
};

// Gives a column that came as places in a list its strings.
void look_up(const StringRows* entries, Column& column, Counters& counters) {
  if (entries == nullptr) return;
  const Buffer codes = std::move(column.values);
  column.values = Buffer();
  for (uint64_t row = 0; row < column.length; ++row) {
    const std::string_view text = entries->at(codes.as<uint32_t>()[row]);
    column.bytes.append(text.data(), text.size());
    column.offsets.push(static_cast<int64_t>(column.bytes.size()));
  }
  counters.rows_as_codes += column.length;
}

// Everything a chunk-wise scan gives, in one table.
Table scan_all(const TestTable& table, const std::vector<uint32_t>& columns, const Expr* filter, Counters& counters,
               bool as_codes = false) {
  Table all;
  for (uint32_t chunk = 0; chunk < table.file->chunks().size(); ++chunk) {
    ChunkScan scan(table.file, chunk, columns, filter, table.pipeline_columns(), true);
    if (as_codes) scan.give_codes(1 << 16);
    Table batch;
    while (scan.next(batch)) {
      for (size_t i = 0; i < batch.columns.size(); ++i) look_up(scan.entries(i), batch.columns[i], counters);
      EXPECT_LE(batch.rows, 2048u);
      if (all.columns.empty()) {
        all.schema = batch.schema;
        for (const Field& field : batch.schema.fields) all.columns.push_back(make_column(field));
      }
      for (size_t i = 0; i < batch.columns.size(); ++i) {
        EXPECT_EQ(batch.columns[i].length, batch.rows);
        append_rows(all.columns[i], batch.columns[i], 0, batch.rows);
      }
      all.rows += batch.rows;
    }
    EXPECT_FALSE(scan.next(batch));
    counters.tiles += scan.counters().tiles;
    counters.rows_out += scan.counters().rows_out;
  }
  return all;
}

TEST(ChunkScan, EqualsBruteForceOnRandomTables) {
  Random random(21);
  uint64_t skipped = 0;
  uint64_t codes = 0;
  for (int round = 0; round < 16; ++round) {
    const TestTable table = random_table(random, 1 + below(random, 12000), 8192);
    for (int i = 0; i < 5; ++i) {
      const Expr predicate = random_predicate(random, table.pointers(), 2, false);
      const Expr* filter = i == 0 ? nullptr : &predicate;
      std::vector<uint32_t> columns;
      const uint64_t count = 1 + below(random, 6);
      for (uint64_t c = 0; c < count; ++c)
        columns.push_back(static_cast<uint32_t>(below(random, table.columns.size())));
      if (i == 0) {
        columns.resize(table.columns.size());
        std::iota(columns.begin(), columns.end(), 0);
      }
      Counters counters;
      const Table got = scan_all(table, columns, filter, counters, round % 2 == 1);
      codes += counters.rows_as_codes;
      const std::vector<uint64_t> expected = rows_where(table, filter);
      skipped += counters.tiles.skipped;
      ASSERT_EQ(got.rows, expected.size()) << (filter != nullptr ? to_string(*filter, {}) : "no filter");
      ASSERT_EQ(counters.rows_out, expected.size());
      if (expected.empty()) continue;
      for (size_t c = 0; c < columns.size(); ++c) {
        ASSERT_TRUE(equal(got.columns[c], pick(table.columns[columns[c]], expected)))
            << "column " << columns[c] << " where " << (filter != nullptr ? to_string(*filter, {}) : "true");
      }
      for (size_t r = 0; r < expected.size(); ++r) {
        ASSERT_EQ(got.columns.back().values.as<int64_t>()[r], static_cast<int64_t>(expected[r]));
      }
    }
  }
  EXPECT_GT(skipped, 0u);
  EXPECT_GT(codes, 0u);
}

TEST(ChunkScan, GivesListsAndStructs) {
  Field element;
  element.name = "item";
  element.type = {TypeKind::kInt32};
  Field list;
  list.name = "l";
  list.type = {TypeKind::kList};
  list.children = {element};
  Field pair;
  pair.name = "s";
  pair.type = {TypeKind::kStruct};
  pair.children = {element, element};
  pair.children[1].name = "other";
  Field key;
  key.name = "k";
  key.type = {TypeKind::kInt32};
  Table table;
  table.schema.fields = {list, pair, key};
  number_fields(table.schema);
  for (const Field& field : table.schema.fields) table.columns.push_back(make_column(field));
  table.rows = 5000;
  for (int32_t i = 0; i < 5000; ++i) {
    for (int32_t j = 0; j < i % 4; ++j) {
      table.columns[0].children[0].values.push(i + j);
      ++table.columns[0].children[0].length;
    }
    table.columns[0].offsets.push(static_cast<int64_t>(table.columns[0].children[0].length));
    for (Column& child : table.columns[1].children) {
      child.values.push(i * 2);
      ++child.length;
    }
    table.columns[2].values.push(i);
    for (Column& column : table.columns) ++column.length;
  }
  TestTable out;
  out.path = testing::TempDir() + "/basalt_exec_nested.basalt";
  Writer writer(out.path, table.schema);
  writer.append(table);
  writer.finish();
  out.file = File::open(out.path);

  std::vector<PipelineColumn> columns;
  const Expr filter = all_of({greater_equal(column(*out.file, "k", columns), literal(int64_t{100})),
                              less(column(*out.file, "k", columns), literal(int64_t{3000}))});
  ChunkScan scan(out.file, 0, {0, 1}, &filter, columns);
  Table batch;
  Table all;
  all.columns = {make_column(table.schema.fields[0]), make_column(table.schema.fields[1])};
  while (scan.next(batch)) {
    for (size_t i = 0; i < 2; ++i) append_rows(all.columns[i], batch.columns[i], 0, batch.rows);
  }
  for (size_t i = 0; i < 2; ++i) {
    Column expected = make_column(table.schema.fields[i]);
    append_rows(expected, table.columns[i], 100, 3000);
    EXPECT_TRUE(equal(all.columns[i], expected));
  }
}

TEST(Scan, GivesFilesInOrderWhateverTheThreads) {
  std::vector<int64_t> first(30000);
  std::iota(first.begin(), first.end(), 0);
  std::vector<int64_t> second(10000);
  std::iota(second.begin(), second.end(), 30000);
  const TestTable a = write_table({make_fixed({TypeKind::kInt64}, first)}, {}, 8192);
  const TestTable b = write_table({make_fixed({TypeKind::kInt64}, second)}, {}, 8192);
  for (const uint32_t threads : {1u, 2u, 5u}) {
    ScanOptions options;
    options.threads = threads;
    options.has_filter = true;
    options.filter = greater(column(*a.file, "c0", options.filter_columns), literal(int64_t{9}));
    double last = 0;
    options.progress = [&](double share) { last = share; };
    Scan scan({a.file, b.file}, options);
    Table table;
    int64_t next = 10;
    while (scan.next(table)) {
      for (uint64_t i = 0; i < table.rows; ++i) ASSERT_EQ(table.columns[0].values.as<int64_t>()[i], next++);
    }
    EXPECT_EQ(next, 40000);
    EXPECT_EQ(scan.counters().rows_out, 39990u);
    EXPECT_EQ(last, 1.0);
  }
}

// Counts what is asked of it.
class CountingSource final : public Source {
 public:
  explicit CountingSource(const std::string& path) : source_(open_file_source(path)) {}
  std::string name() const override { return source_->name(); }
  uint64_t size() const override { return source_->size(); }
  void read(Range range, std::byte* out) const override {
    ++requests;
    bytes += range.length;
    source_->read(range, out);
  }
  mutable std::atomic<uint64_t> requests{0};
  mutable std::atomic<uint64_t> bytes{0};

 private:
  std::shared_ptr<Source> source_;
};

TEST(Scan, OfAFileThatIsFarAwayAsksRarelyAndForWhatIsNeeded) {
  Random random(7);
  std::vector<int64_t> rising(200'000);
  std::iota(rising.begin(), rising.end(), 0);
  std::vector<int64_t> noise(rising.size());
  for (int64_t& value : noise) value = static_cast<int64_t>(random());
  std::vector<Column> columns;
  columns.push_back(make_fixed({TypeKind::kInt64}, rising));
  for (int i = 0; i < 3; ++i) columns.push_back(make_fixed({TypeKind::kInt64}, noise));
  const TestTable table = write_table(std::move(columns), {}, 8192);
  const auto rows = [&](int64_t least, std::vector<std::string> names, uint64_t& requests, uint64_t& bytes) {
    const auto far = std::make_shared<CountingSource>(table.path);
    const std::shared_ptr<const File> file = File::open(std::make_shared<RemoteSource>(far));
    for (uint32_t field = 0; field < 4; ++field) file->column(field);
    far->requests = far->bytes = 0;
    ScanOptions options;
    options.columns = std::move(names);
    options.has_filter = true;
    options.filter = greater_equal(column(*file, "c0", options.filter_columns), literal(least));
    Scan scan({file}, options);
    uint64_t count = 0;
    for (Table part; scan.next(part);) count += part.rows;
    requests = far->requests;
    bytes = far->bytes;
    return count;
  };
  uint64_t requests = 0;
  uint64_t bytes = 0;
  EXPECT_EQ(rows(-1, {"c0", "c1", "c2", "c3"}, requests, bytes), 200'000u);
  EXPECT_LE(requests, 4u);  // of 25 chunks of 4 columns
  EXPECT_EQ(rows(199'000, {"c1"}, requests, bytes), 1000u);
  EXPECT_LE(requests, 2u);
  EXPECT_LT(bytes, 100'000u);  // of a chunk of noise and one of rising numbers
  EXPECT_EQ(rows(300'000, {"c1"}, requests, bytes), 0u);
  EXPECT_EQ(requests, 0u);
}

TEST(ChunkScan, GivesTheRowsOfAPart) {
  std::vector<int64_t> rising(10'000);
  std::iota(rising.begin(), rising.end(), 0);
  const TestTable table = write_table({make_fixed({TypeKind::kInt64}, rising)});
  std::vector<PipelineColumn> columns;
  const Expr filter = greater_equal(column(*table.file, "c0", columns), literal(int64_t{4000}));
  for (const auto& [first, end] : {std::pair<uint64_t, uint64_t>{0, 10'000},
                                   {1, 9999},
                                   {1024, 2048},
                                   {1500, 1501},
                                   {3999, 4001},
                                   {5000, 5000},
                                   {9999, ~uint64_t{0}}}) {
    for (const bool filtered : {false, true}) {
      const ChunkPart part = clip_part({}, first, end);
      ChunkScan scan(table.file, 0, {0}, filtered ? &filter : nullptr, filtered ? columns : decltype(columns)(), true,
                     2048, part);
      uint64_t next = std::max(first, filtered ? uint64_t{4000} : 0);
      for (Table batch; scan.next(batch);) {
        for (uint64_t i = 0; i < batch.rows; ++i, ++next) {
          ASSERT_EQ(batch.columns[0].values.as<int64_t>()[i], static_cast<int64_t>(next));
          ASSERT_EQ(batch.columns[1].values.as<int64_t>()[i], static_cast<int64_t>(next));
        }
      }
      const uint64_t last = std::min<uint64_t>(end, 10'000);
      EXPECT_EQ(next, std::max(last, std::max(first, filtered ? uint64_t{4000} : 0))) << first << " to " << end;
    }
  }
}

TEST(Scan, ExportsAnArrowStream) {
  const TestTable table =
      write_table({make_fixed<int32_t>({TypeKind::kInt32}, {1, 2, 3}), make_strings({"a", "bb", ""})});
  ScanOptions options;
  options.columns = {"c1", "c0"};
  ArrowArrayStream stream;
  export_scan(std::make_unique<Scan>(std::vector<std::shared_ptr<const File>>{table.file}, options), &stream);
  ArrowSchema schema;
  ASSERT_EQ(stream.get_schema(&stream, &schema), 0);
  const Schema imported = import_schema(schema);
  ASSERT_EQ(imported.fields.size(), 2u);
  ArrowArray array;
  ASSERT_EQ(stream.get_next(&stream, &array), 0);
  const Table got = import_batch(array, schema, imported);
  EXPECT_TRUE(equal(got.columns[0], table.columns[1]));
  EXPECT_TRUE(equal(got.columns[1], table.columns[0]));
  array.release(&array);
  ASSERT_EQ(stream.get_next(&stream, &array), 0);
  EXPECT_EQ(array.release, nullptr);
  schema.release(&schema);
  stream.release(&stream);
}

// ~0 stays "no limit" when what is stored is added to it.
TEST(Scan, NoLimitIsNoLimit) {
  std::vector<std::string> texts(5000);
  for (size_t i = 0; i < texts.size(); ++i) texts[i] = "text " + std::to_string(i * 7919 % 5000);
  const TestTable table = write_table({make_strings(texts)});
  constexpr uint64_t kNone = ~uint64_t{0};
  std::vector<PipelineColumn> columns;
  const Expr filter = greater(column(*table.file, "c0", columns), literal(std::string("text 3")));
  const uint64_t expected = rows_where(table, &filter).size();
  Table batch;
  for (const Expr* used : {static_cast<const Expr*>(nullptr), &filter}) {
    ChunkScan scan(table.file, 0, {0}, used, columns, false, 2048, {}, {kNone, nullptr});
    uint64_t rows = 0;
    while (scan.next(batch)) rows += batch.rows;
    EXPECT_EQ(rows, used == nullptr ? texts.size() : expected);
  }
  ScanOptions options;
  options.decoded_limit = kNone;
  Scan scan({table.file}, options);
  uint64_t rows = 0;
  while (scan.next(batch)) rows += batch.rows;
  EXPECT_EQ(rows, texts.size());
}

TEST(Scan, CancelsAndStopsEarly) {
  const TestTable table = write_table({make_fixed({TypeKind::kInt32}, std::vector<int32_t>(60000, 1))}, {}, 8192);
  CancelToken token;
  ScanOptions options;
  options.cancel = &token;
  options.threads = 2;
  Scan scan({table.file}, options);
  Table batch;
  ASSERT_TRUE(scan.next(batch));
  token.cancel();
  EXPECT_THROW(scan.next(batch), Error);
  // A scan that is dropped in the middle leaves no thread behind.
  Scan dropped({table.file});
  ASSERT_TRUE(dropped.next(batch));
}

TEST(Expressions, LiteralsTakeTheTypeTheyMeet) {
  const TestTable table =
      write_table({make_fixed<int16_t>({TypeKind::kInt16}, {1}), make_fixed<float>({TypeKind::kFloat32}, {1})});
  std::vector<PipelineColumn> columns;
  EXPECT_EQ(less(column(*table.file, "c0", columns), literal(int64_t{5})).args[1].type, Physical::kI16);
  EXPECT_EQ(less(literal(0.5), column(*table.file, "c1", columns)).args[0].type, Physical::kF32);
  EXPECT_THROW(less(column(*table.file, "c0", columns), literal(int64_t{70000})), Error);
  EXPECT_THROW(less(column(*table.file, "c1", columns), literal(0.1)), Error);
  EXPECT_THROW(column(*table.file, "c9", columns), Error);
  EXPECT_EQ(columns.size(), 2u);
}

}  // namespace
}  // namespace basalt::test
