#include "sql/operator_table.h"

#include <array>
#include <string_view>

namespace basalt::sql {

namespace {

constexpr SqlOperator kOperators[] = {
    {"WHERE", "SELECT count(*) FROM t WHERE i > 5 AND s LIKE '%7'"},
    {"aggregates of all rows", "SELECT sum(q), avg(x) FROM t WHERE i > 5"},
    {"GROUP BY", "SELECT j, s, count(*) FROM t WHERE i < 50 GROUP BY j, s"},
    {"HAVING", "SELECT j, sum(i) FROM t GROUP BY j HAVING sum(i) > 10"},
    {"FILTER of aggregates", "SELECT j, sum(i) FILTER (WHERE x > 2) FROM t GROUP BY j"},
    {"DISTINCT in aggregates", "SELECT count(DISTINCT s) FROM t WHERE i > 5"},
    {"DISTINCT", "SELECT DISTINCT j, s FROM t"},
    {"rows", "SELECT i, s FROM t WHERE i > 2990"},
    {"ORDER BY", "SELECT j, count(*) FROM t GROUP BY j ORDER BY j"},
    {"ORDER BY … LIMIT", "SELECT s, x FROM t ORDER BY x DESC, s LIMIT 5"},
    {"LIMIT, OFFSET", "SELECT i FROM t LIMIT 5 OFFSET 7"},
    {"JOIN: inner, LEFT, RIGHT, FULL", "SELECT count(*) FROM t FULL JOIN u USING (i)", WhoRuns::kBasaltOrGpu},
    {"SEMI and ANTI JOIN, IN, EXISTS", "SELECT count(*) FROM t WHERE NOT EXISTS (FROM u WHERE u.i = t.i)",
     WhoRuns::kBasaltOrGpu},
    {"JOIN without equal keys, CROSS JOIN", "SELECT count(*) FROM t JOIN u ON t.i < u.j", WhoRuns::kBasaltOrGpu},
    {"subqueries, correlated or not", "SELECT count(*) FROM t WHERE x > (SELECT avg(x) FROM u WHERE u.j = t.j)",
     WhoRuns::kBasaltOrGpu},
    {"CTEs", "WITH few AS MATERIALIZED (SELECT j, count(*) AS n FROM t GROUP BY j) SELECT a.n FROM few a, few b",
     WhoRuns::kBasaltOrGpu},
    {"UNION, EXCEPT, INTERSECT", "SELECT i FROM t EXCEPT SELECT j FROM u", WhoRuns::kBasaltOrGpu},
    {"DISTINCT ON", "SELECT DISTINCT ON (j) j, i FROM t ORDER BY j, i", WhoRuns::kBasaltOrGpu},
    {"GROUPING SETS, ROLLUP, CUBE", "SELECT j, sum(i) FROM t GROUP BY ROLLUP (j)", WhoRuns::kBasaltOrGpu},
    {"window functions over ROWS and RANGE", "SELECT i, rank() OVER (PARTITION BY j ORDER BY x) FROM t",
     WhoRuns::kBasaltOrGpu},
    {"VALUES", "SELECT count(*) FROM t JOIN (VALUES (1), (5)) v(i) USING (i)", WhoRuns::kBasaltOrGpu},
    {"ASOF JOIN", "SELECT count(*) FROM t ASOF JOIN u ON t.j = u.j AND t.ts >= u.ts", WhoRuns::kDuckDb},
    {"POSITIONAL JOIN", "SELECT count(*) FROM t POSITIONAL JOIN u", WhoRuns::kDuckDb},
    {"recursive CTEs",
     "WITH RECURSIVE r AS (SELECT i FROM t WHERE i = 1 UNION SELECT r.i + 1 FROM r JOIN t ON t.i = r.i WHERE r.i < 5) "
     "SELECT count(*) FROM r",
     WhoRuns::kDuckDb},
    {"SAMPLE", "SELECT count(*) FROM t USING SAMPLE 10%", WhoRuns::kDuckDb},
    {"UNNEST", "SELECT count(*) FROM (SELECT unnest([i, j]) FROM t)", WhoRuns::kDuckDb},
};

std::array<std::string_view, 2> cells_of(WhoRuns who) {
  switch (who) {
    case WhoRuns::kBasalt: return {"yes", "yes"};
    case WhoRuns::kBasaltOrGpu: return {"`--strict`", "yes"};
    default: return {"DuckDB", "DuckDB"};
  }
}

}  // namespace

std::span<const SqlOperator> sql_operators() { return kOperators; }

std::string operator_page() {
  std::string page = "| | CPU | GPU |\n|---|---|---|\n";
  for (const SqlOperator& one : kOperators) {
    const auto [cpu, gpu] = cells_of(one.who);
    page.append("| ").append(one.words).append(" | ").append(cpu).append(" | ").append(gpu).append(" |\n");
  }
  return page;
}

}  // namespace basalt::sql
