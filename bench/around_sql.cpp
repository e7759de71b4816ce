// The time around kernels: what planning a statement costs over files and over DuckDB's own tables, and what a
// statement takes beside its kernels the first time, as a new text of the same meaning, with other literals, and as the
// same text again. Prints a line for each statement. Where there is no GPU, they run in Basalt's own code on the CPU,
// and only planning is worth reading.
//
//   around_sql_bench --tpch FOLDER [--hits FILE --queries FILE]
//
// FOLDER is made by `basalt gen tpch`, the file by `basalt gen hits`; the queries read a table `hits`.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "basalt/core/error.h"
#include "basalt/cuda/backend.h"
#include "basalt/sql/session.h"
#include "sql/statement_shape.h"

namespace basalt {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kRuns = 7;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct Statement {
  std::string name;
  std::string text;
};

// Milliseconds of the fastest of some plans.
double plan_ms(Session& session, const std::string& text) {
  double best = 1e9;
  for (int i = 0; i < kRuns; ++i) {
    const auto start = Clock::now();
    session.execute("explain " + text).explain_text();
    best = std::min(best, ms_since(start));
  }
  return best;
}

// Milliseconds that a run takes beside its kernels.
double around_ms(Session& session, const std::string& text) {
  const auto start = Clock::now();
  QueryResult result = session.execute(text);
  while (result.next() != nullptr) {
  }
  return ms_since(start) - result.report().kernel_ms;
}

std::string other_literal(const sql::ShapeLiteral& literal, int round) {
  using Kind = sql::ShapeLiteral::Kind;
  std::string text = literal.text;
  switch (literal.kind) {
    case Kind::kInteger: return std::to_string(std::stoll(text) + round);
    case Kind::kDecimal: text.back() = static_cast<char>('0' + (text.back() - '0' + round) % 10); return text;
    case Kind::kDate: text.back() = static_cast<char>('1' + round); return "date " + quote_literal(text);
    case Kind::kMoment: text.back() = static_cast<char>('1' + round); return "timestamp " + quote_literal(text);
    case Kind::kText: break;
  }
  const bool is_date = text.size() == 10 && text[4] == '-' && text[7] == '-';
  if (is_date) text.back() = static_cast<char>('1' + round);
  return quote_literal(is_date || round == 0 ? text : text + std::to_string(round));
}

// The statement with other literals where comparisons have them; the same text if there are none.
std::string with_other_literals(const std::string& text, int round) {
  const sql::StatementShape shape = sql::shape_of(text);
  if (shape.literals.empty()) return text;
  std::string out = shape.text;
  for (size_t i = shape.literals.size(); i-- > 0;) {
    const std::string parameter = "$" + std::to_string(i + 1);
    out.replace(out.find(parameter), parameter.size(), other_literal(shape.literals[i], round));
  }
  return out;
}

void add_table(Session& files, Session& native, const std::string& table, const std::string& path) {
  const std::string query = " as from " + quote_literal(path);
  files.execute("create view " + table + query);
  // A view over the table, so that both sides expand one.
  native.execute("create table own_" + table + query);
  native.execute("create view " + table + " as from own_" + table);
}

void measure(Session& files, Session& native, const Statement& statement) {
  const std::string& text = statement.text;
  const double planned = plan_ms(files, text);
  const double native_planned = plan_ms(native, text);
  const double first = around_ms(files, text);
  double again = 1e9;
  double reworded = 1e9;
  double other = 1e9;
  for (int i = 0; i < kRuns; ++i) {
    again = std::min(again, around_ms(files, text));
    reworded = std::min(reworded, around_ms(files, text + " -- " + std::to_string(i)));
    other = std::min(other, around_ms(files, with_other_literals(text, i + 1)));
  }
  const bool kept = files.execute(text).report().kept_plan;
  const std::string changed = with_other_literals(text, kRuns + 1);
  const bool shared = changed != text && files.execute(changed).report().kept_plan;
  std::printf("%-4s %8.2f %8.2f %8.2f %8.2f %8.2f %8.2f  %s%s\n", statement.name.c_str(), native_planned, planned,
              first, reworded, other, again, kept ? "kept" : "", shared ? ", for all literals" : "");
}

std::vector<Statement> read_queries(const Session& session, const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  std::vector<Statement> statements;
  for (const std::string& query : session.split(text.str())) {
    std::string body = query;
    while (!body.empty() && (body.back() == ';' || body.back() == '\n')) body.pop_back();
    statements.push_back({"H" + std::to_string(statements.size()), body});
  }
  return statements;
}

void run(std::map<std::string, std::string>& options) {
  SessionOptions session;
  session.device = gpu().backend != nullptr ? Device::kCuda : Device::kCpu;
  Session native(session);
  session.strict = gpu().backend == nullptr;
  Session files(session);
  std::vector<Statement> statements;
  if (const std::string& folder = options["--tpch"]; !folder.empty()) {
    for (const char* table : {"lineitem", "orders", "customer", "part", "partsupp", "supplier", "nation", "region"}) {
      add_table(files, native, table, folder + "/" + table + ".basalt");
    }
    for (int number = 1; number <= 22; ++number) {
      std::string text = Session::tpch_query(number);
      text.erase(std::remove(text.begin(), text.end(), ';'), text.end());
      statements.push_back({"Q" + std::to_string(number), text});
    }
  }
  if (const std::string& hits = options["--hits"]; !hits.empty()) {
    add_table(files, native, "hits", hits);
    for (Statement& statement : read_queries(files, options["--queries"])) statements.push_back(std::move(statement));
  }
  std::printf("milliseconds, on %s\n     plan of             beside kernels\n     %8s %8s %8s %8s %8s %8s\n",
              gpu().backend != nullptr ? "the GPU" : "the CPU", "tables", "files", "first", "new text", "literals",
              "again");
  for (const Statement& statement : statements) {
    try {
      measure(files, native, statement);
    } catch (const Error& error) {
      std::printf("%-4s %s\n", statement.name.c_str(), error.what());
    }
  }
}

}  // namespace
}  // namespace basalt

int main(int count, char** arguments) {
  std::map<std::string, std::string> options;
  for (int i = 1; i + 1 < count; i += 2) options[arguments[i]] = arguments[i + 1];
  try {
    basalt::run(options);
  } catch (const basalt::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return EXIT_FAILURE;
  }
}
