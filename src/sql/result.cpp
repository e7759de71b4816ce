// Fetching a statement's rows as tables or as an Arrow stream, and its report.
#include "sql/result.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>

#include "basalt/core/arrow_status.h"
#include "duckdb/common/arrow/result_arrow_wrapper.hpp"
#include "duckdb/main/materialized_query_result.hpp"
#include "duckdb/main/stream_query_result.hpp"
#include "sql/types.h"

namespace basalt {

using std::chrono::steady_clock;

namespace {

// Rows of one table that next() gives, and of one Arrow batch.
constexpr uint64_t kBatchRows = 64 << 10;

double milliseconds_since(steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(steady_clock::now() - start).count();
}

// DuckDB's Arrow stream with our count and our errors around it. Of codes Arrow has those that end a statement from
// outside: the rest are sentences.
struct CountingStream {
  ArrowArrayStream inner{};
  std::shared_ptr<QueryResult::State::Counts> counts;
  std::shared_ptr<duckdb::Connection> connection;  // outlives the rows
  std::shared_ptr<sql::StatementLog> log;
  steady_clock::time_point start;
  std::string failure;

  ~CountingStream() {
    if (inner.release != nullptr) inner.release(&inner);
  }
};

int stream_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  auto& inner = static_cast<CountingStream*>(stream->private_data)->inner;
  return inner.get_schema(&inner, out);
}

int stream_next(ArrowArrayStream* stream, ArrowArray* out) {
  auto& self = *static_cast<CountingStream*>(stream->private_data);
  if (self.inner.get_next(&self.inner, out) != 0) {
    const auto& wrapper = *static_cast<duckdb::ResultArrowArrayStreamWrapper*>(self.inner.private_data);
    const Error error = sql::to_error(wrapper.last_error, self.log.get());
    self.failure = error.what();
    return arrow_status(error.code());
  }
  if (out->release != nullptr) {
    self.counts->rows += static_cast<uint64_t>(out->length);
  } else if (!self.counts->done) {
    self.counts->done = true;
    self.counts->total_ms = milliseconds_since(self.start);
  }
  return 0;
}

const char* stream_error(ArrowArrayStream* stream) {
  auto& self = *static_cast<CountingStream*>(stream->private_data);
  return self.failure.empty() ? self.inner.get_last_error(&self.inner) : self.failure.c_str();
}

void stream_release(ArrowArrayStream* stream) {
  delete static_cast<CountingStream*>(stream->private_data);
  stream->release = nullptr;
  stream->private_data = nullptr;
}

}  // namespace

void QueryResult::State::require_unfetched() const {
  if (!result) throw Error(ErrorCode::kInvalidArgument, "the rows of this result were taken over by a stream");
}

void QueryResult::State::finish(uint64_t rows) {
  counts->rows += rows;
  if (counts->done) return;
  counts->done = true;
  counts->total_ms = milliseconds_since(start);
}

duckdb::unique_ptr<duckdb::DataChunk> QueryResult::State::fetch() {
  require_unfetched();
  if (counts->done) return nullptr;
  duckdb::unique_ptr<duckdb::DataChunk> chunk;
  duckdb::ErrorData error;
  if (!result->TryFetch(chunk, error)) throw sql::to_error(error, log.get());
  if (!chunk || chunk->size() == 0) {
    finish(0);
    return nullptr;
  }
  counts->rows += chunk->size();
  return chunk;
}

duckdb::MaterializedQueryResult& QueryResult::State::materialize() {
  require_unfetched();
  if (result->type == duckdb::QueryResultType::STREAM_RESULT) {
    result = result->Cast<duckdb::StreamQueryResult>().Materialize();
  }
  if (result->HasError()) throw sql::to_error(result->GetErrorObject(), log.get());
  auto& rows = result->Cast<duckdb::MaterializedQueryResult>();
  if (!counts->done) finish(rows.RowCount());
  return rows;
}

QueryResult::QueryResult(std::unique_ptr<State> state) : state_(std::move(state)) {}
QueryResult::QueryResult(QueryResult&&) noexcept = default;
QueryResult& QueryResult::operator=(QueryResult&&) noexcept = default;
QueryResult::~QueryResult() = default;

const std::vector<ResultColumn>& QueryResult::columns() const { return state_->columns; }

bool QueryResult::has_rows() const { return state_->has_rows; }

std::string QueryResult::explain_text() {
  if (!state_->is_explain) return {};
  std::string text;
  auto& rows = state_->materialize();
  for (duckdb::idx_t row = 0; row < rows.RowCount(); ++row) {
    text += rows.GetValue(rows.ColumnCount() - 1, row).ToString();
    if (!text.empty() && text.back() != '\n') text += '\n';
  }
  return text;
}

std::unique_ptr<Table> QueryResult::next() {
  return sql::translated(state_->log.get(), [&] { return state_->next(); });
}

std::unique_ptr<Table> QueryResult::State::next() {
  require_unfetched();
  if (!schema) {
    duckdb::vector<duckdb::LogicalType> stored;
    for (const auto& type : result->types) stored.push_back(sql::stored_type(type));
    schema = std::make_unique<Schema>(sql::to_schema(result->names, stored));
  }
  sql::TableBuilder builder(*schema, result->types);
  while (builder.rows() < kBatchRows) {
    auto chunk = fetch();
    if (!chunk) break;
    builder.append(*chunk);
  }
  if (builder.rows() == 0) return nullptr;
  auto table = std::make_unique<Table>(builder.take());
  for (Column& column : table->columns) make_canonical(column);
  return table;
}

void QueryResult::to_arrow(ArrowArrayStream* out) {
  state_->require_unfetched();
  auto stream = std::make_unique<CountingStream>();
  stream->counts = state_->counts;
  stream->connection = state_->connection;
  stream->log = state_->log;
  stream->start = state_->start;
  // The wrapper deletes itself when its stream is released.
  auto wrapper = std::make_unique<duckdb::ResultArrowArrayStreamWrapper>(std::move(state_->result), kBatchRows);
  stream->inner = wrapper.release()->stream;
  out->get_schema = stream_schema;
  out->get_next = stream_next;
  out->get_last_error = stream_error;
  out->release = stream_release;
  out->private_data = stream.release();
}

const QueryReport& QueryResult::report() const {
  const State& state = *state_;
  QueryReport& report = state_->report;
  report = {};
  const sql::StatementLog::Snapshot log = state.log->snapshot();
  report.rows = state.counts->rows;
  report.done_to_rows = state.done_to_rows;
  report.total_ms = state.counts->done ? state.counts->total_ms : milliseconds_since(state.start);
  report.used_basalt = log.used_basalt;
  report.kept_plan = state.kept_plan;
  report.in_basalt = log.in_basalt;
  report.in_duckdb = log.in_duckdb;
  if (!log.why_duckdb.empty()) {
    const std::string reasons = fmt::format("{}", fmt::join(log.why_duckdb, "; "));
    if (report.in_duckdb.empty()) {
      report.in_duckdb.push_back(reasons);
    } else {
      report.in_duckdb.back() += " (" + reasons + ")";
    }
  }
  report.notes = log.notes;
  report.why_cpu = log.why_cpu;
  report.notices = log.notices;
  report.tiles = log.scans.tiles;
  for (const RunReport& run : log.runs) {
    if (run.ran_on == Device::kCuda || report.device_name.empty()) {
      report.ran_on = run.ran_on;
      report.device_name = run.device_name;
    }
    report.tiles += run.tiles;
    report.bytes_transferred += run.bytes_transferred;
    report.compile_ms += run.compile_ms;
    report.transfer_ms += run.transfer_ms;
    report.kernel_ms += run.kernel_ms;
    if (run.kernel_source.empty()) continue;
    if (!report.kernel_source.empty()) report.kernel_source += "\n\n";
    report.kernel_source += run.kernel_source;
  }
  return report;
}

namespace {

std::string milliseconds(double value) {
  char text[64];
  if (value < 1000) {
    std::snprintf(text, sizeof(text), "%.*f ms", value < 10 ? 2 : 1, value);
  } else {
    std::snprintf(text, sizeof(text), "%.2f s", value / 1000);
  }
  return text;
}

}  // namespace

std::string QueryReport::summary() const {
  std::string text = std::to_string(rows) + (rows == 1 ? " row " : " rows ");
  if (!done_to_rows.empty()) text += done_to_rows + " ";
  text += "in " + milliseconds(total_ms);
  if (!in_basalt.empty()) {
    text += " · ran in Basalt on " + (ran_on == Device::kCuda ? device_name : "the CPU");
    if (ran_on == Device::kCpu && !device_name.empty() && device_name != "CPU") text += " (" + device_name + ")";
    if (ran_on == Device::kCpu && !why_cpu.empty()) text += ": " + why_cpu;
    if (ran_on == Device::kCuda) {
      text += " (kernel " + milliseconds(kernel_ms);
      if (compile_ms > 0) text += ", compiled in " + milliseconds(compile_ms);
      if (bytes_transferred > 0) text += ", transfer " + milliseconds(transfer_ms);
      text += ")";
    }
  }
  if (tiles.skipped > 0) {
    text += " · " + std::to_string(tiles.total - tiles.skipped) + " of " + std::to_string(tiles.total) + " tiles read";
  }
  if (!in_duckdb.empty()) {
    text += fmt::format(" · in DuckDB on the CPU: {}", fmt::join(in_duckdb, ", "));
  } else if (!used_basalt) {
    text += " · in DuckDB on the CPU";
  }
  for (const std::string& note : notes) text += " · " + note;
  return text;
}

}  // namespace basalt
