// The rows of a join's second side on the device, found by their keys, and what rows of the first side find there.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "basalt/exec/pipeline.h"
#include "cuda/query/device_table.h"
#include "cuda/query/joins/key_reader.h"
#include "exec/group_keys.h"

namespace basalt::cuda {

// How keys have their slots, the cheapest way first: see join_slots.cuh.
enum class JoinRung : uint8_t { kDirect, kWords, kRows };

// What the environment says of joins on the GPU, for tests and measurements: see docs/sql-on-the-gpu.md.
struct JoinSettings {
  std::string rung;                   // BASALT_JOIN_RUNG
  uint64_t hash_mask = ~uint64_t{0};  // BASALT_JOIN_HASH_BITS: of hashes, what counts
  uint64_t host_rows = 1024;          // BASALT_JOIN_HOST_ROWS: so few rows are the host's
  uint64_t memory = ~uint64_t{0};     // BASALT_JOIN_MEMORY: bytes that joins and rows between stages may take
};
JoinSettings join_settings();

// Rows of both sides that belong together.
struct JoinPairs {
  uint64_t count = 0;
  DeviceBuffer rows;      // uint32, of the first side; nothing: pair i has row i
  DeviceBuffer partners;  // uint32, of the second side; kMissing where `alone` rows have none
  bool in_place() const { return count > 0 && rows.data() == nullptr; }
};

// Where pairs of rows of the first side go.
struct PairPlaces {
  uint64_t begin = 0;  // rows [begin, end)
  uint64_t end = 0;
  const uint64_t* starts = nullptr;  // of each row and behind the last: how many pairs lie before
  uint64_t first = 0;                // pairs before those of the rows
  uint64_t count = 0;
  bool alone = false;
};

class JoinTable {
 public:
  // `keys` must outlive this object. Waits for the stream.
  JoinTable(const std::vector<JoinKey>& keys, KeySide build, const JoinSettings& settings, cudaStream_t stream);

  // What each row of the first side finds.
  struct Found {
    uint64_t rows = 0;
    DeviceBuffer slots;   // uint32
    DeviceBuffer counts;  // uint32, of partners
  };
  Found find(const KeySide& probe) const;

  // All pairs; with `alone`, rows that find nobody are there once. Throws Error(kOutOfMemory) where they take more than
  // `most_bytes`. Waits for the stream.
  JoinPairs pairs(const Found& found, bool alone, uint64_t most_bytes) const;
  // The same without those, piece by piece: f(pairs) as often as needed, of whole rows of the first side.
  void for_each_piece(const Found& found, uint64_t most_bytes, const std::function<void(const JoinPairs&)>& f) const;
  // A byte for each row of the first side: whether it finds somebody.
  DeviceBuffer matched(const Found& found) const;
  // A byte for each row of the second side: whether somebody finds it.
  DeviceBuffer met(const Found& found) const;
  // A byte for each row of the first side: whether it is known if it has a partner (JoinKind::kMark). `matched` says
  // whether it has, `unknown` whether a condition between the two was NULL, or nothing.
  DeviceBuffer known_marks(const KeySide& probe, const Found& found, const DeviceBuffer& matched,
                           const DeviceBuffer& unknown) const;

  std::string rung_text() const;
  uint64_t bytes() const;  // on the device
  // What a table of so many rows takes at most, and what their rows find beside it.
  static uint64_t bytes_for(uint64_t build_rows, uint64_t probe_rows);

 private:
  void choose_rung(const JoinSettings& settings);
  void add_rows();
  void list_rows(const DeviceBuffer& ranks);
  JoinPairs pairs_of(const Found& found, const PairPlaces& places) const;
  // Calls f with the slots as kernels take them.
  template <typename F>
  void with_slots(const F& f) const;

  const std::vector<JoinKey>& keys_;
  KeySide build_;
  cudaStream_t stream_;
  uint64_t hash_mask_;
  exec::KeyLayout layout_;
  JoinRung rung_ = JoinRung::kRows;
  uint64_t slots_ = 0;
  DeviceBuffer table_;    // of hashes: keys or rows by slot
  DeviceBuffer slot_of_;  // uint32, by row of the second side
  DeviceBuffer counts_;   // uint32, by slot: rows that have its key
  DeviceBuffer starts_;   // uint32, by slot: where these begin in `listed_`; nothing: each has one, listed by slot
  DeviceBuffer listed_;   // uint32
  uint64_t most_ = 0;     // rows of one key
};

}  // namespace basalt::cuda
