// The session: an embedded DuckDB with Basalt and the generators of TPC-H and TPC-DS in it, behind a face without
// DuckDB's types.
#include "basalt/sql/session.h"

#include <chrono>
#include <filesystem>
#include <future>
#include <list>
#include <mutex>
#include <thread>

#include "basalt/cuda/backend.h"
#include "basalt/sql/register.h"
#include "core/output_file.h"
#include "duckdb.hpp"
#include "duckdb/function/table/arrow.hpp"
#include "duckdb/main/client_config.hpp"
#include "duckdb/main/materialized_query_result.hpp"
#include "duckdb/main/prepared_statement.hpp"
#include "sql/found_tables.h"
#include "sql/kept_shapes.h"
#include "sql/kept_statements.h"
#include "sql/lower_statement.h"
#include "sql/prepare.h"
#include "sql/remote_files.h"
#include "sql/result.h"
#include "sql/spill.h"
#include "sql/state.h"
#include "sql/text.h"
#include "sql/types.h"
#include "tpcds_extension.hpp"
#include "tpch_extension.hpp"

namespace basalt {

struct Session::State {
  std::list<ArrowArrayStream> streams;  // what register_arrow() took over; released last
  std::unique_ptr<duckdb::DuckDB> database;
  std::shared_ptr<duckdb::Connection> connection;
  std::shared_ptr<sql::StatementLog> log;
  sql::KeptStatements kept;
  sql::KeptShapes shapes;
  Device device = Device::kAuto;

  ~State() {
    forget_plans();
    log.reset();
    connection.reset();
    database.reset();
    for (ArrowArrayStream& stream : streams) {
      if (stream.release != nullptr) stream.release(&stream);
    }
  }

  void forget_plans() {
    kept.clear();
    shapes.clear();
  }

  // Of a statement that begins now.
  std::unique_ptr<QueryResult::State> begin_result() const {
    auto result = std::make_unique<QueryResult::State>();
    result->connection = connection;
    result->log = log;
    result->start = std::chrono::steady_clock::now();
    log->clear();
    log->new_cancel_token();
    return result;
  }

  // Runs a statement of our own to its end.
  duckdb::unique_ptr<duckdb::MaterializedQueryResult> run(const std::string& text) {
    forget_plans();
    log->clear();
    log->new_cancel_token();
    auto result = connection->Query(text);
    if (result->HasError()) throw sql::to_error(result->GetErrorObject(), log.get());
    return result;
  }

  duckdb::unique_ptr<duckdb::QueryResult> finish(duckdb::unique_ptr<duckdb::PendingQueryResult> pending) {
    if (pending->HasError()) throw sql::to_error(pending->GetErrorObject(), log.get());
    auto result = pending->Execute();
    if (result->HasError()) throw sql::to_error(result->GetErrorObject(), log.get());
    return result;
  }

  duckdb::unique_ptr<duckdb::QueryResult> run_prepared(duckdb::PreparedStatement& prepared) {
    duckdb::vector<duckdb::Value> none;
    return finish(prepared.PendingQuery(none, true));
  }

  duckdb::unique_ptr<duckdb::QueryResult> run_bound(const sql::KeptShapes::Bound& bound) {
    log->set_bound(bound.query);
    auto result = run_prepared(*bound.statement);
    if (log->take_bound() != nullptr) throw Error(ErrorCode::kInternal, "a kept plan ran without its literals");
    return result;
  }

  // A query: its plan is kept where it can be.
  duckdb::unique_ptr<duckdb::QueryResult> run_query(const std::string& text, const sql::StatementShape& shape,
                                                    duckdb::unique_ptr<duckdb::SQLStatement> statement) {
    // Only of these statements somebody looks whether their files have changed, not of those that SQL itself prepares.
    log->keeps_statements = true;
    const std::shared_ptr<duckdb::PreparedStatement> prepared(connection->Prepare(std::move(statement)).release());
    log->keeps_statements = false;
    if (prepared->HasError()) throw sql::to_error(prepared->GetErrorObject(), log.get());
    kept.keep(*connection->context, text, prepared);
    shapes.note(*connection->context, shape, prepared);
    return run_prepared(*prepared);
  }

  // A statement of our own without rows that runs for long. DuckDB's own loop asks for tasks without a pause where all
  // of them are taken, which costs a core that encoding could use.
  void run_patiently(const std::string& text) {
    using duckdb::PendingExecutionResult;
    forget_plans();
    log->clear();
    log->new_cancel_token();
    auto pending = connection->PendingQuery(text, false);
    if (pending->HasError()) throw sql::to_error(pending->GetErrorObject(), log.get());
    for (;;) {
      const PendingExecutionResult state = pending->ExecuteTask();
      if (duckdb::PendingQueryResult::IsResultReady(state)) break;
      if (state == PendingExecutionResult::NO_TASKS_AVAILABLE || state == PendingExecutionResult::BLOCKED) {
        std::this_thread::sleep_for(std::chrono::microseconds(500));
      }
    }
    if (pending->HasError()) throw sql::to_error(pending->GetErrorObject(), log.get());
    const auto result = pending->Execute();
    if (result->HasError()) throw sql::to_error(result->GetErrorObject(), log.get());
  }
};

namespace {

constexpr const char* kDuckDbVersion = "v1.5.5";

// Spilled rows of a database in memory belong into the system's folder for such things, not into the user's.
std::string spill_parent(const SessionOptions& options) {
  if (!options.temp_dir.empty()) return options.temp_dir;
  if (options.database.empty()) return temporary_folder();
  return std::filesystem::path(options.database).parent_path().string();
}

}  // namespace

Session::Session(const SessionOptions& options) : state_(std::make_unique<State>()) {
  // The device's context takes longer than DuckDB's start: both are made at once.
  std::future<void> context;
  if (options.device == Device::kCuda) context = std::async(std::launch::async, [] { gpu(); });
  // Classes cross the border by their layout, so that another version would not fail but misbehave.
  const std::string version = duckdb::DuckDB::LibraryVersion();
  if (version != kDuckDbVersion) {
    throw Error(ErrorCode::kUnsupported,
                "libduckdb is version " + version + ", but Basalt was built for " + kDuckDbVersion);
  }
  sql::translated(nullptr, [&] {
    duckdb::DBConfig config;
    if (options.threads > 0) config.SetOptionByName("threads", duckdb::Value::BIGINT(options.threads));
    if (options.memory_limit > 0) {
      config.SetOptionByName("memory_limit", duckdb::Value(std::to_string(options.memory_limit) + "B"));
    }
    const std::string spill_folder = sql::spill_folder_in(spill_parent(options));
    config.SetOptionByName("temp_directory", duckdb::Value(spill_folder));
    // A statement must not make the program fetch or run other people's code.
    config.SetOptionByName("autoinstall_known_extensions", duckdb::Value::BOOLEAN(false));
    config.SetOptionByName("autoload_known_extensions", duckdb::Value::BOOLEAN(false));
    state_->database =
        std::make_unique<duckdb::DuckDB>(options.database.empty() ? nullptr : options.database.c_str(), &config);
    sql::use_spill_folder(*state_->database, spill_folder);
    register_basalt(*state_->database->instance);
    if (options.remote_files.open) sql::reach_files(*state_->database->instance, options.remote_files);
    if (options.find_table) sql::look_for_tables(*state_->database->instance, options.find_table);
    state_->database->LoadStaticExtension<duckdb::TpchExtension>();
    state_->database->LoadStaticExtension<duckdb::TpcdsExtension>();
    state_->connection = std::make_shared<duckdb::Connection>(*state_->database);
    state_->log = sql::StatementLog::of(*state_->connection->context);
    state_->log->output = options.output;
    // Progress is counted for progress(); nothing is printed.
    auto& client = duckdb::ClientConfig::GetConfig(*state_->connection->context);
    client.enable_progress_bar = true;
    client.print_progress_bar = false;
  });
  state_->run("SET basalt_threads = " + std::to_string(options.threads));
  state_->run("SET basalt_decoded_limit = " + std::to_string(options.decoded_limit));
  state_->run("SET basalt_gpu_memory = " + std::to_string(options.gpu_memory));
  state_->run(std::string("SET basalt_lowering = ") + (options.lowering ? "true" : "false"));
  state_->run(std::string("SET basalt_strict = ") + (options.strict ? "true" : "false"));
  if (options.device == Device::kCuda && gpu().backend == nullptr) {
    throw Error(ErrorCode::kDevice, "CUDA is not available: " + gpu().reason);
  }
  set_device(options.device);
}

Session::~Session() = default;

namespace {

// What a statement that only tells a number did to so many rows.
const char* done_to_rows(duckdb::StatementType type) {
  switch (type) {
    case duckdb::StatementType::INSERT_STATEMENT: return "inserted";
    case duckdb::StatementType::UPDATE_STATEMENT: return "updated";
    case duckdb::StatementType::DELETE_STATEMENT: return "deleted";
    case duckdb::StatementType::COPY_STATEMENT: return "copied";
    case duckdb::StatementType::CREATE_STATEMENT: return "created";
    default: return "changed";
  }
}

void describe_result(QueryResult::State& inner) {
  const duckdb::QueryResult& result = *inner.result;
  for (size_t i = 0; i < result.names.size(); ++i) {
    inner.columns.push_back({result.names[i], result.types[i].ToString()});
  }
  inner.has_rows = result.properties.return_type == duckdb::StatementReturnType::QUERY_RESULT;
  inner.is_explain = result.statement_type == duckdb::StatementType::EXPLAIN_STATEMENT;
  // Of CREATE TABLE AS, DuckDB gives the number of rows but does not say so.
  const bool creates = result.statement_type == duckdb::StatementType::CREATE_STATEMENT && result.names.size() == 1;
  if (creates || result.properties.return_type == duckdb::StatementReturnType::CHANGED_ROWS) {
    auto& told = inner.materialize();
    inner.counts->rows = 0;
    if (told.RowCount() == 1 && !told.GetValue(0, 0).IsNull()) {
      inner.done_to_rows = done_to_rows(told.statement_type);
      inner.counts->rows = told.GetValue(0, 0).GetValue<uint64_t>();
    }
  }
}

}  // namespace

QueryResult Session::execute(const std::string& text) {
  State& state = *state_;
  auto inner = state.begin_result();
  sql::translated(state.log.get(), [&] {
    if (const auto statement = state.kept.find(*state.connection->context, text)) {
      inner->result = state.run_prepared(*statement);
      inner->kept_plan = true;
      return;
    }
    const sql::StatementShape shape = sql::shape_of(text);
    if (const auto bound = state.shapes.find(*state.connection, shape)) {
      inner->result = state.run_bound(*bound);
      inner->kept_plan = true;
      return;
    }
    if (const auto bound = state.shapes.begin(*state.connection, shape)) {
      inner->result = state.run_bound(*bound);
      return;
    }
    auto statements = state.connection->ExtractStatements(text);
    if (statements.empty()) throw Error(ErrorCode::kInvalidArgument, "there is no statement to run");
    const bool single = statements.size() == 1;
    for (size_t i = 0; i < statements.size(); ++i) {
      const bool last = i + 1 == statements.size();
      const bool query = statements[i]->type == duckdb::StatementType::SELECT_STATEMENT;
      state.log->clear();
      if (!query) state.forget_plans();
      auto result = single && query ? state.run_query(text, shape, std::move(statements[i]))
                                    : state.finish(state.connection->PendingQuery(std::move(statements[i]), last));
      if (last) inner->result = std::move(result);
    }
  });
  describe_result(*inner);
  return QueryResult(std::move(inner));
}

namespace {

duckdb::case_insensitive_map_t<duckdb::BoundParameterData> bound_values(duckdb::ClientContext& context,
                                                                        const std::vector<Parameter>& parameters) {
  duckdb::case_insensitive_map_t<duckdb::BoundParameterData> values;
  if (parameters.empty()) return values;
  context.RunFunctionInTransaction([&] {
    for (const Parameter& parameter : parameters) {
      const duckdb::LogicalType type = duckdb::TransformStringToLogicalType(parameter.type, context);
      const duckdb::Value given = parameter.text ? duckdb::Value(*parameter.text) : duckdb::Value();
      values.emplace(parameter.name, duckdb::BoundParameterData(given.CastAs(context, type, true)));
    }
  });
  return values;
}

}  // namespace

QueryResult Session::execute(const std::string& text, const std::vector<Parameter>& parameters) {
  if (parameters.empty()) return execute(text);
  State& state = *state_;
  auto inner = state.begin_result();
  sql::translated(state.log.get(), [&] {
    auto values = bound_values(*state.connection->context, parameters);
    auto statements = state.connection->ExtractStatements(text);
    if (statements.size() != 1) throw Error(ErrorCode::kInvalidArgument, "parameters are values of one statement");
    if (statements[0]->type != duckdb::StatementType::SELECT_STATEMENT) state.forget_plans();
    // Planned once, with the values in place: filters that know them prune, and all of it can run in Basalt.
    inner->result = state.finish(state.connection->PendingQuery(std::move(statements[0]), values, true));
  });
  describe_result(*inner);
  return QueryResult(std::move(inner));
}

Query Session::lower(const std::string& text, const std::vector<Parameter>& parameters) {
  State& state = *state_;
  state.log->clear();
  return sql::translated(state.log.get(), [&] {
    duckdb::ClientContext& context = *state.connection->context;
    return sql::lower_statement(context, text, bound_values(context, parameters));
  });
}

std::vector<PreparedQuery> Session::prepare(const std::vector<std::string>& queries) {
  return sql::translated(state_->log.get(), [&] { return sql::prepare_queries(*state_->connection, queries); });
}

std::vector<std::string> Session::split(const std::string& text, std::string* rest) const {
  return sql::split_statements(text, rest);
}

bool Session::is_query(const std::string& text) const {
  try {
    const auto copy = "COPY (" + sql::strip_semicolons(text) + "\n) TO 'x'";
    return state_->connection->ExtractStatements(copy).size() == 1;
  } catch (const std::exception&) {  // whoever runs the statement says what is wrong with it, if anything is
    return false;
  }
}

void Session::interrupt() {
  state_->log->cancel_token()->cancel();
  state_->connection->Interrupt();
}

double Session::progress() const {
  const double percent = state_->connection->GetQueryProgress();
  return percent < 0 ? percent : percent / 100;
}

void Session::set_device(Device device) {
  state_->run(std::string("SET basalt_device = '") + sql::to_string(device) + "'");
  state_->device = device;
}

Device Session::device() const { return state_->device; }

std::vector<TableInfo> Session::tables() {
  auto rows = state_->run(
      "select t.table_name, case when t.table_type like '%VIEW%' then 'view' else 'table' end, c.column_name, "
      "c.data_type from information_schema.tables t join information_schema.columns c using (table_catalog, "
      "table_schema, table_name) order by t.table_schema, t.table_name, c.ordinal_position");
  std::vector<TableInfo> tables;
  for (duckdb::idx_t row = 0; row < rows->RowCount(); ++row) {
    const std::string name = rows->GetValue(0, row).ToString();
    if (tables.empty() || tables.back().name != name) tables.push_back({name, rows->GetValue(1, row).ToString(), {}});
    tables.back().columns.push_back({rows->GetValue(2, row).ToString(), rows->GetValue(3, row).ToString()});
  }
  return tables;
}

std::vector<ResultColumn> Session::describe(const std::string& query) {
  return sql::translated(state_->log.get(), [&] {
    state_->log->clear();
    auto prepared = state_->connection->Prepare(query);
    if (prepared->HasError()) throw sql::to_error(prepared->GetErrorObject(), state_->log.get());
    std::vector<ResultColumn> columns;
    for (size_t i = 0; i < prepared->GetNames().size(); ++i) {
      columns.push_back({prepared->GetNames()[i], prepared->GetTypes()[i].ToString()});
    }
    return columns;
  });
}

Notices Session::notices() const { return state_->log->snapshot().notices; }

std::string Session::schema_sql(const std::string& table) {
  const std::string which = table.empty() ? "" : " and name = " + quote_literal(table);
  auto rows = state_->run(
      "select sql from (select table_name as name, sql, internal from duckdb_tables() union all "
      "select view_name, sql, internal from duckdb_views()) where not internal" +
      which + " order by name");
  std::string text;
  for (duckdb::idx_t row = 0; row < rows->RowCount(); ++row) text += rows->GetValue(0, row).ToString() + "\n";
  return text;
}

WriteSummary Session::convert(const std::string& query, const std::string& path, const WriteOptions& write) {
  const auto options = std::make_shared<const WriteOptions>(write);
  state_->log->write_options = options;
  struct Reset {
    sql::StatementLog& log;
    ~Reset() { log.write_options.reset(); }
  } reset{*state_->log};
  state_->run_patiently("COPY (" + sql::strip_semicolons(query) + "\n) TO " + quote_literal(path) +
                        " (FORMAT basalt, USE_TMP_FILE false)");
  return std::move(state_->log->write_summary);
}

namespace {

// DuckDB writes to the file under construction. Pipes and devices are written directly.
void copy_to(const std::string& path, const std::function<void(const std::string&)>& write) {
  OutputFile file(path, {.may_be_device = true});
  write(file.path_to_open());
  file.commit();
}

// DuckDB compresses by the name of a file, which ours does not have yet.
std::string compression_of(const std::string& path) {
  const std::string name = duckdb::StringUtil::Lower(path);
  return name.ends_with(".gz") ? "gzip" : name.ends_with(".zst") ? "zstd" : "none";
}

}  // namespace

void Session::copy_to_parquet(const std::string& query, const std::string& path) {
  Notices notices;
  sql::translated(state_->log.get(), [&] {
    auto prepared = state_->connection->Prepare(sql::strip_semicolons(query));
    if (prepared->HasError()) throw sql::to_error(prepared->GetErrorObject(), state_->log.get());
    for (size_t i = 0; i < prepared->GetNames().size(); ++i)
      sql::note_parquet_type(prepared->GetTypes()[i], prepared->GetNames()[i], notices);
  });
  copy_to(path, [&](const std::string& target) {
    state_->run("COPY (" + sql::strip_semicolons(query) + "\n) TO " + quote_literal(target) +
                " (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)");
  });
  state_->log->add_notices(notices);
}

void Session::copy_to_csv(const std::string& query, const std::string& path, char delimiter, bool header) {
  copy_to(path, [&](const std::string& target) {
    state_->run("COPY (" + sql::strip_semicolons(query) + "\n) TO " + quote_literal(target) +
                " (FORMAT csv, USE_TMP_FILE false, COMPRESSION " + compression_of(path) + ", DELIMITER " +
                quote_literal(std::string(1, delimiter)) + ", HEADER " + (header ? "true" : "false") + ")");
  });
}

void Session::copy_to_json(const std::string& query, const std::string& path, bool array) {
  copy_to(path, [&](const std::string& target) {
    state_->run("COPY (" + sql::strip_semicolons(query) + "\n) TO " + quote_literal(target) +
                " (FORMAT json, USE_TMP_FILE false, COMPRESSION " + compression_of(path) + ", ARRAY " +
                (array ? "true" : "false") + ")");
  });
}

namespace {

void keep_stream(ArrowArrayStream* stream) { stream->release = nullptr; }

// The session owns the stream; DuckDB gets a copy whose release does nothing.
duckdb::unique_ptr<duckdb::ArrowArrayStreamWrapper> lend_stream(uintptr_t address, duckdb::ArrowStreamParameters&) {
  auto lent = duckdb::make_uniq<duckdb::ArrowArrayStreamWrapper>();
  lent->arrow_array_stream = *reinterpret_cast<ArrowArrayStream*>(address);
  lent->arrow_array_stream.release = keep_stream;
  return lent;
}

void lent_schema(ArrowArrayStream* stream, ArrowSchema& schema) {
  if (stream->get_schema(stream, &schema) == 0) return;
  const char* reason = stream->get_last_error(stream);
  throw Error(ErrorCode::kIo,
              std::string("the Arrow stream has no schema: ") + (reason != nullptr ? reason : "unknown"));
}

}  // namespace

void Session::register_arrow(const std::string& name, ArrowArrayStream* stream) {
  state_->forget_plans();
  ArrowArrayStream& owned = state_->streams.emplace_back(*stream);
  stream->release = nullptr;
  const auto pointer = [](auto* address) { return duckdb::Value::POINTER(reinterpret_cast<uintptr_t>(address)); };
  sql::translated(state_->log.get(), [&] {
    state_->connection->TableFunction("arrow_scan", {pointer(&owned), pointer(&lend_stream), pointer(&lent_schema)})
        ->CreateView(name, true, true);
  });
}

void Session::generate_tpch(double scale) { state_->run("CALL dbgen(sf = " + std::to_string(scale) + ")"); }

void Session::generate_tpcds(double scale) {
  // Below, the generator looks for ever for rows that do not exist; above, its integers overflow.
  if (!(scale >= 0.01 && scale <= 777)) {
    throw Error(ErrorCode::kInvalidArgument, "TPC-DS has scales from 0.01 to 777, not " + std::to_string(scale));
  }
  // The generator keeps its state in global variables.
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  state_->run("CALL dsdgen(sf = " + std::to_string(scale) + ")");
}

namespace {

void check_query_number(const std::string& benchmark, int number, int queries) {
  if (number >= 1 && number <= queries) return;
  throw Error(ErrorCode::kInvalidArgument,
              benchmark + " has queries 1 to " + std::to_string(queries) + ", not " + std::to_string(number));
}

}  // namespace

std::string Session::tpch_query(int number) {
  check_query_number("TPC-H", number, 22);
  return duckdb::TpchExtension::GetQuery(number);
}

std::string Session::tpcds_query(int number) {
  check_query_number("TPC-DS", number, 99);
  return duckdb::TpcdsExtension::GetQuery(number);
}

}  // namespace basalt
