// What the FlatBuffers verifier leaves open: it checks where vectors begin and end but not that their 8-byte elements
// are aligned, and it asserts, instead of refusing, that a buffer is shorter than 2 GiB.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstdint>

#include "basalt/core/buffer.h"
#include "basalt/core/error.h"

namespace basalt {

// Whether a vector of 8-byte elements or of structs of them may be read in place; absent and empty ones may, and
// writers do not align empty ones.
template <typename Vector>
bool is_aligned(const Vector* vector) {
  return vector == nullptr || vector->size() == 0 || reinterpret_cast<uintptr_t>(vector->Data()) % 8 == 0;
}

template <typename Vector>
uint32_t size_of(const Vector* vector) {
  return vector == nullptr ? 0 : vector->size();
}

namespace format_v1 {

constexpr uint32_t kMaxFooterTables = 1 << 24;
constexpr uint32_t kMaxBlockTables = 64;  // a block of a column or dictionary has three or four

// The root table of a block, verified; throws Error(kCorrupt) with `what` as the subject of the sentence.
template <typename Root>
const Root& verified_root(ByteView bytes, uint32_t max_tables, const char* what) {
  bool good = bytes.size() < FLATBUFFERS_MAX_BUFFER_SIZE;
  if (good) {
    flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), 16, max_tables);
    good = verifier.VerifyBuffer<Root>(nullptr);
  }
  if (!good) throw Error(ErrorCode::kCorrupt, std::string(what) + " is not a well-formed FlatBuffer");
  return *flatbuffers::GetRoot<Root>(bytes.data());
}

}  // namespace format_v1
}  // namespace basalt
