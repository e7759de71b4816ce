// `columns strings`: columns of text under fsst, the tree that the chooser takes, FSST's published rules, zstd and
// lz4: sizes with and without what finds a single string, how fast threads of the CPU write and read them, search them
// without decoding, and the memory that writing takes. Without files: columns made by a rule. With --sweep: what
// training and limits of symbol tables bring (strings_sweep.cpp).
#include <fmt/format.h>
#include <lz4.h>
#include <malloc.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "basalt/codec/string_test.h"
#include "basalt/core/error.h"
#include "basalt/encoding/chooser.h"
#include "bench/columns/columns.h"
#include "bench/columns/fsst_size.h"
#include "bench/columns/strings_sweep.h"
#include "bench/columns/texts.h"
#include "codec/fsst/layout.h"
#include "core/peak_memory.h"

namespace basalt::bench {
namespace {

const Tree kFsst{"strings", {{"packed", {}}, {"fsst", {{"packed", {}}}}}};

// ---- General compressors -------------------------------------------------------------------------------------------

struct Compressor {
  const char* name;
  size_t (*bound)(size_t bytes);
  size_t (*compress)(std::string_view from, Buffer& to);
  void (*decompress)(const Buffer& from, char* to, size_t bytes);
};

size_t bound_lz4(size_t bytes) { return static_cast<size_t>(LZ4_compressBound(static_cast<int>(bytes))); }
size_t compress_lz4(std::string_view from, Buffer& to) {
  return static_cast<size_t>(
      LZ4_compress_default(from.data(), to.as<char>(), static_cast<int>(from.size()), static_cast<int>(to.size())));
}
void decompress_lz4(const Buffer& from, char* to, size_t bytes) {
  LZ4_decompress_safe(from.as<char>(), to, static_cast<int>(from.size()), static_cast<int>(bytes));
}

template <int kLevel>
size_t compress_zstd(std::string_view from, Buffer& to) {
  thread_local const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  return ZSTD_compressCCtx(context.get(), to.data(), to.size(), from.data(), from.size(), kLevel);
}
void decompress_zstd(const Buffer& from, char* to, size_t bytes) {
  thread_local const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  ZSTD_decompressDCtx(context.get(), to, bytes, from.data(), from.size());
}

constexpr Compressor kCompressors[] = {{"lz4", bound_lz4, compress_lz4, decompress_lz4},
                                       {"zstd 1", ZSTD_compressBound, compress_zstd<1>, decompress_zstd},
                                       {"zstd 3", ZSTD_compressBound, compress_zstd<3>, decompress_zstd}};
constexpr uint64_t kSizeBlock = 1 << 30;   // for sizes: whole files, as long as lz4 can count their bytes
constexpr uint64_t kSpeedBlock = 1 << 20;  // for speeds

// ---- Texts, stored in blocks that threads write and read on their own ----------------------------------------------

class Stored {
 public:
  virtual ~Stored() = default;
  virtual uint64_t blocks() const = 0;
  virtual void clear() = 0;
  virtual void encode(uint64_t block) = 0;
  virtual void decode(uint64_t block) = 0;
  virtual bool decoded_right() const = 0;
};

class StoredFrames final : public Stored {
 public:
  StoredFrames(const Texts& texts, const Compressor& compressor, uint64_t block_bytes)
      : texts_(texts), compressor_(compressor), block_bytes_(block_bytes) {
    frames_.resize((texts.bytes() + block_bytes - 1) / block_bytes);
    decoded_.resize(texts.bytes());
  }
  uint64_t blocks() const override { return frames_.size(); }
  void clear() override { std::fill(frames_.begin(), frames_.end(), Buffer()); }
  void encode(uint64_t block) override {
    const std::string_view plain = this->plain(block);
    Buffer frame(compressor_.bound(plain.size()));
    frame.resize(compressor_.compress(plain, frame));
    frames_[block] = std::move(frame);
  }
  void decode(uint64_t block) override {
    compressor_.decompress(frames_[block], decoded_.as<char>() + block * block_bytes_, plain(block).size());
  }
  bool decoded_right() const override { return std::memcmp(decoded_.data(), texts_.all().data(), texts_.bytes()) == 0; }
  uint64_t encoded_bytes() const {
    uint64_t bytes = 0;
    for (const Buffer& frame : frames_) bytes += frame.size();
    return bytes;
  }

 private:
  std::string_view plain(uint64_t block) const {
    return std::string_view(texts_.all()).substr(block * block_bytes_, block_bytes_);
  }

  const Texts& texts_;
  const Compressor& compressor_;
  uint64_t block_bytes_;
  std::vector<Buffer> frames_;
  Buffer decoded_;
};

class StoredChunks final : public Stored {
 public:
  StoredChunks(const Texts& texts, const Tree& tree, Effort effort, uint32_t threads)
      : chunks_(texts.chunks(chunk_rows(texts.rows(), threads))),
        tree_(tree),
        effort_(effort),
        nodes_(chunks_.size()),
        decoded_(chunks_.size()) {}
  uint64_t blocks() const override { return chunks_.size(); }
  void clear() override { std::fill(nodes_.begin(), nodes_.end(), Node()); }
  void encode(uint64_t block) override { nodes_[block] = encode_tree(chunks_[block], tree_, effort_); }
  void decode(uint64_t block) override {
    decoded_[block].clear();
    each_tile(block, [&](Reader& reader, uint32_t tile, uint32_t) { reader.decode_tile(tile, decoded_[block]); });
  }
  bool decoded_right() const override {
    for (size_t i = 0; i < chunks_.size(); ++i) {
      const Values& chunk = chunks_[i];
      const auto bytes = static_cast<size_t>(chunk.offsets[chunk.count] - chunk.offsets[0]);
      if (decoded_[i].size() != chunk.count || decoded_[i].bytes.size() != bytes ||
          std::memcmp(decoded_[i].bytes.data(), chunk.bytes + chunk.offsets[0], bytes) != 0) {
        return false;
      }
    }
    return true;
  }
  // Rows that pass, found on what is stored wherever its encoding can.
  uint64_t count(uint64_t block, const std::shared_ptr<const Automaton>& test) const {
    uint64_t found = 0;
    uint8_t passes[kTileRows];
    StringRows texts;
    each_tile(block, [&](Reader& reader, uint32_t tile, uint32_t rows) {
      if (reader.filter_strings(tile, test, passes) == Answered::kNot) {
        texts.clear();
        reader.decode_tile(tile, texts);
        for (uint32_t row = 0; row < rows; ++row) passes[row] = test->matches(texts.at(row)) ? 1 : 0;
      }
      found += static_cast<uint64_t>(std::count(passes, passes + rows, 1));
    });
    return found;
  }

 private:
  // Every thread gets as many chunks as the others, all of the same size.
  static uint64_t chunk_rows(uint64_t rows, uint32_t threads) {
    const uint64_t of_each = (rows + threads * uint64_t{kMaxChunkRows} - 1) / (threads * uint64_t{kMaxChunkRows});
    return (rows + threads * of_each - 1) / (threads * of_each);
  }
  template <typename Body>
  void each_tile(uint64_t block, Body body) const {
    const Node& node = nodes_[block];
    const auto reader = open_reader(view_of(node));
    for (uint32_t tile = 0; tile < tile_count(node.count); ++tile) body(*reader, tile, rows_in_tile(node.count, tile));
  }

  std::vector<Values> chunks_;
  Tree tree_;
  Effort effort_;
  std::vector<Node> nodes_;
  std::vector<StringRows> decoded_;
};

// ---- Figures -------------------------------------------------------------------------------------------------------

// Plain bytes per second.
struct Speed {
  std::string codec;
  uint32_t threads = 1;
  double encode = 0, decode = 0;
  double equal = 0, like = 0;  // 0: there is no such test
  uint64_t memory = 0;         // bytes at the peak of encoding, what was encoded included; 0: not known
};
struct Sizes {
  uint64_t codes = 0;  // with tables
  uint64_t index = 0;  // lengths, code lengths, tile starts, pieces
  uint64_t all() const { return codes + index; }
};
struct Figures {
  std::string name;
  uint64_t rows = 0, plain = 0;
  uint64_t reference = 0;
  uint64_t compressed[std::size(kCompressors)] = {};
  Sizes balanced, best;
  std::string tree;
  uint64_t chosen = 0;
  std::vector<Speed> speeds;

  double ratio(uint64_t bytes) const { return static_cast<double>(plain) / static_cast<double>(bytes); }
  double index_bits() const { return 8.0 * static_cast<double>(balanced.index) / static_cast<double>(rows); }
};

Sizes fsst_sizes(const Texts& texts, Effort effort) {
  Sizes out;
  for (const Values& chunk : texts.chunks()) {
    const Node node = encode_tree(chunk, kFsst, effort);
    const std::vector<Buffer>& streams = node.children[1].streams;
    const uint64_t codes = streams[fsst::kCodes].size() + streams[fsst::kTables].size();
    out.codes += codes;
    out.index += node.encoded_bytes() - codes;
  }
  return out;
}

// What speeds are measured on: many texts, a few of which pass `=` and LIKE.
class SpeedBench {
 public:
  SpeedBench(const Texts& texts, ThreadPool& pool, int rounds) : texts_(texts), pool_(pool), rounds_(rounds) {
    uint64_t row = texts.rows() / 2;
    while (row > 0 && texts.at(row).empty()) --row;
    // Automata of longer literals have too many states.
    const std::string_view literal = texts.at(row).substr(0, 100);
    const std::string_view part = literal.substr(literal.size() / 3, std::max<size_t>(1, literal.size() / 3));
    equal_ = make_automaton(StringTest::in({std::string(literal)})).automaton;
    like_ = make_automaton(StringTest::like("%" + LikePattern::escape(part) + "%")).automaton;
    for (row = 0; row < texts.rows(); ++row) {
      equals_ += texts.at(row) == literal ? 1 : 0;
      likes_ += texts.at(row).find(part) != std::string_view::npos ? 1 : 0;
    }
  }

  Speed of(const Compressor& compressor, uint64_t block_bytes) {
    StoredFrames stored(texts_, compressor, block_bytes);
    Speed speed = write_and_read(compressor.name, stored);
    speed.memory = 0;  // not known: contexts of earlier runs are still there
    return speed;
  }
  Speed of(const std::string& name, const Tree& tree, Effort effort) {
    StoredChunks stored(texts_, tree, effort, pool_.size());
    Speed speed = write_and_read(name, stored);
    speed.equal = scan(stored, equal_, equals_);
    speed.like = scan(stored, like_, likes_);
    return speed;
  }

 private:
  template <typename Body>
  double bytes_per_second(int rounds, uint64_t blocks, Body body) {
    return static_cast<double>(texts_.bytes()) / best_of(rounds, [&] { pool_.parallel_for(blocks, body); });
  }
  Speed write_and_read(const std::string& name, Stored& stored) {
    Speed speed;
    speed.codec = name;
    speed.threads = pool_.size();
    malloc_trim(0);  // what is free already would not count
    const PeakMemory memory;
    for (int round = 0; round < rounds_; ++round) {
      stored.clear();
      const double encode = bytes_per_second(1, stored.blocks(), [&](uint64_t block) { stored.encode(block); });
      speed.encode = std::max(speed.encode, encode);
      if (round == 0) speed.memory = memory.bytes();
    }
    // The first round touches the memory.
    speed.decode = bytes_per_second(rounds_ + 1, stored.blocks(), [&](uint64_t block) { stored.decode(block); });
    if (!stored.decoded_right()) throw Error(ErrorCode::kInternal, name + ": decoded strings differ");
    return speed;
  }
  double scan(const StoredChunks& stored, const std::shared_ptr<const Automaton>& test, uint64_t expected) {
    std::atomic<uint64_t> found = 0;
    const double speed =
        bytes_per_second(rounds_, stored.blocks(), [&](uint64_t block) { found += stored.count(block, test); });
    if (found != expected * static_cast<uint64_t>(rounds_)) throw Error(ErrorCode::kInternal, "other strings pass");
    return speed;
  }

  const Texts& texts_;
  ThreadPool& pool_;
  int rounds_;
  std::shared_ptr<const Automaton> equal_, like_;
  uint64_t equals_ = 0, likes_ = 0;
};

Figures measure(const std::string& name, const Texts& texts, const Texts& many, const Options& options) {
  Figures f;
  f.name = name;
  f.rows = texts.rows();
  f.plain = texts.bytes();
  std::vector<std::string_view> lines;
  for (uint64_t row = 0; row < texts.rows(); ++row) lines.push_back(texts.at(row));
  f.reference = fsst_code_bytes(lines);
  for (size_t i = 0; i < std::size(kCompressors); ++i) {
    StoredFrames frames(texts, kCompressors[i], kSizeBlock);
    for (uint64_t block = 0; block < frames.blocks(); ++block) frames.encode(block);
    f.compressed[i] = frames.encoded_bytes();
  }
  f.balanced = fsst_sizes(texts, Effort::kBalanced);
  f.best = fsst_sizes(texts, Effort::kBest);
  ShapeChooser chooser(Physical::kBytes);
  Tree tree;
  for (const Values& chunk : texts.chunks()) {
    tree = chooser.choose(chunk);
    f.chosen += encode_tree(chunk, tree).encoded_bytes();
  }
  f.tree = to_string(tree);

  std::vector<uint32_t> threads = {1};
  if (options.threads > 1) threads.push_back(options.threads);
  for (const uint32_t count : threads) {
    ThreadPool pool(count);
    SpeedBench bench(many, pool, options.rounds);
    f.speeds.push_back(bench.of("fsst", kFsst, Effort::kBalanced));
    f.speeds.push_back(bench.of("fsst, best", kFsst, Effort::kBest));
    f.speeds.push_back(bench.of("chosen", tree, Effort::kBalanced));
    // Blocks no longer than the file: within one, nothing is repeated that is not in the file.
    for (const Compressor& compressor : kCompressors) {
      f.speeds.push_back(bench.of(compressor, std::min<uint64_t>(kSpeedBlock, texts.bytes())));
    }
  }
  return f;
}

// ---- What is printed -----------------------------------------------------------------------------------------------

double mean(const std::vector<Figures>& all, const std::function<double(const Figures&)>& ratio) {
  double sum = 0;
  for (const Figures& f : all) sum += std::log(ratio(f));
  return std::exp(sum / static_cast<double>(all.size()));
}

std::string two(double value) { return fmt::format("{:.2f}", value); }

std::string size_table(const std::vector<Figures>& all) {
  constexpr auto kLeft = TextTable::Align::kLeft, kRight = TextTable::Align::kRight;
  TextTable table({{"file", kLeft},
                   {"strings", kRight},
                   {"FSST", kRight},
                   {"fsst", kRight},
                   {"best", kRight},
                   {"all bytes", kRight},
                   {"best, all", kRight},
                   {"index bits", kRight},
                   {kCompressors[0].name, kRight},
                   {kCompressors[1].name, kRight},
                   {kCompressors[2].name, kRight},
                   {"chosen", kRight},
                   {"tree", kLeft}});
  for (const Figures& f : all) {
    table.add({f.name, std::to_string(f.rows), two(f.ratio(f.reference)), two(f.ratio(f.balanced.codes)),
               two(f.ratio(f.best.codes)), two(f.ratio(f.balanced.all())), two(f.ratio(f.best.all())),
               fmt::format("{:.1f}", f.index_bits()), two(f.ratio(f.compressed[0])), two(f.ratio(f.compressed[1])),
               two(f.ratio(f.compressed[2])), two(f.ratio(f.chosen)), f.tree});
  }
  return table.render(STDOUT_FILENO);
}

std::string speed_table(const std::vector<Figures>& all) {
  constexpr auto kLeft = TextTable::Align::kLeft, kRight = TextTable::Align::kRight;
  TextTable table({{"file", kLeft},
                   {"as", kLeft},
                   {"threads", kRight},
                   {"encode GB/s", kRight},
                   {"decode GB/s", kRight},
                   {"= GB/s", kRight},
                   {"LIKE GB/s", kRight},
                   {"memory", kRight}});
  for (const Figures& f : all) {
    for (const Speed& speed : f.speeds) {
      table.add({f.name, speed.codec, std::to_string(speed.threads), two(speed.encode / 1e9), two(speed.decode / 1e9),
                 speed.equal > 0 ? two(speed.equal / 1e9) : "", speed.like > 0 ? two(speed.like / 1e9) : "",
                 speed.memory > 0 ? human_bytes(speed.memory) : ""});
    }
  }
  return table.render(STDOUT_FILENO);
}

std::string json_of(const std::vector<Figures>& all, const Options& options) {
  std::string files;
  for (const Figures& f : all) {
    std::string speeds;
    for (const Speed& speed : f.speeds) {
      speeds +=
          fmt::format("{}\n  {{\"as\":\"{}\",\"threads\":{},\"encode_gbs\":{:.3f},\"decode_gbs\":{:.3f}",
                      speeds.empty() ? "" : ",", speed.codec, speed.threads, speed.encode / 1e9, speed.decode / 1e9);
      if (speed.equal > 0) {
        speeds += fmt::format(",\"equal_gbs\":{:.3f},\"like_gbs\":{:.3f}", speed.equal / 1e9, speed.like / 1e9);
      }
      if (speed.memory > 0) speeds += fmt::format(",\"memory_bytes\":{}", speed.memory);
      speeds += '}';
    }
    files += fmt::format(
        "{}{{\"file\":{},\"rows\":{},\"plain_bytes\":{},\"reference_fsst_bytes\":{},\"fsst_bytes\":{},"
        "\"fsst_index_bytes\":{},\"best_bytes\":{},\"best_index_bytes\":{},\"lz4_bytes\":{},\"zstd1_bytes\":{},"
        "\"zstd3_bytes\":{},\"chosen\":\"{}\",\"chosen_bytes\":{},\"speeds\":[{}]}}",
        files.empty() ? "" : ",\n", escape_json(f.name), f.rows, f.plain, f.reference, f.balanced.codes,
        f.balanced.index, f.best.codes, f.best.index, f.compressed[0], f.compressed[1], f.compressed[2], f.tree,
        f.chosen, speeds);
  }
  return fmt::format("{{\"benchmark\":\"strings\",\"speed_bytes\":{},\"files\":[\n{}\n]}}\n", options.bytes, files);
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

// Calls body(name, texts, whether they were made) for every column.
template <typename Body>
void each_column(const Options& options, Body body) {
  const std::vector<std::string> files = files_of(options.files);
  const size_t count = options.files.empty() ? made_columns().size() : files.size();
  if (count == 0) throw Error(ErrorCode::kInvalidArgument, "--files: the folders hold no files");
  std::atomic<size_t> done = 0;
  ProgressBar bar("columns strings", false, 0, [&] { return static_cast<double>(done) / static_cast<double>(count); });
  for (const std::string& file : files) {
    body(std::filesystem::path(file).filename().string(), gen::read_lines(file), false);
    ++done;
  }
  for (const MadeColumn& column : made_columns()) {
    if (!options.files.empty()) break;
    body(column.name, column.make(options.bytes), true);
    ++done;
  }
}

}  // namespace

void run_strings(const Options& options) {
  if (options.sweep) {
    std::vector<Texts> columns;
    each_column(options, [&](const std::string&, Texts texts, bool) { columns.push_back(std::move(texts)); });
    const Sweep sweep = sweep_strings(columns, options.rounds);
    print(fmt::format("Codes and tables of fsst, geometric mean of {} columns as they are; one thread, best of {}\n\n",
                      columns.size(), options.rounds));
    print(sweep.table);
    write_json(options, sweep.json);
    return;
  }
  std::vector<Figures> all;
  each_column(options, [&](const std::string& name, const Texts& texts, bool made) {
    if (made) {
      all.push_back(measure(name, texts, texts, options));
    } else {
      all.push_back(measure(name, texts, shuffled(texts, options.bytes), options));
    }
  });
  print(
      "Plain bytes over stored bytes. FSST: codes by its published rules, no table; fsst, best: codes and tables of "
      "strings(packed, fsst)\n"
      "at effort balanced and best; all bytes: with what finds a string (index bits per string); lz4, zstd: the file "
      "as one block;\n"
      "chosen: the tree that convert takes\n\n");
  print(size_table(all));
  print(fmt::format("\nGeometric mean: FSST {:.3f}, fsst {:.3f}, best {:.3f}\n",
                    mean(all, [](const Figures& f) { return f.ratio(f.reference); }),
                    mean(all, [](const Figures& f) { return f.ratio(f.balanced.codes); }),
                    mean(all, [](const Figures& f) { return f.ratio(f.best.codes); })));
  print(fmt::format(
      "\nSpeed in plain bytes, files repeated in random order to {}, best of {}; lz4, zstd: blocks of up to {}.\n"
      "=, LIKE '%...%': rows counted without decoding; memory: at the peak of encoding, what is encoded included\n\n",
      human_bytes(options.bytes), options.rounds, human_bytes(kSpeedBlock)));
  print(speed_table(all));
  write_json(options, json_of(all, options));
}

}  // namespace basalt::bench
