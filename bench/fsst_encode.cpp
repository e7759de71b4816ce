// How long one core encodes fsst, and how much of that goes into tables: files of text (a string per line), repeated up
// to 32 MB. Time that the thread has run, the best of some rounds.
//
//   fsst_encode_bench FILE…
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string_view>
#include <vector>

#include "basalt/codec/codec.h"
#include "bench/cpu_clock.h"
#include "codec/fsst/tables.h"
#include "gen/texts.h"

namespace basalt::bench {
namespace {

constexpr uint64_t kBytes = 32'000'000;
constexpr int kRounds = 5;

template <typename Body>
double best_seconds(Body body) {
  double best = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    const double start = cpu_seconds();
    body();
    best = std::min(best, cpu_seconds() - start);
  }
  return best;
}

void measure(const char* path) {
  const gen::Texts lines = gen::read_lines(path);
  gen::Texts texts;
  while (texts.bytes() < kBytes) {
    for (uint64_t row = 0; row < lines.rows(); ++row) texts.add(lines.at(row));
  }
  const std::vector<Values> chunks = texts.chunks();
  const Tree tree{"strings", {{"packed", {}}, {"fsst", {{"packed", {}}}}}};
  const double training = best_seconds([&] {
    for (const Values& chunk : chunks) fsst::train_tables(chunk, fsst::plan_of(Effort::kBalanced));
  });
  const double all = best_seconds([&] {
    for (const Values& chunk : chunks) encode_tree(chunk, tree, Effort::kBalanced);
  });
  std::printf("%-12s %8zu rows  training %6.1f ms  all %6.1f ms  %.3f GB/s\n",
              std::filesystem::path(path).filename().c_str(), static_cast<size_t>(texts.rows()), training * 1e3,
              all * 1e3, static_cast<double>(texts.bytes()) / all / 1e9);
  std::fflush(stdout);
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) {
  std::vector<const char*> files;
  for (int i = 1; i < argc; ++i) {
    if (!std::string_view(argv[i]).starts_with("--benchmark_")) files.push_back(argv[i]);
  }
  if (files.empty()) {
    std::fprintf(stderr, "usage: %s FILE...\nwithout files of text there is nothing to measure\n", argv[0]);
    return argc > 1 ? 0 : 2;
  }
  try {
    for (const char* file : files) basalt::bench::measure(file);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
