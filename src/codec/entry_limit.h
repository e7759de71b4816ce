// How large the decoded entries of `dict` and `tokens` may be. Every reader holds them whole, one for each column and
// thread, so the limit follows what is stored; it is a rule of the format, which no option raises.
#pragma once

#include "basalt/codec/codec.h"
#include "basalt/core/error.h"

namespace basalt {

constexpr uint64_t most_entry_bytes(uint64_t stored) { return (uint64_t{8} << 20) + 256 * stored; }

// Ids of `tokens` might stand for more bytes than that; symbols of `fsst` never do. Such entries are encoded again, by
// the tree below.
inline bool exceeds_entry_limit(uint64_t plain_bytes, const Node& entries) {
  return plain_bytes > most_entry_bytes(entries.encoded_bytes());
}
inline Tree readable_entries() { return {"strings", {{"packed", {}}, {"fsst", {{"packed", {}}}}}}; }

// Appends a tile of entries. Throws Error(kCorrupt) where they exceed out.limit.
inline void decode_entry_tile(Reader& entries, uint32_t tile, StringRows& out) {
  try {
    entries.decode_tile(tile, out);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kOverLimit) throw;
    throw Error(ErrorCode::kCorrupt, "its entries take more than the " + std::to_string(out.limit) +
                                         " bytes that entries stored like them may take when decoded");
  }
}

}  // namespace basalt
