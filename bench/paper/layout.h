// L3 as it was published, as far as it is known: the layout and the predictions that our own format is measured
// against. Partitions of up to 8192 rows, each with a record of 16 bytes and parameters of 8; a warp tile is 32 lanes
// of 64 rows, and each lane's residuals are one stream of bits, lane after lane; FP64 predictions that step by 32 rows,
// restarted in every tile. What the paper leaves open: a partition's last rows are a tile of fewer rows per lane, and
// predictions are rounded to even where they lie half-way.
#pragma once

#include "codec/l3/exact.h"

namespace basalt::paper {

constexpr uint32_t kRowsOfLane = 64;
constexpr uint32_t kRowsOfTile = kLanes * kRowsOfLane;
constexpr uint32_t kMostRows = 8192;
constexpr uint32_t kRunsHeaderWords = 6;
constexpr uint32_t kPaddingWords = 4;  // behind the payload, so that a window may be read beyond its end

// Lines, parabolas and cubics have their degree as number.
enum class Kind : uint32_t { kConstant = 0, kLine = 1, kParabola = 2, kCubic = 3, kFor = 4, kRuns = 5 };
constexpr uint32_t kKinds = 6;

// Words of eight bytes: a value or its bits, or the coefficients θ0, θ1, … as FP64.
BASALT_HD constexpr uint32_t params_of(Kind kind) {
  return kind == Kind::kRuns ? 0 : kind == Kind::kConstant || kind == Kind::kFor ? 1 : static_cast<uint32_t>(kind) + 1;
}

struct alignas(16) Record {
  uint32_t start;    // first row
  uint32_t payload;  // first word
  uint32_t info;     // 13 bits rows less one, 3 bits kind, 7 bits width
  uint32_t params;   // first word of eight bytes

  BASALT_HD uint32_t rows() const { return (info & 0x1FFF) + 1; }
  BASALT_HD Kind kind() const { return static_cast<Kind>(info >> 13 & 7); }
  BASALT_HD uint32_t width() const { return info >> 16 & 0x7F; }
  BASALT_HD static uint32_t pack_info(uint32_t rows, Kind kind, uint32_t width) {
    return (rows - 1) | static_cast<uint32_t>(kind) << 13 | width << 16;
  }
};
static_assert(sizeof(Record) == 16);

// One tile of a partition: all have 64 rows per lane but the last one.
struct Tile {
  uint32_t first;     // row of the partition
  uint32_t rows;      // that exist
  uint32_t per_lane;  // rows

  BASALT_HD static uint32_t count(uint32_t rows) { return (rows + kRowsOfTile - 1) / kRowsOfTile; }
  BASALT_HD Tile(uint32_t rows_of_partition, uint32_t number) {
    first = number * kRowsOfTile;
    rows = rows_of_partition - first < kRowsOfTile ? rows_of_partition - first : kRowsOfTile;
    per_lane = (rows + kLanes - 1) / kLanes;
  }
  // Where a lane's stream begins, in bits from the partition's first word: whole tiles come before.
  BASALT_HD uint32_t bit(uint32_t lane, uint32_t width) const { return (first + lane * per_lane) * width; }
};
BASALT_HD uint32_t payload_words(uint32_t rows, uint32_t width) { return (rows + kLanes - 1) / kLanes * width; }

// Additions cannot be fused with one another, so on the host plain ones do and loops over lanes become vectors.
BASALT_HD double plus(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dadd_rn(a, b);
#else
  return a + b;
#endif
}

// Predictions of a lane's rows of a tile.
struct Steps {
  double y = 0, d1 = 0, d2 = 0, d3 = 0;

  // i: the lane's first row, within the partition.
  template <uint32_t kDegree>
  BASALT_HD static Steps from(const double* theta, uint32_t i) {
    using l3::add, l3::mul;
    const auto x = static_cast<double>(i);
    const auto line = static_cast<double>(64 * i + 1024);
    Steps s;
    if constexpr (kDegree == 1) {
      s.y = add(theta[0], mul(theta[1], x));
      s.d1 = mul(theta[1], 32);
    } else if constexpr (kDegree == 2) {
      s.y = add(theta[0], mul(x, add(theta[1], mul(theta[2], x))));
      s.d1 = add(mul(theta[1], 32), mul(theta[2], line));
      s.d2 = mul(theta[2], 2048);
    } else {
      const auto curve = static_cast<double>(96ull * i * i + 3072ull * i + 32768);
      s.y = add(theta[0], mul(x, add(theta[1], mul(x, add(theta[2], mul(theta[3], x))))));
      s.d1 = add(add(mul(theta[1], 32), mul(theta[2], line)), mul(theta[3], curve));
      s.d2 = add(mul(theta[2], 2048), mul(theta[3], static_cast<double>(6144ull * i + 196608)));
      s.d3 = mul(theta[3], 196608);
    }
    return s;
  }
  template <uint32_t kDegree>
  BASALT_HD void step() {
    y = plus(y, d1);
    if constexpr (kDegree > 1) d1 = plus(d1, d2);
    if constexpr (kDegree > 2) d2 = plus(d2, d3);
  }
  BASALT_HD int64_t prediction() const { return rounded(y); }

  BASALT_HD static int64_t rounded(double value) {
#if defined(__CUDA_ARCH__)
    return __double2ll_rn(value);
#else
    return static_cast<int64_t>(std::rint(value));
#endif
  }
};

// Runs: six words, then the residuals of all values, then those of all lengths, each filled up to words.
struct RunsHeader {
  uint32_t runs;
  uint32_t value_width, length_width;
  float value_line[2], length_line[2];  // over the number of the run

  BASALT_HD static int64_t predict(const float (&line)[2], uint32_t run) {
    return Steps::rounded(
        l3::add(static_cast<double>(line[0]), l3::mul(static_cast<double>(line[1]), static_cast<double>(run))));
  }
  BASALT_HD uint32_t value_words() const { return (runs * value_width + 31) / 32; }
  BASALT_HD uint32_t words() const { return kRunsHeaderWords + value_words() + (runs * length_width + 31) / 32; }

  BASALT_HD void put(uint32_t* to) const {
    to[0] = runs;
    to[1] = value_width | length_width << 8;
    to[2] = __builtin_bit_cast(uint32_t, value_line[0]);
    to[3] = __builtin_bit_cast(uint32_t, value_line[1]);
    to[4] = __builtin_bit_cast(uint32_t, length_line[0]);
    to[5] = __builtin_bit_cast(uint32_t, length_line[1]);
  }
  BASALT_HD static RunsHeader get(const uint32_t* from) {
    return {from[0],
            from[1] & 0xFF,
            from[1] >> 8 & 0xFF,
            {__builtin_bit_cast(float, from[2]), __builtin_bit_cast(float, from[3])},
            {__builtin_bit_cast(float, from[4]), __builtin_bit_cast(float, from[5])}};
  }
};

// The number whose two's complement are the lowest `width` bits.
BASALT_HD uint64_t extend(uint64_t bits, uint32_t width) {
  if (width == 0) return 0;
  const uint64_t sign = uint64_t{1} << (width - 1);
  return (bits ^ sign) - sign;
}

}  // namespace basalt::paper
