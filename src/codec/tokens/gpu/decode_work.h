// What the device decoder works on: shared by its kernels and those who launch them.
#pragma once

#include "codec/strings/gpu/decode_work.h"
#include "codec/strings/gpu/texts.h"
#include "codec/tokens/layout.h"

namespace basalt::tokens {

// An entry as kernels look it up, one sector of memory: its length in the lowest byte, then its bytes; if these are
// more than kSlotBytes, where they begin among all entries' bytes.
struct alignas(32) Slot {
  uint64_t words[4];
};
constexpr uint32_t kSlotBytes = 31;

// An encoded array and where it goes, in device memory. Children have their own descriptors.
struct DecodeWork : strings::TextWork {
  const uint64_t* starts;
  const uint64_t* ids;     // descriptor
  const uint64_t* counts;  // descriptor; only check_rows() reads them
  strings::Texts entries;
  uint32_t entry_count;
  Slot* slots;  // [entry_count], made of the entries
};

}  // namespace basalt::tokens
