// `basalt bench`: how fast this machine decodes and filters packed columns, beside the ceiling measured in the same
// run: memcpy for decoding to memory, the memory read rate for filters that write nothing. Whole columns under every
// codec: bench/columns.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "basalt/codec/codec.h"
#include "basalt/core/error.h"
#include "basalt/core/threads.h"
#include "basalt/cuda/backend.h"
#include "basalt/file/writer.h"
#include "cli/bench.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "core/output_file.h"
#include "core/private_folder.h"
#include "gen/random.h"

namespace basalt::cli {
namespace {

struct BenchOptions {
  std::string what = "all";
  uint64_t bytes = 256 << 20;
  bool all_widths = false;
  Device device = Device::kAuto;
  uint32_t threads = 1;
  int rounds = 3;
};

std::vector<uint32_t> widths_up_to(uint32_t bits, bool all) {
  static const std::vector<uint32_t> few = {1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 28, 31, 32, 40, 48, 56, 64};
  std::vector<uint32_t> out;
  if (all)
    for (uint32_t width = 1; width <= bits; ++width) out.push_back(width);
  else
    std::copy_if(few.begin(), few.end(), std::back_inserter(out), [&](uint32_t width) { return width <= bits; });
  return out;
}

// One chunk of numbers that need exactly `width` bits in every tile.
template <typename T>
std::vector<T> random_chunk(uint32_t width, uint64_t chunk) {
  const T mask = width >= 8 * sizeof(T) ? static_cast<T>(~T{0}) : static_cast<T>((uint64_t{1} << width) - 1);
  const gen::Stream random(width * 1000 + chunk);
  std::vector<T> values(kMaxChunkRows);
  for (uint64_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(random.bits(i)) & mask;
  for (uint64_t tile = 0; tile < values.size(); tile += kTileRows) {
    values[tile] = 0;
    values[tile + 1] = mask;
  }
  return values;
}

class BenchTable {
 public:
  BenchTable()
      : table_({{"benchmark", kLeft},
                {"type", kLeft},
                {"width", kRight},
                {"moved", kRight},
                {"time", kRight},
                {"GB/s", kRight},
                {"values/s", kRight},
                {"of ceiling", kRight},
                {"ceiling", kLeft}}) {}
  void add(const std::string& name, const std::string& type, uint32_t width, uint64_t bytes, uint64_t values,
           double seconds, double ceiling_gbs, const std::string& ceiling) {
    const double speed = static_cast<double>(bytes) / seconds / 1e9;
    table_.add({name, type, std::to_string(width), human_bytes(bytes), human_seconds(seconds),
                fmt::format("{:.2f}", speed), human_rate(static_cast<double>(values) / seconds),
                fmt::format("{:.0f} %", 100 * speed / ceiling_gbs),
                fmt::format("{} {:.1f} GB/s", ceiling, ceiling_gbs)});
  }
  std::string render() const { return table_.render(STDOUT_FILENO); }

 private:
  static constexpr TextTable::Align kLeft = TextTable::Align::kLeft, kRight = TextTable::Align::kRight;
  TextTable table_;
};

template <typename T>
void bench_decode(const BenchOptions& options, Physical type, const char* type_name, double ceiling, ThreadPool& pool,
                  BenchTable& table) {
  const uint64_t chunks = std::max<uint64_t>(1, options.bytes / (kMaxChunkRows * sizeof(T)));
  const Tree tree = bind_tree(Tree{"packed", {}}, type);
  Buffer out(chunks * kMaxChunkRows * sizeof(T));
  std::memset(out.data(), 0, out.size());
  for (const uint32_t width : widths_up_to(8 * sizeof(T), options.all_widths)) {
    std::vector<Node> nodes(chunks);
    uint64_t encoded = 0;
    pool.parallel_for(chunks, [&](uint64_t i) {
      const std::vector<T> numbers = random_chunk<T>(width, i);
      Values values;
      values.type = type;
      values.count = numbers.size();
      values.data = numbers.data();
      nodes[i] = encode_tree(values, tree);
    });
    for (const Node& node : nodes) encoded += node.encoded_bytes();
    const double seconds = best_of(options.rounds, [&] {
      pool.parallel_for(chunks, [&](uint64_t i) {
        const auto reader = open_reader(view_of(nodes[i]));
        T* target = out.as<T>() + i * kMaxChunkRows;
        for (uint32_t tile = 0; tile < kMaxChunkRows / kTileRows; ++tile)
          reader->decode_tile(tile, target + tile * kTileRows);
      });
    });
    table.add("packed decode", type_name, width, encoded + out.size(), chunks * kMaxChunkRows, seconds, ceiling,
              "memcpy");
  }
}

// A file with one packed column, gone when the benchmark ends.
class FilterFile {
 public:
  FilterFile(uint32_t width, uint64_t chunks)
      : folder_(PrivateFolder::unused_name(temporary_folder(), "basalt-bench")), path_(folder_.path() + "/c.basalt") {
    Table rows;
    Field field;
    field.name = "c";
    field.type = DataType{TypeKind::kUInt32};
    field.nullable = false;
    rows.schema.fields = {field};
    number_fields(rows.schema);
    WriteOptions options;
    options.encodings["c"] = Tree{"packed", {}};
    Writer writer(path_, rows.schema, options);
    for (uint64_t chunk = 0; chunk < chunks; ++chunk) {
      const std::vector<uint32_t> numbers = random_chunk<uint32_t>(width, chunk);
      rows.rows = numbers.size();
      rows.columns = {};
      rows.columns.push_back(make_column(field));
      rows.columns[0].length = numbers.size();
      rows.columns[0].values.append(numbers.data(), numbers.size() * sizeof(uint32_t));
      writer.append(rows);
    }
    writer.finish();
  }

  // select count(*) where c < 2^width / 3, without help from statistics
  Pipeline pipeline(uint32_t width) const {
    Pipeline out;
    out.files = {File::open(path_)};
    out.columns = {{0, "c", DataType{TypeKind::kUInt32}}};
    Expr column;
    column.op = ExprOp::kColumn;
    column.type = Physical::kU32;
    Expr literal;
    literal.op = ExprOp::kLiteral;
    literal.type = Physical::kU32;
    literal.literal = Value::of_integer(Physical::kU32, (int128_t{1} << width) / 3);
    out.has_filter = true;
    out.filter.op = ExprOp::kLess;
    out.filter.type = Physical::kU8;
    out.filter.args = {column, literal};
    out.aggregates.resize(1);
    return out;
  }

 private:
  PrivateFolder folder_;
  std::string path_;
};

void bench_filter(const BenchOptions& options, bool on_gpu, double ceiling, BenchTable& table) {
  const uint64_t chunks = std::max<uint64_t>(1, options.bytes / (kMaxChunkRows * sizeof(uint32_t)));
  for (const uint32_t width : widths_up_to(31, options.all_widths)) {
    const FilterFile file(width, chunks);
    const Pipeline pipeline = file.pipeline(width);
    RunOptions run;
    run.device = on_gpu ? Device::kCuda : Device::kCpu;
    run.threads = options.threads;
    run.prune = false;
    double seconds = 1e300;
    RunReport report;
    for (int round = 0; round <= options.rounds; ++round) {  // the first compiles and transfers
      const auto start = Clock::now();
      report = RunReport();
      run_pipeline(pipeline, run, &report);
      seconds = std::min(seconds, on_gpu ? report.kernel_ms / 1e3 : seconds_since(start));
    }
    const uint64_t bytes =
        report.encoded_bytes_read > 0 ? report.encoded_bytes_read : chunks * kMaxChunkRows * width / 8;
    table.add(on_gpu ? "filter, GPU kernel" : "filter, CPU", "u32", width, bytes, chunks * kMaxChunkRows, seconds,
              ceiling, on_gpu ? "device read" : "memcpy");
  }
}

int run_bench(const BenchOptions& options) {
  require_device(options.device);
  const bool all = options.what == "all";
  const bool cpu = options.device != Device::kCuda;
  const bool on_gpu = options.device != Device::kCpu && gpu().backend != nullptr;
  ThreadPool pool(options.threads);
  BenchTable table;
  print(dim(fmt::format("{} thread{}, arrays of {}, best of {}\n", options.threads, options.threads == 1 ? "" : "s",
                        human_bytes(options.bytes), options.rounds),
            STDOUT_FILENO));
  if (cpu) {
    const double ceiling = memcpy_ceiling(options.bytes, pool, options.rounds);
    if (all || options.what == "decode") {
      bench_decode<uint32_t>(options, Physical::kU32, "u32", ceiling, pool, table);
      bench_decode<uint64_t>(options, Physical::kU64, "u64", ceiling, pool, table);
    }
    if (all || options.what == "filter") bench_filter(options, false, ceiling, table);
  }
  if (on_gpu && (all || options.what == "filter"))
    bench_filter(options, true, gpu().backend->measure_bandwidth().read_gbs, table);
  print(table.render());
  if (!on_gpu && options.device != Device::kCpu) print("GPU: not measured; " + gpu().reason + "\n");
  return kSuccess;
}

}  // namespace

void add_bench(Program& program) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = add_command(program, "bench", "Measure decoding and filtering on this machine against its memory",
                                  "  basalt bench\n"
                                  "  basalt bench decode --all-widths --threads 4\n"
                                  "  basalt bench filter --device cuda --size 4GiB\n"
                                  "  basalt bench zipflow --scale 0.1");
  command->add_option("WHAT", options->what, "all (default), decode, or filter")
      ->check(CLI::IsMember({"all", "decode", "filter"}));
  add_bytes_option(command, "--size", options->bytes, "Plain bytes per array (default 256MiB)");
  command->add_flag("--all-widths", options->all_widths, "Every bit width instead of a selection");
  command->add_option("--rounds", options->rounds, "Repetitions; the best counts (default 3)")
      ->check(CLI::Range(1, 1000))
      ->type_name("N");
  add_device_option(command, options->device);
  add_threads_option(command, options->threads, "1");
  add_bench_zipflow(program, command);
  command->callback([&program, command, options] {
    if (command->get_subcommands().empty()) program.run = [options] { return run_bench(*options); };
  });
}

}  // namespace basalt::cli
