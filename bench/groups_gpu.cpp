// `select k, sum(v) from t group by k` on the GPU through the library, over 2^28 resident rows: few and many groups,
// keys that are codes, dense numbers, any 64 bits, or sorted. Rows per second of the kernel, and what it reads and
// leaves as a share of the copy ceiling. Values have 16 bits.
//
//   groups_gpu_bench [--json FILE]
#include <cstdio>
#include <cstring>
#include <map>

#include "statements.h"

namespace basalt::bench {
namespace {

constexpr uint64_t kChunks = 256;
constexpr uint64_t kRows = kChunks * kMaxChunkRows;
constexpr uint64_t kWantedGroups =
    10;  // that leave the device, unless there are few: others are found, but not asked for

int32_t value_of(uint64_t row) { return static_cast<int32_t>(scattered(row) & 0xFFFF); }

struct KeyColumn {
  std::string name;
  std::string words;
  TypeKind type;
  std::string tree;
  uint64_t groups;
  uint32_t group_bytes;  // of its key, where that is stored, and its state of two words
  double bar;            // share of the copy ceiling in percent; 0: none
  int64_t (*key)(uint64_t row);
};

template <uint64_t kGroups>
int64_t dense_key(uint64_t row) {
  return static_cast<int64_t>(scattered(row ^ 0x5555555555ull) % kGroups);
}
template <uint64_t kGroups>
int64_t wide_key(uint64_t row) {
  return static_cast<int64_t>(scattered(static_cast<uint64_t>(dense_key<kGroups>(row)) + 1));
}

const std::vector<KeyColumn> kKeys = {
    {"k6", "6 codes", TypeKind::kInt32, "packed", 6, 16, 0, dense_key<6>},
    {"k64", "64 codes", TypeKind::kInt32, "packed", 64, 16, 0, dense_key<64>},
    {"k1000", "1000 codes", TypeKind::kInt32, "packed", 1000, 16, 0, dense_key<1000>},
    {"dense_6", "10^6 dense keys in random order", TypeKind::kInt32, "packed", 1'000'000, 16, 0, dense_key<1'000'000>},
    {"dense_7", "10^7 dense keys in random order", TypeKind::kInt32, "packed", 10'000'000, 16, 0,
     dense_key<10'000'000>},
    {"wide_7", "10^7 keys of 64 bits", TypeKind::kInt64, "plain", 10'000'000, 24, 0, wide_key<10'000'000>},
    {"wide_8", "10^8 keys of 64 bits", TypeKind::kInt64, "plain", 100'000'000, 24, 0, wide_key<100'000'000>},
    {"sorted", "sorted key, runs of 4", TypeKind::kInt32, "packed", kRows / 4, 24, 60,
     [](uint64_t row) { return static_cast<int64_t>(row / 4); }},
};

// A column of values and one for each kind of key.
std::vector<MadeColumn> made_columns() {
  std::vector<MadeColumn> columns{{"v", TypeKind::kInt32, "packed", value_of}};
  for (const KeyColumn& key : kKeys) columns.push_back({key.name, key.type, key.tree, key.key});
  return columns;
}

int64_t group_key(const KeyColumn& key, const Table& groups, uint64_t group) {
  const Buffer& values = groups.columns[0].values;
  return key.type == TypeKind::kInt64 ? values.as<int64_t>()[group] : values.as<int32_t>()[group];
}

// The groups that came must be those of all rows.
void expect_sums(const KeyColumn& key, const Table& groups, ThreadPool& threads) {
  if (groups.rows < std::min(key.groups, kWantedGroups)) {
    throw Error(ErrorCode::kInternal, key.words + ": " + std::to_string(groups.rows) + " groups");
  }
  std::vector<std::map<int64_t, int64_t>> sums(kChunks);
  for (auto& part : sums) {
    for (uint64_t i = 0; i < groups.rows; ++i) part[group_key(key, groups, i)] = 0;
  }
  threads.parallel_for(kChunks, [&](uint64_t chunk) {
    std::map<int64_t, int64_t>& part = sums[chunk];
    const int64_t least = part.begin()->first;
    const int64_t most = part.rbegin()->first;
    for (uint64_t row = chunk * kMaxChunkRows; row < (chunk + 1) * kMaxChunkRows; ++row) {
      const int64_t k = key.key(row);
      if (k < least || k > most) continue;
      if (const auto found = part.find(k); found != part.end()) found->second += value_of(row);
    }
  });
  for (uint64_t i = 0; i < groups.rows; ++i) {
    int64_t sum = 0;
    for (const auto& part : sums) sum += part.at(group_key(key, groups, i));
    if (groups.columns[1].values.as<int128_t>()[i] != sum)
      throw Error(ErrorCode::kInternal, key.words + ": a wrong sum");
  }
}

void measure(const KeyColumn& key, const MadeTable& file, double copy_gbs, ThreadPool& threads) {
  Query query;
  Pipeline& stage = query.stages.emplace_back();
  stage.files = {File::open(file.path())};
  stage.sink = Sink::kGroups;
  stage.keys = {column(*stage.files[0], key.name, stage.columns)};
  Aggregate sum;
  sum.op = AggregateOp::kSum;
  sum.arg = column(*stage.files[0], "v", stage.columns);
  stage.aggregates = {sum};
  stage.first.count = kWantedGroups;
  stage.output = {{"k", {key.type}, true, 0, {}}, {"sum", {TypeKind::kInt128}, true, 0, {}}};
  gpu().backend->drop_cache();
  RunReport report;
  expect_sums(key, run_query(query, on_gpu(), &report), threads);
  std::vector<double> kernel;
  std::vector<double> total;
  for (int i = 0; i < 7; ++i) {
    run_query(query, on_gpu(), &report);
    kernel.push_back(report.kernel_ms);
    total.push_back(report.total_ms);
  }
  const double bytes = touched_bytes(stage) + static_cast<double>(key.groups * key.group_bytes);
  std::printf("%s: %s\n", key.words.c_str(), report.steps.at(0).rung.c_str());
  add(key.words + ": kernel", median(kernel), "ms");
  add(key.words + ": total", median(total), "ms");
  add(key.words + ": rows", static_cast<double>(kRows) / median(kernel) / 1e6, "10^9/s");
  add(key.words + ": bytes read and left", bytes / 1e9, "GB");
  add(key.words + ": share of the copy ceiling", 100 * bytes / median(kernel) / 1e6 / copy_gbs, "%", key.bar);
}

int run(int argc, char** argv) {
  if (gpu().backend == nullptr) {
    std::fprintf(stderr, "no GPU: %s\n", gpu().reason.c_str());
    return 1;
  }
  const double copy_gbs = gpu().backend->measure_bandwidth().copy_gbs;
  add("ceiling: device copy, read and written", copy_gbs, "GB/s");
  ThreadPool threads(0);
  const MadeTable file("basalt_bench_groups.basalt", kChunks, made_columns(), threads);
  for (const KeyColumn& key : kKeys) measure(key, file, copy_gbs, threads);
  if (argc > 2 && std::strcmp(argv[1], "--json") == 0) write_json("groups_gpu", argv[2]);
  return 0;
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) { return basalt::bench::run_or_say_why(basalt::bench::run, argc, argv); }
