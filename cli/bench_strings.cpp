// `basalt bench strings`: files of text, a string per line, under fsst, FSST's published rules, zstd and lz4: sizes
// with and without what finds a single string, and how fast one core writes and reads them.
#include <fmt/format.h>
#include <lz4.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "basalt/core/error.h"
#include "basalt/plan/chooser.h"
#include "cli/bench.h"
#include "cli/command.h"
#include "cli/fsst_size.h"
#include "cli/terminal.h"
#include "codec/fsst/layout.h"

namespace basalt::cli {
namespace {

const Tree kFsst{"strings", {{"packed", {}}, {"fsst", {{"packed", {}}}}}};

// The strings of a file, and of as many repetitions of it as speeds are measured on.
class Texts {
 public:
  void add(std::string_view text) {
    bytes_ += text;
    offsets_.push_back(static_cast<int64_t>(bytes_.size()));
  }
  uint64_t rows() const { return offsets_.size() - 1; }
  uint64_t bytes() const { return bytes_.size(); }
  const std::string& all() const { return bytes_; }
  std::string_view at(uint64_t row) const {
    return std::string_view(bytes_).substr(static_cast<size_t>(offsets_[row]),
                                           static_cast<size_t>(offsets_[row + 1] - offsets_[row]));
  }
  Values view(uint64_t first, uint64_t count) const {
    Values values;
    values.type = Physical::kBytes;
    values.count = count;
    values.offsets = offsets_.data() + first;
    values.bytes = bytes_.data();
    return values;
  }
  // Chunks as a file has them.
  template <typename Body>
  void each_chunk(Body body) const {
    for (uint64_t first = 0; first < rows(); first += kMaxChunkRows) {
      body(view(first, std::min<uint64_t>(kMaxChunkRows, rows() - first)));
    }
  }

 private:
  std::string bytes_;
  std::vector<int64_t> offsets_{0};
};

Texts read_lines(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ErrorCode::kIo, path + ": cannot be read");
  Texts texts;
  for (std::string line; std::getline(file, line);) texts.add(line);
  if (texts.bytes() == 0) throw Error(ErrorCode::kInvalidArgument, path + ": holds no text");
  return texts;
}

Texts repeated(const Texts& texts, uint64_t bytes) {
  Texts out;
  do {
    for (uint64_t row = 0; row < texts.rows(); ++row) out.add(texts.at(row));
  } while (out.bytes() + texts.bytes() <= bytes);
  return out;
}

// Of one effort, in bytes and plain bytes per second.
struct Effortful {
  uint64_t codes = 0;  // with tables
  uint64_t index = 0;  // lengths, code lengths, tile starts, pieces
  double encode = 0, decode = 0;
};
struct Figures {
  std::string name;
  uint64_t rows = 0, plain = 0;
  uint64_t reference = 0, zstd1 = 0, zstd3 = 0, lz4 = 0;
  Effortful balanced, best;
  std::string tree;
  uint64_t chosen = 0;

  double ratio(uint64_t bytes) const { return static_cast<double>(plain) / static_cast<double>(bytes); }
  double index_bits() const { return 8.0 * static_cast<double>(balanced.index) / static_cast<double>(rows); }
};

Effortful measure_effort(const Texts& texts, const Texts& many, Effort effort, int rounds) {
  Effortful out;
  texts.each_chunk([&](const Values& chunk) {
    const Node node = encode_tree(chunk, kFsst, effort);
    const std::vector<Buffer>& streams = node.children[1].streams;
    const uint64_t codes = streams[fsst::kCodes].size() + streams[fsst::kTables].size();
    out.codes += codes;
    out.index += node.encoded_bytes() - codes;
  });
  const auto plain = static_cast<double>(many.bytes());
  std::vector<Node> nodes;
  out.encode = plain / best_of(rounds, [&] {
                 nodes.clear();
                 many.each_chunk([&](const Values& chunk) { nodes.push_back(encode_tree(chunk, kFsst, effort)); });
               });
  StringRows rows;
  out.decode = plain / best_of(rounds + 1, [&] {  // the first touches the memory
                 rows.clear();
                 for (const Node& node : nodes) {
                   const auto reader = open_reader(view_of(node));
                   for (uint32_t tile = 0; tile < tile_count(node.count); ++tile) reader->decode_tile(tile, rows);
                 }
               });
  if (std::memcmp(rows.bytes.data(), many.all().data(), many.bytes()) != 0) {
    throw Error(ErrorCode::kInternal, "decoded strings differ");
  }
  return out;
}

uint64_t zstd_bytes(const std::string& bytes, int level) {
  std::vector<char> frame(ZSTD_compressBound(bytes.size()));
  return ZSTD_compress(frame.data(), frame.size(), bytes.data(), bytes.size(), level);
}
uint64_t lz4_bytes(const std::string& bytes) {
  std::vector<char> frame(static_cast<size_t>(LZ4_compressBound(static_cast<int>(bytes.size()))));
  return static_cast<uint64_t>(
      LZ4_compress_default(bytes.data(), frame.data(), static_cast<int>(bytes.size()), static_cast<int>(frame.size())));
}

Figures measure(const std::string& path, const BenchOptions& options) {
  const Texts texts = read_lines(path);
  const Texts many = repeated(texts, options.bytes);
  Figures f;
  f.name = std::filesystem::path(path).filename().string();
  f.rows = texts.rows();
  f.plain = texts.bytes();
  std::vector<std::string_view> lines;
  for (uint64_t row = 0; row < texts.rows(); ++row) lines.push_back(texts.at(row));
  f.reference = fsst_code_bytes(lines);
  f.zstd1 = zstd_bytes(texts.all(), 1);
  f.zstd3 = zstd_bytes(texts.all(), 3);
  f.lz4 = lz4_bytes(texts.all());
  f.balanced = measure_effort(texts, many, Effort::kBalanced, options.rounds);
  f.best = measure_effort(texts, many, Effort::kBest, options.rounds);
  ShapeChooser chooser(Physical::kBytes);
  texts.each_chunk([&](const Values& chunk) {
    const Tree tree = chooser.choose(chunk);
    f.tree = to_string(tree);
    f.chosen += encode_tree(chunk, tree).encoded_bytes();
  });
  return f;
}

double mean(const std::vector<Figures>& all, const std::function<double(const Figures&)>& ratio) {
  double sum = 0;
  for (const Figures& f : all) sum += std::log(ratio(f));
  return std::exp(sum / static_cast<double>(all.size()));
}

std::string json_of(const std::vector<Figures>& all, const BenchOptions& options) {
  std::string files;
  for (const Figures& f : all) {
    files += fmt::format(
        "{}{{\"file\":\"{}\",\"rows\":{},\"plain_bytes\":{},\"reference_fsst_bytes\":{},\"fsst_bytes\":{},"
        "\"fsst_index_bytes\":{},\"best_bytes\":{},\"best_index_bytes\":{},\"zstd1_bytes\":{},\"zstd3_bytes\":{},"
        "\"lz4_bytes\":{},\"chosen\":\"{}\",\"chosen_bytes\":{},\"encode_gbs\":{:.3f},\"decode_gbs\":{:.3f},"
        "\"best_encode_gbs\":{:.3f},\"best_decode_gbs\":{:.3f}}}",
        files.empty() ? "" : ",\n", f.name, f.rows, f.plain, f.reference, f.balanced.codes, f.balanced.index,
        f.best.codes, f.best.index, f.zstd1, f.zstd3, f.lz4, f.tree, f.chosen, f.balanced.encode / 1e9,
        f.balanced.decode / 1e9, f.best.encode / 1e9, f.best.decode / 1e9);
  }
  return fmt::format("{{\"benchmark\":\"strings\",\"threads\":1,\"speed_bytes\":{},\"files\":[\n{}\n]}}\n",
                     options.bytes, files);
}

std::vector<std::string> files_of(const std::vector<std::string>& given) {
  std::vector<std::string> files;
  for (const std::string& path : given) {
    if (!std::filesystem::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    const size_t before = files.size();
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (entry.is_regular_file()) files.push_back(entry.path().string());
    }
    std::sort(files.begin() + static_cast<ptrdiff_t>(before), files.end());
  }
  return files;
}

}  // namespace

int bench_strings(const BenchOptions& options) {
  if (options.device == Device::kCuda) throw Error(ErrorCode::kInvalidArgument, "bench strings measures the CPU");
  const std::vector<std::string> files = files_of(options.files);
  if (files.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "bench strings needs --files: text with a string per line, or folders");
  }
  std::vector<Figures> all;
  for (const std::string& file : files) all.push_back(measure(file, options));

  constexpr auto kLeft = TextTable::Align::kLeft, kRight = TextTable::Align::kRight;
  TextTable sizes({{"file", kLeft},
                   {"strings", kRight},
                   {"FSST", kRight},
                   {"fsst", kRight},
                   {"best", kRight},
                   {"all bytes", kRight},
                   {"best, all", kRight},
                   {"index bits", kRight},
                   {"lz4", kRight},
                   {"zstd 1", kRight},
                   {"zstd 3", kRight},
                   {"chosen", kRight},
                   {"tree", kLeft}});
  TextTable speeds({{"file", kLeft},
                    {"encode GB/s", kRight},
                    {"decode GB/s", kRight},
                    {"best: encode", kRight},
                    {"best: decode", kRight}});
  const auto two = [](double value) { return fmt::format("{:.2f}", value); };
  for (const Figures& f : all) {
    sizes.add({f.name, std::to_string(f.rows), two(f.ratio(f.reference)), two(f.ratio(f.balanced.codes)),
               two(f.ratio(f.best.codes)), two(f.ratio(f.balanced.codes + f.balanced.index)),
               two(f.ratio(f.best.codes + f.best.index)), fmt::format("{:.1f}", f.index_bits()), two(f.ratio(f.lz4)),
               two(f.ratio(f.zstd1)), two(f.ratio(f.zstd3)), two(f.ratio(f.chosen)), f.tree});
    speeds.add({f.name, two(f.balanced.encode / 1e9), two(f.balanced.decode / 1e9), two(f.best.encode / 1e9),
                two(f.best.decode / 1e9)});
  }
  print(
      "Plain bytes over stored bytes. FSST: codes by its published rules, no table; fsst, best: codes and tables of "
      "strings(packed, fsst)\n"
      "at effort balanced and best; all bytes: with what finds a string (index bits per string); lz4, zstd: the file "
      "as "
      "one block\n\n");
  print(sizes.render(STDOUT_FILENO));
  print(fmt::format("\nGeometric mean: FSST {:.3f}, fsst {:.3f}, best {:.3f}\n",
                    mean(all, [](const Figures& f) { return f.ratio(f.reference); }),
                    mean(all, [](const Figures& f) { return f.ratio(f.balanced.codes); }),
                    mean(all, [](const Figures& f) { return f.ratio(f.best.codes); })));
  print(fmt::format("\nSpeed in plain bytes, one thread, each file repeated to {}, best of {}\n\n",
                    human_bytes(options.bytes), options.rounds));
  print(speeds.render(STDOUT_FILENO));
  if (!options.json.empty()) {
    std::ofstream file(options.json, std::ios::trunc);
    file << json_of(all, options);
    if (!file.flush()) throw Error(ErrorCode::kIo, options.json + ": cannot be written");
  }
  return kSuccess;
}

}  // namespace basalt::cli
