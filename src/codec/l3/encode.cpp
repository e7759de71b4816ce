// From values to streams: widen, cut, then write each tile's residuals.
#include <algorithm>
#include <cstring>

#include "basalt/core/error.h"
#include "codec/codecs.h"
#include "codec/device_names.h"
#include "codec/l3/l3.h"
#include "codec/l3/partition.h"
#include "codec/l3/side_by_side.h"
#include "core/dispatch.h"
#include "core/packing.h"

namespace basalt {

std::unique_ptr<Codec> make_l3() { return std::make_unique<L3Codec>(); }

namespace {

// What has to be added to a widened value to get the value's own bits back.
uint64_t widening_of(Physical type) { return type == Physical::kU64 ? uint64_t{1} << 63 : 0; }

// Values as signed 64-bit numbers in the same order and at the same distances.
std::vector<int64_t> widen(const Values& values) {
  std::vector<int64_t> wide(values.count);
  const uint64_t widening = widening_of(values.type);
  dispatch_typed(values.type, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_integral_v<T> && sizeof(T) <= 8) {
      const T* from = values.as<T>();
      for (uint64_t i = 0; i < values.count; ++i) {
        wide[i] = static_cast<int64_t>(static_cast<uint64_t>(from[i]) - widening);
      }
    }
  });
  return wide;
}

// Residuals of the rows of one partition, one unit or tile after the other.
class Residuals {
 public:
  explicit Residuals(const l3::Partition& partition) {
    uint32_t params[l3::kMostParams];
    l3::put_params(partition, static_cast<uint64_t>(partition.base), sizeof(uint64_t), params);
    predictor_ = l3::get_predictor(l3::record_of(partition, 0), params, sizeof(uint64_t));
    first_row_ = static_cast<uint64_t>(partition.first_unit) * kUnitRows;
  }

  // Rows first…first + count of the chunk; rows up to `padded`, a multiple of 8, get residual 0.
  void of(const int64_t* values, uint64_t first, uint32_t count, uint32_t padded, uint64_t* out) const {
    l3::SideBySide<3> state(predictor_, first - first_row_);
    const uint64_t base = predictor_.base;
    const uint64_t mask = predictor_.wide ? ~uint64_t{0} : ~uint32_t{0};
    const uint32_t whole = count / l3::kSideBySide * l3::kSideBySide;
    for (uint32_t i = 0; i < whole; i += l3::kSideBySide) {
      const auto value = l3::Eight<uint64_t>(l3::load_eight(values + first + i));
      const auto prediction = l3::Eight<uint64_t>(l3::Eight<int64_t>(state.y) >> predictor_.fraction);
      const l3::Eight<uint64_t> residual = (value - base - prediction) & mask;
      std::memcpy(out + i, &residual, sizeof(residual));
      state.advance();
    }
    for (uint32_t i = whole; i < count; ++i) {
      const uint64_t y = l3::evaluate(predictor_, first + i - first_row_);
      out[i] = (static_cast<uint64_t>(values[first + i]) - l3::finish(predictor_, y, 0)) & mask;
    }
    std::fill(out + count, out + padded, 0);
  }

 private:
  l3::Predictor predictor_;
  uint64_t first_row_;
};

void write_streams(std::span<const int64_t> values, const std::vector<l3::Partition>& parts, Node& node) {
  const uint32_t value_bytes = width_of(node.type);
  const uint64_t widening = widening_of(node.type);
  Buffer& records = node.streams[l3::kRecords];
  records.resize(parts.size() * l3::kRecordWords * sizeof(uint16_t));
  std::vector<uint32_t> params(parts.size() * l3::kMostParams);
  uint32_t place = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    l3::put_record(l3::record_of(parts[i], place), records.as<uint16_t>() + i * l3::kRecordWords);
    place +=
        l3::put_params(parts[i], static_cast<uint64_t>(parts[i].base) + widening, value_bytes, params.data() + place);
  }
  node.streams[l3::kParams].append(params.data(), place * sizeof(uint32_t));

  const uint32_t tiles = tile_count(values.size());
  Buffer& entries = node.streams[l3::kTiles];
  entries.resize(tiles * sizeof(uint32_t));
  uint64_t words = 0;
  for (const l3::Partition& part : parts) words += static_cast<uint64_t>(part.units) * unit_words(part.width);
  Buffer& residuals = node.streams[l3::kResiduals];
  residuals.resize(words * sizeof(uint32_t));

  uint32_t* to = residuals.as<uint32_t>();
  size_t part = 0;
  Residuals made(parts.empty() ? l3::Partition{} : parts[0]);
  uint64_t room[kTileRows];
  for (uint32_t tile = 0; tile < tiles; ++tile) {
    const uint64_t first = static_cast<uint64_t>(tile) * kTileRows;
    const uint32_t rows = rows_in_tile(values.size(), tile);
    const uint32_t units = (rows + kUnitRows - 1) / kUnitRows;
    const auto enter = [&](uint32_t unit) {
      if (unit < parts[part].first_unit + parts[part].units) return;
      ++part;
      made = Residuals(parts[part]);
    };
    enter(tile * kUnitsPerTile);
    const bool whole =
        units == kUnitsPerTile && parts[part].first_unit + parts[part].units >= (tile + 1) * kUnitsPerTile;
    const auto piece = static_cast<uint32_t>((to - residuals.as<uint32_t>()) / l3::kPieceWords);
    entries.as<uint32_t>()[tile] = l3::make_tile(piece, static_cast<uint32_t>(part), !whole);
    for (uint32_t u = 0; u < (whole ? 1 : units); ++u) {
      enter(tile * kUnitsPerTile + u);
      const uint32_t width = parts[part].width;
      if (width == 0) continue;
      const uint32_t room_rows = whole ? kTileRows : kUnitRows;
      made.of(values.data(), first + u * kUnitRows, std::min(room_rows, rows - u * kUnitRows), room_rows, room);
      if (whole) {
        pack_tile(room, uint64_t{0}, width, to);
        to += packed_tile_words(width);
      } else {
        pack_unit(room, width, to);
        to += unit_words(width);
      }
    }
  }
}

}  // namespace

Node L3Codec::encode(const Values& values, const Tree&) const { return encode(values, l3::Effort::kBalanced); }

Node L3Codec::encode(const Values& values, l3::Effort effort) const {
  if (values.count > kMaxChunkRows) throw Error(ErrorCode::kUnsupported, "l3: the array is too large");
  Node node{this, values.type, values.count, {}, {}, {}};
  node.streams.resize(l3::kStreams);
  const std::vector<int64_t> wide = widen(values);
  write_streams(wide, l3::cut(wide, width_of(values.type), effort), node);
  return node;
}

std::optional<Estimate> L3Codec::estimate(const Sample& sample, ChildChooser&) const {
  if (sample.total_rows > kMaxChunkRows) return std::nullopt;
  // Sampled tiles are not neighbours: each is cut by itself.
  const std::vector<int64_t> wide = widen(sample.values);
  uint64_t bytes = 0;
  for (uint64_t first = 0; first < wide.size(); first += kTileRows) {
    const uint64_t rows = std::min<uint64_t>(kTileRows, wide.size() - first);
    bytes += sizeof(uint32_t);
    for (const l3::Partition& part :
         l3::cut({wide.data() + first, rows}, width_of(sample.values.type), l3::Effort::kBalanced)) {
      bytes += part.bytes;
    }
  }
  const uint32_t sampled = tile_count(wide.size());
  const double per_tile = sampled == 0 ? 0 : static_cast<double>(bytes) / sampled;
  return Estimate{per_tile * tile_count(sample.total_rows), {"l3", {}}};
}

std::string L3Codec::device_reader(const NodeView& node) const { return "L3<" + device_value_type(node.type) + ">"; }

}  // namespace basalt
