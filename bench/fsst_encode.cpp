// Where the time of encoding fsst on one core goes, for files of text (a string per line): finding tables, cutting rows
// into symbols, and all of it with what the codec does besides. Files are repeated in random order.
//
//   fsst_encode_bench MEGABYTES ROUNDS FILE…
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "basalt/core/threads.h"
#include "basalt/plan/chooser.h"
#include "bench/cpu_clock.h"
#include "bench/fsst_before.h"
#include "codec/fsst/tables.h"
#include "gen/texts.h"

namespace basalt::bench {
namespace {

struct Seconds {
  double training = 1e9;
  double matching[9] = {1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9};
  double all[2] = {1e9, 1e9};
  uint64_t codes = 0;
};

template <typename M>
double match(const Values& values, const fsst::Tables& trained, Buffer& codes) {
  std::unique_ptr<M> matcher;
  std::vector<typename M::Part> parts;
  codes.clear();
  const double start = cpu_seconds();
  const uint64_t table_rows = uint64_t{kTileRows} << trained.shift;
  const char* const readable = values.bytes + values.offsets[values.count];
  for (uint64_t first = 0; first < values.count; first += kTileRows) {
    if (first % table_rows == 0) matcher = std::make_unique<M>(trained.tables[first / table_rows]);
    parts.clear();
    for (uint64_t row = first; row < std::min<uint64_t>(first + kTileRows, values.count); ++row) {
      if (values.offsets[row] == values.offsets[row + 1]) continue;
      parts.push_back({values.bytes + values.offsets[row + 1], nullptr, 0});
    }
    matcher->encode_all(values.bytes + values.offsets[first], parts, readable, codes);
  }
  return cpu_seconds() - start;
}

void measure(const Values& values, int rounds, Seconds& out) {
  const Tree tree{"strings", {{"packed", {}}, {"fsst", {{"packed", {}}}}}};
  Buffer codes;
  for (int round = 0; round < rounds; ++round) {
    fsst::Matcher::variant = 1;
    double start = cpu_seconds();
    const fsst::Tables trained = fsst::train_tables(values, fsst::plan_of(Effort::kBalanced));
    out.training = std::min(out.training, cpu_seconds() - start);
    for (int variant = 0; variant < 8; ++variant) {
      fsst::Matcher::variant = variant;
      out.matching[variant] = std::min(out.matching[variant], match<fsst::Matcher>(values, trained, codes));
    }
    out.matching[8] = std::min(out.matching[8], match<fsst::before::Matcher>(values, trained, codes));
    out.codes = codes.size();
    for (int variant = 0; variant < 2; ++variant) {
      fsst::Matcher::variant = variant;
      start = cpu_seconds();
      const Node node = encode_tree(values, tree, Effort::kBalanced);
      out.all[variant] = std::min(out.all[variant], cpu_seconds() - start);
    }
  }
}

// Bytes per second of as many threads, each of which encodes the values.
double threaded(const Values& values, uint32_t threads) {
  const Tree tree{"strings", {{"packed", {}}, {"fsst", {{"packed", {}}}}}};
  fsst::Matcher::variant = 1;
  ThreadPool pool(threads);
  double best = 0;
  for (int round = 0; round < 4; ++round) {
    const auto start = std::chrono::steady_clock::now();
    pool.parallel_for(threads, [&](uint64_t) { encode_tree(values, tree, Effort::kBalanced); });
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::max(best,
                    static_cast<double>(threads) * static_cast<double>(values.offsets[values.count]) / seconds.count());
  }
  return best;
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) {
  using namespace basalt;
  using namespace basalt::bench;
  for (int i = 3; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    gen::Texts lines;
    for (std::string line; std::getline(file, line);) lines.add(line);
    gen::Texts texts;
    uint64_t step = 7919;
    for (uint64_t row = 0; texts.bytes() < 1e6 * std::atof(argv[1]) && texts.rows() < kMaxChunkRows;
         row = (row + step) % lines.rows()) {
      texts.add(lines.at(row));
      if (row == 0) step += 2;
    }
    Seconds best;
    measure(texts.values(), std::atoi(argv[2]), best);
    const auto bytes = static_cast<double>(texts.bytes());
    std::printf("%-10s %.1f MB training %6.2f ms, all %6.2f %6.2f ms (%.3f %.3f GB/s), matching ns per code byte:",
                std::filesystem::path(argv[i]).filename().c_str(), bytes / 1e6, best.training * 1e3, best.all[0] * 1e3,
                best.all[1] * 1e3, bytes / best.all[0] / 1e9, bytes / best.all[1] / 1e9);
    for (const double matching : best.matching) std::printf(" %.2f", matching * 1e9 / static_cast<double>(best.codes));
    std::printf(" threads GB/s:");
    for (const uint32_t threads : {1u, 4u, 8u, 16u}) std::printf(" %.2f", threaded(texts.values(), threads) / 1e9);
    std::printf("\n");
    std::fflush(stdout);
  }
  return 0;
}
