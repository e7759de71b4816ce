#include "cuda/query/group_columns.h"

#include "core/float_key.h"
#include "cuda/codec/encode_array.cuh"
#include "exec/fixed_sum.h"
#include "exec/scalar.h"
#include "exec/variance.h"

namespace basalt::cuda {

namespace {

__device__ uint128_t pair_of(uint64_t high, uint64_t low) { return static_cast<uint128_t>(high) << 64 | low; }

// An integer of one of the fixed-width types: its lower bytes.
__device__ void store_integer(void* out, uint32_t width, uint64_t row, uint128_t value) {
  switch (width) {
    case 1: static_cast<uint8_t*>(out)[row] = static_cast<uint8_t>(value); break;
    case 2: static_cast<uint16_t*>(out)[row] = static_cast<uint16_t>(value); break;
    case 4: static_cast<uint32_t*>(out)[row] = static_cast<uint32_t>(value); break;
    case 8: static_cast<uint64_t*>(out)[row] = static_cast<uint64_t>(value); break;
    default: static_cast<uint128_t*>(out)[row] = value; break;
  }
}

// A float of the type's own width.
__device__ void store_real(void* out, uint32_t width, uint64_t row, double value) {
  if (width == sizeof(float)) {
    static_cast<float*>(out)[row] = static_cast<float>(value);
  } else {
    static_cast<double*>(out)[row] = value;
  }
}

__device__ double nan_of_sql() { return __longlong_as_double(0x7FF8000000000000ll); }

// The bits of the float behind a key.
__device__ uint64_t bits_of_float_key(int64_t key, uint32_t width) {
  if (key == kNanKey) return width == sizeof(float) ? 0x7FC00000u : 0x7FF8000000000000ull;
  const auto size = static_cast<uint64_t>(key < 0 ? -key : key);
  return size | (key < 0 ? uint64_t{1} << (8 * width - 1) : 0);
}

__device__ double real_of_order_word(int64_t key) {
  constexpr int64_t kNan = 0x7FFFFFFFFFFFFFFF;
  return key == kNan ? nan_of_sql() : __longlong_as_double(key ^ (key >> 63 & kNan));
}

__device__ bool is_null(const KeySource& key, const uint64_t* words, uint64_t code) {
  if (key.null_flag) return (words[key.null_word] >> key.null_shift & 1) != 0;
  return key.null_code && code == 0;
}

__device__ void put_key(const KeySource& key, const uint64_t* words, uint32_t width, void* out, uint64_t row,
                        uint8_t* valid) {
  const uint64_t code =
      key.modulus != 0 ? words[0] / key.divisor % key.modulus : words[key.word] >> key.shift & key.mask;
  const bool null = is_null(key, words, code);
  if (valid != nullptr) valid[row] = null ? 0 : 1;
  if (null) {
    store_integer(out, width, row, 0);
  } else if (key.real) {
    store_integer(out, width, row, bits_of_float_key(static_cast<int64_t>(code), width));
  } else if (key.two_words) {
    store_integer(out, width, row, pair_of(words[key.word + 1], words[key.word]));
  } else {
    store_integer(out, width, row, pair_of(key.base_high, key.base_low) + code - (key.null_code ? 1 : 0));
  }
}

// --- aggregates

__device__ int128_t integer_sum(const StateSource& state, const uint64_t* own) {
  return state.wide ? static_cast<int128_t>(pair_of(own[1], own[0]))
                    : static_cast<int128_t>(static_cast<int64_t>(own[0]));
}

__device__ double real_sum(const StateSource& state, const uint64_t* own) {
  const double sum =
      exec::with_specials(exec::from_fixed(integer_sum(state, own), state.fraction), static_cast<uint32_t>(own[2]));
  return sum != sum ? nan_of_sql() : sum;
}

// The whole part and the rest apart, so that little is lost without long doubles.
__device__ double integer_average(const StateSource& state, const uint64_t* own, uint64_t count) {
  const int128_t sum = integer_sum(state, own);
  if (state.narrow) {
    return static_cast<double>(static_cast<int64_t>(sum)) /
           (static_cast<double>(count) * exec::int128_to_real<double>(exec::power_of_ten(state.avg_scale)));
  }
  const int128_t divisor = static_cast<int128_t>(count) * exec::power_of_ten(state.avg_scale);
  const double rest = exec::int128_to_real<double>(sum % divisor) / exec::int128_to_real<double>(divisor);
  return exec::int128_to_real<double>(sum / divisor) + rest;
}

__device__ double variance_of(const StateSource& state, const uint64_t* own, uint64_t count, bool sample) {
  if (count == 1) return 0;
  const exec::SquareSums sums{count, static_cast<int128_t>(pair_of(own[1], own[0])),
                              static_cast<int128_t>(pair_of(own[4], own[3])), state.fraction, state.square_fraction};
  return exec::variance(sums, sample ? 1 : 0);
}

__device__ void put_extreme(const StateSource& state, const uint64_t* own, uint32_t width, void* out, uint64_t row) {
  const uint64_t flip = state.op == AggregateOp::kMin ? ~uint64_t{0} : 0;
  constexpr uint64_t kSign = uint64_t{1} << 63;
  if (state.wide) return store_integer(out, width, row, pair_of(own[1] ^ flip ^ kSign, own[2] ^ flip));
  const auto value = static_cast<int64_t>(own[0] ^ flip ^ kSign);
  if (state.real) return store_real(out, width, row, real_of_order_word(value));
  store_integer(out, width, row, static_cast<uint128_t>(static_cast<int128_t>(value)));
}

// Of the row that first(), last() or any_value() kept: its number, whose last bit says whether it has a value, then
// that.
__device__ void put_kept(const StateSource& state, const uint64_t* own, uint32_t width, void* out, uint64_t row) {
  if (state.real) return store_real(out, width, row, __longlong_as_double(static_cast<int64_t>(own[2])));
  if (state.wide) return store_integer(out, width, row, pair_of(own[2], own[3]));
  store_integer(out, width, row, static_cast<uint128_t>(static_cast<int128_t>(static_cast<int64_t>(own[2]))));
}

__device__ bool has_value(const StateSource& state, const uint64_t* own, uint64_t count) {
  switch (state.op) {
    case AggregateOp::kCountStar:
    case AggregateOp::kCount: return true;
    case AggregateOp::kFirst:
    case AggregateOp::kLast:
    case AggregateOp::kAnyValue: return (own[1] & 1) != 0;
    case AggregateOp::kVarSamp:
    case AggregateOp::kStddevSamp: return count > 1;
    default: return count > 0;
  }
}

__device__ void put_state(const StateSource& state, const uint64_t* words, uint32_t width, void* out, uint64_t row,
                          uint8_t* valid, uint32_t* bad) {
  const uint64_t count = words[state.count_word];
  const uint64_t* own = words + state.word;
  const bool null = !has_value(state, own, count);
  if (valid != nullptr) valid[row] = null ? 0 : 1;
  if (null) return store_integer(out, width, row, 0);
  switch (state.op) {
    case AggregateOp::kCountStar:
    case AggregateOp::kCount: store_integer(out, width, row, count); break;
    case AggregateOp::kSum:
      if (state.real) {
        store_real(out, width, row, real_sum(state, own));
      } else {
        store_integer(out, width, row, static_cast<uint128_t>(integer_sum(state, own)));
      }
      break;
    case AggregateOp::kAvg:
      store_real(out, width, row,
                 state.real ? real_sum(state, own) / static_cast<double>(count) : integer_average(state, own, count));
      break;
    case AggregateOp::kMin:
    case AggregateOp::kMax: put_extreme(state, own, width, out, row); break;
    case AggregateOp::kFirst:
    case AggregateOp::kLast:
    case AggregateOp::kAnyValue: put_kept(state, own, width, out, row); break;
    default: {
      const bool sample = state.op == AggregateOp::kVarSamp || state.op == AggregateOp::kStddevSamp;
      const bool root = state.op == AggregateOp::kStddevPop || state.op == AggregateOp::kStddevSamp;
      const double variance = variance_of(state, own, count, sample);
      // A single row has none, whatever it is.
      if (count > 1 && (own[2] != 0 || !(variance - variance == 0.0))) *bad = 1;
      store_real(out, width, row, root ? sqrt(variance) : variance);
      break;
    }
  }
}

DeviceColumn room_for(const Field& field, uint32_t width, bool nullable, uint64_t count, cudaStream_t stream) {
  DeviceColumn column;
  column.field = field;
  column.values = DeviceBuffer(count * width, stream);
  if (nullable) column.validity = DeviceBuffer(count, stream);
  return column;
}

}  // namespace

DeviceColumn key_column(const Field& field, const KeySource& key, const WordRows& keys, cudaStream_t stream) {
  const uint32_t width = width_of(key.type);
  DeviceColumn column = room_for(field, width, key.null_code || key.null_flag, keys.count, stream);
  void* out = column.values.data();
  auto* valid = column.validity.as<uint8_t>();
  const KeySource source = key;
  const WordRows rows = keys;
  each_row(rows.count, stream,
           [=] __device__(uint64_t i) { put_key(source, rows.words + i * rows.stride, width, out, i, valid); });
  return column;
}

DeviceColumn state_column(const Field& field, const StateSource& state, const WordRows& states, uint32_t* bad,
                          cudaStream_t stream) {
  const Physical type = physical_of(field.type);
  const uint32_t width = width_of(type == Physical::kBytes ? Physical::kU32 : type);
  const bool counts = state.op == AggregateOp::kCountStar || state.op == AggregateOp::kCount;
  DeviceColumn column = room_for(field, width, !counts, states.count, stream);
  void* out = column.values.data();
  auto* valid = column.validity.as<uint8_t>();
  const StateSource source = state;
  const WordRows rows = states;
  each_row(rows.count, stream,
           [=] __device__(uint64_t i) { put_state(source, rows.words + i * rows.stride, width, out, i, valid, bad); });
  return column;
}

}  // namespace basalt::cuda
