// How tables of fsst are best trained: ratios, bytes only, of files of text (a string per line) under one table each,
// for different samples, rounds, boosts of single bytes, parses, and limits on what a table may hold.
//
//   fsst_training_bench FILE…
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "codec/fsst/tables.h"
#include "texts.h"

namespace basalt::bench {
namespace {

Texts lines_of(const char* path) {
  Texts texts;
  std::ifstream file(path, std::ios::binary);
  for (std::string line; std::getline(file, line);) texts.add(line);
  return texts;
}

double ratio(const Values& values, const fsst::SymbolTable& table, fsst::Parse parse) {
  const auto matcher = std::make_unique<fsst::Matcher>(table);
  std::vector<uint8_t> codes(2 * fsst::kPieceBytes + 8);
  uint64_t coded = 0;
  for (uint64_t row = 0; row < values.count; ++row) {
    for (std::string_view text = values.string(row); !text.empty();) {
      const std::string_view piece = text.substr(0, fsst::kPieceBytes);
      coded += static_cast<uint64_t>(matcher->encode(parse, piece.data(), piece.size(), codes.data()) - codes.data());
      text.remove_prefix(piece.size());
    }
  }
  return static_cast<double>(values.offsets[values.count]) / static_cast<double>(coded);
}

void measure(const std::vector<Texts>& files, const char* name, const fsst::Plan& plan) {
  double greedy = 0;
  double optimal = 0;
  for (const Texts& file : files) {
    const Values values = file.values();
    const fsst::SymbolTable table = fsst::train_rows(values, {0, values.count}, plan);
    greedy += std::log(ratio(values, table, fsst::Parse::kGreedy));
    optimal += std::log(ratio(values, table, fsst::Parse::kOptimal));
  }
  const auto count = static_cast<double>(files.size());
  std::printf("%-34s %4u KiB %3u rounds, boost %u  greedy %.3f  optimal %.3f\n", name, plan.sample_bytes >> 10,
              plan.training.rounds, plan.training.single_boost, std::exp(greedy / count), std::exp(optimal / count));
  std::fflush(stdout);
}

fsst::Plan plan_of(uint32_t sample_kib, uint32_t rounds, uint32_t boost) {
  fsst::Plan plan{};
  plan.sample_bytes = sample_kib << 10;
  plan.training.rounds = rounds;
  plan.training.single_boost = boost;
  return plan;
}

void run(const std::vector<Texts>& files) {
  for (const uint32_t boost : {1u, 2u, 4u, 8u}) measure(files, "boost", plan_of(16, 5, boost));
  for (const uint32_t sample : {16u, 32u, 64u, 128u}) measure(files, "sample", plan_of(sample, 5, 2));
  for (const uint32_t rounds : {5u, 6u, 8u, 10u, 16u}) measure(files, "rounds", plan_of(64, rounds, 2));
  measure(files, "more of both", plan_of(128, 16, 2));
  fsst::Plan optimal = plan_of(128, 16, 2);
  optimal.training.parse = fsst::Parse::kOptimal;
  measure(files, "trained with the optimal parse", optimal);
  optimal.train_greedily_too = true;
  measure(files, "the better of both", optimal);
  fsst::Plan limited = plan_of(64, 10, 2);
  limited.training.most_long = 128;
  measure(files, "128 long symbols", limited);
  limited.training.most_rows = 32;
  limited.training.most_per_row = 8;
  measure(files, "128 long, 32 rows of 8 pairs", limited);
  limited.training.most_long = fsst::kMaxSymbols;
  limited.training.most_rows = 256;
  limited.training.most_per_row = 16;
  measure(files, "16 pairs per row", limited);
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s FILE...\n", argv[0]);
    return 2;
  }
  std::vector<basalt::bench::Texts> files;
  for (int i = 1; i < argc; ++i) files.push_back(basalt::bench::lines_of(argv[i]));
  basalt::bench::run(files);
  return 0;
}
