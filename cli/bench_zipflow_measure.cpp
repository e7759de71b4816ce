// See bench_zipflow.h.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "basalt/core/error.h"
#include "cli/bench.h"
#include "cli/bench_zipflow.h"
#include "cli/terminal.h"

namespace basalt::cli {
namespace {

constexpr uint64_t kCeilingBytes = 256 << 20;

// Decodes the tiles of one chunk, as plain values to `out` where they have a fixed width.
void decode_chunk(const NodeView& chunk, std::byte* out) {
  const auto reader = open_reader(chunk);
  const uint32_t width = width_of(chunk.type);
  StringRows texts;
  for (uint32_t tile = 0; tile < tile_count(chunk.count); ++tile) {
    if (width > 0) {
      reader->decode_tile(tile, out + uint64_t{tile} * kTileRows * width);
    } else {
      texts.clear();
      reader->decode_tile(tile, texts);
    }
  }
  if (reader->corrupt()) throw Error(ErrorCode::kInternal, "a chunk that was just encoded does not decode");
}

std::string json_of(const char* name, const std::optional<DecodeTiming>& timing) {
  if (!timing) return {};
  return fmt::format(",\"{0}_seconds\":{1:.9f},\"{0}_kernels\":{2}", name, timing->seconds, timing->kernels);
}

}  // namespace

ZipflowBench::ZipflowBench(Device device, uint32_t threads, int rounds) : pool_(threads), rounds_(rounds) {
  memcpy_gbs_ = memcpy_ceiling(kCeilingBytes, pool_, rounds);
  if (device == Device::kCpu) return;
  gpu_ = basalt::gpu().backend;
  if (gpu_ == nullptr) {
    remarks_.push_back("GPU: not measured; " + basalt::gpu().reason);
    return;
  }
  gpu_name_ = gpu_->devices().at(0).name;
  gpu_bandwidth_ = gpu_->measure_bandwidth();
}

std::vector<Node> ZipflowBench::encode(const std::vector<Values>& chunks, const ChunkTrees& trees) {
  std::vector<Node> nodes(chunks.size());
  pool_.parallel_for(chunks.size(), [&](uint64_t i) {
    try {
      nodes[i] = encode_tree(chunks[i], trees.trees[i]);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnsupported) throw;
      nodes[i] = encode_tree(chunks[i], trees.instead);
    }
  });
  return nodes;
}

EncodeTiming ZipflowBench::time_encoding(const std::vector<Values>& chunks, const ChunkTrees& trees) {
  std::vector<Node> nodes;
  EncodeTiming out;
  out.cpu_seconds = best_of(rounds_, [&] { nodes = encode(chunks, trees); });
  if (gpu_ == nullptr) return out;
  for (const Node& node : nodes) {
    const std::string why = gpu_->why_not_encode(chunks[0].type, tree_of(view_of(node)));
    if (why.empty()) continue;
    remark(fmt::format("GPU: {} not encoded; {}", to_string(tree_of(view_of(node))), why));
    return out;
  }
  out.gpu_seconds = best_of(rounds_, [&] {
    for (size_t i = 0; i < chunks.size(); ++i) gpu_->encode(chunks[i], tree_of(view_of(nodes[i])), Effort::kBalanced);
  });
  return out;
}

std::optional<TunedDecoder> ZipflowBench::tune(const std::vector<Values>& chunks, const ChunkTrees& trees) {
  if (gpu_ == nullptr) return std::nullopt;
  const std::vector<Node> nodes = encode(chunks, trees);
  std::vector<NodeView> views;
  for (const Node& node : nodes) {
    // One launch decodes arrays of one tree.
    if (tree_of(view_of(node)) == tree_of(view_of(nodes[0]))) views.push_back(view_of(node));
  }
  try {
    return gpu_->tune_decoder(views, false);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnsupported) throw;
    return std::nullopt;
  }
}

Measured ZipflowBench::measure(const std::vector<Values>& chunks, const ChunkTrees& trees, uint64_t plain_bytes,
                               bool unfused) {
  std::vector<Node> nodes;
  const double encode_seconds = best_of(1, [&] { nodes = encode(chunks, trees); });
  std::vector<NodeView> views;
  uint64_t encoded = 0;
  std::set<std::string> different;
  std::string texts;  // of these, in the order of their first chunks
  for (const Node& node : nodes) {
    encoded += node.encoded_bytes();
    views.push_back(view_of(node));
    const std::string text = to_string(tree_of(views.back()));
    if (different.insert(text).second) texts += (texts.empty() ? "" : "; ") + text;
  }
  Measured out = measure_decoding(views, plain_bytes, unfused);
  out.trees = std::move(texts);
  out.encoded = encoded;
  out.encode_seconds = encode_seconds;
  return out;
}

Measured ZipflowBench::measure_decoding(std::span<const NodeView> chunks, uint64_t plain_bytes, bool unfused) {
  Measured out;
  out.plain = plain_bytes;
  const uint64_t chunk_bytes = kMaxChunkRows * width_of(chunks.front().type);
  Buffer decoded(chunk_bytes * chunks.size());
  std::ranges::fill(std::span(decoded.data(), decoded.size()), std::byte{0});  // so that no page is new to the clock
  out.decode_seconds = best_of(rounds_, [&] {
    pool_.parallel_for(chunks.size(), [&](uint64_t i) { decode_chunk(chunks[i], decoded.data() + i * chunk_bytes); });
  });
  if (gpu_ != nullptr) {
    out.gpu = time_on_gpu(chunks, false);
    if (unfused) out.gpu_unfused = time_on_gpu(chunks, true);
  }
  return out;
}

std::optional<DecodeTiming> ZipflowBench::time_on_gpu(std::span<const NodeView> chunks, bool unfused) {
  std::map<std::string, std::vector<NodeView>> by_tree;  // which share a kernel
  for (const NodeView& chunk : chunks) by_tree[to_string(tree_of(chunk))].push_back(chunk);
  DecodeTiming sum;
  for (const auto& [tree, views] : by_tree) {
    try {
      const DecodeTiming one = gpu_->time_decode(views, unfused, rounds_);
      sum.seconds += one.seconds;
      sum.kernels += one.kernels;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnsupported) throw;
      remark(fmt::format("GPU: {} not measured{}; {}", tree, unfused ? " unfused" : "", error.what()));
      return std::nullopt;
    }
  }
  return sum;
}

std::optional<TransferTiming> ZipflowBench::time_transfers(const std::vector<std::vector<Values>>& columns,
                                                           const std::vector<ChunkTrees>& trees,
                                                           std::vector<exec::TransferBlock>& blocks) {
  if (gpu_ == nullptr) return std::nullopt;
  std::vector<std::vector<Node>> nodes;
  std::vector<std::vector<NodeView>> views;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].empty() || width_of(columns[i][0].type) == 0) continue;
    nodes.push_back(encode(columns[i], trees[i]));
    views.emplace_back();
    for (const Node& node : nodes.back()) views.back().push_back(view_of(node));
    const Tree tree = tree_of(views.back()[0]);
    const bool one_tree =
        std::ranges::all_of(views.back(), [&](const NodeView& view) { return tree_of(view) == tree; });
    if (!one_tree || !gpu_->why_not_decode(views.back()[0]).empty()) views.pop_back();
  }
  const TransferTiming timing = gpu_->time_transfers(views, rounds_);
  for (size_t i = 0; i < views.size(); ++i) {
    uint64_t bytes = 0;
    for (const NodeView& view : views[i]) bytes += encoded_bytes(view);
    blocks.push_back({timing.copies[i], timing.kernels[i], bytes});
  }
  return timing;
}

double ZipflowBench::share_of_memcpy(const Measured& measured) const {
  return static_cast<double>(measured.plain + measured.encoded) / measured.decode_seconds / 1e9 / memcpy_gbs_;
}

std::optional<PeerTiming> ZipflowBench::fastest_peer(const Values& values) {
  if (gpu_ == nullptr || width_of(values.type) == 0) return std::nullopt;
  const PeerTimings timings = gpu_->time_nvcomp(values, rounds_);
  if (timings.codecs.empty()) {
    remark("nvCOMP: not measured; " + timings.reason);
    return std::nullopt;
  }
  const auto faster = [](const PeerTiming& a, const PeerTiming& b) { return a.decode_seconds < b.decode_seconds; };
  return *std::min_element(timings.codecs.begin(), timings.codecs.end(), faster);
}

void ZipflowBench::remark(const std::string& text) {
  if (std::find(remarks_.begin(), remarks_.end(), text) == remarks_.end()) remarks_.push_back(text);
}

double ZipflowBench::copy_seconds(uint64_t bytes) const {
  return static_cast<double>(bytes) / 1e9 / gpu_bandwidth_.host_to_device_gbs;
}

std::string ZipflowBench::gpu_rate(uint64_t plain, double seconds) const {
  return fmt::format("{:.0f}", static_cast<double>(plain) / seconds / 1e9);
}

std::string ZipflowBench::gpu_share(uint64_t moved, double seconds) const {
  return fmt::format("{:.0f} %", 100 * static_cast<double>(moved) / seconds / 1e9 / gpu_bandwidth_.copy_gbs);
}

std::string ZipflowBench::gpu_rate(const Measured& measured) const {
  return measured.gpu ? gpu_rate(measured.plain, measured.gpu->seconds) : "-";
}

std::string ZipflowBench::gpu_share(const Measured& measured) const {
  return measured.gpu ? gpu_share(measured.plain + measured.encoded, measured.gpu->seconds) : "-";
}

std::string ZipflowBench::gpu_kernels(const Measured& measured) const {
  return measured.gpu ? std::to_string(measured.gpu->kernels) : "-";
}

std::string ZipflowBench::where() const {
  std::string out =
      fmt::format("CPU: {} thread{}, memcpy {:.1f} GB/s", pool_.size(), pool_.size() == 1 ? "" : "s", memcpy_gbs_);
  if (gpu_ != nullptr) {
    out += fmt::format("\nGPU: {}, copy {:.0f} GB/s, read {:.0f} GB/s, from pinned memory {:.1f} GB/s", gpu_name_,
                       gpu_bandwidth_.copy_gbs, gpu_bandwidth_.read_gbs, gpu_bandwidth_.host_to_device_gbs);
  }
  return out + "\nrates are plain bytes per second, shares count read and written bytes";
}

std::string ZipflowBench::remarks() const {
  std::string out;
  for (const std::string& remark : remarks_) out += remark + "\n";
  return out;
}

void ZipflowBench::keep(const std::string& section, const std::string& fields, const Measured& measured) {
  const std::string encoding =
      measured.encode_seconds ? fmt::format(",\"cpu_encode_seconds\":{:.9f}", *measured.encode_seconds) : "";
  keep(
      section,
      fmt::format("{},\"trees\":{},\"plain_bytes\":{},\"encoded_bytes\":{}{},\"cpu_decode_seconds\":{:.9f}{}{}", fields,
                  escape_json(measured.trees), measured.plain, measured.encoded, encoding, measured.decode_seconds,
                  json_of("gpu_decode", measured.gpu), json_of("gpu_unfused", measured.gpu_unfused)));
}

void ZipflowBench::keep(const std::string& section, const std::string& fields, const PeerTiming& peer) {
  keep(section, fmt::format("{},\"nvcomp\":{},\"piece_bytes\":{},\"encoded_bytes\":{},\"gpu_encode_seconds\":{:.9f},"
                            "\"gpu_decode_seconds\":{:.9f}",
                            fields, escape_json(peer.codec), peer.piece_bytes, peer.encoded_bytes, peer.encode_seconds,
                            peer.decode_seconds));
}

void ZipflowBench::keep(const std::string& section, const std::string& fields) {
  lines_.push_back(fmt::format("{{\"section\":{},{}}}", escape_json(section), fields));
}

std::string ZipflowBench::json(const std::string& data) const {
  return fmt::format(
      "{{\"data\":{},\"threads\":{},\"memcpy_gbs\":{:.3f},\"gpu\":{},\"gpu_copy_gbs\":{:.1f},\"gpu_read_gbs\":{:.1f},"
      "\"host_to_device_gbs\":{:.2f},\"lines\":[\n{}\n]}}\n",
      escape_json(data), pool_.size(), memcpy_gbs_, escape_json(gpu_name_), gpu_bandwidth_.copy_gbs,
      gpu_bandwidth_.read_gbs, gpu_bandwidth_.host_to_device_gbs, fmt::join(lines_, ",\n"));
}

}  // namespace basalt::cli
