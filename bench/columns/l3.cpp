// `columns l3`: the 20 integer columns of `gen l3` under l3, its simpler relatives, zstd and the published rules:
// sizes with all bytes counted, what the models are, and how fast columns are written, read and looked up.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <zstd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <random>

#include "basalt/core/error.h"
#include "basalt/encoding/chooser.h"
#include "bench/columns/columns.h"
#include "bench/paper/cut.h"
#include "codec/l3/layout.h"
#include "core/dispatch.h"
#include "gen/l3.h"

namespace basalt::bench {
namespace {

constexpr uint64_t kLookUps = 1 << 20;
constexpr int kZstdLevel = 3;
constexpr const char* kModelNames[] = {"constant", "for", "line", "parabola", "cubic", "runs"};
constexpr size_t kModelKinds = std::size(kModelNames);

// Narrow and wide models of one degree count together.
size_t kind_of(l3::Model model) {
  if (model == l3::Model::kRuns) return kModelKinds - 1;
  if (model == l3::Model::kConstant) return 0;
  return 1 + l3::degree_of(model);
}

struct Figures {
  std::string set;
  std::string type;
  uint64_t rows = 0;
  uint64_t plain_bytes = 0;
  // Bytes.
  uint64_t l3 = 0, l3_payload = 0, l3_best = 0, packed = 0, delta = 0, zstd = 0, chosen = 0;
  paper::Size paper;
  uint64_t partitions = 0;
  std::array<uint64_t, kModelKinds> models{};
  // Per second.
  double encode_bytes = 0, decode_bytes = 0, decode_traffic = 0, uniform = 0, sorted = 0;
  double packed_encode_bytes = 0, packed_decode_bytes = 0, zstd_encode_bytes = 0, zstd_decode_bytes = 0;
};

class SetBench {
 public:
  SetBench(const L3Set& set, const Options& options, ThreadPool& pool) : options_(options), pool_(pool) {
    figures_.set = set.name;
    figures_.rows = std::min(options.rows, set.rows);
    column_ = L3Generator(set, figures_.rows).next(figures_.rows);
    type_ = physical_of(column_.columns[0].type);
    figures_.type = to_string(type_);
    figures_.plain_bytes = figures_.rows * width_of(type_);
  }

  Figures run() {
    const auto plain = static_cast<double>(figures_.plain_bytes);
    const Encoded learned = encode({"l3", {}}, Effort::kBalanced);
    figures_.encode_bytes = plain / learned.seconds;
    figures_.l3 = learned.bytes;
    describe(learned.nodes);
    const double decode = decode_seconds(learned.nodes);
    figures_.decode_bytes = plain / decode;
    figures_.decode_traffic = (plain + static_cast<double>(learned.bytes)) / decode;
    figures_.uniform = look_ups(learned.nodes, false);
    figures_.sorted = look_ups(learned.nodes, true);
    figures_.l3_best = encode({"l3", {}}, Effort::kBest).bytes;

    const Encoded packed = encode({"packed", {}}, Effort::kBalanced);
    figures_.packed = packed.bytes;
    figures_.packed_encode_bytes = plain / packed.seconds;
    figures_.packed_decode_bytes = plain / decode_seconds(packed.nodes);
    figures_.delta = encode({"delta", {{"packed", {}}}}, Effort::kBalanced).bytes;
    ShapeChooser chooser(type_, Effort::kBest);
    for (uint64_t i = 0; i < chunks(); ++i) {
      figures_.chosen += encode_tree(chunk(i), chooser.choose(chunk(i)), Effort::kBest).encoded_bytes();
    }
    run_zstd(plain);
    for (uint64_t i = 0; i < chunks(); ++i) figures_.paper += paper::size_of(paper::cut(widened(chunk(i))));
    return figures_;
  }

 private:
  struct Encoded {
    std::vector<Node> nodes;
    uint64_t bytes = 0;
    double seconds = 0;
  };

  uint64_t chunks() const { return (figures_.rows + kMaxChunkRows - 1) / kMaxChunkRows; }
  Values chunk(uint64_t i) const {
    Values values;
    values.type = type_;
    values.count = std::min<uint64_t>(kMaxChunkRows, figures_.rows - i * kMaxChunkRows);
    values.data = column_.columns[0].values.data() + i * kMaxChunkRows * width_of(type_);
    return values;
  }

  static std::vector<int64_t> widened(const Values& values) {
    std::vector<int64_t> out(values.count);
    dispatch_typed(values.type, [&](auto tag) {
      using T = decltype(tag);
      if constexpr (std::is_integral_v<T> && sizeof(T) <= 8) {
        for (uint64_t i = 0; i < values.count; ++i) out[i] = static_cast<int64_t>(values.as<T>()[i]);
      }
    });
    return out;
  }

  Encoded encode(const Tree& tree, Effort effort) const {
    Encoded out;
    out.nodes.resize(chunks());
    const Tree bound = bind_tree(tree, type_);
    // The best effort is asked for its size only.
    out.seconds = best_of(effort == Effort::kBest ? 1 : options_.rounds, [&] {
      pool_.parallel_for(chunks(), [&](uint64_t i) { out.nodes[i] = encode_tree(chunk(i), bound, effort); });
    });
    for (const Node& node : out.nodes) out.bytes += node.encoded_bytes();
    return out;
  }

  void describe(const std::vector<Node>& nodes) {
    for (const Node& node : nodes) {
      figures_.l3_payload += node.streams[l3::kResiduals].size();
      const Buffer& records = node.streams[l3::kRecords];
      const size_t count = records.size() / sizeof(uint64_t);
      figures_.partitions += count;
      for (size_t i = 0; i < count; ++i) {
        ++figures_.models[kind_of(l3::unpack_record(records.as<uint64_t>()[i]).model)];
      }
    }
  }

  double decode_seconds(const std::vector<Node>& nodes) const {
    const uint32_t width = width_of(type_);
    Buffer out((figures_.rows + kTileRows) * width);
    std::memset(out.data(), 0, out.size());
    return best_of(options_.rounds, [&] {
      pool_.parallel_for(nodes.size(), [&](uint64_t i) {
        const auto reader = open_reader(view_of(nodes[i]));
        std::byte* target = out.data() + i * kMaxChunkRows * width;
        const uint32_t tiles = tile_count(nodes[i].count);
        for (uint32_t tile = 0; tile < tiles; ++tile) {
          reader->decode_tile(tile, target + uint64_t{tile} * kTileRows * width);
        }
      });
    });
  }

  // Single rows of random chunks, one after the other, or in ascending order.
  double look_ups(const std::vector<Node>& nodes, bool sorted) const {
    std::vector<std::unique_ptr<Reader>> readers;
    for (const Node& node : nodes) readers.push_back(open_reader(view_of(node)));
    std::mt19937_64 random(1);
    std::vector<std::vector<uint32_t>> rows(nodes.size());
    for (uint64_t i = 0; i < kLookUps; ++i) {
      const uint64_t row = random() % figures_.rows;
      rows[row / kMaxChunkRows].push_back(static_cast<uint32_t>(row % kMaxChunkRows));
    }
    if (sorted) {
      for (auto& list : rows) std::sort(list.begin(), list.end());
    }
    Buffer out(kLookUps * width_of(type_));
    const double seconds = best_of(options_.rounds, [&] {
      for (size_t i = 0; i < readers.size(); ++i) readers[i]->gather(rows[i], out.data());
    });
    return static_cast<double>(kLookUps) / seconds;
  }

  void run_zstd(double plain) {
    std::vector<std::vector<char>> compressed(chunks());
    const auto compress = [&](uint64_t i) {
      const Values values = chunk(i);
      const size_t bytes = values.count * width_of(type_);
      compressed[i].resize(ZSTD_compressBound(bytes));
      compressed[i].resize(ZSTD_compress(compressed[i].data(), compressed[i].size(), values.data, bytes, kZstdLevel));
    };
    figures_.zstd_encode_bytes = plain / best_of(options_.rounds, [&] { pool_.parallel_for(chunks(), compress); });
    for (const auto& frame : compressed) figures_.zstd += frame.size();
    Buffer out(figures_.plain_bytes);
    std::memset(out.data(), 0, out.size());
    figures_.zstd_decode_bytes =
        plain / best_of(options_.rounds, [&] {
          pool_.parallel_for(chunks(), [&](uint64_t i) {
            const Values values = chunk(i);
            ZSTD_decompress(out.data() + i * kMaxChunkRows * width_of(type_), values.count * width_of(type_),
                            compressed[i].data(), compressed[i].size());
          });
        });
  }

  const Options& options_;
  ThreadPool& pool_;
  Table column_;
  Physical type_ = Physical::kU64;
  Figures figures_;
};

constexpr TextTable::Align kLeft = TextTable::Align::kLeft, kRight = TextTable::Align::kRight;

std::string times(const Figures& f, uint64_t bytes) {
  return fmt::format("{:.2f}", static_cast<double>(f.plain_bytes) / static_cast<double>(bytes));
}

std::string shares(const Figures& f) {
  std::string text;
  for (size_t i = 0; i < kModelKinds; ++i) {
    if (f.models[i] == 0) continue;
    text += fmt::format("{}{} {:.0f}", text.empty() ? "" : ", ", kModelNames[i],
                        100 * static_cast<double>(f.models[i]) / static_cast<double>(f.partitions));
  }
  return text;
}

std::string size_table(const std::vector<Figures>& all) {
  TextTable table({{"set", kLeft},
                   {"type", kLeft},
                   {"rows", kRight},
                   {"l3", kRight},
                   {"payload", kRight},
                   {"l3 best", kRight},
                   {"paper", kRight},
                   {"packed", kRight},
                   {"delta", kRight},
                   {"zstd", kRight},
                   {"chosen", kRight},
                   {"partitions", kRight},
                   {"rows each", kRight},
                   {"models, % of partitions", kLeft}});
  for (const Figures& f : all) {
    table.add({f.set, f.type, human_count(f.rows), times(f, f.l3), times(f, std::max<uint64_t>(1, f.l3_payload)),
               times(f, f.l3_best), times(f, f.paper.bytes), times(f, f.packed), times(f, f.delta), times(f, f.zstd),
               times(f, f.chosen), human_count(f.partitions), std::to_string(f.rows / f.partitions), shares(f)});
  }
  return table.render(STDOUT_FILENO);
}

std::string speed_table(const std::vector<Figures>& all, double ceiling_gbs) {
  TextTable table({{"set", kLeft},
                   {"encode MB/s", kRight},
                   {"packed", kRight},
                   {"zstd", kRight},
                   {"decode GB/s", kRight},
                   {"of memcpy", kRight},
                   {"packed", kRight},
                   {"zstd", kRight},
                   {"look-ups/s", kRight},
                   {"sorted", kRight}});
  for (const Figures& f : all) {
    table.add({f.set, fmt::format("{:.0f}", f.encode_bytes / 1e6), fmt::format("{:.0f}", f.packed_encode_bytes / 1e6),
               fmt::format("{:.0f}", f.zstd_encode_bytes / 1e6), fmt::format("{:.2f}", f.decode_bytes / 1e9),
               fmt::format("{:.0f} %", f.decode_traffic / ceiling_gbs / 1e7),
               fmt::format("{:.2f}", f.packed_decode_bytes / 1e9), fmt::format("{:.2f}", f.zstd_decode_bytes / 1e9),
               human_rate(f.uniform), human_rate(f.sorted)});
  }
  return table.render(STDOUT_FILENO);
}

std::string json_of(const std::vector<Figures>& all, double ceiling_gbs, uint32_t threads) {
  std::vector<std::string> sets;
  for (const Figures& f : all) {
    std::vector<std::string> models;
    for (size_t i = 0; i < kModelKinds; ++i) models.push_back(fmt::format("\"{}\":{}", kModelNames[i], f.models[i]));
    sets.push_back(fmt::format(
        "{{\"set\":\"{}\",\"type\":\"{}\",\"rows\":{},\"plain_bytes\":{},\"l3_bytes\":{},\"l3_payload_bytes\":{},"
        "\"l3_best_bytes\":{},\"paper_models\":[{}],\"paper_bytes\":{},\"paper_payload_bytes\":{},\"paper_partitions\":"
        "{},\"packed_bytes\":{}"
        ","
        "\"delta_bytes\":{},\"zstd_bytes\":{},\"chosen_bytes\":{},\"partitions\":{},\"models\":{{{}}},"
        "\"encode_mbs\":{:.1f},\"decode_gbs\":{:.3f},\"decode_traffic_gbs\":{:.3f},\"look_ups\":{:.0f},"
        "\"sorted_look_ups\":{:.0f},\"packed_encode_mbs\":{:.1f},\"packed_decode_gbs\":{:.3f},"
        "\"zstd_encode_mbs\":{:.1f},\"zstd_decode_gbs\":{:.3f}}}",
        f.set, f.type, f.rows, f.plain_bytes, f.l3, f.l3_payload, f.l3_best, fmt::join(f.paper.models, ","),
        f.paper.bytes, f.paper.payload, f.paper.partitions, f.packed, f.delta, f.zstd, f.chosen, f.partitions,
        fmt::join(models, ","), f.encode_bytes / 1e6, f.decode_bytes / 1e9, f.decode_traffic / 1e9, f.uniform, f.sorted,
        f.packed_encode_bytes / 1e6, f.packed_decode_bytes / 1e9, f.zstd_encode_bytes / 1e6,
        f.zstd_decode_bytes / 1e9));
  }
  return fmt::format("{{\"benchmark\":\"l3\",\"threads\":{},\"memcpy_gbs\":{:.2f},\"sets\":[\n{}\n]}}\n", threads,
                     ceiling_gbs, fmt::join(sets, ",\n"));
}

}  // namespace

void run_l3(const Options& options) {
  std::vector<const L3Set*> sets;
  for (const std::string& name : options.sets) sets.push_back(&find_l3_set(name));
  if (sets.empty()) {
    for (const L3Set& set : l3_sets()) sets.push_back(&set);
  }
  ThreadPool pool(options.threads);
  std::vector<Figures> all;
  std::atomic<size_t> done = 0;
  double ceiling = 0;
  {
    ProgressBar bar("columns l3", false, 0,
                    [&] { return static_cast<double>(done) / static_cast<double>(sets.size()); });
    ceiling = memcpy_ceiling(options.bytes, pool, options.rounds);
    for (const L3Set* set : sets) {
      all.push_back(SetBench(*set, options, pool).run());
      ++done;
    }
  }
  print(dim(fmt::format("{} thread{}, best of {}\n", options.threads, options.threads == 1 ? "" : "s", options.rounds),
            STDOUT_FILENO));
  print(
      "Plain bytes over encoded bytes, everything counted (payload: residuals only; paper: the published rules;\n"
      "zstd: level 3; chosen: the tree that convert --effort best takes)\n\n");
  print(size_table(all));
  print(fmt::format(
      "\nSpeed in plain bytes on the CPU, the share of memcpy ({:.1f} GB/s) in bytes read and written\n\n", ceiling));
  print(speed_table(all, ceiling));
  write_json(options, json_of(all, ceiling, options.threads));
}

}  // namespace basalt::bench
