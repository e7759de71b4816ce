// Reading an Arrow stream to its end: its schema and its batches as Basalt holds them, with everything that the stream
// hands out released in every case.
#pragma once

#include <memory>
#include <string>

#include "basalt/core/arrow.h"

namespace basalt::arrow {

class StreamReader {
 public:
  // Takes the stream over, also if this throws. `name` stands in errors.
  StreamReader(ArrowArrayStream* stream, std::string name, Notices* notices);
  ~StreamReader();
  StreamReader(const StreamReader&) = delete;
  StreamReader& operator=(const StreamReader&) = delete;

  const Schema& schema() const { return schema_; }
  std::unique_ptr<Table> next();  // nullptr at the end

 private:
  void check(int status);

  ArrowArrayStream stream_;
  std::string name_;
  ArrowSchema arrow_schema_{};
  Schema schema_;
};

}  // namespace basalt::arrow
