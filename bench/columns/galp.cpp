// `columns galp`: files of doubles under galp, the tree that the chooser takes, ALP's rules and zstd: sizes with
// all bytes counted, and how fast one core writes, reads, filters and looks into them. Without files: columns made by
// a rule. The same on the GPU: bench/galp_gpu.cu.
#include <fmt/format.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <numeric>

#include "basalt/core/error.h"
#include "basalt/encoding/chooser.h"
#include "basalt/encoding/tree.h"
#include "bench/columns/alp_size.h"
#include "bench/columns/columns.h"
#include "codec/galp/exceptions.h"
#include "core/float_key.h"
#include "gen/floats.h"
#include "gen/random.h"

namespace basalt::bench {
namespace {

constexpr int kZstdLevel = 3;
constexpr size_t kGathered = 1 << 20;
constexpr uint64_t kMadeRows = 1 << 17;
const Tree kPlainest{"galp", {{"packed", {}}}};

struct Figures {
  std::string name;
  uint64_t values = 0;
  uint64_t alp = 0, galp = 0, chosen = 0, zstd = 0;  // bytes
  double exceptions = 0;                             // of galp(packed), per tile
  std::string tree;
  // Plain bytes per second; traffic: read and written.
  double encode = 0, decode = 0, traffic = 0, filter = 0, chosen_decode = 0, zstd_decode = 0;
  double gather = 0;  // rows per second

  double plain() const { return static_cast<double>(values) * sizeof(double); }
};

Values view(const std::vector<double>& values, uint64_t first, uint64_t count) {
  Values out;
  out.type = Physical::kF64;
  out.count = count;
  out.data = values.data() + first;
  return out;
}

class Speeds {
 public:
  Speeds(std::vector<double> values, int rounds) : values_(std::move(values)), rounds_(rounds) {}

  double bytes() const { return static_cast<double>(values_.size()) * sizeof(double); }
  std::vector<Node> encode(const Tree& tree, double& seconds) const {
    std::vector<Node> nodes;
    seconds = best_of(rounds_, [&] {
      nodes.clear();
      for (uint64_t first = 0; first < values_.size(); first += kMaxChunkRows) {
        nodes.push_back(
            encode_tree(view(values_, first, std::min<uint64_t>(kMaxChunkRows, values_.size() - first)), tree));
      }
    });
    return nodes;
  }
  double decode(const std::vector<Node>& nodes) const {
    Buffer out(values_.size() * sizeof(double) + kTileRows * sizeof(double));
    std::memset(out.data(), 0, out.size());
    return best_of(rounds_, [&] {
      double* to = out.as<double>();
      for (const Node& node : nodes) {
        const auto reader = open_reader(view_of(node));
        for (uint32_t tile = 0; tile < tile_count(node.count); ++tile, to += kTileRows) reader->decode_tile(tile, to);
      }
    });
  }
  // Rows up to the middle value, of every tile.
  double filter(const std::vector<Node>& nodes) const {
    std::vector<double> ordered = values_;
    const auto middle = ordered.begin() + std::ssize(ordered) / 2;
    std::ranges::nth_element(ordered, middle, {}, [](double value) { return float_key(value); });
    const int64_t last = float_key(*middle);
    uint8_t passes[kTileRows];
    uint64_t count = 0;
    const double seconds = best_of(rounds_, [&] {
      count = 0;
      for (const Node& node : nodes) {
        const auto reader = open_reader(view_of(node));
        for (uint32_t tile = 0; tile < tile_count(node.count); ++tile) {
          reader->filter_range(tile, std::numeric_limits<int64_t>::min(), last, passes);
          count = std::accumulate(passes, passes + rows_in_tile(node.count, tile), count);
        }
      }
    });
    const auto expected = std::ranges::count_if(values_, [&](double value) { return float_key(value) <= last; });
    if (count != static_cast<uint64_t>(expected)) throw Error(ErrorCode::kInternal, "a filter counts wrongly");
    return seconds;
  }
  // Rows of the first array at random places, a thousand per call; per row.
  double gather(const Node& node) const {
    const gen::Stream random(node.count);
    std::vector<uint32_t> rows(kGathered);
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<uint32_t>(random.bits(i) % node.count);
    std::vector<double> out(rows.size());
    constexpr size_t kCall = 1024;
    const double seconds = best_of(rounds_, [&] {
      const auto reader = open_reader(view_of(node));
      for (size_t at = 0; at < rows.size(); at += kCall) reader->gather({rows.data() + at, kCall}, out.data() + at);
    });
    for (size_t i = 0; i < rows.size(); ++i) {
      if (std::memcmp(&out[i], &values_[rows[i]], sizeof(double)) != 0) {
        throw Error(ErrorCode::kInternal, "a row that was gathered is not the one that was encoded");
      }
    }
    return seconds / static_cast<double>(rows.size());
  }
  // A frame per repetition: the file again would be one long match.
  double decode_zstd(uint64_t values) const {
    const size_t bytes = std::min<size_t>(values, values_.size()) * sizeof(double);
    std::vector<char> frame(ZSTD_compressBound(bytes));
    frame.resize(ZSTD_compress(frame.data(), frame.size(), values_.data(), bytes, kZstdLevel));
    Buffer out(values_.size() * sizeof(double));
    std::memset(out.data(), 0, out.size());
    ZSTD_DCtx* context = ZSTD_createDCtx();
    const double seconds = best_of(rounds_, [&] {
      for (size_t at = 0; at + bytes <= out.size(); at += bytes) {
        ZSTD_decompressDCtx(context, out.data() + at, bytes, frame.data(), frame.size());
      }
    });
    ZSTD_freeDCtx(context);
    return seconds;
  }

 private:
  std::vector<double> values_;
  int rounds_;
};

Figures measure(const std::string& name, const std::vector<double>& values, const Options& options) {
  Figures f;
  f.name = name;
  f.values = values.size();
  f.alp = alp_bytes(values);
  ShapeChooser chooser(Physical::kF64, Effort::kBest);
  Tree tree;
  for (uint64_t first = 0; first < values.size(); first += kMaxChunkRows) {
    const Values chunk = view(values, first, std::min<uint64_t>(kMaxChunkRows, values.size() - first));
    const Node node = encode_tree(chunk, kPlainest);
    f.galp += node.encoded_bytes();
    const std::vector<uint32_t> counts = galp::exception_counts(view_of(node));
    f.exceptions += std::accumulate(counts.begin(), counts.end(), 0.0) / tile_count(values.size());
    tree = options.tree.empty() ? chooser.choose(chunk) : bind_tree(parse_tree(options.tree), Physical::kF64);
    f.chosen += encode_tree(chunk, tree, Effort::kBest).encoded_bytes();
  }
  f.tree = to_string(tree);
  std::vector<char> frame(ZSTD_compressBound(values.size() * sizeof(double)));
  f.zstd = ZSTD_compress(frame.data(), frame.size(), values.data(), values.size() * sizeof(double), kZstdLevel);

  const Speeds speeds(gen::repeated(values, options.rows), options.rounds);
  double seconds = 0;
  const std::vector<Node> nodes = speeds.encode(kPlainest, seconds);
  f.encode = speeds.bytes() / seconds;
  uint64_t encoded = 0;
  for (const Node& node : nodes) encoded += node.encoded_bytes();
  seconds = speeds.decode(nodes);
  f.decode = speeds.bytes() / seconds;
  f.traffic = (speeds.bytes() + static_cast<double>(encoded)) / seconds;
  f.filter = speeds.bytes() / speeds.filter(nodes);
  f.gather = 1 / speeds.gather(nodes.front());
  f.chosen_decode = speeds.bytes() / speeds.decode(speeds.encode(tree, seconds));
  f.zstd_decode = speeds.bytes() / speeds.decode_zstd(values.size());
  return f;
}

double harmonic_ratio(const std::vector<Figures>& all, uint64_t Figures::*bytes) {
  double sum = 0;
  for (const Figures& f : all) sum += static_cast<double>(f.*bytes) / f.plain();
  return static_cast<double>(all.size()) / sum;
}

std::string json_of(const std::vector<Figures>& all, double ceiling) {
  std::string files;
  for (const Figures& f : all) {
    files += fmt::format(
        "{}{{\"file\":\"{}\",\"values\":{},\"exceptions_per_tile\":{:.2f},\"alp_bytes\":{},\"galp_bytes\":{},\"chosen_"
        "bytes\":{},\"chosen\":\"{}\","
        "\"zstd_bytes\":{},\"encode_gbs\":{:.3f},\"decode_gbs\":{:.3f},\"decode_traffic_gbs\":{:.3f},"
        "\"filter_gbs\":{:.3f},\"gather_rows_per_second\":{:.0f},"
        "\"chosen_decode_gbs\":{:.3f},\"zstd_decode_gbs\":{:.3f}}}",
        files.empty() ? "" : ",\n", f.name, f.values, f.exceptions, f.alp, f.galp, f.chosen, f.tree, f.zstd,
        f.encode / 1e9, f.decode / 1e9, f.traffic / 1e9, f.filter / 1e9, f.gather, f.chosen_decode / 1e9,
        f.zstd_decode / 1e9);
  }
  return fmt::format("{{\"benchmark\":\"galp\",\"threads\":1,\"memcpy_gbs\":{:.2f},\"files\":[\n{}\n]}}\n", ceiling,
                     files);
}

}  // namespace

void run_galp(const Options& options) {
  ThreadPool pool(1);
  const double ceiling = memcpy_ceiling(options.bytes, pool, options.rounds);
  std::vector<Figures> all;
  for (const std::string& file : options.files) {
    all.push_back(measure(std::filesystem::path(file).stem().string(), gen::read_doubles(file), options));
  }
  if (options.files.empty()) {
    for (const gen::DecimalColumn& column : gen::decimal_columns()) {
      all.push_back(measure(std::string("like ") + column.name, gen::decimal_values(column, kMadeRows), options));
    }
  }

  constexpr auto kLeft = TextTable::Align::kLeft, kRight = TextTable::Align::kRight;
  TextTable sizes({{"file", kLeft},
                   {"values", kRight},
                   {"exceptions", kRight},
                   {"ALP bytes", kRight},
                   {"galp(packed)", kRight},
                   {"of ALP", kRight},
                   {"zstd", kRight},
                   {"chosen", kRight},
                   {"tree", kLeft}});
  TextTable speeds({{"file", kLeft},
                    {"encode GB/s", kRight},
                    {"decode GB/s", kRight},
                    {"of memcpy", kRight},
                    {"filter GB/s", kRight},
                    {"gather rows/s", kRight},
                    {"chosen GB/s", kRight},
                    {"zstd GB/s", kRight},
                    {"galp over zstd", kRight}});
  for (const Figures& f : all) {
    sizes.add({f.name, std::to_string(f.values), fmt::format("{:.1f}", f.exceptions), std::to_string(f.alp),
               std::to_string(f.galp), fmt::format("{:.3f}", static_cast<double>(f.galp) / static_cast<double>(f.alp)),
               std::to_string(f.zstd), std::to_string(f.chosen), f.tree});
    speeds.add({f.name, fmt::format("{:.2f}", f.encode / 1e9), fmt::format("{:.2f}", f.decode / 1e9),
                fmt::format("{:.0f} %", f.traffic / ceiling / 1e7), fmt::format("{:.2f}", f.filter / 1e9),
                human_rate(f.gather), fmt::format("{:.2f}", f.chosen_decode / 1e9),
                fmt::format("{:.2f}", f.zstd_decode / 1e9), fmt::format("{:.1f}", f.decode / f.zstd_decode)});
  }
  print(fmt::format(
      "Bytes, everything counted (ALP: by its published rules, places of vectors not counted; zstd: level 3; chosen:\n"
      "{}); exceptions of galp(packed) per tile\n\n",
      options.tree.empty() ? "the tree that convert --effort best takes" : "the tree of --tree"));
  print(sizes.render(STDOUT_FILENO));
  print(fmt::format("\nHarmonic mean of ratios: ALP {:.2f}, galp(packed) {:.2f}, chosen {:.2f}, zstd {:.2f}\n",
                    harmonic_ratio(all, &Figures::alp), harmonic_ratio(all, &Figures::galp),
                    harmonic_ratio(all, &Figures::chosen), harmonic_ratio(all, &Figures::zstd)));
  print(fmt::format(
      "\nSpeed in plain bytes, one thread, each file repeated with jitter to {} values, best of {}; the share of\n"
      "memcpy ({:.1f} GB/s) in bytes read and written; filter: rows up to the middle value\n\n",
      options.rows, options.rounds, ceiling));
  print(speeds.render(STDOUT_FILENO));
  write_json(options, json_of(all, ceiling));
}

}  // namespace basalt::bench
