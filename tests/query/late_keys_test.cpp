// Group keys that others decide, fetched behind the order that leaves few groups: trees as text.
#include "query/late_keys.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <numeric>

#include "basalt/file/reader.h"
#include "basalt/file/writer.h"
#include "query/trees.h"

namespace basalt::test {
namespace {

constexpr uint64_t kLargeTable = 70'000;
constexpr uint64_t kSmallTable = 20'000;

Column numbers(uint64_t rows, int64_t first) {
  Column column = make_column(field("", DataType::bigint()));
  std::vector<int64_t> values(rows);
  std::iota(values.begin(), values.end(), first);
  column.length = rows;
  column.values.append(values.data(), rows * sizeof(int64_t));
  return column;
}

Column texts(uint64_t rows, size_t bytes) {
  Column column = make_column(field("", DataType::varchar()));
  const std::string text(bytes, 'x');
  column.length = rows;
  for (uint64_t i = 0; i < rows; ++i) {
    column.bytes.append(text.data(), text.size());
    column.offsets.push(static_cast<int64_t>(column.bytes.size()));
  }
  return column;
}

class LateKeys : public ::testing::Test {
 protected:
  ~LateKeys() override {
    for (const std::string& path : paths_) std::filesystem::remove(path);
  }

  // A file of the columns `<letter>_id`, unique, `<letter>_next`, with repeated values, and `<letter>_text`.
  std::shared_ptr<const File> file(char letter, uint64_t rows, size_t text_bytes, int64_t first_id = 0,
                                   bool unique = true) {
    Table table;
    const std::string prefix = std::string(1, letter) + "_";
    table.schema.fields = {field(prefix + "id"), field(prefix + "next"), field(prefix + "text", DataType::varchar())};
    number_fields(table.schema);
    table.rows = rows;
    table.columns.push_back(numbers(rows, first_id));
    if (!unique) reinterpret_cast<int64_t*>(table.columns[0].values.data())[rows - 1] = first_id;
    table.columns.push_back(numbers(rows, 0));
    for (uint64_t i = 0; i < rows; ++i) reinterpret_cast<int64_t*>(table.columns[1].values.data())[i] %= 25;
    table.columns.push_back(texts(rows, text_bytes));
    paths_.push_back((std::filesystem::temp_directory_path() /
                      ("basalt_late_" + std::to_string(getpid()) + "_" + std::to_string(paths_.size()) + ".basalt"))
                         .string());
    write_table(paths_.back(), std::move(table));
    return File::open(paths_.back());
  }

  static QueryNode scan_of(std::vector<std::shared_ptr<const File>> files) {
    QueryNode node;
    for (const Field& one : files.front()->schema().fields) {
      node.columns.push_back({one.id, one.name, one.type});
      node.output.push_back(one);
    }
    node.files = std::move(files);
    return node;
  }

  static Expr text(uint32_t column) { return place(column, Physical::kBytes); }

  std::vector<std::string> paths_;
};

// The first 5 of an order over groups by d_id and d_text of `first` joined with them.
QueryNode first_groups(QueryNode facts, QueryNode dimension, JoinKind kind = JoinKind::kInner) {
  QueryNode rows = joined(kind, std::move(facts), std::move(dimension), {same(1, 0)});
  rows = groups(std::move(rows), {place(3), place(5, Physical::kBytes)}, {count_rows()});
  rows.output[1].type = DataType::varchar();
  return sorted(std::move(rows), {{2, true, false}}, 5);
}

std::string rewritten(QueryNode tree) {
  const std::string before = to_string(tree);
  const bool changed = fetch_decided_keys(tree);
  EXPECT_TRUE(changed || to_string(tree) == before || before.starts_with("rows limit"));
  return to_string(tree);
}

TEST_F(LateKeys, OfALargeTableItIsReadAgain) {
  const auto facts = file('f', 100, 1);
  const auto dimension = file('d', kLargeTable, 100);
  EXPECT_EQ(rewritten(first_groups(scan_of({facts}), scan_of({dimension}))),
            "sort by value0 desc\n"
            "  project key0, d_text, value0\n"
            "    join on d_id = key0\n"
            "      scan d_id, d_text\n"
            "      sort by value0 desc limit 5\n"
            "        groups by d_id: count(*)\n"
            "          join on f_next = d_id\n"
            "            scan f_next\n"
            "            scan d_id\n");
}

TEST_F(LateKeys, ASmallTableIsLookedUp) {
  const auto facts = file('f', 100, 1);
  const auto dimension = file('d', kSmallTable, 100);
  EXPECT_EQ(rewritten(first_groups(scan_of({facts}), scan_of({dimension}))),
            "sort by value0 desc\n"
            "  project key0, d_text, value0\n"
            "    join on key0 = d_id\n"
            "      sort by value0 desc limit 5\n"
            "        groups by d_id: count(*)\n"
            "          join on f_next = d_id\n"
            "            scan f_next\n"
            "            scan d_id\n"
            "      scan d_id, d_text\n");
}

// A key, the table that has it once, and one that this table's rows name.
TEST_F(LateKeys, TablesAreFoundByOthersColumns) {
  const auto facts = file('f', 100, 1);
  const auto dimension = file('d', kLargeTable, 10);
  const auto next = file('n', kSmallTable, 80);
  QueryNode rows = joined(JoinKind::kInner, scan_of({facts}), scan_of({dimension}), {same(1, 0)});
  rows = joined(JoinKind::kInner, std::move(rows), scan_of({next}), {same(4, 0)});
  rows = groups(std::move(rows), {place(3), place(8, Physical::kBytes)}, {sum(place(0))});
  rows.output[1].type = DataType::varchar();
  rows = project(std::move(rows), {place(1, Physical::kBytes), binary(ExprOp::kAdd, place(2), place(0))},
                 {"text", "more"});
  rows.output[0].type = DataType::varchar();
  EXPECT_EQ(rewritten(sorted(std::move(rows), {{1, false, false}}, 5)),
            "sort by more\n"
            "  project n_text, more\n"
            "    join on d_next = n_id\n"
            "      join on d_id = key0\n"
            "        scan d_id, d_next\n"
            "        sort by more limit 5\n"
            "          project value0 + key0, key0\n"
            "            groups by d_id: sum(f_id)\n"
            "              join on d_next = n_id\n"
            "                join on f_next = d_id\n"
            "                  scan f_id, f_next\n"
            "                  scan d_id, d_next\n"
            "                scan n_id\n"
            "      scan n_id, n_text\n");
}

TEST_F(LateKeys, AnOrderAndItsLimitAreOne) {
  const auto facts = file('f', 100, 1);
  const auto dimension = file('d', kLargeTable, 100);
  const QueryNode at_once = first_groups(scan_of({facts}), scan_of({dimension}));
  QueryNode order = at_once;
  order.limit = kAllRows;
  EXPECT_EQ(rewritten(limited(std::move(order), 5)), rewritten(at_once));
}

TEST_F(LateKeys, FactsDecide) {
  const auto facts = file('f', 100, 1);
  const auto unchanged = [&](QueryNode dimension, JoinKind kind = JoinKind::kInner, uint64_t limit = 5) {
    QueryNode tree = first_groups(scan_of({facts}), std::move(dimension), kind);
    tree.limit = limit;
    const std::string before = to_string(tree);
    return rewritten(std::move(tree)) == before;
  };
  EXPECT_FALSE(unchanged(scan_of({file('d', kSmallTable, 100)})));
  EXPECT_TRUE(unchanged(scan_of({file('d', kSmallTable, 100, 0, false)})));  // a value twice
  EXPECT_TRUE(unchanged(scan_of({file('d', kSmallTable, 10)})));             // short texts
  EXPECT_TRUE(unchanged(scan_of({file('d', 1000, 100)})));                   // few rows
  EXPECT_TRUE(unchanged(scan_of({file('d', kSmallTable, 100)}), JoinKind::kLeft));
  EXPECT_TRUE(unchanged(scan_of({file('d', kSmallTable, 100)}), JoinKind::kInner, 1'000'000));
  EXPECT_FALSE(unchanged(scan_of({file('d', kSmallTable, 100), file('d', kSmallTable, 100, kSmallTable)})));
  EXPECT_TRUE(unchanged(
      scan_of({file('d', kSmallTable, 100), file('d', kSmallTable, 100, kSmallTable - 1)})));  // a value in both
}

// The order, or a filter of groups, that needs the text.
TEST_F(LateKeys, TextsThatAreNeededBefore) {
  const auto facts = file('f', 100, 1);
  const auto dimension = file('d', kSmallTable, 100);
  QueryNode by_text = first_groups(scan_of({facts}), scan_of({dimension}));
  by_text.order = {{1, false, false}};
  const std::string before = to_string(by_text);
  EXPECT_EQ(rewritten(std::move(by_text)), before);

  QueryNode having = first_groups(scan_of({facts}), scan_of({dimension}));
  having.inputs[0] = filter(std::move(having.inputs[0]), is_not_null(text(1)));
  const std::string with_filter = to_string(having);
  EXPECT_EQ(rewritten(std::move(having)), with_filter);

  QueryNode other = first_groups(scan_of({facts}), scan_of({dimension}));
  other.inputs[0] = filter(std::move(other.inputs[0]), more_than(2, 7));
  const std::string other_before = to_string(other);
  EXPECT_NE(rewritten(std::move(other)), other_before);
}

}  // namespace
}  // namespace basalt::test
