// Taking positional samples.
#include "encoding/sample.h"

#include <algorithm>

#include "core/bitmap.h"

namespace basalt {

namespace {

// 16 tiles of a full chunk are 1.6 % of its rows: enough to tell trees apart, and about 2 ms for all of them.
constexpr uint32_t kSampleTiles = 16;
constexpr uint32_t kFewTiles = 8;    // of strings at the fast effort
constexpr uint32_t kManyTiles = 64;  // where bytes are what counts: rare values and words are seen
// Long strings: fewer rows per tile, so that a sample stays within a few megabytes.
constexpr uint64_t kSampleBytes = 4 << 20;

// The first `rows_per_tile` rows of tiles spread evenly, the first tile and the last one included.
std::vector<SamplePiece> spread_pieces(uint64_t rows, uint32_t most_tiles, uint64_t rows_per_tile) {
  const uint32_t tiles = tile_count(rows);
  const uint32_t taken = std::min(tiles, most_tiles);
  std::vector<SamplePiece> pieces;
  for (uint32_t i = 0; i < taken; ++i) {
    const uint64_t tile = taken == 1 ? 0 : static_cast<uint64_t>(i) * (tiles - 1) / (taken - 1);
    const uint64_t first = tile * kTileRows;
    pieces.push_back({first, std::min(rows_per_tile, rows - first)});
  }
  return pieces;
}

std::vector<SamplePiece> places(const Values& values, uint32_t most_tiles) {
  uint64_t rows_per_tile = kTileRows;
  if (values.type == Physical::kBytes && values.count > 0) {
    const auto bytes = static_cast<uint64_t>(values.offsets[values.count] - values.offsets[0]);
    const uint64_t average = bytes / values.count + 1;
    const uint32_t taken = std::min(tile_count(values.count), most_tiles);
    rows_per_tile = std::clamp<uint64_t>(kSampleBytes / taken / average, 1, kTileRows);
  }
  return spread_pieces(values.count, most_tiles, rows_per_tile);
}

}  // namespace

std::vector<SamplePiece> sample_pieces(uint64_t rows) { return spread_pieces(rows, kSampleTiles, kTileRows); }

OwnedSample take_sample(const Values& values, Aims aims) {
  OwnedSample out;
  Values& view = out.sample.values;
  view.type = values.type;
  out.sample.total_rows = values.count;
  const uint32_t width = width_of(values.type);
  const bool few = aims.effort == Effort::kFast && values.type == Physical::kBytes;
  const uint32_t most_tiles = few ? kFewTiles : aims.purpose == Purpose::kDisk ? kManyTiles : kSampleTiles;
  const std::vector<SamplePiece> pieces = places(values, most_tiles);
  if (!pieces.empty()) out.sample.piece_rows = pieces.front().rows;
  uint64_t rows = 0;
  if (values.type == Physical::kBytes) out.offsets.push_back(0);
  for (const SamplePiece& piece : pieces) {
    if (values.type == Physical::kBytes) {
      const int64_t begin = values.offsets[piece.first];
      const int64_t shift = out.offsets.back() - begin;
      for (uint64_t i = 1; i <= piece.rows; ++i) out.offsets.push_back(values.offsets[piece.first + i] + shift);
      out.values.append(values.bytes + begin, static_cast<size_t>(values.offsets[piece.first + piece.rows] - begin));
    } else if (width > 0) {
      out.values.append(values.as<std::byte>() + piece.first * width, piece.rows * width);
    }
    if (values.validity != nullptr) {
      out.validity.resize((rows + piece.rows + 7) / 8);
      copy_bits(values.validity, piece.first, out.validity.data(), rows, piece.rows);
    }
    rows += piece.rows;
  }
  view.count = rows;
  view.data = out.values.data();
  view.bytes = out.values.as<char>();
  view.offsets = out.offsets.data();
  view.validity = values.validity == nullptr ? nullptr : out.validity.data();
  return out;
}

}  // namespace basalt
