#include "sql/prepare.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "basalt/core/threads.h"
#include "sql/state.h"

namespace basalt::sql {

namespace {

// Settings that decide which kernels a query needs and where it runs.
constexpr const char* kCopiedSettings[] = {"basalt_device",     "basalt_threads",  "basalt_decoded_limit",
                                           "basalt_gpu_memory", "basalt_lowering", "basalt_strict",
                                           "basalt_pruning"};

void copy_settings(duckdb::ClientContext& from, duckdb::Connection& to) {
  for (const char* name : kCopiedSettings) {
    duckdb::Value value;
    if (!from.TryGetCurrentSetting(name, value)) continue;
    to.Query(std::string("SET ") + name + " = " + value.ToSQLString());
  }
}

// Basalt's operator runs before the first rows leave.
PreparedQuery prepare_query(duckdb::Connection& connection, const std::string& query) {
  const auto log = StatementLog::of(*connection.context);
  log->clear();
  PreparedQuery prepared;
  try {
    auto result = connection.SendQuery(query);
    if (!result->HasError()) result->Fetch();
    if (result->HasError()) prepared.error = to_error(result->GetErrorObject(), log.get()).what();
  } catch (const std::exception& error) {
    prepared.error = to_error(duckdb::ErrorData(error), log.get()).what();
  }
  for (const RunReport& run : log->snapshot().runs) prepared.compile_ms += run.compile_ms;
  return prepared;
}

}  // namespace

std::vector<PreparedQuery> prepare_queries(duckdb::Connection& like, const std::vector<std::string>& queries) {
  std::vector<PreparedQuery> prepared(queries.size());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    duckdb::Connection connection(*like.context->db);
    copy_settings(*like.context, connection);
    for (size_t i = next++; i < queries.size(); i = next++) prepared[i] = prepare_query(connection, queries[i]);
  };
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < std::min<size_t>(queries.size(), hardware_threads()); ++i) threads.emplace_back(work);
  threads.clear();  // waits for them
  return prepared;
}

}  // namespace basalt::sql
