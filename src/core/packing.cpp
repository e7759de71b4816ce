// Choice of the packing routines for this machine, and the 128-bit forms on top of the 64-bit ones.
#include "core/packing.h"

#include "core/instruction_set.h"
#include "core/packing_table.h"

namespace basalt {

namespace packing_baseline {
#define BASALT_PACKING_VECTOR_BYTES 16
#include "core/packing_loops.h"
#undef BASALT_PACKING_VECTOR_BYTES
}  // namespace packing_baseline

namespace {

struct Choice {
  const PackingTable* table;
  const char* name;
};

Choice choose() {
#if defined(__x86_64__)
  switch (instruction_set()) {
    case InstructionSet::kAvx512: return {&packing_avx512::kTable, "AVX-512"};
    case InstructionSet::kAvx2: return {&packing_avx2::kTable, "AVX2"};
    case InstructionSet::kBaseline: break;
  }
  return {&packing_baseline::kTable, "SSE2"};
#elif defined(__aarch64__)
  return {&packing_baseline::kTable, "NEON"};
#else
  return {&packing_baseline::kTable, "portable"};
#endif
}

const Choice& chosen() {
  static const Choice kChoice = choose();
  return kChoice;
}

}  // namespace

const char* simd_level() { return chosen().name; }

void unpack_tile(const uint32_t* words, uint32_t width, uint8_t reference, uint8_t* out) {
  chosen().table->unpack8(words, width, reference, out);
}
void unpack_tile(const uint32_t* words, uint32_t width, uint16_t reference, uint16_t* out) {
  chosen().table->unpack16(words, width, reference, out);
}
void unpack_tile(const uint32_t* words, uint32_t width, uint32_t reference, uint32_t* out) {
  chosen().table->unpack32(words, width, reference, out);
}
void unpack_tile(const uint32_t* words, uint32_t width, uint64_t reference, uint64_t* out) {
  chosen().table->unpack64(words, width, reference, out);
}
void unpack_tile(const uint32_t* words, uint32_t width, uint128_t reference, uint128_t* out) {
  uint64_t offsets[kTileRows];
  unpack_tile(words, width, uint64_t{0}, offsets);
  for (uint32_t i = 0; i < kTileRows; ++i) out[i] = reference + offsets[i];
}

void unpack_on_line(const uint32_t* words, uint32_t width, uint64_t y, uint64_t step, uint32_t* out) {
  chosen().table->line32(words, width, y, step, out);
}
void unpack_on_narrow_line(const uint32_t* words, uint32_t width, uint64_t base, uint64_t y, uint64_t step,
                           uint64_t* out) {
  chosen().table->narrow_line64(words, width, base, y, step, out);
}
void unpack_on_wide_line(const uint32_t* words, uint32_t width, uint64_t base, uint64_t y, uint64_t step,
                         uint32_t fraction, uint64_t* out) {
  chosen().table->wide_line64(words, width, base, y, step, fraction, out);
}

void unpack_unit_on_line(const uint32_t* words, uint32_t width, uint64_t y, uint64_t step, uint32_t* out) {
  chosen().table->unit_line32(words, width, y, step, out);
}
void unpack_unit_on_narrow_line(const uint32_t* words, uint32_t width, uint64_t base, uint64_t y, uint64_t step,
                                uint64_t* out) {
  chosen().table->unit_narrow_line64(words, width, base, y, step, out);
}
void unpack_unit_on_wide_line(const uint32_t* words, uint32_t width, uint64_t base, uint64_t y, uint64_t step,
                              uint32_t fraction, uint64_t* out) {
  chosen().table->unit_wide_line64(words, width, base, y, step, fraction, out);
}

void pack_tile(const uint8_t* values, uint8_t reference, uint32_t width, uint32_t* words) {
  chosen().table->pack8(values, reference, width, words);
}
void pack_tile(const uint16_t* values, uint16_t reference, uint32_t width, uint32_t* words) {
  chosen().table->pack16(values, reference, width, words);
}
void pack_tile(const uint32_t* values, uint32_t reference, uint32_t width, uint32_t* words) {
  chosen().table->pack32(values, reference, width, words);
}
void pack_tile(const uint64_t* values, uint64_t reference, uint32_t width, uint32_t* words) {
  chosen().table->pack64(values, reference, width, words);
}
void pack_tile(const uint128_t* values, uint128_t reference, uint32_t width, uint32_t* words) {
  uint64_t offsets[kTileRows];
  for (uint32_t i = 0; i < kTileRows; ++i) offsets[i] = static_cast<uint64_t>(values[i] - reference);
  pack_tile(offsets, uint64_t{0}, width, words);
}

}  // namespace basalt
