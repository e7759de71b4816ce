// From floats to schemes, exceptions and integers.
#include <algorithm>
#include <cstring>
#include <vector>

#include "basalt/core/error.h"
#include "codec/codecs.h"
#include "codec/device_names.h"
#include "codec/galp/galp.h"
#include "codec/galp/tiles.h"
#include "codec/rle/layout.h"

namespace basalt {

std::unique_ptr<Codec> make_galp() { return std::make_unique<GalpCodec>(); }

namespace {

// A deeper child costs time on every read: it has to be this much smaller to be taken.
constexpr double kPackedWins = 0.98;

struct Parts {
  Buffer streams[galp::kStreams];
  Buffer integers;
};

void put_starts(const std::vector<uint32_t>& starts, Buffer& out) {
  if (starts.back() == 0) return;
  if (starts.back() > galp::kMaxShortStarts) {
    out.append(starts.data(), starts.size() * sizeof(uint32_t));
    return;
  }
  for (const uint32_t start : starts) out.push(static_cast<uint16_t>(start));
}

// `scheme` for all tiles; nullopt: each tile its own.
template <typename T>
Parts encode_tiles(const T* values, uint64_t rows, std::optional<uint32_t> scheme, Effort effort) {
  Parts parts;
  const uint32_t tiles = tile_count(rows);
  Buffer& schemes = parts.streams[galp::kSchemes];
  Buffer& exceptions = parts.streams[galp::kExceptions];
  schemes.resize(tiles);
  parts.integers.resize(rows * sizeof(T));
  std::vector<uint32_t> starts{0};
  std::vector<galp::Dictionary> dictionaries(galp::groups_of(tiles));
  bool any_dictionary = false;
  const auto encoder = std::make_unique<galp::TileEncoder<T>>();
  galp::Group group;
  for (uint32_t tile = 0; tile < tiles; ++tile) {
    const uint64_t first = static_cast<uint64_t>(tile) * kTileRows;
    const uint32_t tile_rows = rows_in_tile(rows, tile);
    if (!scheme) {
      if (tile % galp::kGroupTiles == 0) {
        const uint64_t group_rows = uint64_t{galp::kGroupTiles} * kTileRows;
        group = galp::search_group(values + first, std::min(group_rows, rows - first), effort);
      }
      encoder->choose(values + first, tile_rows, group, effort);
    } else {
      encoder->take(values + first, tile_rows, *scheme);
    }
    schemes.as<uint8_t>()[tile] = static_cast<uint8_t>(encoder->scheme());
    if (encoder->scheme() == galp::kRd) {
      dictionaries[tile / galp::kGroupTiles] = group.dictionary;
      any_dictionary = true;
    }
    encoder->write_integers(parts.integers.as<galp::IntOf<T>>() + first);
    encoder->append_exceptions(exceptions);
    starts.push_back(static_cast<uint32_t>(exceptions.size() / sizeof(uint32_t)));
  }
  if (any_dictionary) {
    parts.streams[galp::kDictionaries].append(dictionaries.data(), dictionaries.size() * sizeof(galp::Dictionary));
  }
  put_starts(starts, parts.streams[galp::kExceptionStarts]);
  return parts;
}

template <typename Body>
auto dispatch_float(const Values& values, Body&& body) {
  return values.type == Physical::kF64 ? body(values.as<double>()) : body(values.as<float>());
}

Parts split(const Values& values, std::optional<uint32_t> scheme, Effort effort) {
  return dispatch_float(values, [&](const auto* from) { return encode_tiles(from, values.count, scheme, effort); });
}

// What to try for all tiles together.
std::vector<uint32_t> array_schemes(const Values& values, Effort effort) {
  if (values.count == 0) return {galp::kRaw};
  const auto found = dispatch_float(values, [&](const auto* from) { return galp::search_array(from, values.count); });
  if (effort == Effort::kFast || !found.differ()) return {found.fewest_bits};
  return {found.fewest_bits, found.fewest_exceptions};
}

Physical integer_of(Physical type) { return type == Physical::kF64 ? Physical::kI64 : Physical::kI32; }

Values integers_of(const Values& values, const Parts& parts) {
  Values child;
  child.type = integer_of(values.type);
  child.count = values.count;
  child.data = parts.integers.data();
  return child;
}

// Of the whole array, without the child.
double own_bytes(const Parts& parts, const Sample& sample) {
  const double tiles = tile_count(sample.total_rows);
  double bytes = tiles;
  if (!parts.streams[galp::kDictionaries].empty()) {
    bytes += galp::groups_of(tile_count(sample.total_rows)) * static_cast<double>(sizeof(galp::Dictionary));
  }
  const double exceptions = static_cast<double>(parts.streams[galp::kExceptions].size()) * sample.scale();
  if (exceptions > 0) {
    const bool is_short = exceptions <= static_cast<double>(galp::kMaxShortStarts) * sizeof(uint32_t);
    bytes += exceptions + (tiles + 1) * (is_short ? 2 : 4);
  }
  return bytes;
}

}  // namespace

std::vector<ChildSlot> GalpCodec::children(Physical type) const { return {{"integers", integer_of(type)}}; }

Node GalpCodec::encode(const Values& values, const Tree& tree, Aims aims) const {
  if (values.count > galp::kMaxRows) throw Error(ErrorCode::kUnsupported, "galp: the array is too large");
  const Tree& child = tree.children[galp::kIntegers];
  const auto encoded = [&](std::optional<uint32_t> scheme) {
    Parts parts = split(values, scheme, aims.effort);
    Node node{this, values.type, values.count, {}, {}, {}};
    for (Buffer& stream : parts.streams) node.streams.push_back(std::move(stream));
    node.children.push_back(encode_tree(integers_of(values, parts), child, aims));
    return node;
  };
  if (child.codec == galp::kChildOfManyScales) return encoded(std::nullopt);
  std::optional<Node> best;
  for (const uint32_t scheme : array_schemes(values, aims.effort)) {
    Node node = encoded(scheme);
    if (!best || node.encoded_bytes() < best->encoded_bytes()) best = std::move(node);
  }
  return std::move(*best);
}

std::optional<Estimate> GalpCodec::estimate(const Sample& given, ChildChooser& chooser) const {
  if (given.values.count == 0) return std::nullopt;
  // A last tile of few rows may be cheaper as nothing but exceptions, which says nothing of the others.
  Sample sample = given;
  if (sample.values.count > kTileRows) sample.values.count -= sample.values.count % kTileRows;
  const Effort effort = chooser.effort();
  const auto estimated = [&](std::optional<uint32_t> scheme) {
    const Parts parts = split(sample.values, scheme, effort);
    const Sample integers{integers_of(sample.values, parts), sample.total_rows, sample.piece_rows};
    Estimate child = scheme ? chooser.best(integers, galp::kIntegers)
                            : *get_codec(galp::kChildOfManyScales).estimate(integers, chooser);
    return Estimate{own_bytes(parts, sample) + child.bytes, {"galp", {std::move(child.tree)}}};
  };
  const Tree* forced = chooser.forced(galp::kIntegers);
  if (forced != nullptr && forced->codec == galp::kChildOfManyScales) return estimated(std::nullopt);
  std::optional<Estimate> best;
  if (forced == nullptr) best = estimated(std::nullopt);
  for (const uint32_t scheme : array_schemes(sample.values, effort)) {
    Estimate one = estimated(scheme);
    const bool same_child = forced == nullptr && one.tree.children[galp::kIntegers].codec == galp::kChildOfManyScales;
    if (!best || (!same_child && one.bytes < best->bytes * kPackedWins)) best = std::move(one);
  }
  return best;
}

// Runs become floats before they become rows.
uint64_t GalpCodec::reading_cost(const Node& node) const {
  const Node& integers = node.children[galp::kIntegers];
  const bool once_per_run = integers.codec->name() == "rle";
  return (once_per_run ? integers.children[rle::kValues] : node).count * 6;
}

// A tile's exceptions are looked for by all lanes.
double GalpCodec::kernel_picoseconds(const Node& node) const {
  const auto exceptions = static_cast<double>(node.streams[galp::kExceptions].size());
  return static_cast<double>(node.count) * 0.15 + exceptions;
}

DeviceReader GalpCodec::device_reader(const NodeView& node) const {
  const NodeView& child = node.children[galp::kIntegers];
  const DeviceReader integers = device_reader_of(child);
  DeviceReader reader = device_reader_named("Galp", node, {integers});
  reader.scratch_bytes = galp::scratch_bytes(integers.scratch_bytes);
  if (child.codec->name() == galp::kChildOfManyScales)
    reader.filter_sum = device_filter_sum_named("GalpFilterSum", node, {integers.type});
  return reader;
}

}  // namespace basalt
