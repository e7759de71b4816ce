// Lies under checksums that fit: what only the values can show is reported by every way of reading, never given out.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "basalt/core/error.h"
#include "basalt/exec/expressions.h"
#include "basalt/exec/scan.h"
#include "exec/tables.h"

namespace basalt::test {
namespace {

using Damage = std::function<void(Node&)>;

// One column of one chunk, whose encoded array is damaged before it is written.
TestTable damaged(Column column, const std::string& tree, const Damage& damage) {
  TestTable out;
  out.path = (std::filesystem::temp_directory_path() / ("basalt_damage_" + std::to_string(getpid()))).string();
  Table table;
  Field field;
  field.name = "c0";
  field.type = column.type;
  table.schema.fields.push_back(field);
  number_fields(table.schema);
  table.rows = column.length;
  table.columns.push_back(std::move(column));
  WriteOptions options;
  options.threads = 1;
  options.encodings["c0"] = parse_tree(tree);
  options.encoder = [&](const Values& values, const Tree& bound) {
    Node node = encode_tree(values, bound);
    damage(node);
    return node;
  };
  Writer writer(out.path, table.schema, options);
  writer.append(table);
  writer.finish();
  out.rows = table.rows;
  out.file = File::open(out.path);
  return out;
}

ErrorCode code_of_scan(const TestTable& table, const std::vector<std::string>& columns, const Expr* filter) {
  ScanOptions options;
  options.columns = columns;
  options.threads = 1;
  options.row_numbers = true;
  if (filter != nullptr) {
    options.has_filter = true;
    options.filter = *filter;
    options.filter_columns = table.pipeline_columns();
  }
  try {
    Scan scan({table.file}, options);
    Table rows;
    while (scan.next(rows)) {
    }
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(table.path), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("c0"), std::string::npos) << error.what();
    return error.code();
  }
  return ErrorCode::kInternal;
}

std::vector<int64_t> repeated(uint64_t rows, int64_t modulus) {
  std::vector<int64_t> values(rows);
  for (uint64_t i = 0; i < rows; ++i) values[i] = static_cast<int64_t>(i / 3) % modulus * 10;
  return values;
}

TEST(DamageUnderFilters, CodesBeyondTheDictionaryAreReported) {
  // Five entries leave room in three bits for codes 5 to 7; 11 needs a wider stream.
  for (const char* tree : {"dict(plain, plain)", "dict(packed, plain)"}) {
    const bool packed = std::string(tree) == "dict(packed, plain)";
    const TestTable table = damaged(make_fixed({TypeKind::kInt64}, repeated(3000, 5)), tree, [&](Node& node) {
      if (!packed) node.children[0].streams[0].as<uint32_t>()[1500] = 11;
      // Every bit of lane 7's first word: its values become 7.
      if (packed) node.children[0].streams[2].as<uint32_t>()[7] = ~0u;
    });
    std::vector<PipelineColumn> columns;
    const Expr range = less_equal(column(*table.file, "c0", columns), literal(int64_t{20}));
    const Expr single = equal(column(*table.file, "c0", columns), literal(int64_t{30}));
    for (const Expr* filter : {&range, &single}) {
      EXPECT_EQ(code_of_scan(table, {}, filter), ErrorCode::kCorrupt) << tree;
    }
    EXPECT_EQ(code_of_scan(table, {"c0"}, nullptr), ErrorCode::kCorrupt) << tree;
  }
}

TEST(DamageUnderFilters, RunsOfCodesThatLieAreReported) {
  const TestTable table = damaged(make_fixed({TypeKind::kInt64}, repeated(3000, 5)), "dict(rle(plain, plain), plain)",
                                  [](Node& node) { node.children[0].streams[0].as<uint32_t>()[2] += 1; });
  std::vector<PipelineColumn> columns;
  const Expr filter = equal(column(*table.file, "c0", columns), literal(int64_t{30}));
  EXPECT_EQ(code_of_scan(table, {}, &filter), ErrorCode::kCorrupt);
}

TEST(DamageUnderFilters, FlagsThatAreNeitherZeroNorOneAreReported) {
  Column numbers = make_fixed({TypeKind::kInt64}, repeated(3000, 5));
  set_nulls(numbers, {1, 2, 2000});
  const TestTable table = damaged(numbers, "validity(plain, plain)",
                                  [](Node& node) { node.children[0].streams[0].as<uint8_t>()[2500] = 2; });
  std::vector<PipelineColumn> columns;
  const Expr filter = is_null(column(*table.file, "c0", columns));
  EXPECT_EQ(code_of_scan(table, {}, &filter), ErrorCode::kCorrupt);
  EXPECT_EQ(code_of_scan(table, {"c0"}, nullptr), ErrorCode::kCorrupt);

  const TestTable bools = damaged(make_fixed({TypeKind::kBool}, std::vector<uint8_t>(3000, 1)), "plain",
                                  [](Node& node) { node.streams[0].as<uint8_t>()[2500] = 3; });
  EXPECT_EQ(code_of_scan(bools, {"c0"}, nullptr), ErrorCode::kCorrupt);
}

TEST(DamageUnderFilters, StringsThatAreNotUtf8AreReported) {
  std::vector<std::string> words(3000, "word");
  words[2500] = "wörd";
  const auto break_bytes = [](Node& node) {
    Buffer& bytes = node.children[1].streams[1];
    bytes.as<char>()[2500 * 4 + 1] = '\xFF';
  };
  const TestTable table = damaged(make_strings(words), "strings(plain, plain)", break_bytes);
  EXPECT_EQ(code_of_scan(table, {"c0"}, nullptr), ErrorCode::kCorrupt);
  std::vector<PipelineColumn> columns;
  const Expr filter = not_equal(column(*table.file, "c0", columns), literal(std::string("word")));
  EXPECT_EQ(code_of_scan(table, {"c0"}, &filter), ErrorCode::kCorrupt);

  // What lies under a NULL means nothing.
  Column with_null = make_strings(words);
  set_nulls(with_null, {2500});
  const TestTable nulls =
      damaged(with_null, "validity(plain, strings(plain, plain))", [&](Node& node) { break_bytes(node.children[1]); });
  EXPECT_EQ(code_of_scan(nulls, {"c0"}, nullptr), ErrorCode::kInternal);
}

}  // namespace
}  // namespace basalt::test
