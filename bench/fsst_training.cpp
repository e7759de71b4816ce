// How tables of fsst are best trained: ratios, bytes only, of files of text (a string per line) under one table each,
// for different samples, rounds, boosts of single bytes, parses, and limits on what a table may hold. With --table,
// also under a table that the FSST library trained and serialized.
//
//   fsst_training_bench [--table TABLE] FILE…
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "codec/fsst/tables.h"
#include "gen/texts.h"

namespace basalt::bench {
namespace {

using gen::Texts;

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

std::vector<std::byte> contents_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

// What a table of others makes of the files, with either parse.
void measure_imported(const std::vector<Texts>& files, const char* path) {
  const fsst::SymbolTable table = fsst::import_table(contents_of(path));
  for (const auto& [name, parse] : {std::pair("greedy", fsst::Parse::kGreedy), {"optimal", fsst::Parse::kOptimal}}) {
    double sum = 0;
    for (const Texts& file : files) sum += std::log(ratio(file.values(), table, parse));
    std::printf("%s, %zu symbols, %s %.3f\n", path, table.symbols.size(), name,
                std::exp(sum / static_cast<double>(files.size())));
  }
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
  using namespace basalt;
  using namespace basalt::bench;
  const char* table = nullptr;
  std::vector<Texts> files;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--table") == 0 && i + 1 < argc) {
      table = argv[++i];
    } else if (!std::string_view(argv[i]).starts_with("--benchmark_")) {
      files.push_back(gen::read_lines(argv[i]));
    }
  }
  if (files.empty()) {
    std::fprintf(stderr, "usage: %s [--table TABLE] FILE...\nwithout files of text there is nothing to measure\n",
                 argv[0]);
    return argc > 1 ? 0 : 2;
  }
  if (table != nullptr) measure_imported(files, table);
  run(files);
  return 0;
}
