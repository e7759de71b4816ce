// What the environment says of groups on the GPU, for tests and measurements: see docs/sql-on-the-gpu.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exec/device/generate/generate.h"

namespace basalt::device {

struct GroupSettings {
  std::string rung;              // BASALT_GROUP_RUNG
  std::vector<GroupRung> rungs;  // that it stands for: the first that can take the statement does
  uint32_t partitions = 1;       // of hash tables at first
  uint64_t slots = 0;            // BASALT_GROUP_SLOTS: of hash tables at first; 0: as many as the rows suggest
  uint32_t hash_bits = 64;       // BASALT_GROUP_HASH_BITS: of hashes, what counts

  // Of a hash, what counts: of tags, which are its upper half, as much as of places.
  uint64_t hash_mask() const {
    const uint64_t half = hash_bits >= 32 ? ~uint32_t{0} : (uint64_t{1} << hash_bits) - 1;
    return hash_bits >= 64 ? ~uint64_t{0} : half << 32 | half;
  }
};

// Reads the environment each time: what is kept under a statement's name must carry settings_key(), too.
GroupSettings group_settings();
std::string settings_key(const GroupSettings& settings);

}  // namespace basalt::device
