// Joins on the GPU through the library: 2^28 resident rows whose keys, read from a packed column, look for partners
// among 15 million. What is built of these is the time of the same statement over 2^20 rows; rows per second of what
// the others take beside it.
//
//   joins_gpu_bench [--json FILE]
#include <atomic>
#include <cstdio>
#include <cstring>

#include "basalt/query/tree.h"
#include "statements.h"

namespace basalt::bench {
namespace {

constexpr uint64_t kManyChunks = 256;
constexpr uint64_t kBuildChunks = 15;
constexpr uint64_t kBuildRows = kBuildChunks * kMaxChunkRows;
constexpr uint64_t kHoles = 10;  // of so many numbers one is a key

uint64_t partner(uint64_t row) { return scattered(row) % kBuildRows; }
int64_t wide_key(uint64_t build_row) { return static_cast<int64_t>(scattered(build_row + 1) >> 1); }
int64_t value_of(uint64_t build_row) { return static_cast<int64_t>(build_row % 1000); }

struct Case {
  std::string words;
  std::string probe;  // column of the rows
  std::string build;  // of the table that they look into
  JoinKind kind;
  double known;  // probes a second that kernels without decoding reach, in 10^9
  int64_t (*expected)(uint64_t row);
};

const std::vector<Case> kCases = {
    {"semi join, bits (20 MB)", "sparse", "sparse", JoinKind::kSemi, 150,
     [](uint64_t row) { return int64_t{scattered(row) % (kBuildRows * kHoles) % kHoles == 0}; }},
    {"inner join, array (60 MB)", "dense", "dense", JoinKind::kInner, 81,
     [](uint64_t row) { return value_of(partner(row)); }},
    {"inner join, hash (15 million keys of 64 bits)", "wide", "wide", JoinKind::kInner, 44,
     [](uint64_t row) { return value_of(partner(row)); }},
};
constexpr double kShare = 0.7;  // of what is known
constexpr double kKnownBuild = 14;

std::vector<MadeColumn> probe_columns() {
  return {{"sparse", TypeKind::kInt32, "packed",
           [](uint64_t row) { return static_cast<int64_t>(scattered(row) % (kBuildRows * kHoles)); }},
          {"dense", TypeKind::kInt32, "packed", [](uint64_t row) { return static_cast<int64_t>(partner(row)); }},
          {"wide", TypeKind::kInt64, "packed", [](uint64_t row) { return wide_key(partner(row)); }}};
}

std::vector<MadeColumn> build_columns() {
  return {{"sparse", TypeKind::kInt32, "packed", [](uint64_t row) { return static_cast<int64_t>(row * kHoles); }},
          {"dense", TypeKind::kInt32, "packed", [](uint64_t row) { return static_cast<int64_t>(row); }},
          {"wide", TypeKind::kInt64, "packed", [](uint64_t row) { return wide_key(row); }},
          {"v", TypeKind::kInt32, "packed", value_of}};
}

QueryNode scan(const std::string& path, const std::vector<std::string>& columns) {
  QueryNode node;
  node.files = {File::open(path)};
  for (const std::string& name : columns) {
    column(*node.files[0], name, node.columns);
    node.output.push_back(node.files[0]->schema().fields[node.files[0]->find_column(name)]);
  }
  return node;
}

Query query_of(const Case& one, const std::string& probe, const std::string& build) {
  QueryNode join;
  join.op = QueryOp::kJoin;
  join.join = one.kind;
  const bool fetches = one.kind == JoinKind::kInner;
  join.inputs.push_back(scan(probe, {one.probe}));
  join.inputs.push_back(fetches ? scan(build, {one.build, "v"}) : scan(build, {one.build}));
  const Physical key = physical_of(join.inputs[0].output[0].type);
  join.join_keys.push_back({column_reference(0, key), column_reference(0, key)});
  join.output = join.inputs[0].output;
  if (fetches) join.output.insert(join.output.end(), join.inputs[1].output.begin(), join.inputs[1].output.end());
  QueryNode totals;
  totals.op = QueryOp::kAggregate;
  totals.aggregates = {fetches ? sum(column_reference(2, Physical::kI32)) : count_rows()};
  totals.output = {{"answer", {fetches ? TypeKind::kInt128 : TypeKind::kInt64}, true, 0, {}}};
  totals.inputs.push_back(std::move(join));
  return cut(totals);
}

// Milliseconds of the kernels, the median.
double kernels(const Case& one, const Query& query, uint64_t rows, ThreadPool& threads) {
  std::atomic<int64_t> expected = 0;
  threads.parallel_for(rows / kMaxChunkRows, [&](uint64_t chunk) {
    int64_t sum = 0;
    for (uint64_t i = 0; i < kMaxChunkRows; ++i) sum += one.expected(chunk * kMaxChunkRows + i);
    expected += sum;
  });
  std::vector<double> times;
  RunReport report;
  for (int i = 0; i < 8; ++i) {
    const Table answer = run_query(query, on_gpu(), &report);
    const Buffer& values = answer.columns[0].values;
    const int128_t got = values.size() == sizeof(int64_t) ? values.as<int64_t>()[0] : values.as<int128_t>()[0];
    if (got != expected) throw Error(ErrorCode::kInternal, one.words + ": a wrong answer");
    if (i > 0) times.push_back(report.kernel_ms);
  }
  for (const RunReport& step : report.steps) {
    std::printf("  %s: %s, %.3f ms\n", step.what.c_str(), step.rung.c_str(), step.kernel_ms);
  }
  return median(times);
}

int run(int argc, char** argv) {
  if (gpu().backend == nullptr) {
    std::fprintf(stderr, "no GPU: %s\n", gpu().reason.c_str());
    return 1;
  }
  add("ceiling: device read", gpu().backend->measure_bandwidth().read_gbs, "GB/s");
  ThreadPool threads(0);
  const MadeTable many("basalt_bench_probes.basalt", kManyChunks, probe_columns(), threads);
  const MadeTable few("basalt_bench_few_probes.basalt", 1, probe_columns(), threads);
  const MadeTable build("basalt_bench_builds.basalt", kBuildChunks, build_columns(), threads);
  for (const Case& one : kCases) {
    std::printf("%s\n", one.words.c_str());
    gpu().backend->drop_cache();
    const double build_ms = kernels(one, query_of(one, few.path(), build.path()), kMaxChunkRows, threads);
    const double all_ms = kernels(one, query_of(one, many.path(), build.path()), kManyChunks * kMaxChunkRows, threads);
    const double rows = static_cast<double>((kManyChunks - 1) * kMaxChunkRows);
    add(one.words + ": build", build_ms, "ms");
    add(one.words + ": rows built", static_cast<double>(kBuildRows) / build_ms / 1e6, "10^9/s", kShare * kKnownBuild);
    add(one.words + ": all kernels", all_ms, "ms");
    add(one.words + ": rows probed", rows / (all_ms - build_ms) / 1e6, "10^9/s", kShare * one.known);
  }
  if (argc > 2 && std::strcmp(argv[1], "--json") == 0) write_json("joins_gpu", argv[2]);
  return 0;
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) { return basalt::bench::run_or_say_why(basalt::bench::run, argc, argv); }
