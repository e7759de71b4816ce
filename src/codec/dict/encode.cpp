// A sorted dictionary and the codes of the rows.
#include <cmath>

#include "basalt/core/error.h"
#include "codec/child_values.h"
#include "codec/codecs.h"
#include "codec/device_names.h"
#include "codec/dict/dict.h"
#include "codec/dict/distinct.h"
#include "codec/dict/layout.h"
#include "codec/entry_limit.h"
#include "codec/rle/layout.h"

namespace basalt {

std::unique_ptr<Codec> make_dict() { return std::make_unique<DictCodec>(); }

bool DictCodec::accepts(Physical type, bool is_bytes) const { return !is_bytes && type != Physical::kNone; }

std::vector<ChildSlot> DictCodec::children(Physical type) const {
  return {{"codes", Physical::kU32}, {"entries", type, false, true}};
}

namespace {

// Entries and codes as child arrays, whatever the value type.
struct Parts {
  std::vector<uint32_t> codes;
  uint64_t entry_count = 0;
  Buffer entries;                // fixed width
  std::vector<int64_t> offsets;  // bytes
  Physical type = Physical::kU32;

  Values code_values() const { return number_values(codes); }
  Values entry_values() const {
    Values child;
    child.type = type;
    child.count = entry_count;
    child.data = entries.data();
    child.bytes = entries.as<char>();
    child.offsets = offsets.data();
    return child;
  }
};

// Nothing if there are more than `most` distinct values.
std::optional<Parts> split(const Values& values, uint64_t most) {
  Parts parts;
  parts.type = values.type;
  if (values.type == Physical::kBytes) {
    auto distinct = distinct_strings(values, most);
    if (!distinct) return std::nullopt;
    parts.offsets.reserve(distinct->entries.size() + 1);
    parts.offsets.push_back(0);
    for (const std::string_view text : distinct->entries) {
      parts.entries.append(text.data(), text.size());
      parts.offsets.push_back(static_cast<int64_t>(parts.entries.size()));
    }
    parts.entry_count = distinct->entries.size();
    parts.codes = std::move(distinct->codes);
    return parts;
  }
  const bool fits = dispatch_width(width_of(values.type), [&](auto tag) {
    using T = decltype(tag);
    auto distinct = distinct_fixed<T>(values, most);
    if (!distinct) return false;
    parts.entries.append(distinct->entries.data(), distinct->entries.size() * sizeof(T));
    parts.entry_count = distinct->entries.size();
    parts.codes = std::move(distinct->codes);
    return true;
  });
  if (!fits) return std::nullopt;
  return parts;
}

// How many distinct values the whole array has, from those of the sample and the number of sampled pieces that each was
// seen in. Pieces, not rows, since equal values often lie together: if no value is in two of them, the places that were
// not sampled have values of their own as well. Else Chao's estimator: what was seen in one piece only, against what
// was seen in two, tells how much was not seen at all. Where pieces are not known, each row is one.
uint64_t estimate_distinct(const Parts& sample, const Sample& about) {
  const uint64_t piece_rows = std::max<uint64_t>(about.piece_rows, 1);
  std::vector<uint32_t> pieces(sample.entry_count, 0);
  std::vector<uint32_t> last(sample.entry_count, ~0u);
  for (size_t i = 0; i < sample.codes.size(); ++i) {
    const auto piece = static_cast<uint32_t>(i / piece_rows);
    const uint32_t code = sample.codes[i];
    pieces[code] += last[code] != piece ? 1 : 0;
    last[code] = piece;
  }
  const auto once = static_cast<double>(std::count(pieces.begin(), pieces.end(), 1u));
  const auto twice = static_cast<double>(std::count(pieces.begin(), pieces.end(), 2u));
  const double most = once * (about.scale() - 1);
  const double unseen = twice == 0 ? most : std::min(most, once * once / (2 * twice));
  const double total = static_cast<double>(sample.entry_count) + unseen;
  return std::min(about.total_rows, static_cast<uint64_t>(std::llround(total)));
}

}  // namespace

Node DictCodec::encode(const Values& values, const Tree& tree, Aims aims) const {
  if (values.count > UINT32_MAX) throw Error(ErrorCode::kUnsupported, "dict: the array is too large");
  Node node{this, values.type, values.count, {}, {}, {}};
  const Parts parts = *split(values, kAnyNumber);
  Values codes = parts.code_values();
  codes.sources = values.sources;
  node.children.push_back(encode_tree(codes, tree.children[dict::kCodes], aims));
  Node entries = encode_tree(parts.entry_values(), tree.children[dict::kEntries], aims);
  if (values.type == Physical::kBytes && exceeds_entry_limit(parts.entries.size(), entries)) {
    entries = encode_tree(parts.entry_values(), readable_entries(), aims);
  }
  node.children.push_back(std::move(entries));
  return node;
}

std::optional<Estimate> DictCodec::estimate(const Sample& sample, ChildChooser& chooser) const {
  // Values that are narrow already gain nothing from narrower codes.
  if (sample.values.count == 0 || width_of(sample.values.type) == 1) return std::nullopt;
  // Hopeless where more than two thirds of the rows are values of their own.
  std::optional<Parts> found = split(sample.values, sample.values.count * 2 / 3);
  if (!found) return std::nullopt;
  Parts& parts = *found;
  const uint64_t distinct = std::max(parts.entry_count, estimate_distinct(parts, sample));
  // The sample's ranks stand for ranks among all distinct values.
  const double stretch = static_cast<double>(distinct) / static_cast<double>(parts.entry_count);
  if (stretch > 1) {
    for (uint32_t& code : parts.codes) code = static_cast<uint32_t>(code * stretch);
  }
  Estimate codes = chooser.best({parts.code_values(), sample.total_rows}, dict::kCodes);
  Estimate entries = chooser.best({parts.entry_values(), distinct}, dict::kEntries);
  return Estimate{codes.bytes + entries.bytes, {"dict", {std::move(codes.tree), std::move(entries.tree)}}};
}

// Entries that shared memory or the first cache holds are found at once.
double DictCodec::kernel_picoseconds(const Node& node) const {
  const uint64_t entries = node.children[dict::kEntries].count;
  return static_cast<double>(node.count) * (entries <= 4096 ? 0.4 : entries <= 32768 ? 0.8 : 6.0);
}

namespace {

// Of codes that are runs. Wider values would take more shared memory than their look-ups take time.
bool looks_up_runs(const NodeView& node) {
  return node.children[dict::kCodes].codec->name() == "rle" && width_of(node.type) <= 8;
}

DeviceReader run_reader(const NodeView& node) {
  const NodeView& runs = node.children[dict::kCodes];
  const DeviceReader codes = device_reader_of(runs.children[rle::kValues]);
  const DeviceReader ends = device_reader_of(runs.children[rle::kRunEnds]);
  DeviceReader reader =
      device_reader_named("RunDict", node, {codes, ends, device_reader_of(node.children[dict::kEntries])});
  reader.type.header = "codec/dict/gpu/kernels_runs.cuh";
  reader.scratch_bytes =
      rle::scratch_bytes(width_of(node.type), codes.scratch_bytes, ends.scratch_bytes, ends.rows_in_shared);
  reader.rows_in_shared = true;
  reader.long_code = true;
  return reader;
}

}  // namespace

DeviceReader DictCodec::device_reader(const NodeView& node) const {
  const DeviceReader codes = device_reader_of(node.children[dict::kCodes]);
  if (!codes.empty() && looks_up_runs(node)) return run_reader(node);
  DeviceReader reader = device_reader_named("Dict", node, {codes, device_reader_of(node.children[dict::kEntries])});
  reader.scratch_bytes = codes.scratch_bytes;  // entries are looked up where they lie
  return reader;
}

}  // namespace basalt
