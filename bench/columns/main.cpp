// The program `columns`: whole columns under our codecs, beside the published rules, zstd and lz4, on the CPU. Learned
// integers: l3.cpp; floats: galp.cpp; text: strings.cpp. Figures are kept under docs/results.
#include <cstdio>
#include <exception>
#include <fstream>

#include "basalt/core/error.h"
#include "bench/columns/columns.h"
#include "cli/command.h"

namespace basalt::bench {
namespace {

CLI::App* add_part(CLI::App& app, const char* name, const char* description, Options& options,
                   void (*run)(const Options&), uint64_t default_bytes) {
  CLI::App* part = app.add_subcommand(name, description);
  cli::add_bytes_option(part, "--size", options.bytes, "Plain bytes per array");
  part->add_option("--rounds", options.rounds, "Repetitions; the best counts (default 3)")
      ->check(CLI::Range(1, 1000))
      ->type_name("N");
  part->add_option("--json", options.json, "Also write the figures to this file")->type_name("FILE");
  part->callback([&options, run, default_bytes] {
    if (options.bytes == 0) options.bytes = default_bytes;
    run(options);
  });
  return part;
}

void add_rows(CLI::App* part, Options& options, const char* description) {
  part->add_option("--rows", options.rows, description)->check(CLI::PositiveNumber)->type_name("N");
}

void add_files(CLI::App* part, Options& options, const char* description) {
  part->add_option("--files", options.files, description)->delimiter(',')->check(CLI::ExistingPath);
}

void add_parts(CLI::App& app, Options& options) {
  app.require_subcommand(1);
  CLI::App* l3 = add_part(app, "l3", "The integer columns of `basalt gen l3`", options, run_l3, 256 << 20);
  add_rows(l3, options, "Rows per set, where it has as many (default 2000000)");
  l3->add_option("--sets", options.sets, "Comma-separated (default: all 20)")->delimiter(',');
  cli::add_threads_option(l3, options.threads);

  CLI::App* galp = add_part(app, "galp", "Columns of doubles", options, run_galp, 256 << 20);
  add_rows(galp, options, "Values that speeds are measured on (default 2000000)");
  add_files(galp, options, "Comma-separated: .csv with a number per line, or raw (default: columns made by a rule)");
  galp->add_option("--tree", options.tree, "Measure this tree instead of the chosen one")->type_name("TREE");

  CLI::App* strings = add_part(app, "strings", "Columns of text", options, run_strings, 32 << 20);
  add_files(strings, options, "Comma-separated: text, a string per line, or folders of it (default: made by a rule)");
  strings->add_flag("--sweep", options.sweep, "How samples, rounds, ranges and limits of symbol tables matter");
  cli::add_threads_option(strings, options.threads);
}

}  // namespace

void write_json(const Options& options, const std::string& text) {
  if (options.json.empty()) return;
  std::ofstream file(options.json, std::ios::trunc);
  file << text;
  if (!file.flush()) throw Error(ErrorCode::kIo, options.json + ": cannot be written");
}

}  // namespace basalt::bench

int main(int argc, char** argv) {
  CLI::App app{"Sizes and speeds of whole columns under Basalt's codecs and others, on the CPU."};
  basalt::bench::Options options;
  basalt::bench::add_parts(app, options);
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "columns: %s\n", error.what());
    return 1;
  }
}
