// `basalt convert`: anything with rows in, one .basalt file out.
#include <fmt/format.h>
#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>

#include "basalt/core/error.h"
#include "basalt/cuda/backend.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/statement.h"
#include "cli/summary.h"
#include "cli/terminal.h"
#include "core/large_memory.h"
#include "file/replaceable.h"

namespace basalt::cli {
namespace {

// Two fifths for the rows and chunks that the writer holds, three for the reader and the sort in front of it.
constexpr uint64_t kDefaultMemory = uint64_t{5} << 28;
uint64_t writer_memory(uint64_t limit) { return limit / 5 * 2; }

struct ConvertOptions {
  std::vector<std::string> inputs;
  std::string output;
  std::string query;
  std::string input_format;
  std::vector<std::string> encodings;
  std::vector<std::string> sort_by;
  bool union_by_name = false;
  CsvOptions csv;
  Effort effort = Effort::kBalanced;
  Purpose purpose = Purpose::kBalanced;
  double link_gbs = 0;  // 0: not said
  Device device = Device::kCpu;
  uint32_t threads = 0;
  uint64_t memory_limit = 0;  // 0: kDefaultMemory, and more for many threads

  uint64_t memory() const { return memory_limit == 0 ? kDefaultMemory : memory_limit; }
  uint64_t chunk_rows = kMaxChunkRows;
  bool any_name = false;
  bool append = false;
};

std::map<std::string, Tree> parse_encodings(const std::vector<std::string>& texts) {
  std::map<std::string, Tree> out;
  for (const std::string& text : texts) {
    // Trees have no '=', column names may.
    const size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0)
      throw UsageError("--encoding " + text + ": write COLUMN=TREE, for example l_tax='dict(packed)'");
    try {
      out[text.substr(0, equals)] = parse_tree(text.substr(equals + 1));
    } catch (const Error& error) {
      throw UsageError("--encoding " + text + ": " + error.what());
    }
  }
  return out;
}

// Arrays by where they were encoded.
struct EncodedWhere {
  std::atomic<uint64_t> on_device = 0;
  std::atomic<uint64_t> on_cpu = 0;
};

// Encodes on the GPU what it can; both backends write the same bytes.
Node encode_on_gpu(const Values& values, const Tree& tree, Aims aims, EncodedWhere& where) {
  GpuBackend& backend = *gpu().backend;
  const bool can = backend.why_not_encode(values.type, tree).empty();
  ++(can ? where.on_device : where.on_cpu);
  return can ? backend.encode(values, tree, aims) : encode_tree(values, tree, aims);
}

WriteOptions write_options(const ConvertOptions& options, EncodedWhere& where) {
  WriteOptions write;
  write.threads = options.threads;
  write.chunk_rows = options.chunk_rows;
  write.memory_limit = writer_memory(options.memory_limit);
  write.encodings = parse_encodings(options.encodings);
  write.sort_columns = options.sort_by;
  write.effort = options.effort;
  write.purpose = options.purpose;
  if (options.link_gbs != 0) write.link_gbs = options.link_gbs;
  write.append = options.append;
  if (options.device == Device::kCuda) {
    require_device(options.device);
    write.encoder = [aims = Aims(options.effort, options.purpose), &where](const Values& values, const Tree& tree) {
      return encode_on_gpu(values, tree, aims, where);
    };
  }
  return write;
}

// In the order of what is stored: SQL orders the values of an enum by their positions, and they become strings. The
// statement itself asks for the type, since asking beforehand would read from a pipe.
std::string sorted(const std::string& query, const std::vector<std::string>& columns) {
  if (columns.empty()) return query;
  std::string order;
  for (const std::string& name : columns) {
    const std::string column = quote_identifier(name);
    order += fmt::format("{}case when typeof({}) like 'ENUM(%' then {}::varchar end, {}", order.empty() ? "" : ", ",
                         column, column, column);
  }
  return "select * from (" + query + ") order by " + order;
}

// Pipes can be read once, and describing a statement reads what it names.
bool reads_a_pipe(const std::string& query) {
  for (const std::string& text : quoted_texts(query)) {
    struct stat status {};
    if (::stat(text.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) return true;
  }
  return false;
}

WriteSummary convert_arrow(InputSet& inputs, const ConvertOptions& options, WriteOptions write, bool quiet) {
  ProgressBar bar(options.output, quiet, inputs.bytes(), [&] { return inputs.arrow_share(); });
  CancelToken cancel;
  const InterruptGuard interrupt([&] { cancel.cancel(); });
  write.cancel = &cancel;
  write.progress = [&](const WriteProgress& progress) { bar.update(progress); };
  ArrowArrayStream stream;
  inputs.open_arrow(&stream);
  return write_arrow_stream(options.output, &stream, write);
}

WriteSummary convert_sql(InputSet* inputs, const ConvertOptions& options, WriteOptions write, uint32_t reader_threads,
                         bool quiet) {
  SessionOptions settings;
  settings.threads = reader_threads;
  settings.memory_limit = options.memory() - writer_memory(options.memory());
  settings.decoded_limit = decoded_limit_of(options.memory());
  settings.device = options.device;
  const std::filesystem::path folder = std::filesystem::path(options.output).parent_path();
  settings.temp_dir = folder.empty() ? "." : folder.string();
  Session session(settings);
  const std::string rows = inputs == nullptr ? options.query : inputs->query(session, options.union_by_name);
  if (!options.sort_by.empty() && (inputs != nullptr || !reads_a_pipe(rows)))
    write.sort_columns = spelled_as_columns(options.sort_by, session.describe(rows));
  const std::string query = sorted(rows, write.sort_columns);
  ProgressBar bar(options.output, quiet, inputs == nullptr ? 0 : inputs->bytes(), [&] { return session.progress(); });
  CancelToken cancel;
  const InterruptGuard interrupt([&] {
    cancel.cancel();
    session.interrupt();
  });
  write.cancel = &cancel;
  write.progress = [&](const WriteProgress& progress) { bar.update(progress); };
  WriteSummary summary = session.convert(query, options.output, write);
  if (options.csv.ignore_errors) {
    const Notices rejected = InputSet::rejected_rows(session);
    summary.notices.insert(summary.notices.end(), rejected.begin(), rejected.end());
  }
  if (inputs != nullptr)
    summary.notices.insert(summary.notices.begin(), inputs->notices().begin(), inputs->notices().end());
  return summary;
}

// Each thread that reads holds a row group: with a limit, no more of them than have room.
uint32_t reader_threads(const ConvertOptions& options) {
  constexpr uint64_t kPerThread = uint64_t{128} << 20;
  if (options.memory_limit == 0) return options.threads;
  const uint32_t threads = options.threads == 0 ? hardware_threads() : options.threads;
  return static_cast<uint32_t>(std::clamp<uint64_t>(options.memory_limit / kPerThread, 1, threads));
}

// Readers reserve memory per thread and column: with 10,000 columns one thread fits the limit where many do not. A pipe
// cannot be read a second time, and values that are too large by themselves (kOverLimit) stay so.
WriteSummary convert_sql(InputSet* inputs, const ConvertOptions& options, const WriteOptions& write,
                         EncodedWhere& where, bool quiet) {
  try {
    return convert_sql(inputs, options, write, reader_threads(options), quiet);
  } catch (const Error& error) {
    if (inputs != nullptr && inputs->takes_empty_texts_for_null(error)) {
      where.on_device = where.on_cpu = 0;
      return convert_sql(inputs, options, write, where, quiet);
    }
    const bool can_repeat = inputs == nullptr || inputs->can_repeat();
    if (error.code() != ErrorCode::kOutOfMemory || reader_threads(options) == 1 || !can_repeat) throw;
    where.on_device = where.on_cpu = 0;
    return convert_sql(inputs, options, write, 1, quiet);
  }
}

// With little memory to use, what is freed goes back to the system at once: kept for the next column, it would count.
void spare_memory(const ConvertOptions& options) {
  constexpr uint64_t kLittle = uint64_t{512} << 20;
  if (options.memory_limit == 0 || options.memory_limit >= kLittle) return;
  ::mallopt(M_MMAP_THRESHOLD, 256 << 10);
  ::mallopt(M_TRIM_THRESHOLD, 256 << 10);
  ::mallopt(M_ARENA_MAX, 4);
  set_most_waiting(0);
}

int run_convert(ConvertOptions options, bool quiet) {
  spare_memory(options);
  options.output = options.inputs.back();
  options.inputs.pop_back();
  if (!options.query.empty() && !options.inputs.empty()) throw UsageError("give input files or --query, not both");
  if (options.query.empty() && options.inputs.empty())
    throw UsageError("convert needs an input and an output, and " + options.output +
                     " is all there is: basalt convert IN... OUT.basalt");
  if (!options.query.empty() && options.csv.any())
    throw UsageError("options of CSV files have no meaning for --query: write them into read_csv(...)");
  if (options.output == "-")
    throw UsageError("a .basalt file cannot be written to standard output: its end points back");
  if (!options.any_name && !options.append) require_basalt_name(options.output, "--any-name");
  format_v1::check_replaceable(options.output);  // before a pipe is read that cannot be read again
  if (options.chunk_rows == 0 || options.chunk_rows > kMaxChunkRows || options.chunk_rows % kZoneRows != 0)
    throw UsageError(fmt::format("--chunk-rows must be a multiple of {} and at most {}", kZoneRows, kMaxChunkRows));
  if (options.link_gbs != 0 && options.purpose != Purpose::kTransfer)
    throw UsageError("--link says how fast data travels to a GPU, which matters with --for transfer only");
  EncodedWhere where;
  const WriteOptions write = write_options(options, where);
  const auto start = std::chrono::steady_clock::now();
  WriteSummary summary;
  if (options.query.empty()) {
    InputSet inputs(options.inputs, options.input_format, options.csv);
    if (inputs.contains(options.output)) throw UsageError(options.output + ": the output is also an input");
    summary = inputs.is_one_arrow() && options.sort_by.empty() ? convert_arrow(inputs, options, write, quiet)
                                                               : convert_sql(&inputs, options, write, where, quiet);
  } else {
    summary = convert_sql(nullptr, options, write, where, quiet);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (quiet) return kSuccess;
  print_notices(summary.notices);
  std::string text = render_summary(summary, options.output, seconds, STDOUT_FILENO);
  if (options.device == Device::kCuda) {
    text += dim(fmt::format("encoded {} arrays on {}, {} on the CPU\n", human_count(where.on_device),
                            gpu().backend->devices()[0].name, human_count(where.on_cpu)),
                STDOUT_FILENO);
  }
  print(text);
  return kSuccess;
}

}  // namespace

void add_convert(Program& program) {
  auto options = std::make_shared<ConvertOptions>();
  CLI::App* command =
      add_command(program, "convert", "Convert Parquet, CSV, JSON, Arrow or a query to a .basalt file",
                  "  basalt convert lineitem.parquet lineitem.basalt\n"
                  "  basalt convert 'logs/*.csv.gz' logs.basalt --sort-by time\n"
                  "  basalt convert list.csv list.basalt --delimiter ';' --null NA --types zip=VARCHAR\n"
                  "  zcat events.ndjson.gz | basalt convert - events.basalt\n"
                  "  basalt convert --query \"select * from 'a.parquet' where x > 0\" a.basalt\n"
                  "  basalt convert --append today.csv events    (then: select ... from 'events')\n"
                  "  basalt convert t.parquet t.basalt --encoding price='delta(packed)'\n"
                  "  basalt convert --for disk 2019.parquet archive.basalt\n"
                  "  basalt convert --for transfer lineitem.parquet lineitem.basalt\n"
                  "  basalt convert --for transfer --link 12 lineitem.parquet lineitem.basalt");
  command
      ->add_option(
          "IN... OUT", options->inputs,
          "First the inputs: Parquet, CSV, TSV, JSON, NDJSON, Arrow IPC or .basalt files, globs, or - for standard "
          "input; last the .basalt file to write")
      ->required()
      ->check(local_files());
  command->add_flag("--append", options->append,
                    "OUT is a folder: add a file to those that are there, which are one table together");
  command->add_flag("--any-name", options->any_name, "The output's name need not end in .basalt");
  command->add_option("--query", options->query, "Convert the rows of an SQL query instead of files")->type_name("SQL");
  command->add_option("--input-format", options->input_format, "Kind of the inputs, where the name does not tell")
      ->check(CLI::IsMember(input_formats()))
      ->type_name("FORMAT");
  command
      ->add_option("--delimiter", options->csv.delimiter,
                   "What separates the values of a CSV file (default: found out)")
      ->type_name("TEXT");
  command
      ->add_option("--header", options->csv.header, "Whether a CSV file's first line holds names (default: found out)")
      ->check(CLI::IsMember({"true", "false"}))
      ->type_name("true|false");
  command->add_option("--null", options->csv.nulls, "A text that stands for NULL in CSV files; repeatable")
      ->type_name("TEXT")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      ->add_option("--types", options->csv.types,
                   "Types of columns of CSV files, instead of those found out; repeatable")
      ->type_name("COL=TYPE")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_flag("--ignore-errors", options->csv.ignore_errors,
                    "Leave out rows of CSV files that cannot be read; they are counted and named");
  command
      ->add_option("--encoding", options->encodings,
                   "Force a column's encoding tree, @NAME in it being another column; repeatable")
      ->type_name("COL=TREE")
      ->take_all()
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_effort_option(command, options->effort);
  add_purpose_option(command, options->purpose);
  command
      ->add_option("--link", options->link_gbs,
                   fmt::format("With --for transfer, how fast data travels to the GPU (default {}: PCIe 5, 16 lanes)",
                               kUsualLink))
      ->check(CLI::Range(0.001, 100000.0))
      ->type_name("GB/s");
  command->add_option("--sort-by", options->sort_by, "Sort the rows by these columns, ascending")
      ->delimiter(',')
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("COL[,COL...]");
  command->add_flag("--union-by-name", options->union_by_name,
                    "Take inputs whose columns differ: what one lacks is NULL there");
  add_threads_option(command, options->threads);
  add_bytes_option(
      command, "--memory-limit", options->memory_limit,
      "Memory for reading, sorting and encoding (default 1.25GiB, and 160MiB for each thread beyond three); "
      "larger sorts spill to disk");
  command
      ->add_option_function<std::string>(
          "--device",
          [options](const std::string& name) { options->device = name == "cuda" ? Device::kCuda : Device::kCpu; },
          "Where to encode: cpu (default, also auto) or cuda; the bytes are the same")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->type_name("auto|cpu|cuda");
  command->add_option("--chunk-rows", options->chunk_rows, "Rows per chunk, a multiple of 8192 (default 1048576)")
      ->type_name("N");
  command->callback(
      [&program, options] { program.run = [&program, options] { return run_convert(*options, program.quiet); }; });
}

}  // namespace basalt::cli
