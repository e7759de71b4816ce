// Reading an Arrow stream to its end: its schema and its batches as Basalt holds them, with everything that the stream
// hands out released in every case.
#pragma once

#include <memory>
#include <string>

#include "basalt/core/arrow.h"

namespace basalt::arrow {

// Rows [first, first + count) of a batch. Entries of dictionaries may stand for any number of rows: Error(kOverLimit)
// where these take more than `most_expanded` bytes.
Table import_rows(const ArrowArray& array, const ArrowSchema& arrow_schema, const Schema& schema, int64_t first,
                  int64_t count, uint64_t most_expanded);

class StreamReader {
 public:
  // Takes the stream over, also if this throws. `name` stands in errors.
  StreamReader(ArrowArrayStream* stream, std::string name, Notices* notices);
  ~StreamReader();
  StreamReader(const StreamReader&) = delete;
  StreamReader& operator=(const StreamReader&) = delete;

  const Schema& schema() const { return schema_; }
  // A batch, or some of its rows where dictionaries expand to much; nullptr at the end.
  std::unique_ptr<Table> next();

 private:
  void check(int status);
  bool next_batch();

  ArrowArrayStream stream_;
  std::string name_;
  ArrowSchema arrow_schema_{};
  Schema schema_;
  ArrowArray batch_{};
  int64_t row_ = 0;         // of the batch, the next one
  int64_t piece_rows_ = 0;  // that are tried at once
};

}  // namespace basalt::arrow
