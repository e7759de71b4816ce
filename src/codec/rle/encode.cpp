// Maximal runs of equal bits.
#include <cmath>

#include "basalt/core/error.h"
#include "codec/codecs.h"
#include "codec/device_names.h"
#include "codec/rle/layout.h"
#include "codec/rle/rle.h"
#include "core/dispatch.h"

namespace basalt {

std::unique_ptr<Codec> make_rle() { return std::make_unique<RleCodec>(); }

namespace {

struct Runs {
  Buffer values;
  Buffer ends;  // uint32
  uint64_t count() const { return ends.size() / sizeof(uint32_t); }
};

Runs runs_of(const Values& values) {
  Runs runs;
  dispatch_width(width_of(values.type), [&](auto tag) {
    using T = decltype(tag);
    const T* from = values.as<T>();
    // Two passes: counting first keeps the second one free of growth checks.
    uint64_t count = values.count > 0 ? 1 : 0;
    for (uint64_t i = 1; i < values.count; ++i) count += from[i] != from[i - 1];
    runs.values.resize(count * sizeof(T));
    runs.ends.resize(count * sizeof(uint32_t));
    T* to = runs.values.as<T>();
    uint32_t* ends = runs.ends.as<uint32_t>();
    uint64_t run = 0;
    for (uint64_t i = 0; i < values.count; ++i) {
      if (i + 1 == values.count || from[i + 1] != from[i]) {
        to[run] = from[i];
        ends[run] = static_cast<uint32_t>(i + 1);
        ++run;
      }
    }
  });
  return runs;
}

Values run_values(const Values& parent, const Runs& runs) {
  Values child;
  child.type = parent.type;
  child.count = runs.count();
  child.data = runs.values.data();
  return child;
}

Values run_ends(const Runs& runs) {
  Values child;
  child.type = Physical::kU32;
  child.count = runs.count();
  child.data = runs.ends.data();
  return child;
}

}  // namespace

std::vector<ChildSlot> RleCodec::children(Physical type) const {
  return {{"values", type}, {"run ends", Physical::kU32}};
}

Node RleCodec::encode(const Values& values, const Tree& tree, Aims aims) const {
  if (values.count > UINT32_MAX) throw Error(ErrorCode::kUnsupported, "rle: the array is too large");
  Node node{this, values.type, values.count, {}, {}, {}};
  node.streams.resize(rle::kStreams);
  const Runs runs = runs_of(values);
  const uint32_t* ends = runs.ends.as<uint32_t>();
  Buffer& entries = node.streams[rle::kTileEntries];
  uint32_t run = 0;
  for (uint32_t tile = 0; tile < tile_count(values.count); ++tile) {
    const uint32_t first_row = tile * kTileRows;
    while (ends[run] <= first_row) ++run;
    const uint32_t run_start = run == 0 ? 0 : ends[run - 1];
    entries.push(rle::TileEntry{run, first_row - run_start});
  }
  node.children.push_back(encode_tree(run_values(values, runs), tree.children[rle::kValues], aims));
  node.children.push_back(encode_tree(run_ends(runs), tree.children[rle::kRunEnds], aims));
  return node;
}

std::optional<Estimate> RleCodec::estimate(const Sample& sample, ChildChooser& chooser) const {
  const Runs runs = runs_of(sample.values);
  // Hopeless where most runs are single rows: a run costs its value and its end.
  if (sample.values.count == 0 || runs.count() * 10 > sample.values.count * 9) return std::nullopt;
  const auto total_runs = static_cast<uint64_t>(std::llround(static_cast<double>(runs.count()) * sample.scale()));
  Estimate values = chooser.best({run_values(sample.values, runs), total_runs}, rle::kValues);
  Estimate ends = chooser.best({run_ends(runs), total_runs}, rle::kRunEnds);
  const double entries = static_cast<double>(tile_count(sample.total_rows)) * sizeof(rle::TileEntry);
  return Estimate{values.bytes + ends.bytes + entries, {"rle", {std::move(values.tree), std::move(ends.tree)}}};
}

uint64_t RleCodec::reading_cost(const Node& node) const {
  return node.count * 4 + node.children[rle::kValues].count * 12;
}

double RleCodec::kernel_picoseconds(const Node& node) const {
  return static_cast<double>(node.count) * 1.0 + static_cast<double>(node.children[rle::kValues].count) * 1.5;
}

namespace {

// How many nodes of runs a path down the tree has at most.
uint32_t nested_runs(const NodeView& node) {
  uint32_t below = 0;
  for (const NodeView& child : node.children) below = std::max(below, nested_runs(child));
  return below + (node.codec->name() == "rle" ? 1 : 0);
}
// A warp keeps no tile of runs from one tile of rows to the next: every level doubles what it reads.
constexpr uint32_t kMostNestedRuns = 2;

}  // namespace

DeviceReader RleCodec::device_reader(const NodeView& node) const {
  if (nested_runs(node) > kMostNestedRuns) {
    DeviceReader none;
    none.reason = "runs of runs of runs are not read on the device";
    return none;
  }
  const DeviceReader values = device_reader_of(node.children[rle::kValues]);
  const DeviceReader ends = device_reader_of(node.children[rle::kRunEnds]);
  DeviceReader reader = device_reader_named("Rle", node, {values, ends});
  reader.scratch_bytes =
      rle::scratch_bytes(width_of(node.type), values.scratch_bytes, ends.scratch_bytes, ends.rows_in_shared);
  reader.rows_in_shared = true;
  reader.long_code = true;
  return reader;
}

}  // namespace basalt
