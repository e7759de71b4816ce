// `basalt bench zipflow`: the tables of ZipFlow's evaluation on this machine. 24 columns of TPC-H under the plans that
// the paper's authors chose by hand and under the trees that our choosers take; runs of 14 kinds of length; bytes of 16
// entropies; what decoding in one kernel saves against decoding children to memory first, and what tuned launches do;
// encoding; and queries from end to end.
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <fstream>

#include "basalt/core/error.h"
#include "basalt/encoding/chooser.h"
#include "basalt/file/reader.h"
#include "cli/bench.h"
#include "cli/bench_zipflow.h"
#include "cli/command.h"
#include "cli/gen.h"
#include "cli/progress.h"
#include "core/output_file.h"
#include "gen/tpch/rows.h"
#include "gen/zipflow.h"

namespace basalt::cli {
namespace {

constexpr const char* kTables[] = {"lineitem", "orders", "partsupp"};

struct ZipflowOptions {
  double scale = 1;
  std::string folder;
  std::string json;
  std::string section = "all";
  uint64_t bytes = 128 << 20;
  int rounds = 3;
  Device device = Device::kAuto;
  uint32_t threads = hardware_threads();
};

using ZipflowColumns = std::vector<gen::ZipflowColumn>;

// Made rows, each column by one thread at a time.
void make_columns(double scale, ThreadPool& pool, ZipflowColumns& columns) {
  for (const char* name : kTables) {
    const TpchRows maker(scale);
    const auto make = [&](uint64_t begin, uint64_t end) { return maker.make(name, begin, end); };
    const NextRows next = rows_in_rounds(maker.units(name), make, pool.size(), nullptr);
    while (const std::unique_ptr<Table> rows = next()) {
      pool.parallel_for(columns.size(), [&](uint64_t c) {
        for (size_t i = 0; i < rows->columns.size(); ++i) {
          if (rows->schema.fields[i].name == columns[c].plan().column) columns[c].append(rows->columns[i]);
        }
      });
    }
  }
}

void read_columns(const std::string& folder, ThreadPool& pool, ZipflowColumns& columns) {
  for (const char* name : kTables) {
    const auto file = File::open(fmt::format("{}/{}.basalt", folder, name));
    pool.parallel_for(columns.size(), [&](uint64_t c) {
      if (std::string_view(columns[c].plan().table) != name) return;
      const uint32_t field = file->find_column(columns[c].plan().column);
      for (uint32_t chunk = 0; chunk < file->chunks().size(); ++chunk) {
        columns[c].append(file->decode_column(field, chunk));
      }
    });
  }
}

ZipflowColumns load_columns(const ZipflowOptions& options, bool quiet) {
  ZipflowColumns columns(gen::zipflow_plans().begin(), gen::zipflow_plans().end());
  const ProgressBar bar("reading columns", quiet, 0, {});
  ThreadPool pool(options.threads);
  if (options.folder.empty()) {
    make_columns(options.scale, pool, columns);
  } else {
    read_columns(options.folder, pool, columns);
  }
  pool.parallel_for(columns.size(), [&](uint64_t c) { columns[c].finish(); });
  return columns;
}

std::vector<Values> chunks_of(const gen::ZipflowColumn& column) {
  std::vector<Values> out;
  for (uint64_t begin = 0; begin < column.rows(); begin += kMaxChunkRows) {
    out.push_back(column.values(begin, std::min(column.rows(), begin + kMaxChunkRows)));
  }
  return out;
}

template <typename T>
std::vector<Values> chunks_of(const std::vector<T>& rows, Physical type) {
  std::vector<Values> out;
  for (uint64_t begin = 0; begin < rows.size(); begin += kMaxChunkRows) {
    Values values;
    values.type = type;
    values.count = std::min<uint64_t>(kMaxChunkRows, rows.size() - begin);
    values.data = rows.data() + begin;
    out.push_back(values);
  }
  return out;
}

// As a file's writer chooses them.
ChunkTrees chosen_trees(const std::vector<Values>& chunks, Purpose purpose) {
  const Physical type = chunks.at(0).type;
  ChunkTrees out{{}, bind_tree(universal_tree(type), type)};
  ShapeChooser chooser(type, Effort::kBalanced, purpose);
  for (const Values& values : chunks) out.trees.push_back(chooser.choose(values));
  return out;
}

ChunkTrees published_trees(const gen::ZipflowPlan& plan, const std::vector<Values>& chunks) {
  const auto bound = [&](const char* text) { return bind_tree(parse_tree(text), chunks.at(0).type); };
  ChunkTrees out = ChunkTrees::all(bound(plan.tree), chunks.size());
  if (plan.instead != nullptr) out.instead = bound(plan.instead);
  return out;
}

constexpr auto kLeft = TextTable::Align::kLeft;
constexpr auto kRight = TextTable::Align::kRight;

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }
std::string gigabytes(uint64_t bytes, double seconds) {
  return fmt::format("{:.2f}", static_cast<double>(bytes) / seconds / 1e9);
}

// Sizes under the ways to choose a tree, then speeds; "of plan" counts the bytes of all columns.
class ColumnTables {
 public:
  ColumnTables(ZipflowBench& bench, const ZipflowFiles& files) : bench_(bench), files_(files) {}

  void add(const gen::ZipflowColumn& column) {
    const std::vector<Values> chunks = chunks_of(column);
    if (chunks.empty()) return;
    const gen::ZipflowPlan& plan = column.plan();
    const std::string fields = fmt::format("\"column\":{},\"published\":{},\"rows\":{}", escape_json(plan.column),
                                           escape_json(plan.published), column.rows());
    const auto show = [&](const char* way, const Measured& measured) {
      bench_.keep("columns", fmt::format("{},\"trees_of\":\"{}\"", fields, way), measured);
      const double bits = 8.0 * static_cast<double>(measured.encoded) / static_cast<double>(column.rows());
      sizes_.add({plan.column, way, measured.trees, human_bytes(measured.encoded), fmt::format("{:.3f}", bits),
                  human_ratio(measured.plain, measured.encoded)});
      speeds_.add({plan.column, way, gigabytes(measured.plain, measured.decode_seconds),
                   percent(bench_.share_of_memcpy(measured)), bench_.gpu_rate(measured), bench_.gpu_share(measured),
                   bench_.gpu_kernels(measured)});
      return measured.encoded;
    };
    const auto measure = [&](const ChunkTrees& trees) { return bench_.measure(chunks, trees, column.plain_bytes()); };
    plain_ += column.plain_bytes();
    of_plans_ += show("plan", measure(published_trees(plan, chunks)));
    of_chosen_ += show("chosen", measure(chosen_trees(chunks, Purpose::kBalanced)));
    for_disk_ += show("for disk", measure(chosen_trees(chunks, Purpose::kDisk)));
    in_files_ += show("file for disk", measure_stored(column));
    add_peer(column, fields);
  }

  std::string render() {
    sizes_.add_rule();
    const auto sum = [&](const char* way, uint64_t bytes) {
      sizes_.add({"all", way, percent(static_cast<double>(bytes) / static_cast<double>(of_plans_)) + " of the plans'",
                  human_bytes(bytes), "", human_ratio(plain_, bytes)});
    };
    sum("plan", of_plans_);
    sum("chosen", of_chosen_);
    sum("for disk", for_disk_);
    sum("file for disk", in_files_);
    return sizes_.render(STDOUT_FILENO) + "\n" + speeds_.render(STDOUT_FILENO);
  }

 private:
  Measured measure_stored(const gen::ZipflowColumn& column) {
    const ZipflowFiles::StoredColumn stored = files_.read(column.plan());
    std::vector<NodeView> views;
    for (const EncodedChunk& chunk : stored.chunks) views.push_back(chunk.root);
    Measured measured = bench_.measure_decoding(views, column.plain_bytes());
    measured.trees = stored.trees;
    measured.encoded = stored.bytes;
    return measured;
  }

  void add_peer(const gen::ZipflowColumn& column, const std::string& fields) {
    const auto peer = bench_.fastest_peer(column.values(0, column.rows()));
    if (!peer) return;
    const char* name = column.plan().column;
    bench_.keep("columns", fields, *peer);
    const double bits = 8.0 * static_cast<double>(peer->encoded_bytes) / static_cast<double>(column.rows());
    sizes_.add({name, "nvCOMP", peer->codec + ", pieces of " + human_bytes(peer->piece_bytes),
                human_bytes(peer->encoded_bytes), fmt::format("{:.3f}", bits),
                human_ratio(column.plain_bytes(), peer->encoded_bytes)});
    speeds_.add({name, "nvCOMP", "-", "-", bench_.gpu_rate(column.plain_bytes(), peer->decode_seconds),
                 bench_.gpu_share(column.plain_bytes() + peer->encoded_bytes, peer->decode_seconds), "-"});
  }

  ZipflowBench& bench_;
  const ZipflowFiles& files_;
  uint64_t plain_ = 0, of_plans_ = 0, of_chosen_ = 0, for_disk_ = 0, in_files_ = 0;
  TextTable sizes_{{{"column", kLeft},
                    {"trees", kLeft},
                    {"tree", kLeft},
                    {"bytes", kRight},
                    {"bits/row", kRight},
                    {"ratio", kRight}}};
  TextTable speeds_{{{"column", kLeft},
                     {"trees", kLeft},
                     {"CPU GB/s", kRight},
                     {"of memcpy", kRight},
                     {"GPU GB/s", kRight},
                     {"of copy", kRight},
                     {"kernels", kRight}}};
};

std::string bench_columns(ZipflowBench& bench, const ZipflowColumns& columns, uint32_t threads, bool quiet) {
  const ProgressBar bar("measuring columns", quiet, 0, {});
  const ZipflowFiles files(columns, threads);
  ColumnTables tables(bench, files);
  for (const gen::ZipflowColumn& column : columns) tables.add(column);
  return tables.render();
}

// Encoding with trees that are known, and how long finding these takes.
std::string bench_encoding(ZipflowBench& bench, const ZipflowColumns& columns) {
  TextTable table({{"column", kLeft},
                   {"chosen tree", kLeft},
                   {"choosing GB/s", kRight},
                   {"CPU GB/s", kRight},
                   {"GPU GB/s with copies", kRight}});
  for (const gen::ZipflowColumn& column : columns) {
    const std::vector<Values> chunks = chunks_of(column);
    if (chunks.empty()) continue;
    ChunkTrees trees;
    const double choosing = best_of(1, [&] { trees = chosen_trees(chunks, Purpose::kBalanced); });
    const EncodeTiming timing = bench.time_encoding(chunks, trees);
    const std::string tree = to_string(trees.trees[0]);
    std::string fields = fmt::format(
        "\"column\":{},\"tree\":{},\"plain_bytes\":{},\"choosing_seconds\":{:.9f},\"cpu_encode_seconds\":{:.9f}",
        escape_json(column.plan().column), escape_json(tree), column.plain_bytes(), choosing, timing.cpu_seconds);
    if (timing.gpu_seconds) fields += fmt::format(",\"gpu_encode_seconds\":{:.9f}", *timing.gpu_seconds);
    bench.keep("encoding", fields);
    table.add({column.plan().column, tree, gigabytes(column.plain_bytes(), choosing),
               gigabytes(column.plain_bytes(), timing.cpu_seconds),
               timing.gpu_seconds ? gigabytes(column.plain_bytes(), *timing.gpu_seconds) : "-"});
  }
  return table.render(STDOUT_FILENO);
}

// Decoders of the plans that are generated, launched as they are without tuning and as `basalt tune` finds.
std::string bench_tuning(ZipflowBench& bench, const ZipflowColumns& columns) {
  if (bench.gpu() == nullptr) return "tuning: not measured without a GPU\n";
  TextTable table({{"column", kLeft},
                   {"plan", kLeft},
                   {"untuned GB/s", kRight},
                   {"tuned GB/s", kRight},
                   {"gain", kRight},
                   {"probes", kRight}});
  for (const gen::ZipflowColumn& column : columns) {
    const std::vector<Values> chunks = chunks_of(column);
    if (chunks.empty() || width_of(chunks[0].type) == 0) continue;
    const std::optional<TunedDecoder> tuned = bench.tune(chunks, published_trees(column.plan(), chunks));
    if (!tuned) continue;
    bench.keep("tuning", fmt::format("\"column\":{},\"untuned_seconds\":{:.9f},\"tuned_seconds\":{:.9f},\"probes\":{}",
                                     escape_json(column.plan().column), tuned->before_seconds, tuned->found_seconds,
                                     tuned->probes));
    table.add({column.plan().column, column.plan().tree, gigabytes(column.plain_bytes(), tuned->before_seconds),
               gigabytes(column.plain_bytes(), tuned->found_seconds),
               fmt::format("{:.2f}", tuned->before_seconds / tuned->found_seconds), std::to_string(tuned->probes)});
  }
  return table.render(STDOUT_FILENO);
}

// Decoding in one kernel, and with children decoded to memory by kernels of their own.
std::string bench_fusion(ZipflowBench& bench, const ZipflowColumns& columns, uint64_t bytes) {
  TextTable table({{"tree", kLeft},
                   {"values", kLeft},
                   {"encoded", kRight},
                   {"fused GB/s", kRight},
                   {"kernels", kRight},
                   {"unfused GB/s", kRight},
                   {"kernels", kRight},
                   {"gain", kRight},
                   {"(c+3p)/(c+p)", kRight}});
  const auto add = [&](const std::string& name, const std::string& what, const std::vector<Values>& chunks,
                       const char* text) {
    if (chunks.empty()) return;
    const Tree tree = bind_tree(parse_tree(text), chunks[0].type);
    uint64_t plain = 0;
    for (const Values& values : chunks) plain += values.count * width_of(values.type);
    const Measured measured = bench.measure(chunks, ChunkTrees::all(tree, chunks.size()), plain, /*unfused=*/true);
    const auto c = static_cast<double>(measured.encoded), p = static_cast<double>(measured.plain);
    const double model = (c + 3 * p) / (c + p);
    bench.keep("fusion", fmt::format("\"what\":{},\"model\":{:.4f}", escape_json(what), model), measured);
    const bool both = measured.gpu && measured.gpu_unfused;
    table.add({name, what, human_bytes(measured.encoded), bench.gpu_rate(measured), bench.gpu_kernels(measured),
               both ? gigabytes(measured.plain, measured.gpu_unfused->seconds) : "-",
               both ? std::to_string(measured.gpu_unfused->kernels) : "-",
               both ? fmt::format("{:.2f}", measured.gpu_unfused->seconds / measured.gpu->seconds) : "-",
               fmt::format("{:.2f}", model)});
  };
  for (const gen::ZipflowColumn& column : columns) {
    const std::string_view name = column.plan().column;
    const std::vector<Values> chunks = chunks_of(column);
    if (name == "l_shipdate") add("dict(packed, packed)", "l_shipdate", chunks, "dict(packed, packed)");
    if (name == "l_extendedprice") {
      std::vector<double> prices;
      for (const Values& values : chunks) {
        for (uint64_t i = 0; i < values.count; ++i) {
          prices.push_back(static_cast<double>(values.as<int64_t>()[i]) / 100);
        }
      }
      add("galp(packed)", "l_extendedprice as doubles", chunks_of(prices, Physical::kF64), "galp(packed)");
    }
  }
  const std::vector<int64_t> runs = gen::rows_of_runs(gen::zipflow_run_lengths()[2], bytes / sizeof(int64_t));
  add("rle(packed, packed)", "runs of 8", chunks_of(runs, Physical::kI64), "rle(packed, packed)");
  return table.render(STDOUT_FILENO);
}

// Columns under the plans, a block each, from pinned memory to values on the device; what the pipeline's model says of
// the measured blocks, and what a smaller ring of staging memory would cost.
std::string bench_transfers(ZipflowBench& bench, const ZipflowColumns& columns) {
  std::vector<std::vector<Values>> values;
  std::vector<ChunkTrees> trees;
  for (const gen::ZipflowColumn& column : columns) {
    values.push_back(chunks_of(column));
    if (values.back().empty()) return {};
    trees.push_back(published_trees(column.plan(), values.back()));
  }
  std::vector<exec::TransferBlock> blocks;
  const auto timing = bench.time_transfers(values, trees, blocks);
  if (!timing) return "transfers: not measured without a GPU\n";
  TextTable table(
      {{"columns from pinned memory", kLeft}, {"measured", kRight}, {"model", kRight}, {"of in turn", kRight}});
  double in_turn = 0;
  exec::TransferOrder given;
  for (const exec::TransferBlock& block : blocks) {
    in_turn += block.copy + block.kernel;
    given.push_back(static_cast<uint32_t>(given.size()));
  }
  const exec::TransferOrder johnson = exec::johnson_order(blocks);
  const auto add = [&](const std::string& name, double measured, double model) {
    const double share = measured > 0 ? measured / timing->in_turn : model / in_turn;
    table.add({name, measured > 0 ? human_seconds(measured) : "-", human_seconds(model), percent(share)});
    bench.keep("transfers", fmt::format("\"what\":{},\"seconds\":{:.9f},\"model_seconds\":{:.9f}", escape_json(name),
                                        measured, model));
  };
  add("copied, then decoded", timing->in_turn, in_turn);
  add("pipelined, as they come", timing->as_given, exec::pipeline_seconds(blocks, given));
  add("pipelined, Johnson's order", timing->reordered, exec::pipeline_seconds(blocks, johnson));
  for (const uint64_t cap : {uint64_t{256} << 20, uint64_t{64} << 20, uint64_t{16} << 20}) {
    const exec::TransferOrder best = exec::best_transfer_order(blocks, cap);
    add("best order, ring of " + human_bytes(cap), 0, exec::pipeline_seconds(blocks, best, cap));
  }
  return table.render(STDOUT_FILENO);
}

std::string bench_runs(ZipflowBench& bench, uint64_t bytes) {
  TextTable table({{"runs", kLeft},
                   {"encoded", kRight},
                   {"ratio", kRight},
                   {"CPU GB/s", kRight},
                   {"of memcpy", kRight},
                   {"GPU GB/s", kRight},
                   {"of copy", kRight}});
  const Tree tree = bind_tree(parse_tree("rle(packed, packed)"), Physical::kI64);
  for (const gen::RunLengths& lengths : gen::zipflow_run_lengths()) {
    const std::vector<int64_t> rows = gen::rows_of_runs(lengths, bytes / sizeof(int64_t));
    const std::vector<Values> chunks = chunks_of(rows, Physical::kI64);
    const Measured measured =
        bench.measure(chunks, ChunkTrees::all(tree, chunks.size()), rows.size() * sizeof(int64_t));
    bench.keep("runs", fmt::format("\"runs\":{}", escape_json(lengths.name)), measured);
    table.add({lengths.name, human_bytes(measured.encoded), human_ratio(measured.plain, measured.encoded),
               gigabytes(measured.plain, measured.decode_seconds), percent(bench.share_of_memcpy(measured)),
               bench.gpu_rate(measured), bench.gpu_share(measured)});
  }
  return table.render(STDOUT_FILENO);
}

std::string bench_entropies(ZipflowBench& bench, uint64_t bytes) {
  TextTable table({{"bits", kRight},
                   {"frequent", kRight},
                   {"rare values", kRight},
                   {"over entropy", kRight},
                   {"CPU encode GB/s", kRight},
                   {"CPU decode GB/s", kRight},
                   {"GPU GB/s", kRight},
                   {"of copy", kRight},
                   {"nvCOMP: over", kRight},
                   {"encode GB/s", kRight},
                   {"decode GB/s", kRight}});
  const Tree tree = bind_tree(parse_tree("ans"), Physical::kU8);
  for (const gen::SkewedBytes& skew : gen::zipflow_skews()) {
    const std::vector<uint8_t> rows = gen::rows_of_skew(skew, bytes);
    const std::vector<Values> chunks = chunks_of(rows, Physical::kU8);
    const Measured measured = bench.measure(chunks, ChunkTrees::all(tree, chunks.size()), rows.size());
    const auto over_entropy = [&](uint64_t encoded) {
      return 8.0 * static_cast<double>(encoded) / static_cast<double>(rows.size()) / skew.bits - 1;
    };
    const double over = over_entropy(measured.encoded);
    const std::string fields =
        fmt::format("\"bits\":{},\"frequent\":{:.4f},\"rare\":{}", skew.bits, skew.frequent(), skew.rare);
    bench.keep("entropies", fmt::format("{},\"over_entropy\":{:.4f}", fields, over), measured);
    std::vector<std::string> cells = {fmt::format("{:.1f}", skew.bits),
                                      percent(skew.frequent()),
                                      std::to_string(skew.rare),
                                      fmt::format("{:.1f} %", 100 * over),
                                      gigabytes(measured.plain, measured.encode_seconds.value()),
                                      gigabytes(measured.plain, measured.decode_seconds),
                                      bench.gpu_rate(measured),
                                      bench.gpu_share(measured)};
    Values whole = chunks.at(0);
    whole.count = rows.size();
    if (const auto peer = bench.fastest_peer(whole)) {
      bench.keep("entropies", fields, *peer);
      cells.push_back(fmt::format("{:.1f} %", 100 * over_entropy(peer->encoded_bytes)));
      cells.push_back(bench.gpu_rate(measured.plain, peer->encode_seconds));
      cells.push_back(bench.gpu_rate(measured.plain, peer->decode_seconds));
    } else {
      cells.insert(cells.end(), 3, "-");
    }
    table.add(std::move(cells));
  }
  return table.render(STDOUT_FILENO);
}

int run_bench_zipflow(const ZipflowOptions& options, bool quiet) {
  if (options.bytes < sizeof(int64_t)) throw UsageError("--size needs a few bytes");
  if (options.section == "queries" && !options.folder.empty())
    throw UsageError("--section queries makes its own tables: give --scale instead of --folder");
  require_device(options.device);
  ZipflowBench bench(options.device, options.threads, options.rounds);
  print(dim(bench.where() + "\n", STDOUT_FILENO));
  const auto wants = [&](const char* section) { return options.section == "all" || options.section == section; };
  const auto wants_any = [&](auto... sections) { return (wants(sections) || ...); };
  if (wants_any("columns", "encoding", "tuning", "fusion", "transfers")) {
    const ZipflowColumns columns = load_columns(options, quiet);
    if (wants("columns")) print(bench_columns(bench, columns, options.threads, quiet) + "\n");
    if (wants("encoding")) print(bench_encoding(bench, columns) + "\n");
    if (wants("tuning")) print(bench_tuning(bench, columns) + "\n");
    if (wants("fusion")) print(bench_fusion(bench, columns, options.bytes) + "\n");
    if (wants("transfers")) print(bench_transfers(bench, columns) + "\n");
  }
  if (wants("runs")) print(bench_runs(bench, options.bytes) + "\n");
  if (wants("entropies")) print(bench_entropies(bench, options.bytes) + "\n");
  // The made tables: a folder need not have all eight.
  if (wants("queries") && options.folder.empty()) {
    print(bench_queries(bench, options.scale, options.threads, options.rounds) + "\n");
  }
  print(bench.remarks());
  if (!options.json.empty()) {
    std::ofstream out(options.json);
    out << bench.json(options.folder.empty() ? fmt::format("scale {}", options.scale) : options.folder);
    if (!out.flush()) throw Error(ErrorCode::kIo, options.json + " cannot be written");
  }
  return kSuccess;
}

}  // namespace

void add_bench_zipflow(Program& program, CLI::App* parent) {
  auto options = std::make_shared<ZipflowOptions>();
  CLI::App* command = parent->add_subcommand(
      "zipflow", "24 columns of TPC-H, runs, entropies, queries, as the paper ZipFlow measures them");
  command->footer(
      "Examples:\n"
      "  basalt bench zipflow --scale 0.1\n"
      "  basalt bench zipflow --scale 10 --size 1GiB --device cuda --json zipflow.json\n"
      "  basalt bench zipflow --section columns --folder /data/tpch");
  command
      ->add_option("--section", options->section,
                   "all (default), columns, encoding, tuning, fusion, transfers, runs, entropies or queries")
      ->check(CLI::IsMember(
          {"all", "columns", "encoding", "tuning", "fusion", "transfers", "runs", "entropies", "queries"}))
      ->type_name("SECTION");
  CLI::Option* scale =
      command->add_option("--scale", options->scale, "Scale of the columns, which are made (default 1)")
          ->check(CLI::Range(0.001, 1000.0))
          ->type_name("N");
  command
      ->add_option("--folder", options->folder, "Columns of lineitem.basalt, orders.basalt and partsupp.basalt instead")
      ->check(CLI::ExistingDirectory)
      ->excludes(scale)
      ->type_name("FOLDER");
  add_bytes_option(command, "--size", options->bytes, "Plain bytes of made runs and entropies (default 128MiB)");
  command->add_option("--json", options->json, "Also write all figures to this file")->type_name("FILE");
  command->add_option("--rounds", options->rounds, "Repetitions; the best counts, on the GPU the median (default 3)")
      ->check(CLI::Range(1, 1000))
      ->type_name("N");
  command->add_flag("-q,--quiet", program.quiet, "No progress bar");
  add_device_option(command, options->device);
  add_threads_option(command, options->threads);
  command->callback([&program, options] {
    program.run = [&program, options] { return run_bench_zipflow(*options, program.quiet); };
  });
}

}  // namespace basalt::cli
