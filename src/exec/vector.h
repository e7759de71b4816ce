// Values of one tile as the interpreter sees them: an array of at most 1024 values in one of a few lane types, and one
// byte per row that says whether it is NULL. Integers of every width are computed in the narrowest of three lanes that
// their proven range fits, so that a decimal(15,2) of a few digits costs what an int costs.
//
// Masks (validity, predicate results, live rows) are one byte per row, 0 or 1: see docs/decisions/filter-masks.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "basalt/core/host_device.h"
#include "basalt/core/types.h"
#include "exec/bounds.h"

namespace basalt::exec {

enum class Lane : uint8_t {
  kI32,
  kI64,
  kI128,
  kF32,
  kF64,
  kBytes,  // std::string_view
  kBool,   // uint8_t, 0 or 1; 0 where NULL
};

struct Vector {
  Lane lane = Lane::kI32;
  const void* data = nullptr;
  const uint8_t* valid = nullptr;  // 1 = valid; nullptr = no NULL

  template <typename T>
  const T* as() const {
    return static_cast<const T*>(data);
  }
};

constexpr uint32_t width_of(Lane lane) {
  switch (lane) {
    case Lane::kI32:
    case Lane::kF32: return 4;
    case Lane::kI64:
    case Lane::kF64: return 8;
    case Lane::kI128:
    case Lane::kBytes: return 16;
    case Lane::kBool: return 1;
  }
  return 16;
}

constexpr bool is_integer(Lane lane) { return lane == Lane::kI32 || lane == Lane::kI64 || lane == Lane::kI128; }

constexpr Lane lane_for(const IntegerRange& range) {
  if (range.low >= INT32_MIN && range.high <= INT32_MAX) return Lane::kI32;
  if (range.low >= INT64_MIN && range.high <= INT64_MAX) return Lane::kI64;
  return Lane::kI128;
}

// body(T{}) with the type of an integer lane.
template <typename Body>
decltype(auto) dispatch_integer_lane(Lane lane, Body&& body) {
  switch (lane) {
    case Lane::kI32: return body(int32_t{});
    case Lane::kI64: return body(int64_t{});
    default: return body(int128_t{});
  }
}

// What expressions are evaluated over: some rows of one tile, all of them or only the survivors of a filter.
class TileInput {
 public:
  virtual ~TileInput() = default;
  virtual uint32_t rows() const = 0;
  // Rows whose errors count; nullptr = all.
  virtual const uint8_t* live() const = 0;
  // A column's values in an integer lane that its statistics allow, or in the one lane of its type.
  virtual Vector column(uint32_t index, Lane lane) = 0;
  // Only which rows are valid: nullptr = all.
  virtual const uint8_t* valid(uint32_t index) = 0;
  // Compares a column of integers or floats with a literal (of floats its float_key()) without decoding it, where its
  // encoding allows; false if it does not. `out` follows rows().
  virtual bool compare_encoded(uint32_t, ExprOp, int128_t, uint8_t*) { return false; }
  // Tests a column of strings without decoding it, where its encoding allows; false if it does not.
  virtual bool filter_strings(uint32_t, const std::shared_ptr<const Automaton>&, uint8_t*) { return false; }
  // Places of strings in a list, where a column of strings is stored so: `out` follows rows(). nullptr if it is not.
  // The list is the same one until another chunk is opened.
  virtual const StringRows* codes(uint32_t, uint32_t*) { return nullptr; }
  // The rows' numbers within the tile; nullptr: 0, 1, 2, …
  virtual const uint16_t* row_numbers() { return nullptr; }
  // How many bytes the strings of a column have, in kI32, where its encoding keeps that beside them.
  virtual std::optional<Vector> byte_lengths(uint32_t) { return std::nullopt; }
};

}  // namespace basalt::exec
