#include "bench/columns/strings_sweep.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cmath>

#include "bench/columns/columns.h"
#include "codec/fsst/fsst.h"
#include "codec/fsst/tables.h"

namespace basalt::bench {
namespace {

struct Setting {
  const char* name;
  fsst::Plan plan;
  uint64_t range_bytes = 0;  // plain bytes that share a table; 0: a chunk's
};

// As `balanced`, with a table per chunk, but for what `change` does.
template <typename Change>
Setting setting_of(const char* name, Change change) {
  Setting setting{name, fsst::plan_of(Effort::kBalanced), 0};
  setting.plan.ranges = 0;
  change(setting);
  return setting;
}

std::vector<Setting> settings() {
  std::vector<Setting> out{setting_of("balanced", [](Setting&) {})};
  for (const uint32_t kib : {16u, 32u, 128u, 256u}) {
    out.push_back(setting_of("sample", [&](Setting& setting) { setting.plan.sample_bytes = kib << 10; }));
  }
  for (const uint32_t rounds : {2u, 5u, 16u}) {
    out.push_back(setting_of("rounds", [&](Setting& setting) { setting.plan.training.rounds = rounds; }));
  }
  for (const uint64_t kib : {64u, 256u, 1024u, 4096u}) {
    out.push_back(setting_of("range", [&](Setting& setting) { setting.range_bytes = kib << 10; }));
  }
  for (const uint32_t most : {64u, 128u, 192u}) {
    out.push_back(setting_of("long symbols", [&](Setting& setting) { setting.plan.training.most_long = most; }));
  }
  for (const uint32_t rows : {32u, 64u}) {
    out.push_back(setting_of("rows of pairs", [&](Setting& setting) { setting.plan.training.most_rows = rows; }));
  }
  for (const uint32_t pairs : {8u, 16u}) {
    out.push_back(setting_of("pairs per row", [&](Setting& setting) { setting.plan.training.most_per_row = pairs; }));
  }
  out.push_back(
      setting_of("optimal parse", [](Setting& setting) { setting.plan.training.parse = fsst::Parse::kOptimal; }));
  return out;
}

struct Outcome {
  double ratio = 0;   // geometric mean of the columns', codes and tables
  double encode = 0;  // plain bytes per second, training included
};

Outcome measure(const Setting& setting, std::span<const Texts> columns, int rounds) {
  const auto& codec = static_cast<const FsstCodec&>(get_codec("fsst"));
  const Tree tree{"fsst", {{"packed", {}}}};
  double logarithms = 0, seconds = 0, plain = 0;
  for (const Texts& texts : columns) {
    const uint64_t table_rows = setting.range_bytes * texts.rows() / texts.bytes();
    const std::vector<Values> ranges =
        setting.range_bytes == 0 ? texts.chunks() : texts.chunks(std::clamp<uint64_t>(table_rows, 1, kMaxChunkRows));
    uint64_t stored = 0;
    seconds += best_of(rounds, [&] {
      stored = 0;
      for (const Values& range : ranges) {
        const Node node = codec.encode_by(setting.plan, range, tree, Effort::kBalanced);
        stored += node.streams[fsst::kCodes].size() + node.streams[fsst::kTables].size();
      }
    });
    plain += static_cast<double>(texts.bytes());
    logarithms += std::log(static_cast<double>(texts.bytes()) / static_cast<double>(stored));
  }
  return {std::exp(logarithms / static_cast<double>(columns.size())), plain / seconds};
}

}  // namespace

Sweep sweep_strings(std::span<const Texts> columns, int rounds) {
  constexpr auto kLeft = TextTable::Align::kLeft, kRight = TextTable::Align::kRight;
  TextTable table({{"other than balanced", kLeft},
                   {"sample", kRight},
                   {"rounds", kRight},
                   {"range", kRight},
                   {"long symbols", kRight},
                   {"rows of pairs", kRight},
                   {"pairs per row", kRight},
                   {"ratio", kRight},
                   {"encode GB/s", kRight}});
  std::string lines;
  const std::vector<Setting> all = settings();
  std::atomic<size_t> done = 0;
  ProgressBar bar("sweep", false, 0, [&] { return static_cast<double>(done) / static_cast<double>(all.size()); });
  for (const Setting& setting : all) {
    const Outcome outcome = measure(setting, columns, rounds);
    ++done;
    const fsst::TrainOptions& training = setting.plan.training;
    table.add({setting.name, human_bytes(setting.plan.sample_bytes), std::to_string(training.rounds),
               setting.range_bytes == 0 ? "chunk" : human_bytes(setting.range_bytes),
               std::to_string(training.most_long), std::to_string(training.most_rows),
               std::to_string(training.most_per_row), fmt::format("{:.3f}", outcome.ratio),
               fmt::format("{:.3f}", outcome.encode / 1e9)});
    lines += fmt::format(
        "{}{{\"change\":\"{}\",\"sample_bytes\":{},\"rounds\":{},\"range_bytes\":{},\"most_long\":{},\"most_rows\":{},"
        "\"most_per_row\":{},\"ratio\":{:.4f},\"encode_gbs\":{:.4f}}}",
        lines.empty() ? "" : ",\n", setting.name, setting.plan.sample_bytes, training.rounds, setting.range_bytes,
        training.most_long, training.most_rows, training.most_per_row, outcome.ratio, outcome.encode / 1e9);
  }
  return {table.render(STDOUT_FILENO),
          fmt::format("{{\"benchmark\":\"strings sweep\",\"threads\":1,\"settings\":[\n{}\n]}}\n", lines)};
}

}  // namespace basalt::bench
