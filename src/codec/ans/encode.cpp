// Counting symbols, sharing slots out, and coding units from their last row to their first, which is the way rANS goes.
#include "codec/ans/encode.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "basalt/core/error.h"
#include "codec/ans/ans.h"
#include "codec/ans/layout.h"
#include "codec/ans/shares.h"
#include "codec/ans/table.h"
#include "codec/codecs.h"
#include "codec/device_names.h"
#include "core/dispatch.h"

namespace basalt {

std::unique_ptr<Codec> make_ans() { return std::make_unique<AnsCodec>(); }

namespace ans {

namespace {

// What coding a symbol takes.
struct Code {
  uint32_t share;
  uint32_t first_slot;
};

class UnitEncoder {
 public:
  UnitEncoder(const std::vector<uint32_t>& shares, uint32_t bits) : bits_(bits), words_(kLongestUnitSteps * kLanes) {
    uint32_t slot = 0;
    for (const uint32_t share : shares) {
      codes_.push_back({share, slot});
      slot += share;
    }
  }

  void encode(const uint16_t* symbols, uint32_t rows, Buffer& out) {
    const uint32_t steps = steps_of(rows);
    const uint32_t tail = encode_tail(symbols, rows);
    first_word_ = words_.size();
    for (uint32_t& state : states_) state += kLeastState;
    for (uint32_t step = steps - tail; step-- > 0;) {
      for (uint32_t lane = lanes_in_step(rows, step); lane-- > 0;) {
        const Code code = codes_[symbols[step * kLanes + lane]];
        uint32_t& state = states_[lane];
        if (state >= uint64_t{code.share} << (32 - bits_)) {
          words_[--first_word_] = static_cast<uint16_t>(state);
          state >>= kWordBits;
        }
        state = static_cast<uint32_t>(put(state, code));
      }
    }
    out.append(states_, sizeof(states_));
    out.push(static_cast<uint16_t>(tail));
    const size_t words = words_.size() - first_word_;
    out.append(words_.data() + first_word_, words * sizeof(uint16_t));
    if (words % 2 == 0) out.push(uint16_t{0});
  }

 private:
  uint64_t put(uint32_t state, Code code) const {
    return (static_cast<uint64_t>(state / code.share) << bits_) + state % code.share + code.first_slot;
  }

  // As many steps as all states have room for, from nothing at all.
  uint32_t encode_tail(const uint16_t* symbols, uint32_t rows) {
    constexpr uint64_t kMost = UINT32_MAX - kLeastState;
    std::fill_n(states_, kLanes, 0u);
    const uint32_t steps = steps_of(rows);
    for (uint32_t tail = 0; tail < steps; ++tail) {
      const uint32_t step = steps - 1 - tail;
      uint32_t next[kLanes];
      std::copy_n(states_, kLanes, next);
      for (uint32_t lane = 0; lane < lanes_in_step(rows, step); ++lane) {
        const uint64_t state = put(states_[lane], codes_[symbols[step * kLanes + lane]]);
        if (state > kMost) return tail;
        next[lane] = static_cast<uint32_t>(state);
      }
      std::copy_n(next, kLanes, states_);
    }
    return steps;
  }

  uint32_t bits_;
  std::vector<Code> codes_;
  uint32_t states_[kLanes];
  std::vector<uint16_t> words_;  // filled from its end
  size_t first_word_ = 0;
};

// Of the values, by the type's own order: the smallest, and how far the largest lies above it.
struct Range {
  uint64_t reference = 0;
  uint64_t span = 0;
};
Range range_of(const Values& values) {
  return dispatch_typed(values.type, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_integral_v<T> && sizeof(T) <= 8) {
      const auto [low, high] = std::minmax_element(values.as<T>(), values.as<T>() + values.count);
      const auto reference = static_cast<uint64_t>(static_cast<std::make_unsigned_t<T>>(*low));
      return Range{reference, static_cast<uint64_t>(*high) - static_cast<uint64_t>(*low)};
    }
    return Range{0, UINT64_MAX};
  });
}

void take_symbols(const Values& values, uint64_t reference, uint64_t first, uint64_t rows, uint16_t* out) {
  dispatch_width(width_of(values.type), [&](auto tag) {
    using T = decltype(tag);
    const T* from = values.as<T>() + first;
    const auto least = static_cast<T>(reference);
    for (uint64_t i = 0; i < rows; ++i) out[i] = static_cast<uint16_t>(static_cast<T>(from[i] - least));
  });
}

std::vector<uint64_t> count_symbols(const Values& values, const Range& range) {
  std::vector<uint64_t> counts(range.span + 1, 0);
  std::vector<uint16_t> symbols(kTileRows);
  for (uint64_t first = 0; first < values.count; first += kTileRows) {
    const uint64_t rows = std::min<uint64_t>(kTileRows, values.count - first);
    take_symbols(values, range.reference, first, rows, symbols.data());
    for (uint64_t i = 0; i < rows; ++i) ++counts[symbols[i]];
  }
  return counts;
}

}  // namespace

Node encode(const Codec* codec, const Values& values, uint32_t unit_tiles) {
  Node node{codec, values.type, values.count, {}, {}, {}};
  node.streams.resize(kStreams);
  node.params.resize(kParameterBytes);
  Parameters parameters{0, 0, unit_tiles};
  if (values.count == 0) {
    std::memcpy(node.params.data(), &parameters, sizeof(parameters));
    return node;
  }
  if (values.count > UINT32_MAX) throw Error(ErrorCode::kUnsupported, "ans: the array is too large");
  const Range range = range_of(values);
  if (range.span >= kMostSymbols) {
    throw Error(ErrorCode::kUnsupported, "ans: the values do not lie within " + std::to_string(kMostSymbols));
  }
  parameters.reference = range.reference;
  parameters.symbols = static_cast<uint32_t>(range.span) + 1;
  std::memcpy(node.params.data(), &parameters, sizeof(parameters));
  const uint32_t bits = share_bits(parameters.symbols);
  const std::vector<uint32_t> shares = share_out(count_symbols(values, range), bits);
  node.streams[kTable] = pack_shares(shares);

  UnitEncoder encoder(shares, bits);
  std::vector<uint16_t> symbols(size_t{unit_tiles} * kTileRows);
  Buffer& units = node.streams[kUnits];
  for (uint64_t unit = 0; unit < units_of(values.count, unit_tiles); ++unit) {
    node.streams[kStarts].push(static_cast<uint32_t>(units.size() / sizeof(uint32_t)));
    const uint32_t rows = rows_in_unit(values.count, unit_tiles, unit);
    take_symbols(values, range.reference, unit * symbols.size(), rows, symbols.data());
    encoder.encode(symbols.data(), rows, units);
  }
  if (units.size() / sizeof(uint32_t) > UINT32_MAX) throw Error(ErrorCode::kUnsupported, "ans: the array is too large");
  node.streams[kStarts].push(static_cast<uint32_t>(units.size() / sizeof(uint32_t)));
  return node;
}

namespace {

// Of a state's 32 bits, 16 say nothing on the average: 8 because states end anywhere below 2^32, 8 because the first
// symbols that a state takes waste them. And a unit has a start, a tail, and half a word to spare.
constexpr double kUnitBytes = 2 * kLanes + 4 + 2 + 1;
// Of a unit's words, what they may take: below 1.2 bits a row, more than that of a short one.
constexpr double kMostWasted = 0.06;

// Whoever reads single zones reads less of short units; a file that is to be small has none of their states, and rows
// of so few bits that these are more than a sixteenth have none either.
uint32_t unit_tiles_by_words(Purpose purpose, uint64_t rows, double word_bytes) {
  if (purpose == Purpose::kDisk) return kLongUnit;
  const bool has_several = rows > uint64_t{kLongUnit} * kTileRows;
  const double short_units = static_cast<double>(units_of(rows, kShortUnit));
  return has_several && short_units * kUnitBytes > word_bytes * kMostWasted ? kLongUnit : kShortUnit;
}

}  // namespace

uint32_t unit_tiles_for(Purpose purpose, uint64_t rows, uint64_t short_unit_bytes) {
  const double states = static_cast<double>(units_of(rows, kShortUnit)) * kUnitBytes;
  return unit_tiles_by_words(purpose, rows, static_cast<double>(short_unit_bytes) - states);
}

}  // namespace ans

Node AnsCodec::encode(const Values& values, const Tree&, Aims aims) const {
  using namespace ans;
  if (aims.purpose == Purpose::kDisk) return ans::encode(this, values, kLongUnit);
  Node node = ans::encode(this, values, kShortUnit);
  const uint32_t unit_tiles = unit_tiles_for(aims.purpose, values.count, node.streams[kUnits].size());
  return unit_tiles == kShortUnit ? std::move(node) : ans::encode(this, values, unit_tiles);
}

// A row takes a nanosecond and a half to decode, where one of `packed` takes next to nothing. An eighth of six bits
// takes as long over a link of 60 MB a second: slower ones, and whoever pays for bytes that lie, gain.
double AnsCodec::has_to_save() const { return 0.875; }

std::optional<Estimate> AnsCodec::estimate(const Sample& sample, ChildChooser& chooser) const {
  using namespace ans;
  if (sample.values.count == 0) return std::nullopt;
  const Range range = range_of(sample.values);
  if (range.span >= kMostSymbols) return std::nullopt;
  const std::vector<uint64_t> counts = count_symbols(sample.values, range);
  const auto symbols = static_cast<uint32_t>(counts.size());
  const std::vector<uint32_t> shares = share_out(counts, share_bits(symbols));
  double bits = 0;
  double distinct = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    bits += static_cast<double>(counts[i]) * (share_bits(symbols) - std::log2(shares[i]));
    ++distinct;
  }
  // A sample's entropy is too small, by half a row's worth of every symbol (Miller and Madow).
  if (sample.scale() > 1) bits += distinct / (2 * std::log(2.0));
  const double word_bytes = bits / 8 * sample.scale();
  const uint32_t unit_tiles = unit_tiles_by_words(chooser.purpose(), sample.total_rows, word_bytes);
  const double bytes = word_bytes + static_cast<double>(units_of(sample.total_rows, unit_tiles)) * kUnitBytes +
                       static_cast<double>(pack_shares(shares).size()) + 4 + kParameterBytes;
  return Estimate{bytes, {"ans", {}}};
}

// The codes of whole tiles, at least one. Parameters may be any that a file has, but rows have their units, each of
// which takes some of the file.
std::optional<NodeView> AnsCodec::device_form(const NodeView& node) const {
  if (node.count > 0 && node.streams.size() == ans::kStreams) {
    const uint64_t units = ans::units_of(node.count, ans::kLongUnit);
    if (node.streams[ans::kUnits].size() / (ans::kLeastUnitWords * sizeof(uint32_t)) < units) {
      fail_corrupt(node, "fewer units than rows need");
    }
  }
  NodeView form = node;
  const uint32_t symbols = node.params.size() == ans::kParameterBytes ? ans::parameters_of(node).symbols : 0;
  const uint64_t tiles = std::max(1u, tile_count(node.count));
  const uint64_t bytes = tiles * kTileRows * ans::code_bytes(symbols);
  form.streams.assign(ans::kDeviceStreams, ByteView(static_cast<const std::byte*>(nullptr), bytes));
  return form;
}

DeviceReader AnsCodec::device_reader(const NodeView& node) const {
  DeviceReader reader = device_reader_named("Ans", node);
  reader.direct = true;
  return reader;
}

}  // namespace basalt
