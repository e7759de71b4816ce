// Rows named by their places in other rows, of which some may be missing: those stand for NULLs.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "cuda/query/device_table.h"
#include "cuda/query/row_arrays.h"

namespace basalt::cuda {

// The places of rows whose flag is or is not 0, ascending. Waits for the stream.
DeviceBuffer flagged_places(const uint8_t* flags, uint64_t rows, bool wanted, uint64_t& count, cudaStream_t stream);
// from[of[i]], or kMissing where that is.
DeviceBuffer places_of_places(const uint32_t* from, const uint32_t* of, uint64_t count, cudaStream_t stream);
DeviceBuffer missing_places(uint64_t count, cudaStream_t stream);
struct PlaceList {
  DeviceBuffer places;  // uint32
  uint64_t count = 0;
};
// One list after the other.
DeviceBuffer joined_places(const std::vector<PlaceList>& lists, cudaStream_t stream);
// flags[places[i]] = 1; those that are missing have none.
void flag_places(const uint32_t* places, uint64_t count, uint8_t* flags, cudaStream_t stream);
// Whether some place is listed twice. Waits for the stream.
bool has_double(const uint32_t* places, uint64_t count, uint64_t rows, cudaStream_t stream);

// The column in these rows. `may_miss`: some places are missing.
DeviceColumn column_at(const DeviceColumn& column, const uint32_t* places, uint64_t count, bool may_miss,
                       cudaStream_t stream);

}  // namespace basalt::cuda
