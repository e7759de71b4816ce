// The stages of the device encoder that write streams, once every chunk is cut: place_streams, write_metadata,
// pack_residuals.
#pragma once

#include "codec/l3/gpu/encode_choose.cuh"
#include "core/device/put_bits.h"

namespace basalt::l3 {

// A block per chunk: numbers the partitions and finds the places of their parameters and residuals.
__device__ inline void place_streams(const EncodeWork& work, uint32_t block, uint32_t blocks) {
  for (uint32_t chunk = block; chunk < work.chunk_count; chunk += blocks) {
    const uint32_t units = work.units(chunk);
    const uint32_t base = work.at(chunk, 0);
    const auto [begin, end] = BlockTeam::share(units);
    struct Words {
      uint32_t partitions, params, model, runs;
    };
    const auto words_of = [&work, base, end = end](uint32_t unit) -> Words {
      if (unit >= end || work.absorbed[base + unit] != 0) return {0, 0, 0, 0};
      const Partition& p = work.parts[base + unit];
      const auto words = static_cast<uint32_t>(stream_words(p));
      const bool runs = p.model == Model::kRuns;
      return {1, p.param_words, runs ? 0 : words, runs ? words : 0};
    };
    Words before{0, 0, 0, 0};
    for (uint32_t unit = begin + lane_id(); unit < end; unit += kLanes) {
      const Words here = words_of(unit);
      before.partitions += here.partitions;
      before.params += here.params;
      before.model += here.model;
      before.runs += here.runs;
    }
    Words total;
    before.partitions = BlockTeam::sum_before(sum<WarpTeam>(before.partitions), &total.partitions);
    before.params = BlockTeam::sum_before(sum<WarpTeam>(before.params), &total.params);
    before.model = BlockTeam::sum_before(sum<WarpTeam>(before.model), &total.model);
    before.runs = BlockTeam::sum_before(sum<WarpTeam>(before.runs), &total.runs);
    for (uint32_t first = begin; first < end; first += kLanes) {
      const uint32_t unit = first + lane_id();
      const Words here = words_of(unit);
      const uint32_t number = before.partitions + device::sum_below(here.partitions);
      const uint32_t params = before.params + device::sum_below(here.params);
      const uint32_t model = before.model + device::sum_below(here.model);
      const uint32_t runs = total.model + before.runs + device::sum_below(here.runs);
      if (unit < end) {
        work.numbers[base + unit] = number;
        work.param_places[base + unit] = params;
        // Runs may take no words at all, and have their place among the runs nevertheless.
        const bool is_runs = here.partitions != 0 && work.parts[base + unit].model == Model::kRuns;
        work.word_places[base + unit] = is_runs ? runs : model;
      }
      before.partitions += sum<WarpTeam>(here.partitions);
      before.params += sum<WarpTeam>(here.params);
      before.model += sum<WarpTeam>(here.model);
      before.runs += sum<WarpTeam>(here.runs);
    }
    if (BlockTeam::is_first_thread()) {
      work.sizes[chunk] = {total.partitions, total.params, total.model, total.model + total.runs};
    }
  }
}

// Everything but residuals; the room of runs becomes zero. Any number of threads.
__device__ inline void write_metadata(const EncodeWork& work, uint32_t chunk, uint32_t thread, uint32_t threads) {
  const EncodedStreams& to = work.streams[chunk];
  const EncodedSizes& sizes = work.sizes[chunk];
  const uint32_t units = work.units(chunk);
  const uint32_t base = work.at(chunk, 0);
  for (uint32_t word = thread; word * kUnitsPerStart < units; word += threads) {
    uint32_t bits = work.numbers[base + word * kUnitsPerStart] << 16;
    for (uint32_t u = 0; u < kUnitsPerStart && word * kUnitsPerStart + u < units; ++u) {
      bits |= (work.absorbed[base + word * kUnitsPerStart + u] == 0 ? 1u : 0u) << u;
    }
    to.starts[word] = bits;
  }
  for (uint32_t unit = thread; unit < units; unit += threads) {
    if (work.absorbed[base + unit] != 0) continue;
    const Partition& p = work.parts[base + unit];
    const uint32_t word = work.word_places[base + unit];
    Record record = record_of(p);
    record.params = work.param_places[base + unit];
    record.place = word / kPieceWords;
    uint32_t* params = to.params + record.params;
    if (p.model == Model::kRuns) {
      record.shift = word % kPieceWords;
      const uint32_t* from = work.runs_params + size_t{base + unit} * kRunsParamsStride;
      for (uint32_t i = 0; i < p.param_words; ++i) params[i] = from[i];
    } else {
      put_params(p, static_cast<uint64_t>(p.base) + work.type.widening, work.type.bytes, params);
    }
    to.records[work.numbers[base + unit]] = pack_record(record);
  }
  for (uint32_t word = sizes.model_words + thread; word < sizes.residual_words; word += threads) to.residuals[word] = 0;
}

// What packs the rows of one tile.
struct TilePacker {
  const EncodeWork& work;
  uint32_t chunk_number;
  Chunk chunk;
  ChunkValues values;
  const uint32_t* run_ends;

  // Residuals of the lane's rows of a unit: exact in their width, whatever lies above.
  __device__ __forceinline__ void residuals(const Record& record, const Predictor& predictor, uint32_t unit,
                                            uint64_t (&out)[kUnitRowsPerLane]) const {
    int64_t v[kUnitRowsPerLane];
    values.read_unit(unit, v);
    Steps steps = steps_from(predictor, (unit - record.first_unit) * kUnitRows + lane_id(), kLanes);
#pragma unroll
    for (uint32_t k = 0; k < kUnitRowsPerLane; ++k) {
      const bool exists = unit * kUnitRows + k * kLanes + lane_id() < values.rows;
      const uint64_t value = static_cast<uint64_t>(v[k]) + values.type.widening;
      out[k] = exists ? (value - finish(predictor, steps.y, 0)) & low_bits(record.width) : 0;
      step(steps);
    }
  }

  // Four units of one partition: word j of a lane at 32·j + lane.
  __device__ void pack_tile(const Record& record, uint32_t first_unit) const {
    const Predictor predictor = get_predictor(record, chunk.params, values.type.bytes);
    uint32_t* to =
        work.streams[chunk_number].residuals + (chunk.words_of(record, first_unit) - chunk.residuals) + lane_id();
    uint128_t pending = 0;
    uint32_t filled = 0;
#pragma unroll 1
    for (uint32_t u = 0; u < kUnitsPerTile; ++u) {
      uint64_t residual[kUnitRowsPerLane];
      residuals(record, predictor, first_unit + u, residual);
#pragma unroll
      for (uint32_t k = 0; k < kUnitRowsPerLane; ++k) {
        pending |= static_cast<uint128_t>(residual[k]) << filled;
        filled += record.width;
        while (filled >= 32) {
          device::store_once(to, static_cast<uint32_t>(pending));
          to += kLanes;
          pending >>= 32;
          filled -= 32;
        }
      }
    }
  }

  // A unit by itself: the lane's eight values are `width` bytes at byte lane·width. A lane writes the words that begin
  // in its bytes, of which the last may end with bytes of the next lane; words that more than two lanes share are
  // written byte by byte.
  __device__ void pack_unit(const Record& record, uint32_t unit) const {
    const Predictor predictor = get_predictor(record, chunk.params, values.type.bytes);
    uint64_t residual[kUnitRowsPerLane];
    residuals(record, predictor, unit, residual);
    uint32_t* words = work.streams[chunk_number].residuals + (chunk.words_of(record, unit) - chunk.residuals);
    const uint32_t begin = lane_id() * record.width;
    if (record.width < sizeof(uint32_t)) {
      uint32_t bits = 0;
#pragma unroll
      for (uint32_t k = 0; k < kUnitRowsPerLane; ++k) bits |= static_cast<uint32_t>(residual[k]) << k * record.width;
      for (uint32_t i = 0; i < record.width; ++i) {
        reinterpret_cast<uint8_t*>(words)[begin + i] = static_cast<uint8_t>(bits >> 8 * i);
      }
      return;
    }
    uint32_t first_bits = 0;
#pragma unroll
    for (uint32_t k = 0; k < kUnitRowsPerLane; ++k) {
      if (k * record.width < 32) first_bits |= static_cast<uint32_t>(residual[k]) << k * record.width;
    }
    const uint32_t beyond = device::shuffle(first_bits, (lane_id() + 1) % kLanes);
    uint32_t word = begin / sizeof(uint32_t);
    uint32_t filled = begin % sizeof(uint32_t) * 8;
    uint128_t pending = 0;
#pragma unroll
    for (uint32_t k = 0; k < kUnitRowsPerLane; ++k) {
      pending |= static_cast<uint128_t>(residual[k]) << filled;
      filled += record.width;
      while (filled >= 32) {
        if (word * sizeof(uint32_t) >= begin) device::store_once(words + word, static_cast<uint32_t>(pending));
        ++word;
        pending >>= 32;
        filled -= 32;
      }
    }
    if (filled > 0) device::store_once(words + word, static_cast<uint32_t>(pending) | beyond << filled);
  }

  // Runs that end in a unit, and the unit's tile's first run.
  __device__ void pack_runs(const Record& record, uint32_t end_unit, uint32_t unit) const {
    const Runs runs = Runs::of(record, end_unit, chunk.params, chunk.residuals, values.type.bytes);
    uint32_t* words = work.streams[chunk_number].residuals + (runs.words - chunk.residuals);
    const uint64_t ends_at = static_cast<uint64_t>(runs.header.runs) * runs.header.values.width;
    const uint64_t firsts_at = ends_at + static_cast<uint64_t>(runs.header.runs) * runs.header.ends.width;
    const uint32_t before = run_ends[unit] - run_ends[record.first_unit];
    if (lane_id() == 0 && unit % kUnitsPerTile == 0 && unit != record.first_unit) {
      const uint32_t tile = unit / kUnitsPerTile - record.first_unit / kUnitsPerTile;
      device::put_bits(words, firsts_at + static_cast<uint64_t>(tile - 1) * runs.first_width, runs.first_width, before);
    }
    const uint32_t first_row = unit * kUnitRows;
    const uint32_t end_row = end_unit * kUnitRows < values.rows ? end_unit * kUnitRows : values.rows;
    int64_t v[kUnitRowsPerLane];
    values.read_unit(unit, v);
    const int64_t beyond = first_row + kUnitRows < end_row ? values.at(first_row + kUnitRows) : 0;
    uint32_t run = before;
#pragma unroll
    for (uint32_t k = 0; k < kUnitRowsPerLane; ++k) {
      const uint32_t row = first_row + k * kLanes + lane_id();
      const uint32_t all = run_ends_at<kLanes>(v, k, beyond, row, end_row);
      if (all >> lane_id() & 1) {
        const uint32_t own = run + device::population(all & lanes_below());
        put_run(runs, words, ends_at, own, v[k], row);
      }
      run += device::population(all);
    }
  }

 private:
  __device__ void put_run(const Runs& runs, uint32_t* words, uint64_t ends_at, uint32_t run, int64_t value,
                          uint32_t row) const {
    const uint32_t value_width = runs.header.values.width;
    const uint64_t residual =
        static_cast<uint64_t>(value) + values.type.widening - finish(runs.values, evaluate(runs.values, run), 0);
    device::put_bits(words, static_cast<uint64_t>(run) * value_width, value_width, residual);
    const uint32_t end_width = runs.header.ends.width;
    const uint64_t end = row % kTileRows;
    const bool by_tile = runs.header.ends.model == kByTile;
    const uint64_t local = row - runs.first_unit * kUnitRows + 1;
    device::put_bits(words, ends_at + static_cast<uint64_t>(run) * end_width, end_width,
                     by_tile ? end : local - finish(runs.ends, evaluate(runs.ends, run), 0));
  }
};

// A warp per tile.
__device__ inline void pack_residuals(const EncodeWork& work, uint32_t warp, uint32_t warps) {
  const uint32_t tiles = (work.stride + kUnitsPerTile - 1) / kUnitsPerTile;
  for (uint32_t item = warp; item < work.chunk_count * tiles; item += warps) {
    const uint32_t chunk = item / tiles;
    const uint32_t first_unit = item % tiles * kUnitsPerTile;
    const uint32_t units = work.units(chunk);
    if (first_unit >= units) continue;
    const EncodedStreams& to = work.streams[chunk];
    const TilePacker packer{work, chunk,
                            Chunk::of(to.starts, to.records, to.params, to.residuals, work.chunks[chunk].rows),
                            values_of(work, chunk), work.run_ends + work.at(chunk, 0)};
    const bool packed = packer.chunk.is_packed(first_unit);
    for (uint32_t unit = first_unit; unit < first_unit + kUnitsPerTile && unit < units; ++unit) {
      const uint32_t partition = packer.chunk.partition_of(unit);
      const Record record = packer.chunk.record(partition);
      if (record.model == Model::kRuns) {
        packer.pack_runs(record, packer.chunk.end_unit(partition), unit);
      } else if (record.width != 0 && packed) {
        packer.pack_tile(record, first_unit);
        break;
      } else if (record.width != 0) {
        packer.pack_unit(record, unit);
      }
    }
  }
}

}  // namespace basalt::l3
