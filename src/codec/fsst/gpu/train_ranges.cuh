// Which rows share a table: those of a whole array, or ranges where tables of their own pay. Tables are tried first,
// then sizes are compared, then ranges are trained; each is a step for all arrays of a batch.
#pragma once

#include "codec/fsst/gpu/train.cuh"

namespace basalt::fsst {

// Tables of all rows and of tested ranges; `number` among those of the array.
__device__ __forceinline__ void train_tried(const TrainArray& array, const Plan& plan, uint32_t number,
                                            const TrainScratch& scratch, TrainShared& shared) {
  if (number > array.shifts.count * kTestRanges) return;
  TableTrainer trainer(array, scratch, shared);
  if (number == 0) {
    trainer.train_rows({0, array.rows}, plan, array.tried[0]);
    return;
  }
  const uint32_t shift = array.shifts.smaller[(number - 1) / kTestRanges];
  trainer.train_rows(tested_rows(array.rows, shift, (number - 1) % kTestRanges), test_plan(plan), array.tried[number]);
}

// How many rows share a table; where it is all of them there is nothing left to train.
__device__ __forceinline__ void choose_shift(const TrainArray& array, const Plan& plan, const TrainScratch& scratch,
                                             TrainShared& shared) {
  TableTrainer trainer(array, scratch, shared);
  const Parse parse = plan.training.parse;
  ShiftChoice choice(array.shifts.whole);
  const EncodeTable* own = array.tried + 1;
  for (uint32_t i = 0; i < array.shifts.count; ++i) {
    TestedSizes sizes;
    for (uint32_t test = 0; test < kTestRanges; ++test, ++own) {
      const Rows rows = tested_rows(array.rows, array.shifts.smaller[i], test);
      trainer.list_texts(rows, kTestBytes, kTestSalt);
      uint32_t table_bytes = kTableHeader;
      for (uint32_t code = 0; code < own->symbols; ++code) table_bytes += own->lengths[code];
      const uint32_t whole_codes = trainer.code_bytes(array.tried[0], parse);
      const uint32_t own_codes = trainer.code_bytes(*own, parse);
      sizes.add(static_cast<uint64_t>(array.offsets[rows.end] - array.offsets[rows.first]), trainer.sample_bytes(),
                whole_codes, own_codes, table_bytes);
    }
    choice.offer(array.shifts.smaller[i], sizes);
  }
  if (threadIdx.x == 0) *array.shift = choice.shift;
  if (choice.shift != array.shifts.whole) return;
  const auto* from = reinterpret_cast<const uint32_t*>(array.tried);
  auto* to = reinterpret_cast<uint32_t*>(array.tables);
  for (uint32_t i = threadIdx.x; i < sizeof(EncodeTable) / sizeof(uint32_t); i += blockDim.x) to[i] = from[i];
}

// Tables of ranges, where those were chosen.
__device__ __forceinline__ void train_range(const TrainArray& array, const Plan& plan, uint32_t table,
                                            const TrainScratch& scratch, TrainShared& shared) {
  const uint32_t shift = *array.shift;
  if (shift == array.shifts.whole || table >= array.tables_of(shift)) return;
  TableTrainer(array, scratch, shared).train_rows(rows_of_table(array.rows, shift, table), plan, array.tables[table]);
}

}  // namespace basalt::fsst
