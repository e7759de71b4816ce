// SQL over .basalt, Parquet, CSV, JSON and Arrow, without a DuckDB type in sight: a session owns an embedded DuckDB
// with Basalt registered in it. One statement at a time; interrupt() may be called from any thread or a signal
// handler's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/core/arrow.h"
#include "basalt/core/column.h"
#include "basalt/exec/pipeline.h"
#include "basalt/file/writer.h"

namespace basalt {

// Opens a table's rows anew for each scan of it, in the thread that runs the statement.
using StreamOpener = std::function<void(ArrowArrayStream*)>;

// Files behind names like "s3://bucket/x.basalt", which others than Basalt reach. Called by the threads that run a
// statement.
struct RemoteFiles {
  // The names that a pattern stands for, in their order; a name that is none stands for itself.
  std::function<std::vector<std::string>(const std::string& pattern)> find;
  std::function<std::shared_ptr<const File>(const std::string& name)> open;
};

struct SessionOptions {
  Device device = Device::kAuto;
  uint32_t threads = 0;                    // 0 = all cores
  uint64_t memory_limit = 0;               // of DuckDB's operators, bytes; 0 = its default (80 % of the machine)
  uint64_t decoded_limit = kDecodedLimit;  // basalt_decoded_limit, see basalt/sql/register.h
  uint64_t gpu_memory = 0;                 // 0 = what is free
  // Where operators spill, in a private folder that is made when it is needed. Empty: beside the database; without one,
  // in $TMPDIR.
  std::string temp_dir;
  std::string output;    // the file that results will go to: statements that read it are refused
  std::string database;  // a DuckDB database file; empty = in memory
  bool lowering = true;  // false: every operator runs in DuckDB, over Basalt's scan
  bool strict = false;   // refuse statements over .basalt files of which DuckDB would have to run a part
  // Asked for the tables of a statement that neither the database nor a file has; without an opener they are unknown.
  std::function<StreamOpener(const std::string& name)> find_table;
  RemoteFiles remote_files;  // without functions there are none
};

// A value for `$name` of a statement, or under "1", "2", … for its question marks.
struct Parameter {
  std::string name;
  std::string type;                 // "BIGINT", as DuckDB spells it
  std::optional<std::string> text;  // what a cast to the type takes; nothing: NULL
};

struct ResultColumn {
  std::string name;
  std::string type;  // "DECIMAL(15,2)", as DuckDB spells it
};

// What happened. Complete once every row of the result has been fetched.
struct QueryReport {
  uint64_t rows = 0;         // of the result, or those that a statement without one inserted, copied, …
  std::string done_to_rows;  // "inserted"; empty where the rows are a result
  double total_ms = 0;       // parse to last row
  bool used_basalt = false;  // a .basalt file was read, by Basalt's operators or by its scan
  bool kept_plan = false;    // the plan was kept from an earlier run of the same text
  Device ran_on = Device::kCpu;
  std::string device_name;             // "NVIDIA H200", "8 threads": of Basalt's operators, empty if there were none
  std::vector<std::string> in_basalt;  // "count, sum over lineitem.basalt"
  std::vector<std::string> in_duckdb;  // "ORDER BY", "GROUP BY (the function bit_count)"
  std::vector<std::string> notes;      // "answered from the files' footers"
  std::string why_cpu;                 // "no NVIDIA driver was found": where a run that may take the GPU did not
  Notices notices;                     // "column c: an enum becomes varchar"
  TileCounts tiles;                    // of all Basalt scans and operators
  uint64_t bytes_transferred = 0;
  double compile_ms = 0;
  double transfer_ms = 0;
  double kernel_ms = 0;
  std::string kernel_source;  // of generated kernels; several are separated by an empty line

  // "3 rows in 12.4 ms · ran on NVIDIA H200 (kernel 0.8 ms) · 118 of 580 tiles read · ORDER BY in DuckDB: …"
  std::string summary() const;
};

struct RenderOptions {
  uint64_t max_width = 0;  // characters; 0 = no limit
  uint64_t max_rows = 40;  // more rows: head and tail; 0 = all
  std::string null_text = "NULL";
};

using TextSink = std::function<void(std::string_view)>;

// The rows of one statement. Rows are fetched once: by next(), by an Arrow stream, or by one of the writers.
class QueryResult {
 public:
  QueryResult(QueryResult&&) noexcept;
  QueryResult& operator=(QueryResult&&) noexcept;
  ~QueryResult();

  const std::vector<ResultColumn>& columns() const;
  // False for statements like CREATE, SET or COPY, which have nothing worth showing.
  bool has_rows() const;
  // EXPLAIN gives one row of text that is meant to be printed as it is; empty for other statements.
  std::string explain_text();

  // The next batch, nullptr at the end. Types that Basalt cannot hold are an Error(kUnsupported).
  std::unique_ptr<Table> next();
  // Any DuckDB type. The stream takes the rows over; it keeps the session's connection busy until it is released.
  void to_arrow(ArrowArrayStream* out);
  std::string to_box(const RenderOptions& options = {});
  void write_csv(const TextSink& sink, bool header = true, char delimiter = ',', const std::string& null_text = "");
  void write_markdown(const TextSink& sink, const std::string& null_text = "");
  void write_lines(const TextSink& sink, const std::string& null_text = "");  // "name = value", a line for each
  void write_json(const TextSink& sink, bool lines = false);  // an array of objects, or one object per line

  const QueryReport& report() const;

  struct State;

 private:
  friend class Session;
  explicit QueryResult(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Notes what SQL cannot hold of these columns: instants finer than microseconds.
void note_sql_types(const Schema& schema, Notices& notices);

struct TableInfo {
  std::string name;
  std::string kind;  // "table" or "view"
  std::vector<ResultColumn> columns;
};

// What became of a query that was prepared.
struct PreparedQuery {
  std::string error;      // why it did not run; empty: it did
  double compile_ms = 0;  // of its kernels; 0 if all were there
};

class Session {
 public:
  explicit Session(const SessionOptions& options = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Runs one statement; with several in the text, all, and gives the last one's result. Errors are Error, with DuckDB's
  // sentence. The result must be destroyed before the session and before the next execute().
  QueryResult execute(const std::string& sql);
  // One statement with values for its parameters.
  QueryResult execute(const std::string& sql, const std::vector<Parameter>& parameters);

  // What Basalt's own engine would run for a query: for callers who want its rows by run_query_on_device() or a Scan.
  // Throws Error(kUnsupported) with the reason where a part of the statement is DuckDB's.
  Query lower(const std::string& sql, const std::vector<Parameter>& parameters = {});

  // Runs queries all at once and drops their rows, so that their kernels are compiled when they are executed. They see
  // the session's tables and views, except temporary ones.
  std::vector<PreparedQuery> prepare(const std::vector<std::string>& queries);

  // The statements of a text, one string each. An unfinished last statement is given back in `rest` if it is not null,
  // else it is an error when it is executed.
  std::vector<std::string> split(const std::string& text, std::string* rest = nullptr) const;

  // Whether a statement is a query that can be written to a file as a whole: SELECT, FROM, VALUES and the like.
  bool is_query(const std::string& text) const;

  // Stops the running statement: it ends with Error(kCancelled). Safe from any thread.
  void interrupt();
  // Share of the running statement that is done, 0..1; negative if unknown. From any thread.
  double progress() const;

  void set_device(Device device);
  Device device() const;

  // Of the last statement, or of the last copy_to_….
  Notices notices() const;

  std::vector<TableInfo> tables();
  std::vector<ResultColumn> describe(const std::string& query);
  // CREATE statements of all tables and views, or of one.
  std::string schema_sql(const std::string& table = "");

  // Runs the query and writes its rows, in order, to a .basalt file. Types that cannot be held are all named before
  // anything is written. `write.progress` and `write.cancel` work as for Writer.
  WriteSummary convert(const std::string& query, const std::string& path, const WriteOptions& write = {});

  // DuckDB's own writers. Files appear under their name only when they are complete.
  void copy_to_parquet(const std::string& query, const std::string& path);
  void copy_to_csv(const std::string& query, const std::string& path, char delimiter = ',', bool header = true);
  void copy_to_json(const std::string& query, const std::string& path, bool array = false);

  // Makes an Arrow stream readable under a name for the statements that follow. Takes the stream over; it can be read
  // once.
  void register_arrow(const std::string& name, ArrowArrayStream* stream);

  // Fills this session's database with the TPC-H tables (DuckDB's generator).
  void generate_tpch(double scale);
  static std::string tpch_query(int number);  // 1..22
  // The same for TPC-DS.
  void generate_tpcds(double scale);
  static std::string tpcds_query(int number);  // 1..99

  struct State;

 private:
  std::unique_ptr<State> state_;
};

// 'it''s': a string literal, and "a ""b""": an identifier.
std::string quote_literal(std::string_view text);
std::string quote_identifier(std::string_view name);

// The query that reads a file by its extension (.parquet, .csv, .tsv, .json, .ndjson, .jsonl, .basalt and their .gz,
// .zst forms), globs included: "select * from read_parquet('x.parquet')".
std::string query_for_file(const std::string& path);

}  // namespace basalt
