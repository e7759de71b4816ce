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
    predictor_ = l3::get_predictor(l3::record_of(partition), params, sizeof(uint64_t));
    first_row_ = static_cast<uint64_t>(partition.first_unit) * kUnitRows;
  }

  // Rows first…first + count of the chunk; rows up to `padded` get residual 0.
  void of(const int64_t* values, uint64_t first, uint32_t count, uint32_t padded, uint64_t* out) const {
    const l3::SideBySide<3> start(predictor_, first - first_row_);
    auto state = start;
    using Pair = l3::VectorOf<int64_t, 2>::type;
    const uint64_t base = predictor_.base;
    const uint64_t mask = predictor_.wide ? ~uint64_t{0} : ~uint32_t{0};
    const uint32_t fraction = predictor_.fraction;
    const uint32_t whole = count / l3::kSideBySide * l3::kSideBySide;
    for (uint32_t i = 0; i < whole; i += l3::kSideBySide) {
#pragma GCC unroll 4
      for (uint32_t j = 0; j < l3::kTwos; ++j) {
        const auto value = l3::load_vector<l3::Two>(values + first + i + 2 * j);
        const auto prediction = l3::Two(Pair(state.y[j]) >> fraction);
        const l3::Two residual = (value - base - prediction) & mask;
        std::memcpy(out + i + 2 * j, &residual, sizeof(residual));
      }
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

// One chunk's streams.
class StreamWriter {
 public:
  StreamWriter(std::span<const int64_t> values, const std::vector<l3::Partition>& parts, Node& node)
      : values_(values), parts_(parts), node_(node), value_bytes_(width_of(node.type)), runs_(parts.size()) {}

  void write() {
    uint64_t words = 0;
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].model == l3::Model::kRuns) {
        runs_[i] = l3::find_runs(values_, parts_[i], value_bytes_);
      } else {
        words += static_cast<uint64_t>(parts_[i].units) * unit_words(parts_[i].width);
      }
    }
    runs_word_ = words;
    for (const l3::RunsOf& runs : runs_) words += runs.words;
    Buffer& residuals = node_.streams[l3::kResiduals];
    residuals.resize(words * sizeof(uint32_t));
    if (words > 0) std::memset(residuals.data(), 0, residuals.size());
    write_starts();
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].model == l3::Model::kRuns) {
        write_runs(parts_[i], runs_[i]);
      } else {
        write_model(parts_[i]);
      }
    }
  }

 private:
  void write_starts() {
    const uint64_t units = (values_.size() + kUnitRows - 1) / kUnitRows;
    std::vector<uint32_t> starts((units + l3::kUnitsPerStart - 1) / l3::kUnitsPerStart);
    for (const l3::Partition& part : parts_) {
      starts[part.first_unit / l3::kUnitsPerStart] |= 1u << part.first_unit % l3::kUnitsPerStart;
    }
    uint32_t before = 0;
    for (uint32_t& word : starts) {
      const uint32_t here = l3::count_ones(word);
      word |= before << 16;
      before += here;
    }
    node_.streams[l3::kStarts].append(starts.data(), starts.size() * sizeof(uint32_t));
  }

  void put_record(l3::Record record, uint64_t place) {
    record.params = static_cast<uint32_t>(node_.streams[l3::kParams].size() / sizeof(uint32_t));
    record.place = static_cast<uint32_t>(place);
    node_.streams[l3::kRecords].push(l3::pack_record(record));
  }
  void put_params(const l3::Partition& model, uint64_t base, uint32_t bytes) {
    uint32_t words[l3::kMostParams];
    node_.streams[l3::kParams].append(words, l3::put_params(model, base, bytes, words) * sizeof(uint32_t));
  }

  // Residuals of whole tiles as packed tiles, of other units by themselves.
  void write_model(const l3::Partition& part) {
    put_record(l3::record_of(part), word_ / l3::kPieceWords);
    put_params(part, static_cast<uint64_t>(part.base) + widening_of(node_.type), value_bytes_);
    if (part.width == 0) return;
    const Residuals made(part);
    const uint32_t end = part.first_unit + part.units;
    uint32_t* const words = node_.streams[l3::kResiduals].as<uint32_t>();
    uint64_t room[kTileRows];
    for (uint32_t unit = part.first_unit; unit < end;) {
      const bool whole = unit % kUnitsPerTile == 0 && unit + kUnitsPerTile <= end;
      const uint64_t first = static_cast<uint64_t>(unit) * kUnitRows;
      const uint32_t rows = whole ? kTileRows : kUnitRows;
      made.of(values_.data(), first, static_cast<uint32_t>(std::min<uint64_t>(rows, values_.size() - first)), rows,
              room);
      if (whole) {
        pack_tile(room, uint64_t{0}, part.width, words + word_);
      } else {
        pack_unit(room, part.width, words + word_);
      }
      unit += rows / kUnitRows;
      word_ += static_cast<uint64_t>(rows / kUnitRows) * unit_words(part.width);
    }
  }

  void write_runs(const l3::Partition& part, const l3::RunsOf& runs) {
    l3::Record record = l3::record_of(part);
    record.shift = static_cast<uint32_t>(runs_word_ % l3::kPieceWords);
    put_record(record, runs_word_ / l3::kPieceWords);
    uint32_t words[l3::kMostRunsParams];
    const uint32_t count = l3::put_runs_params(runs, widening_of(node_.type), value_bytes_, words);
    node_.streams[l3::kParams].append(words, count * sizeof(uint32_t));

    BitWriter bits(node_.streams[l3::kResiduals].as<uint32_t>() + runs_word_);
    put_residuals(bits, runs.values, runs.value_model);
    if (runs.by_tile) {
      for (const int64_t end : runs.ends) {
        bits.put((static_cast<uint64_t>(part.first_unit) * kUnitRows + static_cast<uint64_t>(end) - 1) % kTileRows,
                 runs.header().ends.width);
      }
    } else {
      put_residuals(bits, runs.ends, runs.end_model);
    }
    const uint32_t first_width = l3::bit_width(static_cast<uint32_t>(runs.values.size()) - 1);
    for (uint64_t row = (part.first_unit / kUnitsPerTile + 1) * uint64_t{kTileRows};
         row < (static_cast<uint64_t>(part.first_unit) + part.units) * kUnitRows; row += kTileRows) {
      const auto local = static_cast<int64_t>(row - static_cast<uint64_t>(part.first_unit) * kUnitRows);
      const auto run = std::upper_bound(runs.ends.begin(), runs.ends.end(), local) - runs.ends.begin();
      bits.put(static_cast<uint64_t>(run), first_width);
    }
    runs_word_ += runs.words;
  }

  static void put_residuals(BitWriter& bits, const std::vector<int64_t>& array, const l3::Partition& model) {
    std::vector<uint64_t> residuals(array.size());
    const auto count = static_cast<uint32_t>(array.size());
    Residuals(model).of(array.data(), 0, count, count, residuals.data());
    for (const uint64_t residual : residuals) bits.put(residual, model.width);
  }

  std::span<const int64_t> values_;
  const std::vector<l3::Partition>& parts_;
  Node& node_;
  uint32_t value_bytes_;
  std::vector<l3::RunsOf> runs_;  // by partition; empty where it has another model
  uint64_t word_ = 0;             // of the residuals: the next modelled partition
  uint64_t runs_word_ = 0;        // the next partition of runs
};

}  // namespace

Node L3Codec::encode(const Values& values, const Tree&, Aims aims) const {
  if (values.count > kMaxChunkRows) throw Error(ErrorCode::kUnsupported, "l3: the array is too large");
  Node node{this, values.type, values.count, {}, {}, {}};
  node.streams.resize(l3::kStreams);
  const std::vector<int64_t> wide = widen(values);
  const std::vector<l3::Partition> parts = l3::cut(wide, width_of(values.type), aims.effort);
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
    bytes += sizeof(uint32_t) * kUnitsPerTile / l3::kUnitsPerStart +
             l3::estimate_tile({wide.data() + first, rows}, width_of(sample.values.type), chooser.effort());
  }
  return Estimate{static_cast<double>(bytes) * sample.scale(), {"l3", {}}};
}

DeviceReader L3Codec::device_reader(const NodeView& node) const {
  DeviceReader reader = device_reader_named("L3", node);
  reader.scratch_bytes = l3::scratch_bytes(width_of(node.type));
  reader.rows_in_shared = true;
  reader.most_instructions = 2600;
  // Offsets of narrower values would wrap with them.
  if (width_of(node.type) >= 4) reader.filter_sum = device_filter_sum_named("L3FilterSum", node);
  return reader;
}

}  // namespace basalt
