// Strings as values of one statement: its columns of strings are decoded, numbered and put through functions before its
// kernel runs, which reads the numbers.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "cuda/backend.h"
#include "cuda/query/chunk_texts.h"
#include "cuda/query/device_table.h"
#include "cuda/query/statement_run.h"
#include "cuda/query/text_pool.h"

namespace basalt::cuda {

struct StatementTexts {
  device::TextNumbers numbers;
  std::shared_ptr<const DeviceTexts> texts;  // by number
  std::vector<ArrayAddresses> arrays;        // by column of the pipeline; empty if no column is an array
  ArrayAddresses passes;                     // flags of rows that pass the filter, where it was asked before
  std::optional<TileCounts> tiles;           // what became of tiles then
  AskedChunks asked;                         // that statistics left then
  uint64_t bytes() const;                    // that it takes on the device
  std::vector<DeviceBuffer> memory;
};

// The pipeline as its kernel runs, and what that reads.
struct NumberedPipeline {
  std::shared_ptr<const device::DevicePipeline> device;
  StatementTexts texts;
};
// `stage`: the pipeline as it was planned without looking at data.
NumberedPipeline number_texts(CudaBackend& backend, std::shared_ptr<const device::DevicePipeline> stage,
                              const Pipeline& pipeline, const RunOptions& options, RunReport& report);

// The strings that have these numbers, on the host. Numbers beyond the list are Error(kInternal).
StringRows fetch_texts(const DeviceTexts& texts, const std::vector<uint32_t>& numbers, cudaStream_t stream);

// The string that a value of the pipeline's expression stands for.
Value text_of(const NumberedPipeline& pipeline, const Expr& expr, const Value& number, cudaStream_t stream);

class TextsRun {
 public:
  // `given`: the pipeline with its strings. `input`: the rows that it reads instead of files.
  TextsRun(CudaBackend& backend, const device::DevicePipeline& device, const Pipeline& given, const RunOptions& options,
           RunReport& report, const DeviceTable* input = nullptr);
  StatementTexts run();

 private:
  // A chunk of the files, and where its rows lie in arrays.
  struct Place {
    std::shared_ptr<const File> file;
    uint32_t chunk = 0;
    uint64_t first_row = 0;
  };
  // A column of strings: numbers of its rows, and which of them are not NULL.
  struct Numbered {
    uint32_t field_id = 0;
    DeviceBuffer numbers;   // uint32
    DeviceBuffer validity;  // bytes; nothing: no NULLs
  };

  void place_chunks();
  void find_wanted();
  bool may_match(const File& file, uint32_t chunk, exec::ZoneFilter& filter) const;
  const Numbered* find_numbered(uint32_t field_id) const;
  const Numbered& numbered(uint32_t field_id);
  DeviceBuffer mark_wanted(const std::vector<Place>& places, const DecodedTexts& decoded,
                           const std::vector<uint64_t>& firsts, std::vector<TextPool::List>& lists) const;
  void number_files(Numbered& column);
  void number_input(Numbered& column);
  void number_batch(const std::vector<Place>& places, Numbered& column);
  // Calls f with lists of chunks of a column that are worked on together.
  void for_each_batch(uint32_t field_id, const std::function<void(const std::vector<Place>&)>& f);
  bool is_stored_length(const device::TextArray& array) const;
  bool has_numbers(const std::optional<device::TextArray>& array) const;
  ArrayAddresses measured(uint32_t field_id);
  ArrayAddresses decoded(uint32_t field_id, Physical type);
  std::vector<TextChunk> load(const std::vector<Place>& places, uint32_t field_id);
  void evaluate_functions();
  void evaluate_by_row(size_t place);
  void finish_pool();
  template <typename T>
  DeviceBuffer by_row(const uint32_t* numbers, const DeviceBuffer& values, uint64_t count) const;
  DeviceBuffer array_of(size_t place);
  void finish_arrays();

  CudaBackend& backend_;
  const device::DevicePipeline& device_;
  const Pipeline& pipeline_;
  const Pipeline& given_;
  const RunOptions& options_;
  RunReport& report_;
  const DeviceTable* input_;
  cudaStream_t stream_;
  uint64_t run_ = 0;
  uint64_t limit_ = 0;
  uint64_t rows_ = 0;  // of arrays
  std::vector<Place> places_;
  DeviceBuffer wanted_;  // a byte for each row, 1: it passes the filter; nothing: all rows count
  std::vector<Numbered> columns_;
  TextPool pool_;
  uint64_t distinct_ = 0;  // strings of columns and literals: the first of the pool
  // Of functions, by column of the pipeline: values or numbers of each string, or of each row; then which are not NULL.
  std::vector<DeviceBuffer> results_;
  std::vector<DeviceBuffer> result_validity_;
  DeviceBuffer ranks_;  // of numbers, where these must be in order
  StatementTexts out_;
};

}  // namespace basalt::cuda
