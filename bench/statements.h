// What benchmarks of whole statements share: lines with their bars, statements on the GPU checked against the CPU,
// files that are made for a measurement.
#pragma once

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "basalt/core/error.h"
#include "basalt/core/threads.h"
#include "basalt/core/types.h"
#include "basalt/cuda/backend.h"
#include "basalt/exec/expressions.h"
#include "basalt/exec/pipeline.h"
#include "basalt/file/reader.h"
#include "basalt/file/writer.h"

namespace basalt::bench {

struct Row {
  std::string name;
  double value = 0;
  std::string unit;
  double bar = 0;  // 0 = none; else the value must be at least this
  bool at_most = false;
};

inline std::vector<Row> rows;

inline void add(const std::string& name, double value, const std::string& unit, double bar = 0, bool at_most = false) {
  rows.push_back({name, value, unit, bar, at_most});
  const char* verdict = bar == 0 ? "" : (at_most ? value <= bar : value >= bar) ? "ok" : "BELOW THE BAR";
  std::printf("%-58s %10.3f %-8s %s\n", name.c_str(), value, unit.c_str(), verdict);
  std::fflush(stdout);
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

inline RunOptions on_gpu() {
  RunOptions options;
  options.device = Device::kCuda;
  options.prune = false;
  return options;
}

// Bytes of the streams that a resident statement reads: all of the columns it names.
inline double touched_bytes(const Pipeline& pipeline) {
  double total = 0;
  for (const PipelineColumn& c : pipeline.columns) {
    for (const auto& file : pipeline.files) total += static_cast<double>(file->column(c.field_id).encoded_bytes);
  }
  return total;
}

inline void expect_equal(const Pipeline& pipeline, const RunOptions& options, const std::vector<Value>& got) {
  RunOptions cpu = options;
  cpu.device = Device::kCpu;
  const std::vector<Value> expected = run_pipeline(pipeline, cpu);
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].null != got[i].null || (!got[i].null && compare(expected[i], got[i]) != 0)) {
      throw Error(ErrorCode::kInternal, "the GPU's result differs from the CPU's");
    }
  }
}

// A file with one column of `type`, whose chunks all hold the 2^20 values that value(i) gives; gone with its owner.
class MadeFile {
 public:
  template <typename T, typename F>
  MadeFile(const std::string& name, TypeKind type, const std::string& tree, uint64_t chunks, T, F&& value)
      : path_((std::filesystem::temp_directory_path() / name).string()) {
    Schema schema;
    schema.fields.push_back({"v", {type}, false, 0, {}});
    WriteOptions write;
    write.encodings["v"] = parse_tree(tree);
    Writer writer(path_, schema, write);
    Table table;
    table.schema = schema;
    table.rows = 1 << 20;
    table.columns.push_back(make_column(schema.fields[0]));
    table.columns[0].length = table.rows;
    table.columns[0].values.resize(table.rows * sizeof(T));
    for (uint64_t i = 0; i < table.rows; ++i) table.columns[0].values.as<T>()[i] = static_cast<T>(value(i));
    for (uint64_t i = 0; i < chunks; ++i) writer.append(table);
    writer.finish();
  }
  ~MadeFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  MadeFile(const MadeFile&) = delete;
  MadeFile& operator=(const MadeFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A number that looks like chance.
inline uint64_t scattered(uint64_t i) {
  i = (i ^ i >> 30) * 0xBF58476D1CE4E5B9ull;
  i = (i ^ i >> 27) * 0x94D049BB133111EBull;
  return i ^ i >> 31;
}

// An integer column of a made table: kInt32 or kInt64, in a tree.
struct MadeColumn {
  std::string name;
  TypeKind type = TypeKind::kInt32;
  std::string tree;
  std::function<int64_t(uint64_t row)> value;
};

// A file of whole chunks; gone with its owner.
class MadeTable {
 public:
  MadeTable(const std::string& name, uint64_t chunks, std::vector<MadeColumn> columns, ThreadPool& threads)
      : path_((std::filesystem::temp_directory_path() / name).string()), columns_(std::move(columns)) {
    WriteOptions options;
    options.chunk_bytes = uint64_t{1} << 30;
    for (const MadeColumn& column : columns_) {
      schema_.fields.push_back({column.name, {column.type}, false, 0, {}});
      options.encodings[column.name] = parse_tree(column.tree);
    }
    Writer writer(path_, schema_, options);
    for (uint64_t first = 0; first < chunks; first += threads.size()) {
      std::vector<Table> tables(std::min<uint64_t>(threads.size(), chunks - first));
      threads.parallel_for(tables.size(), [&](uint64_t i) { tables[i] = chunk(first + i); });
      for (Table& table : tables) writer.append(std::move(table));
    }
    writer.finish();
  }
  ~MadeTable() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  MadeTable(const MadeTable&) = delete;
  MadeTable& operator=(const MadeTable&) = delete;
  const std::string& path() const { return path_; }

 private:
  template <typename T>
  Column made(size_t field, uint64_t first_row) const {
    Column column = make_column(schema_.fields[field]);
    column.length = kMaxChunkRows;
    column.values.resize(kMaxChunkRows * sizeof(T));
    const auto& value = columns_[field].value;
    for (uint64_t i = 0; i < kMaxChunkRows; ++i) column.values.as<T>()[i] = static_cast<T>(value(first_row + i));
    return column;
  }
  Table chunk(uint64_t index) const {
    const uint64_t first_row = index * kMaxChunkRows;
    Table table;
    table.schema = schema_;
    table.rows = kMaxChunkRows;
    for (size_t i = 0; i < columns_.size(); ++i) {
      table.columns.push_back(columns_[i].type == TypeKind::kInt64 ? made<int64_t>(i, first_row)
                                                                   : made<int32_t>(i, first_row));
    }
    return table;
  }

  std::string path_;
  std::vector<MadeColumn> columns_;
  Schema schema_;
};

inline void write_json(const std::string& benchmark, const std::string& path) {
  std::FILE* out = std::fopen(path.c_str(), "w");
  if (out == nullptr) throw Error(ErrorCode::kIo, path + ": cannot create");
  std::fprintf(out, "{\"benchmark\": \"%s\", \"rows\": [\n", benchmark.c_str());
  for (size_t i = 0; i < rows.size(); ++i) {
    std::fprintf(out, "  {\"name\": \"%s\", \"value\": %.6g, \"unit\": \"%s\", \"bar\": %.6g}%s\n",
                 rows[i].name.c_str(), rows[i].value, rows[i].unit.c_str(), rows[i].bar,
                 i + 1 < rows.size() ? "," : "");
  }
  std::fprintf(out, "]}\n");
  std::fclose(out);
}

inline int run_or_say_why(int (*run)(int, char**), int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

}  // namespace basalt::bench
