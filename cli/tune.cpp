// `basalt tune`: how generated decoders are launched on this GPU, found by few measurements and kept for later runs. By
// itself it takes columns that are made for the trees it knows; with files, what their columns are encoded as.
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <map>

#include "basalt/core/error.h"
#include "basalt/core/threads.h"
#include "basalt/cuda/backend.h"
#include "basalt/file/reader.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "cuda/runtime/kernel_cache.h"
#include "gen/zipflow.h"

namespace basalt::cli {
namespace {

constexpr uint64_t kTunedRows = 16 * kMaxChunkRows;
constexpr uint64_t kMostChunks = 64;  // of a file's column

struct TuneOptions {
  std::vector<std::string> files;
  bool brute_force = false;
  uint32_t threads = hardware_threads();
};

// Encoded arrays of one tree, and what they were read from.
struct ToTune {
  std::string tree;
  std::vector<NodeView> arrays;
};

// Columns that suit the trees.
enum class Made { kRuns, kSteps, kPrices };
struct KnownTree {
  const char* tree;
  Made made;
  Physical type;
};
constexpr KnownTree kKnown[] = {
    {"delta(rle(packed, packed))", Made::kSteps, Physical::kI64},
    {"delta(rle(packed, delta(packed)))", Made::kSteps, Physical::kI64},
    {"delta(dict(packed, packed))", Made::kSteps, Physical::kI64},
    {"rle(delta(packed), packed)", Made::kRuns, Physical::kI64},
    {"rle(l3, l3)", Made::kRuns, Physical::kI64},
    {"dict(rle(packed, packed), packed)", Made::kRuns, Physical::kI64},
    {"galp(delta(packed))", Made::kPrices, Physical::kF64},
    {"galp(l3)", Made::kPrices, Physical::kF64},
    {"rle(galp(packed), delta(packed))", Made::kPrices, Physical::kF64},
};

std::vector<int64_t> made_numbers(Made made) {
  std::vector<int64_t> rows = gen::rows_of_runs(gen::zipflow_run_lengths()[8], kTunedRows);
  for (int64_t& value : rows) value %= 4096;  // as many as a dictionary likes
  if (made == Made::kSteps) {
    int64_t sum = 0;
    for (int64_t& value : rows) value = sum += value % 7;
  }
  return rows;
}

// Keeps what it has made: the arrays view it.
class MadeArrays {
 public:
  MadeArrays(const KnownTree& known, uint32_t threads) : nodes_(kTunedRows / kMaxChunkRows) {
    const std::vector<int64_t> numbers = made_numbers(known.made);
    std::vector<double> prices;
    if (known.type == Physical::kF64) {
      for (const int64_t number : numbers) prices.push_back(static_cast<double>(number) / 100);
    }
    const Tree tree = bind_tree(parse_tree(known.tree), known.type);
    ThreadPool pool(threads);
    pool.parallel_for(nodes_.size(), [&](uint64_t i) {
      Values values;
      values.type = known.type;
      values.count = kMaxChunkRows;
      values.data = prices.empty() ? static_cast<const void*>(numbers.data() + i * kMaxChunkRows)
                                   : static_cast<const void*>(prices.data() + i * kMaxChunkRows);
      nodes_[i] = encode_tree(values, tree);
    });
  }
  ToTune to_tune() const {
    ToTune out;
    for (const Node& node : nodes_) out.arrays.push_back(view_of(node));
    out.tree = to_string(tree_of(out.arrays[0]));
    return out;
  }

 private:
  std::vector<Node> nodes_;
};

class TuneTable {
 public:
  explicit TuneTable(bool brute_force) : brute_force_(brute_force), table_(columns(brute_force)) {}

  void add(const std::string& tree, const TunedDecoder& tuned) {
    std::vector<std::string> cells = {tree,
                                      text_of(tuned.before),
                                      human_seconds(tuned.before_seconds),
                                      text_of(tuned.found),
                                      human_seconds(tuned.found_seconds),
                                      fmt::format("{:.2f}", tuned.before_seconds / tuned.found_seconds),
                                      std::to_string(tuned.probes)};
    if (brute_force_) {
      cells.push_back(text_of(tuned.fastest));
      cells.push_back(human_seconds(tuned.fastest_seconds));
      cells.push_back(fmt::format("{:.1f} %", 100 * (tuned.found_seconds / tuned.fastest_seconds - 1)));
      cells.push_back(std::to_string(tuned.all_probes));
    }
    table_.add(std::move(cells));
  }
  std::string render() const { return table_.render(STDOUT_FILENO); }

 private:
  using Columns = std::vector<std::pair<std::string, TextTable::Align>>;
  static constexpr auto kLeft = TextTable::Align::kLeft, kRight = TextTable::Align::kRight;
  static Columns columns(bool brute_force) {
    Columns out = {{"tree", kLeft},  {"untuned", kRight}, {"time", kRight},  {"found", kRight},
                   {"time", kRight}, {"gain", kRight},    {"probes", kRight}};
    if (brute_force) out.insert(out.end(), {{"fastest", kRight}, {"time", kRight}, {"above", kRight}, {"of", kRight}});
    return out;
  }
  static std::string text_of(const LaunchShape& shape) { return fmt::format("{} x {}", shape.warps, shape.tiles); }

  bool brute_force_;
  TextTable table_;
};

class Tuner {
 public:
  explicit Tuner(const TuneOptions& options, bool quiet)
      : options_(options), quiet_(quiet), table_(options.brute_force) {}

  void tune(const ToTune& what, double share) {
    const ProgressBar bar(fmt::format("tuning {}", what.tree), quiet_, 0, [share] { return share; });
    try {
      table_.add(what.tree, gpu().backend->tune_decoder(what.arrays, options_.brute_force));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnsupported) throw;
      skipped_ += fmt::format("not tuned: {}; {}\n", what.tree, error.what());
    }
  }
  std::string report() const { return table_.render() + skipped_; }

 private:
  const TuneOptions& options_;
  bool quiet_;
  TuneTable table_;
  std::string skipped_;
};

// Values of a column's chunks, by their tree; NULL flags are decoded with them and not tuned by themselves.
void tune_file(const std::string& path, Tuner& tuner) {
  const auto file = File::open(path);
  const size_t fields = file->fields().size();
  for (uint32_t field = 0; field < fields; ++field) {
    const auto chunks = static_cast<uint32_t>(std::min<uint64_t>(file->column(field).chunks.size(), kMostChunks));
    std::vector<EncodedChunk> encoded = file->read_chunks(field, 0, chunks);
    std::map<std::string, ToTune> by_tree;
    for (const EncodedChunk& chunk : encoded) {
      const NodeView* values = &chunk.root;
      if (values->codec == nullptr) continue;
      if (values->codec->holds_nulls()) values = &values->children.back();
      if (width_of(values->type) == 0) continue;
      const std::string tree = to_string(tree_of(*values));
      by_tree[tree].tree = tree;
      by_tree[tree].arrays.push_back(*values);
    }
    for (const auto& [tree, what] : by_tree) tuner.tune(what, static_cast<double>(field) / static_cast<double>(fields));
  }
}

int run_tune(const TuneOptions& options, bool quiet) {
  require_device(Device::kCuda);
  Tuner tuner(options, quiet);
  for (const std::string& path : options.files) tune_file(path, tuner);
  if (options.files.empty()) {
    for (size_t i = 0; i < std::size(kKnown); ++i) {
      const MadeArrays made(kKnown[i], options.threads);
      tuner.tune(made.to_tune(), static_cast<double>(i) / std::size(kKnown));
    }
  }
  const std::string unused = cuda::why_not_cache_kernels();
  print(dim(fmt::format("{}; shapes are warps of a block x tiles of a warp\n", gpu().backend->devices().at(0).name),
            STDOUT_FILENO));
  print(tuner.report());
  print(unused.empty() ? "kept in " + cuda::kernel_cache_folder() + "\n" : "not kept: " + printable(unused) + "\n");
  return kSuccess;
}

}  // namespace

void add_tune(Program& program) {
  auto options = std::make_shared<TuneOptions>();
  CLI::App* command = add_command(program, "tune", "Find how generated decoders are launched best on this GPU",
                                  "  basalt tune\n"
                                  "  basalt tune --brute-force\n"
                                  "  basalt tune orders.basalt lineitem.basalt");
  command->add_option("FILES", options->files, ".basalt files whose columns count; without, columns are made")
      ->check(local_files());
  command->add_flag("--brute-force", options->brute_force, "Also try all shapes, and show the fastest beside");
  add_threads_option(command, options->threads);
  command->callback(
      [&program, options] { program.run = [&program, options] { return run_tune(*options, program.quiet); }; });
}

}  // namespace basalt::cli
