// Doubles for measurements.
#include "gen/floats.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

#include "basalt/codec/codec.h"
#include "basalt/core/error.h"
#include "codec/galp/scale.h"
#include "gen/random.h"

namespace basalt::gen {
namespace {

constexpr uint64_t kJitterStream = 0x67616c70;
constexpr uint64_t kDecimalStream = 0x64656369;
constexpr int64_t kLargestStep = 1000;  // of the last digit

std::vector<double> parse_lines(std::ifstream& file, const std::string& path) {
  std::vector<double> values;
  for (std::string line; std::getline(file, line);) {
    if (line.empty()) continue;
    double value = 0;
    const auto end = line.data() + line.size() - (line.back() == '\r' ? 1 : 0);
    if (std::from_chars(line.data(), end, value).ptr != end) {
      throw Error(ErrorCode::kInvalidArgument, path + ": \"" + line + "\" is not a number");
    }
    values.push_back(value);
  }
  return values;
}

// The scheme that galp(packed) gives to each tile.
std::vector<uint8_t> schemes_of(const std::vector<double>& values) {
  std::vector<uint8_t> schemes;
  for (uint64_t first = 0; first < values.size(); first += kMaxChunkRows) {
    Values chunk;
    chunk.type = Physical::kF64;
    chunk.count = std::min<uint64_t>(kMaxChunkRows, values.size() - first);
    chunk.data = values.data() + first;
    const Node node = encode_tree(chunk, Tree{"galp", {{"packed", {}}}});
    const auto* bytes = node.streams[galp::kSchemes].as<uint8_t>();
    schemes.insert(schemes.end(), bytes, bytes + tile_count(chunk.count));
  }
  return schemes;
}

double moved(double value, const galp::Scale<double>& scale, int64_t step) {
  const galp::Scaled<double> scaled = galp::encode(value, scale);
  if (scaled.exception != 0) return value;
  return galp::decode<double>(static_cast<int64_t>(scaled.d) + step, scale);
}

constexpr DecimalColumn kColumns[] = {
    {"stocks_usa_c", 8, 0, 2},
    {"neon_wind_dir", 16, 0, 2},
    {"neon_air_pressure", 16, 8, 3},
    {"neon_dew_point_temp", 13, 8, 2},
    {"city_temperature", 11, 0, 1},
    {"arade4", 24, 8, 4},
    {"cms9", 10, 31, 0},
    {"basel_temp", 27, 30, 6},
    {"gov10", 26, 54, 2},
    {"food_prices", 19, 128, 4},
    {"cms1", 26, 146, 6},
    {"nyc29", 40, 7, 11},
};

}  // namespace

std::vector<double> read_doubles(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ErrorCode::kIo, path + ": cannot be read");
  std::vector<double> values;
  if (std::filesystem::path(path).extension() == ".csv") {
    values = parse_lines(file, path);
  } else {
    values.resize(std::filesystem::file_size(path) / sizeof(double));
    file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(double)));
  }
  if (values.empty()) throw Error(ErrorCode::kInvalidArgument, path + ": holds no numbers");
  return values;
}

std::vector<double> repeated(const std::vector<double>& values, uint64_t rows) {
  const size_t period = values.size() < kTileRows ? values.size() : values.size() / kTileRows * kTileRows;
  const std::vector<uint8_t> schemes = schemes_of(values);
  const Stream random(kJitterStream);
  std::vector<double> out(values.begin(), values.begin() + static_cast<ptrdiff_t>(period));
  for (uint64_t again = 1; out.size() + period <= rows; ++again) {
    for (size_t first = 0; first < period; first += kTileRows) {
      const size_t last = std::min<size_t>(first + kTileRows, period);
      const uint32_t scheme = schemes[first / kTileRows];
      if (scheme >= galp::kRd) {
        out.insert(out.end(), values.begin() + static_cast<ptrdiff_t>(first),
                   values.begin() + static_cast<ptrdiff_t>(last));
        continue;
      }
      const auto scale = galp::Scale<double>::of(galp::pair_of(scheme));
      const int64_t step = random.between(again * schemes.size() + first / kTileRows, 1, kLargestStep);
      for (size_t i = first; i < last; ++i) out.push_back(moved(values[i], scale, step));
    }
  }
  return out;
}

std::vector<double> decimal_values(const DecimalColumn& column, uint64_t rows) {
  const Stream random(kDecimalStream + column.width * 4096 + column.exceptions);
  const auto scale = galp::Scale<double>::of({column.digits, 0});
  std::vector<double> out(rows);
  for (uint64_t i = 0; i < rows; ++i) {
    // A few in a hundred quotients differ from the product that decoding forms: they would be exceptions too.
    const Stream draws(random.bits(2 * i));
    for (uint64_t draw = 0; draw == 0 || galp::encode(out[i], scale).exception != 0; ++draw) {
      out[i] = static_cast<double>(draws.bits(draw) & low_bits(column.width)) / scale.up;
    }
  }
  for (uint64_t tile = 0; tile < rows; tile += kTileRows) {
    // Row by row, by the share of those that are still to be taken among those that are left: exactly as many as asked
    // for.
    uint32_t left = column.exceptions;
    const auto size = static_cast<uint32_t>(std::min<uint64_t>(kTileRows, rows - tile));
    for (uint32_t row = 0; row < size && left > 0; ++row) {
      const uint64_t bits = random.bits(2 * (tile + row) + 1);
      if (bits % (size - row) >= left) continue;
      --left;
      const double noise = static_cast<double>(bits >> 11) * 0x1p-53;
      out[tile + row] = (out[tile + row] + 1) * (1 + noise * 0x1p-20);
    }
  }
  return out;
}

std::span<const DecimalColumn> decimal_columns() { return kColumns; }

}  // namespace basalt::gen
