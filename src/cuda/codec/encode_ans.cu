// The device encoder of `ans`: symbols are counted, shares given out on the host, units encoded each by a warp.
#include "cuda/codec/encode_ans.h"

#include <cstring>
#include <cub/device/device_scan.cuh>

#include "codec/ans/encode.h"
#include "codec/ans/gpu/encode_kernels.h"
#include "codec/ans/shares.h"
#include "cuda/codec/encode_array.cuh"

namespace basalt::cuda {

template <typename T>
AnsEncoder<T>::AnsEncoder(const T* values, uint64_t rows, const ValueRange& range, cudaStream_t stream)
    : stream_(stream) {
  work_.values = values;
  work_.reference = static_cast<T>(range.reference);
  work_.rows = static_cast<uint32_t>(rows);
  work_.symbols = static_cast<uint32_t>(range.span) + 1;
}

template <typename T>
void AnsEncoder<T>::count_symbols() {
  symbol_counts_ = cleared(bytes_by_symbol(), stream_);
  check(ans::count_symbols(work_, symbol_counts_.as<uint32_t>(), stream_), "counting symbols");
}

template <typename T>
Buffer AnsEncoder<T>::give_shares() {
  const Buffer counted = download(symbol_counts_, bytes_by_symbol(), stream_);
  const std::vector<uint64_t> counts(counted.as<uint32_t>(), counted.as<uint32_t>() + work_.symbols);
  const std::vector<uint32_t> shares = ans::share_out(counts, ans::share_bits(work_.symbols));
  std::vector<uint32_t> codes;
  uint32_t slot = 0;
  for (const uint32_t share : shares) {
    codes.push_back(ans::wide_symbol(slot, share));
    slot += share;
  }
  codes_ = upload(codes.data(), bytes_by_symbol(), stream_);
  work_.codes = codes_.as<uint32_t>();
  return ans::pack_shares(shares);
}

template <typename T>
void AnsEncoder<T>::encode(uint32_t unit_tiles) {
  work_.unit_tiles = unit_tiles;
  units_ = ans::units_of(work_.rows, unit_tiles);
  const size_t by_unit = units_ * sizeof(uint32_t);
  words_ = DeviceBuffer(units_ * work_.unit_rows() * sizeof(uint16_t), stream_);
  counts_ = DeviceBuffer(by_unit, stream_);
  states_ = DeviceBuffer(by_unit * kLanes, stream_);
  tails_ = DeviceBuffer(by_unit, stream_);
  unit_words_ = DeviceBuffer(by_unit, stream_);
  work_.words = words_.as<uint16_t>();
  work_.counts = counts_.as<uint32_t>();
  work_.states = states_.as<uint32_t>();
  work_.tails = tails_.as<uint32_t>();
  work_.unit_words = unit_words_.as<uint32_t>();
  check(ans::encode_units(work_, stream_), "encoding units");
  starts_ = cleared(by_unit + sizeof(uint32_t), stream_);
  with_temporary(stream_, [&](void* temporary, size_t& bytes) {
    return cub::DeviceScan::InclusiveSum(temporary, bytes, work_.unit_words, starts_.as<uint32_t>() + 1,
                                         static_cast<int64_t>(units_), stream_);
  });
}

template <typename T>
uint64_t AnsEncoder<T>::unit_bytes() const {
  return uint64_t{fetch(starts_.as<uint32_t>() + units_, stream_)} * sizeof(uint32_t);
}

template <typename T>
void AnsEncoder<T>::place(uint32_t* units) const {
  check(ans::place_units(work_, starts_.as<uint32_t>(), units, stream_), "placing units");
}

template <typename T>
Buffer AnsEncoder<T>::starts() const {
  return download(starts_, (units_ + 1) * sizeof(uint32_t), stream_);
}

template class AnsEncoder<uint8_t>;
template class AnsEncoder<uint16_t>;
template class AnsEncoder<uint32_t>;
template class AnsEncoder<uint64_t>;

namespace {

template <typename T>
ans::Parameters encode_typed(const DeviceValues& values, const ValueRange& range, Aims aims, Node& node,
                             cudaStream_t stream) {
  AnsEncoder<T> encoder(values.data.as<T>(), values.count, range, stream);
  encoder.count_symbols();
  node.streams[ans::kTable] = encoder.give_shares();
  uint32_t unit_tiles = aims.purpose == Purpose::kDisk ? ans::kLongUnit : ans::kShortUnit;
  encoder.encode(unit_tiles);
  const uint32_t wanted = ans::unit_tiles_for(aims.purpose, values.count, encoder.unit_bytes());
  if (wanted != unit_tiles) {
    unit_tiles = wanted;
    encoder.encode(unit_tiles);
  }
  const uint64_t bytes = encoder.unit_bytes();
  const DeviceBuffer units(bytes, stream);
  encoder.place(units.as<uint32_t>());
  node.streams[ans::kStarts] = encoder.starts();
  node.streams[ans::kUnits] = download(units, bytes, stream);
  return {range.reference, encoder.symbols(), unit_tiles};
}

}  // namespace

Node encode_ans(const DeviceValues& values, const Tree& tree, Aims aims, cudaStream_t stream) {
  Node node = make_node(values, tree, ans::kStreams);
  ans::Parameters parameters{0, 0, ans::unit_tiles_for(aims.purpose, 0, 0)};
  if (values.count > 0) {
    if (values.count > UINT32_MAX) throw Error(ErrorCode::kUnsupported, "ans: the array is too large");
    const ValueRange range = is_float(values.type) ? ValueRange{0, UINT64_MAX} : range_of(values, stream);
    if (range.span >= ans::kMostSymbols) {
      throw Error(ErrorCode::kUnsupported, "ans: the values do not lie within " + std::to_string(ans::kMostSymbols));
    }
    parameters = dispatch_width(width_of(values.type), [&](auto tag) {
      using T = decltype(tag);
      if constexpr (sizeof(T) <= 8) return encode_typed<T>(values, range, aims, node, stream);
      return ans::Parameters{};
    });
  }
  node.params.resize(ans::kParameterBytes);
  std::memcpy(node.params.data(), &parameters, sizeof(parameters));
  return node;
}

}  // namespace basalt::cuda
