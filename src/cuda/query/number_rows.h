// From the numbers of texts to those of rows.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/query/chunk_texts.h"

namespace basalt::cuda {

// Rows of a chunk, and where their numbers go.
struct RowsToNumber {
  TextRows rows;
  const uint32_t* numbers = nullptr;  // of its list of texts
  uint64_t texts = 0;                 // how many these are
  uint64_t first_row = 0;
};

// Rows of a chunk that name texts.
struct RowsToMark {
  TextRows rows;
  uint8_t* marks = nullptr;  // a byte for each text of its list
  uint64_t texts = 0;
  const uint8_t* wanted = nullptr;  // a byte for each row
};
// Sets the marks of texts that wanted rows name.
void mark_texts(const std::vector<RowsToMark>& chunks, cudaStream_t stream);

// Writes numbers of all rows, and the bytes that say which are not NULL unless `validity` is nullptr. *fault becomes 1
// where a code has no text.
void number_rows(const std::vector<RowsToNumber>& chunks, uint32_t* numbers, uint8_t* validity, uint32_t* fault,
                 cudaStream_t stream);

// to[i] = values[numbers[i]]; numbers beyond `count` give 0.
template <typename T>
void look_up(const uint32_t* numbers, uint64_t rows, const T* values, uint64_t count, T* to, cudaStream_t stream);

// A byte for each of `rows` rows, 1 of those whose numbers are listed.
DeviceBuffer mark_rows(const uint64_t* numbers, uint64_t count, uint64_t rows, cudaStream_t stream);

// A byte for each of `count` rows, 1 of those that both mark; nullptr marks all.
DeviceBuffer marked_by_both(const uint8_t* a, const uint8_t* b, uint64_t count, cudaStream_t stream);

// Which of `count` numbers some row has: a byte for each. Numbers beyond are ignored.
DeviceBuffer mark_used(const uint32_t* numbers, uint64_t rows, uint64_t count, cudaStream_t stream);

}  // namespace basalt::cuda
