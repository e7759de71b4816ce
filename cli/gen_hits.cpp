// `basalt gen hits`: page views in the shape of a table that the caller defines in SQL. DuckDB reads the definition,
// the rows are ours.
#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "basalt/core/error.h"
#include "cli/gen.h"
#include "gen/hits.h"

namespace basalt::cli {
namespace {

struct HitsOptions {
  GenOptions common;
  std::string schema, output;
  uint64_t rows = 1'000'000, seed = 1;
};

std::string definition_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ErrorCode::kIo, path + ": cannot open");
  return {std::istreambuf_iterator<char>(file), {}};
}

// The columns of the only table, NOT NULL included.
Schema columns_of_table(Session& session, Notices& notices) {
  const std::vector<TableInfo> tables = session.tables();
  if (tables.size() != 1 || tables[0].kind != "table")
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("one CREATE TABLE statement is wanted, here are {}", tables.size()));
  Schema schema;
  {
    QueryResult result = session.execute("select * from " + quote_identifier(tables[0].name));
    ArrowArrayStream stream;
    result.to_arrow(&stream);
    const std::shared_ptr<void> stream_releaser(nullptr, [&](void*) { stream.release(&stream); });
    ArrowSchema arrow;
    if (stream.get_schema(&stream, &arrow) != 0) throw Error(ErrorCode::kInternal, stream.get_last_error(&stream));
    const std::shared_ptr<void> schema_releaser(nullptr, [&](void*) { arrow.release(&arrow); });
    schema = import_schema(arrow, &notices);
  }
  QueryResult result = session.execute(
      "select is_nullable = 'YES' from information_schema.columns where table_name = " + quote_literal(tables[0].name) +
      " order by ordinal_position");
  size_t column = 0;
  while (const std::unique_ptr<Table> rows = result.next()) {
    for (uint64_t i = 0; i < rows->rows && column < schema.fields.size(); ++i)
      schema.fields[column++].nullable = rows->columns[0].values.as<uint8_t>()[i] != 0;
  }
  return schema;
}

// The definition runs in a database of its own that cannot reach files.
HitsGenerator generator_of(const HitsOptions& options, Notices& notices) {
  const std::string text = definition_in(options.schema);
  SessionOptions settings;
  settings.device = Device::kCpu;
  settings.threads = 1;
  Session session(settings);
  session.execute("set enable_external_access = false");
  try {
    for (const std::string& statement : session.split(text)) session.execute(statement);
    return HitsGenerator(columns_of_table(session, notices), options.rows, options.seed);
  } catch (const Error& error) {
    throw error.within(options.schema);
  }
}

WrittenTable write_hits(const HitsGenerator& generator, const GenOptions& options, const std::string& path,
                        bool quiet) {
  std::atomic<uint64_t> made{0};
  ArrowArrayStream stream;
  const auto make = [&](uint64_t begin, uint64_t end) { return generator.generate(begin, end); };
  stream_rows(generator.schema(), generator.rows(), make, options.threads, &made, &stream);
  if (options.format == "basalt") {
    const auto share = [&] { return static_cast<double>(made) / static_cast<double>(generator.rows()); };
    return write_stream(&stream, {}, options, path, share, quiet);
  }
  Session session(session_options(options));
  session.register_arrow("generated", &stream);
  return write_table(session, {"hits", "select * from generated", {}}, options, path, quiet);
}

int run_hits(HitsOptions options, bool quiet) {
  std::string& format = options.common.format;
  if (format.empty()) {
    format = options.output.ends_with(".parquet") ? "parquet" : "basalt";
    if (format == "basalt" && !options.output.empty() && !options.output.ends_with(".basalt")) {
      throw UsageError(options.output +
                       ": the name does not tell the format; end it in .basalt or .parquet, or add --format");
    }
  }
  if (options.output.empty()) options.output = "hits." + format;
  Notices notices;
  const HitsGenerator generator = generator_of(options, notices);
  if (!quiet) print_notices(notices);
  GenReport report;
  report.time(options.output, [&] { return write_hits(generator, options.common, options.output, quiet); });
  report.finish(quiet);
  return kSuccess;
}

}  // namespace

void add_gen_hits(Program& program, CLI::App* parent) {
  auto options = std::make_shared<HitsOptions>();
  options->common.format.clear();
  CLI::App* command = parent->add_subcommand("hits", "Page views of web sites, in the shape of a table you define");
  command->footer(
      "What a column holds follows from its type and the words of its name: URL, Referer, Title, SearchPhrase, "
      "UserID,\n"
      "ClientIP, EventTime, IsRefresh, ResolutionWidth ...; others are mostly 0 or empty.\n"
      "\n"
      "Examples:\n"
      "  basalt gen hits --schema create.sql\n"
      "  basalt gen hits --schema create.sql --rows 20000000 -o hits.basalt\n"
      "  basalt gen hits --schema create.sql --rows 100000 -o hits.parquet --seed 2");
  command->add_flag("-q,--quiet", program.quiet, "No progress bar and no summary");
  command->add_option("--schema", options->schema, "A file with one CREATE TABLE statement, as DuckDB reads it")
      ->required()
      ->type_name("FILE");
  command->add_option("--rows", options->rows, "Rows (default 1,000,000)")
      ->check(CLI::Range(uint64_t{1}, uint64_t{10'000'000'000}))
      ->type_name("N");
  command->add_option("-o,--output", options->output, "The file to write (default: hits.basalt)")->type_name("FILE");
  command->add_option("--format", options->common.format, "basalt or parquet (default: by the file's name)")
      ->check(CLI::IsMember({"basalt", "parquet"}))
      ->type_name("basalt|parquet");
  command->add_option("--seed", options->seed, "Other rows of the same kind (default 1)")->type_name("N");
  add_effort_option(command, options->common.effort);
  add_purpose_option(command, options->common.purpose);
  add_threads_option(command, options->common.threads);
  command->callback(
      [&program, options] { program.run = [&program, options] { return run_hits(*options, program.quiet); }; });
}

}  // namespace basalt::cli
