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

  // Rows first…first + count of the chunk; rows up to `padded` get residual 0.
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

// Appends values of `width` bits one after the other, least significant bit first.
class BitWriter {
 public:
  explicit BitWriter(uint32_t* words) : words_(words) {}
  void put(uint64_t value, uint32_t width) {
    for (uint32_t done = 0; done < width;) {
      const uint32_t room = 32 - bit_ % 32;
      const uint32_t take = std::min(room, width - done);
      words_[bit_ / 32] |= static_cast<uint32_t>((value >> done & low_bits(take)) << (bit_ % 32));
      bit_ += take;
      done += take;
    }
  }

 private:
  uint32_t* words_;
  uint64_t bit_ = 0;
};

// One chunk's streams, written in the order in which they lie.
class StreamWriter {
 public:
  StreamWriter(std::span<const int64_t> values, const std::vector<l3::Partition>& parts, Node& node)
      : values_(values), parts_(parts), node_(node), value_bytes_(width_of(node.type)), runs_(parts.size()) {
    for (size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].model != l3::Model::kRuns) continue;
      const std::span<const int64_t> rows =
          values.subspan(static_cast<size_t>(parts[i].first_unit) * kUnitRows, parts[i].rows);
      runs_[i] = l3::find_runs(rows, parts[i].runs, value_bytes_);
    }
  }

  void write() {
    uint64_t words = 0;
    for (const l3::Partition& part : parts_) words += static_cast<uint64_t>(part.units) * unit_words(part.width);
    runs_piece_ = static_cast<uint32_t>(words / l3::kPieceWords);
    write_records();
    node_.streams[l3::kResiduals].resize(static_cast<size_t>(runs_piece_) * l3::kPieceWords * sizeof(uint32_t));
    if (runs_piece_ > 0) std::memset(node_.streams[l3::kResiduals].data(), 0, node_.streams[l3::kResiduals].size());
    write_tiles();
    write_runs(words);
  }

 private:
  // Records and parameters; runs_piece_ moves to the end of the last partition's runs.
  void write_records() {
    const uint64_t widening = widening_of(node_.type);
    Buffer& records = node_.streams[l3::kRecords];
    records.resize(parts_.size() * l3::kRecordWords * sizeof(uint16_t));
    Buffer& params = node_.streams[l3::kParams];
    for (size_t i = 0; i < parts_.size(); ++i) {
      l3::put_record(l3::record_of(parts_[i], static_cast<uint32_t>(params.size() / sizeof(uint32_t))),
                     records.as<uint16_t>() + i * l3::kRecordWords);
      const auto put = [&](const l3::Partition& model, uint64_t base, uint32_t bytes) {
        uint32_t words[l3::kMostParams];
        params.append(words, l3::put_params(model, base, bytes, words) * sizeof(uint32_t));
      };
      if (parts_[i].model != l3::Model::kRuns) {
        put(parts_[i], static_cast<uint64_t>(parts_[i].base) + widening, value_bytes_);
        continue;
      }
      const l3::RunsOf& runs = runs_[i];
      const l3::RunsHeader header = runs.header(runs_piece_);
      params.append(&header, sizeof(header));
      put(runs.value_model, static_cast<uint64_t>(runs.value_model.base) + widening, value_bytes_);
      put(runs.end_model, static_cast<uint64_t>(runs.end_model.base), sizeof(uint32_t));
      runs_piece_ += static_cast<uint32_t>(l3::runs_pieces(header));
    }
  }

  void write_tiles() {
    const uint32_t tiles = tile_count(values_.size());
    Buffer& entries = node_.streams[l3::kTiles];
    entries.resize((tiles + 1) * sizeof(uint32_t));
    entries.as<uint32_t>()[tiles] = static_cast<uint32_t>(parts_.size());
    uint32_t* const start = node_.streams[l3::kResiduals].as<uint32_t>();
    uint32_t* to = start;
    size_t part = 0;
    Residuals made(parts_.empty() ? l3::Partition{} : parts_[0]);
    const auto enter = [&](uint32_t unit) {
      if (unit < parts_[part].first_unit + parts_[part].units) return;
      made = Residuals(parts_[++part]);
    };
    uint64_t room[kTileRows];
    for (uint32_t tile = 0; tile < tiles; ++tile) {
      const uint64_t first = static_cast<uint64_t>(tile) * kTileRows;
      const uint32_t rows = rows_in_tile(values_.size(), tile);
      const uint32_t units = (rows + kUnitRows - 1) / kUnitRows;
      enter(tile * kUnitsPerTile);
      const l3::Partition& p = parts_[part];
      const bool whole = units == kUnitsPerTile && p.first_unit + p.units >= (tile + 1) * kUnitsPerTile;
      auto place = static_cast<uint32_t>((to - start) / l3::kPieceWords);
      if (whole && p.model == l3::Model::kRuns) {
        const auto& ends = runs_[part].ends;
        const auto local = static_cast<int64_t>(first - static_cast<uint64_t>(p.first_unit) * kUnitRows);
        place = static_cast<uint32_t>(std::upper_bound(ends.begin(), ends.end(), local) - ends.begin());
      }
      entries.as<uint32_t>()[tile] = l3::make_tile(place, static_cast<uint32_t>(part), !whole);
      for (uint32_t u = 0; u < (whole ? 1 : units); ++u) {
        enter(tile * kUnitsPerTile + u);
        const uint32_t width = parts_[part].width;
        if (width == 0) continue;
        const uint32_t room_rows = whole ? kTileRows : kUnitRows;
        made.of(values_.data(), first + u * kUnitRows, std::min(room_rows, rows - u * kUnitRows), room_rows, room);
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

  void write_runs(uint64_t word) {
    uint32_t* const start = node_.streams[l3::kResiduals].as<uint32_t>();
    for (const l3::RunsOf& runs : runs_) {
      if (runs.values.empty()) continue;
      BitWriter bits(start + word);
      const auto put_all = [&](const std::vector<int64_t>& array, const l3::Partition& model) {
        std::vector<uint64_t> residuals(array.size());
        Residuals(model).of(array.data(), 0, static_cast<uint32_t>(array.size()), static_cast<uint32_t>(array.size()),
                            residuals.data());
        for (const uint64_t residual : residuals) bits.put(residual, model.width);
      };
      put_all(runs.values, runs.value_model);
      put_all(runs.ends, runs.end_model);
      word += l3::runs_pieces(runs.header(0)) * l3::kPieceWords;
    }
  }

  std::span<const int64_t> values_;
  const std::vector<l3::Partition>& parts_;
  Node& node_;
  uint32_t value_bytes_;
  std::vector<l3::RunsOf> runs_;  // by partition; empty where it has another model
  uint32_t runs_piece_ = 0;
};

}  // namespace

Node L3Codec::encode(const Values& values, const Tree&, Effort effort) const {
  if (values.count > kMaxChunkRows) throw Error(ErrorCode::kUnsupported, "l3: the array is too large");
  Node node{this, values.type, values.count, {}, {}, {}};
  node.streams.resize(l3::kStreams);
  const std::vector<int64_t> wide = widen(values);
  const std::vector<l3::Partition> parts = l3::cut(wide, width_of(values.type), effort);
  StreamWriter(wide, parts, node).write();
  return node;
}

std::optional<Estimate> L3Codec::estimate(const Sample& sample, ChildChooser& chooser) const {
  if (sample.total_rows > kMaxChunkRows) return std::nullopt;
  // Sampled tiles are not neighbours: each counts by itself.
  const std::vector<int64_t> wide = widen(sample.values);
  uint64_t bytes = 0;
  for (uint64_t first = 0; first < wide.size(); first += kTileRows) {
    const uint64_t rows = std::min<uint64_t>(kTileRows, wide.size() - first);
    bytes += sizeof(uint32_t) +
             l3::estimate_tile({wide.data() + first, rows}, width_of(sample.values.type), chooser.effort());
  }
  return Estimate{static_cast<double>(bytes) * sample.scale(), {"l3", {}}};
}

std::string L3Codec::device_reader(const NodeView& node) const { return "L3<" + device_value_type(node.type) + ">"; }

}  // namespace basalt
