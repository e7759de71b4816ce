// `basalt bench galp`: files of doubles under galp, the tree that the chooser takes, ALP's rules and zstd: sizes with
// all bytes counted, and how fast one core writes and reads them.
#include <fmt/format.h>
#include <unistd.h>
#include <zstd.h>

#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "basalt/core/error.h"
#include "basalt/plan/chooser.h"
#include "cli/alp_size.h"
#include "cli/bench.h"
#include "cli/command.h"
#include "cli/terminal.h"

namespace basalt::cli {
namespace {

constexpr int kZstdLevel = 3;
const Tree kPlainest{"galp", {{"packed", {}}}};

struct Figures {
  std::string name;
  uint64_t values = 0;
  uint64_t alp = 0, galp = 0, chosen = 0, zstd = 0;  // bytes
  std::string tree;
  // Plain bytes per second; traffic: read and written.
  double encode = 0, decode = 0, traffic = 0, chosen_decode = 0, zstd_decode = 0;

  double plain() const { return static_cast<double>(values) * sizeof(double); }
};

// .csv: a number per line; anything else: doubles as they lie in memory.
std::vector<double> read_doubles(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ErrorCode::kIo, path + ": cannot be read");
  std::vector<double> values;
  if (std::filesystem::path(path).extension() != ".csv") {
    values.resize(std::filesystem::file_size(path) / sizeof(double));
    file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(double)));
    return values;
  }
  for (std::string line; std::getline(file, line);) {
    if (line.empty()) continue;
    double value = 0;
    const auto end = line.data() + line.size() - (line.back() == '\r' ? 1 : 0);
    if (std::from_chars(line.data(), end, value).ptr != end) {
      throw Error(ErrorCode::kInvalidArgument, path + ": \"" + line + "\" is not a number");
    }
    values.push_back(value);
  }
  return values;
}

Values view(const std::vector<double>& values, uint64_t first, uint64_t count) {
  Values out;
  out.type = Physical::kF64;
  out.count = count;
  out.data = values.data() + first;
  return out;
}

// The file's values again and again: short files are measured as long ones. Whole tiles of files that have any.
std::vector<double> repeated(const std::vector<double>& values, uint64_t rows) {
  const size_t period = values.size() < kTileRows ? values.size() : values.size() / kTileRows * kTileRows;
  std::vector<double> out;
  while (out.size() == 0 || out.size() + period <= rows) {
    out.insert(out.end(), values.begin(), values.begin() + static_cast<ptrdiff_t>(period));
  }
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

Figures measure(const std::string& path, const BenchOptions& options) {
  const std::vector<double> values = read_doubles(path);
  Figures f;
  f.name = std::filesystem::path(path).stem().string();
  f.values = values.size();
  if (values.empty()) throw Error(ErrorCode::kInvalidArgument, path + ": holds no numbers");
  f.alp = alp_bytes(values);
  ShapeChooser chooser(Physical::kF64, Effort::kBest);
  Tree tree;
  for (uint64_t first = 0; first < values.size(); first += kMaxChunkRows) {
    const Values chunk = view(values, first, std::min<uint64_t>(kMaxChunkRows, values.size() - first));
    f.galp += encode_tree(chunk, kPlainest).encoded_bytes();
    tree = chooser.choose(chunk);
    f.chosen += encode_tree(chunk, tree, Effort::kBest).encoded_bytes();
  }
  f.tree = to_string(tree);
  std::vector<char> frame(ZSTD_compressBound(values.size() * sizeof(double)));
  f.zstd = ZSTD_compress(frame.data(), frame.size(), values.data(), values.size() * sizeof(double), kZstdLevel);

  const Speeds speeds(repeated(values, options.rows), options.rounds);
  double seconds = 0;
  const std::vector<Node> nodes = speeds.encode(kPlainest, seconds);
  f.encode = speeds.bytes() / seconds;
  uint64_t encoded = 0;
  for (const Node& node : nodes) encoded += node.encoded_bytes();
  seconds = speeds.decode(nodes);
  f.decode = speeds.bytes() / seconds;
  f.traffic = (speeds.bytes() + static_cast<double>(encoded)) / seconds;
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
        "{}{{\"file\":\"{}\",\"values\":{},\"alp_bytes\":{},\"galp_bytes\":{},\"chosen_bytes\":{},\"chosen\":\"{}\","
        "\"zstd_bytes\":{},\"encode_gbs\":{:.3f},\"decode_gbs\":{:.3f},\"decode_traffic_gbs\":{:.3f},"
        "\"chosen_decode_gbs\":{:.3f},\"zstd_decode_gbs\":{:.3f}}}",
        files.empty() ? "" : ",\n", f.name, f.values, f.alp, f.galp, f.chosen, f.tree, f.zstd, f.encode / 1e9,
        f.decode / 1e9, f.traffic / 1e9, f.chosen_decode / 1e9, f.zstd_decode / 1e9);
  }
  return fmt::format("{{\"benchmark\":\"galp\",\"threads\":1,\"memcpy_gbs\":{:.2f},\"files\":[\n{}\n]}}\n", ceiling,
                     files);
}

}  // namespace

int bench_galp(const BenchOptions& options) {
  if (options.device == Device::kCuda) throw Error(ErrorCode::kInvalidArgument, "bench galp measures the CPU");
  if (options.files.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "bench galp needs --files: doubles, .csv with one per line or raw");
  }
  ThreadPool pool(1);
  const double ceiling = memcpy_ceiling(options.bytes, pool, options.rounds);
  std::vector<Figures> all;
  for (const std::string& file : options.files) all.push_back(measure(file, options));

  constexpr auto kLeft = TextTable::Align::kLeft, kRight = TextTable::Align::kRight;
  TextTable sizes({{"file", kLeft},
                   {"values", kRight},
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
                    {"chosen GB/s", kRight},
                    {"zstd GB/s", kRight},
                    {"galp over zstd", kRight}});
  for (const Figures& f : all) {
    sizes.add({f.name, std::to_string(f.values), std::to_string(f.alp), std::to_string(f.galp),
               fmt::format("{:.3f}", static_cast<double>(f.galp) / static_cast<double>(f.alp)), std::to_string(f.zstd),
               std::to_string(f.chosen), f.tree});
    speeds.add({f.name, fmt::format("{:.2f}", f.encode / 1e9), fmt::format("{:.2f}", f.decode / 1e9),
                fmt::format("{:.0f} %", f.traffic / ceiling / 1e7), fmt::format("{:.2f}", f.chosen_decode / 1e9),
                fmt::format("{:.2f}", f.zstd_decode / 1e9), fmt::format("{:.1f}", f.decode / f.zstd_decode)});
  }
  print(
      "Bytes, everything counted (ALP: by its published rules, places of vectors not counted; zstd: level 3; chosen: "
      "the\n"
      "tree that convert --effort best takes)\n\n");
  print(sizes.render(STDOUT_FILENO));
  print(fmt::format("\nHarmonic mean of ratios: ALP {:.2f}, galp(packed) {:.2f}, chosen {:.2f}, zstd {:.2f}\n",
                    harmonic_ratio(all, &Figures::alp), harmonic_ratio(all, &Figures::galp),
                    harmonic_ratio(all, &Figures::chosen), harmonic_ratio(all, &Figures::zstd)));
  print(fmt::format(
      "\nSpeed in plain bytes, one thread, each file repeated to {} values, best of {}; the share of memcpy\n"
      "({:.1f} GB/s) in bytes read and written\n\n",
      options.rows, options.rounds, ceiling));
  print(speeds.render(STDOUT_FILENO));
  if (!options.json.empty()) {
    std::ofstream file(options.json, std::ios::trunc);
    file << json_of(all, ceiling);
    if (!file.flush()) throw Error(ErrorCode::kIo, options.json + ": cannot be written");
  }
  return kSuccess;
}

}  // namespace basalt::cli
