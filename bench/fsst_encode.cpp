// Where the time of encoding fsst on one core goes, for files of text (a string per line): finding tables, cutting rows
// into symbols, and all of it with what the codec does besides. Files are repeated in random order up to 32 MiB.
//
//   fsst_encode_bench FILE…
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "basalt/plan/chooser.h"
#include "bench/cpu_clock.h"
#include "codec/fsst/tables.h"
#include "gen/texts.h"

namespace basalt::bench {
namespace {

constexpr uint64_t kBytes = 32 << 20;
constexpr int kRounds = 3;

struct Seconds {
  double training = 0;
  double matching = 0;
  uint64_t codes = 0;
};

Seconds measure(const Values& values) {
  Seconds out;
  const double start = cpu_seconds();
  const fsst::Tables trained = fsst::train_tables(values, fsst::plan_of(Effort::kBalanced));
  out.training = cpu_seconds() - start;
  const uint64_t table_rows = uint64_t{kTileRows} << trained.shift;
  const char* const readable = values.bytes + values.offsets[values.count];
  Buffer codes;
  std::vector<fsst::Matcher::Part> parts;
  for (uint64_t first = 0; first < values.count; first += kTileRows) {
    static std::unique_ptr<fsst::Matcher> matcher;
    if (first % table_rows == 0) matcher = std::make_unique<fsst::Matcher>(trained.tables[first / table_rows]);
    parts.clear();
    for (uint64_t row = first; row < std::min<uint64_t>(first + kTileRows, values.count); ++row) {
      if (values.offsets[row] == values.offsets[row + 1]) continue;
      parts.push_back({values.bytes + values.offsets[row + 1], nullptr, 0});
    }
    matcher->encode_all(values.bytes + values.offsets[first], parts, readable, codes);
  }
  out.matching = cpu_seconds() - start - out.training;
  out.codes = codes.size();
  return out;
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) {
  using namespace basalt;
  using namespace basalt::bench;
  const Tree tree{"strings", {{"packed", {}}, {"fsst", {{"packed", {}}}}}};
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    gen::Texts lines;
    for (std::string line; std::getline(file, line);) lines.add(line);
    gen::Texts texts;
    uint64_t step = 7919;
    for (uint64_t row = 0; texts.bytes() < kBytes; row = (row + step) % lines.rows()) {
      texts.add(lines.at(row));
      if (row == 0) step += 2;
    }
    for (int variant = 0; variant < 8; ++variant) {
      fsst::Matcher::variant = variant;
      Seconds best{1e9, 1e9, 0};
      double all = 1e9;
      for (int round = 0; round < kRounds; ++round) {
        Seconds sum;
        std::vector<Node> nodes;
        double encoding = 0;
        for (const Values& chunk : texts.chunks()) {
          const Seconds one = measure(chunk);
          sum.training += one.training;
          sum.matching += one.matching;
          sum.codes += one.codes;
          const double start = cpu_seconds();
          nodes.push_back(encode_tree(chunk, tree, Effort::kBalanced));
          encoding += cpu_seconds() - start;
        }
        best.training = std::min(best.training, sum.training);
        best.matching = std::min(best.matching, sum.matching);
        best.codes = sum.codes;
        all = std::min(all, encoding);
      }
      const auto bytes = static_cast<double>(texts.bytes());
      std::printf(
          "%-10s variant %d: training %6.1f ms, matching %6.1f ms (%.2f ns per code byte), all %6.1f ms, %.3f GB/s\n",
          std::filesystem::path(argv[i]).filename().c_str(), variant, best.training * 1e3, best.matching * 1e3,
          best.matching * 1e9 / static_cast<double>(best.codes), all * 1e3, bytes / all / 1e9);
      std::fflush(stdout);
    }
  }
  return 0;
}
