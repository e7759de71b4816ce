// Plans go by what files prove, never by names: the same rows in a file of another name, under other names of columns,
// give the same stages and the same kernels.
#include <gtest/gtest.h>

#include <map>

#include "basalt/query/tree.h"
#include "basalt/sql/register.h"
#include "duckdb.hpp"
#include "duckdb/optimizer/optimizer_extension.hpp"
#include "exec/device/generate/generate.h"
#include "sql/lower.h"
#include "sql/support.h"

namespace basalt::testing {
namespace {

using Names = std::map<std::string, std::string>;  // what statements call {day}, and so on

const std::vector<Names> kNames = {
    {{"t", "a"}, {"key", "k"}, {"day", "d"}, {"text", "s"}, {"word", "w"}, {"price", "p"}, {"id", "i"}},
    {{"t", "hits"},
     {"key", "RegionID"},
     {"day", "EventDate"},
     {"text", "URL"},
     {"word", "SearchPhrase"},
     {"price", "ResolutionWidth"},
     {"id", "UserID"}},
    {{"t", "lineitem"},
     {"key", "l_orderkey"},
     {"day", "l_shipdate"},
     {"text", "l_comment"},
     {"word", "l_returnflag"},
     {"price", "l_extendedprice"},
     {"id", "l_suppkey"}},
};

constexpr const char* kTable =
    "SELECT i % 7 AS {key}, DATE '2013-07-01' + (i % 31)::INT AS {day}, 'http://example.com/' || i % 997 AS {text}, "
    "['', 'N', 'A', 'R'][1 + i % 4] AS {word}, (i % 500)::DECIMAL(12,2) AS {price}, i * 977 % 3001 AS {id} "
    "FROM range(20000) r(i)";

const std::vector<const char*> kStatements = {
    "SELECT count(*), sum({price}), avg({id}) FROM {t} WHERE {day} >= DATE '2013-07-05' AND {key} <> 0",
    "SELECT {word}, {key}, sum({price}), avg({price}), count(*) FROM {t} WHERE {day} <= DATE '2013-07-20' "
    "GROUP BY {word}, {key} ORDER BY {word}, {key}",
    "SELECT {word}, count(DISTINCT {id}) AS u FROM {t} WHERE {word} <> '' GROUP BY {word} ORDER BY u DESC LIMIT 10",
    "SELECT regexp_replace({text}, '^https?://(?:www\\.)?([^/]+)/.*$', '\\1') AS host, avg(length({text})), "
    "min({text}) "
    "FROM {t} WHERE {text} <> '' GROUP BY host HAVING count(*) > 10 ORDER BY 2 DESC LIMIT 25",
    "SELECT {text}, {day} FROM {t} WHERE {text} LIKE '%99%' ORDER BY {day}, {text} LIMIT 10",
    "SELECT {id}, {text}, count(*) FROM {t} GROUP BY {id}, {text} ORDER BY count(*) DESC, {id}, {text} LIMIT 10",
    "SELECT {id} FROM {t} WHERE {id} = 435",
    "SELECT sum({key}), sum({key} + 1), sum({key} + 2) FROM {t}",
};

std::string with_names(std::string text, const Names& names) {
  for (const auto& [word, name] : names) {
    const std::string place = "{" + word + "}";
    for (size_t at; (at = text.find(place)) != std::string::npos;) text.replace(at, place.size(), name);
  }
  return text;
}

// Where the plans of a database end up, lowered.
struct LoweredPlans : duckdb::OptimizerExtensionInfo {
  std::vector<Query> queries;
};

// The statements over a file with these names: their stages and the kernels of their first ones, without the names.
std::vector<std::string> plans_of(const Names& names) {
  const ScratchFolder folder;
  const std::string path = folder.file(names.at("t") + ".basalt");
  Session(session_options(Device::kCpu)).convert(with_names(kTable, names), path);
  duckdb::DuckDB database(nullptr);
  register_basalt(*database.instance);
  duckdb::Connection connection(database);
  connection.Query("SET basalt_lowering = false");
  const auto plans = duckdb::make_shared_ptr<LoweredPlans>();
  duckdb::OptimizerExtension extension;
  extension.optimizer_info = plans;
  extension.optimize_function = [](duckdb::OptimizerExtensionInput& input,
                                   duckdb::unique_ptr<duckdb::LogicalOperator>& plan) {
    auto& found = static_cast<LoweredPlans&>(*input.info);
    found.queries.push_back(sql::lower_query(input.context, *plan)->query);
  };
  duckdb::OptimizerExtension::Register(duckdb::DBConfig::GetConfig(*database.instance), std::move(extension));
  Names in_statements = names;
  in_statements["t"] = "'" + path + "'";
  std::vector<std::string> out;
  for (const char* statement : kStatements) {
    plans->queries.clear();
    connection.ExtractPlan(with_names(statement, in_statements));
    std::string text;
    for (Query& query : plans->queries) {
      for (Pipeline& stage : query.stages) {
        for (size_t i = 0; i < stage.columns.size(); ++i) stage.columns[i].name = "c" + std::to_string(i);
        for (size_t i = 0; i < stage.output.size(); ++i) stage.output[i].name = "o" + std::to_string(i);
      }
      text += to_string(query);
      const device::DevicePipeline first = device::plan_stage(device::to_device(query.stages.front()));
      text += first.reason + (first.plan != nullptr ? first.plan->source : "");
    }
    out.push_back(std::move(text));
  }
  return out;
}

TEST(Renamed, ColumnsAndFilesGiveTheSamePlans) {
  const std::vector<std::string> plain = plans_of(kNames.front());
  for (size_t i = 1; i < kNames.size(); ++i) {
    const std::vector<std::string> renamed = plans_of(kNames[i]);
    for (size_t j = 0; j < plain.size(); ++j) {
      EXPECT_NE(plain[j].find("__global__"), std::string::npos) << kStatements[j] << "\n" << plain[j];
      EXPECT_EQ(renamed[j], plain[j]) << kStatements[j] << " over " << kNames[i].at("t");
    }
  }
}

}  // namespace
}  // namespace basalt::testing
