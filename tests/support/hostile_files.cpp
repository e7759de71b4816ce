// Making them: each begins as a sound file of our writer.
#include "support/hostile_files.h"

#include <cstring>
#include <numeric>

#include "basalt/encoding/tree.h"
#include "codec/rle/layout.h"
#include "codec/tokens/layout.h"
#include "file/format.h"
#include "support/test_tables.h"

namespace basalt::test {

namespace {

constexpr uint64_t kMostElements = format_v1::kMaxElements;

CraftedFile taken_apart(const Table& table, const WriteOptions& options = {}) {
  TemporaryFolder folder;
  write(folder.path("base.basalt"), table, options);
  return CraftedFile(read_bytes(folder.path("base.basalt")));
}

std::string empty_text(uint64_t) { return {}; }
int64_t zero(uint64_t) { return 0; }

CraftedFile file_of_texts(uint64_t rows) {
  return taken_apart(make_table(rows, {strings("s", TypeKind::kUtf8, rows, empty_text)}));
}

CraftedNode constant(uint64_t count, uint64_t value) {
  return {"constant", count, bytes_of(std::vector<uint64_t>{value, 0}), {}, {}};
}
CraftedNode constant_bytes(uint64_t count, uint32_t length) {
  return {"constant", count, std::vector<std::byte>(length, std::byte{'x'}), {}, {}};
}
CraftedNode texts(const CraftedNode& lengths, const CraftedNode& bytes) {
  return {"strings", lengths.count, {}, {}, {lengths, bytes}};
}
CraftedNode constant_texts(uint64_t count, uint32_t length) {
  return texts(constant(count, length), constant_bytes(count, length));
}

// All rows have the same number of ids, which all stand for one entry of the greatest length.
CraftedNode texts_of_ids(uint64_t rows, uint64_t per_row) {
  const CraftedNode ids{
      "tokens",
      rows,
      {},
      {bytes_of(std::vector<uint64_t>{0, per_row * rows})},
      {constant(per_row * rows, 0), constant(rows, per_row), constant_texts(1, tokens::kLongestEntry)}};
  return texts(constant(rows, per_row * tokens::kLongestEntry), ids);
}

std::vector<std::byte> many_ids(uint64_t rows) {
  CraftedFile file = file_of_texts(rows);
  file.set_array(0, texts_of_ids(rows, tokens::kMostIdsPerTile / rows));
  return file.seal();
}

// So many columns of strings, all the same.
std::vector<std::byte> columns_of_texts(uint32_t count, const CraftedNode& root) {
  std::vector<NamedColumn> columns;
  for (uint32_t i = 0; i < count; ++i) {
    columns.push_back(strings("s" + std::to_string(i), TypeKind::kUtf8, root.count, empty_text));
  }
  CraftedFile file = taken_apart(make_table(root.count, std::move(columns)));
  for (uint32_t i = 0; i < count; ++i) file.set_array(i, root);
  return file.seal();
}

constexpr uint64_t kLongText = 8'000'000;  // each is allowed, many together are not

// One row in which every column is long.
std::vector<std::byte> columns_of_a_long_row() {
  return columns_of_texts(50, texts_of_ids(1, kLongText / tokens::kLongestEntry));
}
// The same length in a tile.
std::vector<std::byte> columns_of_long_tiles() {
  return columns_of_texts(50, texts_of_ids(kTileRows, kLongText / kTileRows / tokens::kLongestEntry));
}

std::vector<std::byte> rows_of_one_text(const CraftedNode& root) {
  CraftedFile file = file_of_texts(root.count);
  file.set_array(0, root);
  return file.seal();
}

// Another number of rows for a field under a list, with zones that say nothing.
void set_rows(CraftedFile& file, uint32_t field, uint64_t rows, uint32_t width) {
  file.footer.columns.at(field)->rows = rows;
  format::ColumnChunk& chunk = file.columns.at(field).metadata.chunks.at(0);
  chunk = format::ColumnChunk(rows, 0, chunk.region_offset(), chunk.region_length(), 0, chunk.shape(), 0, 0);
  auto zones = std::make_unique<format::ZonesT>();
  const size_t count = (rows + kZoneRows - 1) / kZoneRows;
  zones->flags.assign(count, 0);
  zones->mins.assign(count * width, 0);
  zones->maxs.assign(count * width, 0);
  if (width == 0) {
    zones->min_lengths.assign(count, 0);
    zones->max_lengths.assign(count, 0);
  }
  file.columns.at(field).metadata.zones = std::move(zones);
}

// One list of as many elements as an array may have; the elements are `root`.
std::vector<std::byte> longest_list(const NamedColumn& element, const CraftedNode& root, uint32_t width) {
  CraftedFile file =
      taken_apart(make_table(1, {list_of(
                                    "l", 1, [](uint64_t) { return 1; }, [&](uint64_t) { return element; })}));
  file.set_array(0, constant(1, root.count));
  set_rows(file, 1, root.count, width);
  file.set_array(1, root);
  if (file.columns.size() > 2) {  // a struct's member
    set_rows(file, 2, root.count, 1);
    file.set_array(2, constant(root.count, 0));
  }
  return file.seal();
}

CraftedNode encoded(Physical type, uint64_t count, const void* data, const std::string& tree) {
  Values values;
  values.type = type;
  values.count = count;
  values.data = data;
  return crafted(encode_tree(values, bind_tree(parse_tree(tree), type)));
}

int64_t step(uint64_t i) { return static_cast<int64_t>(i / 3); }

CraftedFile file_of_steps(uint64_t rows) {
  return taken_apart(make_table(rows, {integers("a", type_of(TypeKind::kInt64), rows, step)}));
}

std::string runs_of_runs(uint32_t levels) {
  std::string tree = "packed";
  for (uint32_t i = 1; i < levels; ++i) tree = "rle(" + tree + ", packed)";
  return tree;
}

// As deep as the format allows.
std::vector<std::byte> deepest_runs() {
  constexpr uint64_t kRows = 300000;
  std::vector<int64_t> values(kRows);
  for (uint64_t i = 0; i < kRows; ++i) values[i] = step(i);
  CraftedFile file = file_of_steps(kRows);
  file.set_array(0, encoded(Physical::kI64, kRows, values.data(), runs_of_runs(kMaxTreeLevels)));
  return file.seal();
}

// Runs of one row each, level above level.
std::vector<std::byte> runs_without_end(uint32_t levels) {
  constexpr uint32_t kRows = kTileRows + 1;
  std::vector<int64_t> values(kRows);
  for (uint64_t i = 0; i < kRows; ++i) values[i] = step(i);
  std::vector<uint32_t> ends(kRows);
  std::iota(ends.begin(), ends.end(), 1u);
  CraftedNode node = encoded(Physical::kI64, kRows, values.data(), "packed");
  for (uint32_t i = 1; i < levels; ++i) {
    node = {"rle",
            kRows,
            {},
            {bytes_of(std::vector<rle::TileEntry>{{0, 0}, {kTileRows, 0}})},
            {node, encoded(Physical::kU32, kRows, ends.data(), "packed")}};
  }
  CraftedFile file = file_of_steps(kRows);
  file.set_array(0, node);
  return file.seal();
}

// A node that refers to one stream again and again.
std::vector<std::byte> stream_used_often(uint32_t times) {
  CraftedFile file = file_of_steps(10);
  CraftedNode node = constant(10, 0);
  node.streams.emplace_back(size_t{4} << 10);
  file.set_array(0, node);
  format::ArraysT& arrays = *file.columns[0].metadata.arrays;
  arrays.streams.assign(times, arrays.streams[0]);
  arrays.nodes[0] = format::Node(10, 16, times);
  return file.seal();
}

// A tree of `nodes` nodes of a codec that nobody has, whose name has `length` bytes.
std::vector<std::byte> unknown_tree(uint32_t nodes, size_t length) {
  CraftedFile file = file_of_steps(10);
  CraftedNode node{"unknown", 10, {}, {}, {}};
  const CraftedNode leaf = node;
  for (uint32_t i = 1; i < nodes; ++i) node.children.push_back(leaf);
  file.set_array(0, node);
  file.footer.codecs[file.codec("unknown")]->name = std::string(length, 'c');
  return file.seal();
}

// A struct with a very long name and many members, whose paths all begin with it.
CraftedFile long_paths(uint64_t members) {
  std::vector<NamedColumn> fields;
  for (uint64_t i = 0; i < members; ++i) {
    fields.push_back(integers("m" + std::to_string(i), type_of(TypeKind::kInt8), 3, zero));
  }
  return taken_apart(make_table(3, {struct_of(std::string(400'000, 'n'), 3, std::move(fields))}));
}

std::vector<std::byte> sorted_by_long_paths() {
  CraftedFile file = long_paths(1000);
  for (uint32_t i = 1; i < file.columns.size(); ++i) file.footer.sort_columns.push_back(i);
  return file.seal();
}

std::vector<std::byte> another_root(const NamedColumn& column, uint64_t rows, const CraftedNode& root) {
  CraftedFile file = taken_apart(make_table(rows, {column}));
  file.set_array(0, root);
  return file.seal();
}

std::vector<std::byte> floats_in_tinyint() {
  const std::vector<float> values(3000, 1.5f);
  return another_root(integers("a", type_of(TypeKind::kInt8), 3000, zero), 3000,
                      encoded(Physical::kF32, 3000, values.data(), "galp(plain)"));
}

std::vector<std::byte> values_in_struct() {
  const NamedColumn member = integers("m", type_of(TypeKind::kInt8), 3000, zero);
  return another_root(struct_of("t", 3000, {member}), 3000, constant(3000, 0));
}

// One list of many elements, of each kind.
std::vector<std::byte> list_of_constants() {
  return longest_list(integers("e", type_of(TypeKind::kInt8), 1, zero), constant(kMostElements, 0), 1);
}
std::vector<std::byte> list_of_a_dictionary() {
  const CraftedNode zeros = constant(kMostElements, 0);
  return longest_list(integers("e", type_of(TypeKind::kInt128), 1, zero),
                      {"dict", kMostElements, {}, {}, {zeros, zeros}}, 16);
}
std::vector<std::byte> list_of_structs() {
  const NamedColumn member = integers("m", type_of(TypeKind::kInt8), 1, zero);
  return longest_list(struct_of("e", 1, {member}), {"validity", kMostElements, {}, {}, {constant(kMostElements, 1)}},
                      0);
}

std::vector<std::byte> constant_strings() { return rows_of_one_text(constant_texts(kMaxChunkRows, 1700)); }

std::vector<std::byte> constant_dictionary() {
  return rows_of_one_text(
      {"dict", kMaxChunkRows, {}, {}, {constant(kMaxChunkRows, 0), constant_texts(kMaxChunkRows, 1700)}});
}

// Every reader of a column holds its entries.
std::vector<std::byte> many_dictionaries() {
  constexpr uint64_t kRows = 1024;
  return columns_of_texts(50, {"dict", kRows, {}, {}, {constant(kRows, 0), constant_texts(kRows, 60'000)}});
}

// Each column's entries are allowed, those of all columns together are not.
std::vector<std::byte> columns_of_entries() {
  constexpr uint64_t kRows = 1024;
  return columns_of_texts(60, {"dict", kRows, {}, {}, {constant(kRows, 0), constant_texts(kRows, 7000)}});
}

// One row of lists, each of as many elements as one column may have.
std::vector<std::byte> columns_of_lists() {
  constexpr uint32_t kColumns = 50;
  constexpr uint64_t kElements = 8'000'000;
  std::vector<NamedColumn> columns;
  for (uint32_t i = 0; i < kColumns; ++i) {
    columns.push_back(list_of(
        "l" + std::to_string(i), 1, [](uint64_t) { return 1; },
        [](uint64_t rows) { return integers("e", type_of(TypeKind::kInt8), rows, zero); }));
  }
  CraftedFile file = taken_apart(make_table(1, std::move(columns)));
  for (uint32_t i = 0; i < kColumns; ++i) {
    file.set_array(2 * i, constant(1, kElements));
    set_rows(file, 2 * i + 1, kElements, 1);
    file.set_array(2 * i + 1, constant(kElements, 0));
  }
  return file.seal();
}

std::vector<std::byte> numbered_strings() {
  std::vector<std::byte> prefix(4096, std::byte{'x'});
  prefix[0] = std::byte{19};
  return rows_of_one_text({"numbered", kMaxChunkRows, prefix, {}, {constant(kMaxChunkRows, 7)}});
}

}  // namespace

std::vector<std::byte> list_of_strings(uint64_t count) {
  return longest_list(strings("e", TypeKind::kUtf8, 1, empty_text), constant_texts(count, 0), 0);
}

std::vector<std::byte> long_strings(uint64_t rows, uint32_t length) {
  const auto row = [](uint64_t i) { return static_cast<int64_t>(i); };
  CraftedFile file = taken_apart(make_table(
      rows, {integers("id", type_of(TypeKind::kInt64), rows, row), strings("s", TypeKind::kUtf8, rows, empty_text)}));
  file.set_array(1, constant_texts(rows, length));
  return file.seal();
}

std::vector<HostileFile> hostile_files() {
  return {
      {"tokens_of_a_tile", [] { return many_ids(kTileRows); }},
      {"tokens_of_a_row", [] { return many_ids(1); }},
      {"constant_strings", constant_strings},
      {"constant_dictionary", constant_dictionary},
      {"many_dictionaries", many_dictionaries},
      {"columns_of_a_long_row", columns_of_a_long_row},
      {"columns_of_long_tiles", columns_of_long_tiles},
      {"columns_of_entries", columns_of_entries},
      {"columns_of_lists", columns_of_lists},
      {"numbered_strings", numbered_strings},
      {"list_of_constants", list_of_constants},
      {"list_of_a_dictionary", list_of_a_dictionary},
      {"list_of_structs", list_of_structs},
      {"list_of_strings", [] { return list_of_strings(kMostElements); }},
      {"deepest_runs", deepest_runs, true, true},
      {"runs_of_22_levels", [] { return runs_without_end(22); }, false},
      {"runs_of_62_levels", [] { return runs_without_end(62); }, false},
      {"stream_used_often", [] { return stream_used_often(100'000); }},
      {"long_codec_names", [] { return unknown_tree(8000, 131'072); }, false},
      {"many_nodes", [] { return unknown_tree(kMaxTreeNodes + 1, 8); }, false},
      {"long_paths", [] { return long_paths(1000).seal(); }, true, true},
      {"sorted_by_long_paths", sorted_by_long_paths, false},
      {"floats_in_tinyint", floats_in_tinyint},
      {"values_in_struct", values_in_struct},
  };
}

}  // namespace basalt::test
