// Checking a whole file: every byte, every checksum, every structure, every value, and that statistics, flags and sort
// order tell the truth.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "basalt/core/threads.h"
#include "basalt/file/reader.h"

namespace basalt {

struct VerifyReport {
  uint64_t chunks = 0;  // of columns
  uint64_t streams = 0;
  uint64_t bytes = 0;  // of streams
  uint64_t values = 0;
  std::vector<std::string> notes;  // what is allowed but not understood
};

struct VerifyOptions {
  std::function<void(double)> progress;  // share done, 0..1; one call at a time
  const CancelToken* cancel = nullptr;
  // Bytes that chunks which are checked at the same time may take when decoded, besides those they are stored in:
  // others wait, and a chunk that needs more by itself is an error. 0: 128 MiB, or 16 MiB for each thread.
  uint64_t memory_limit = 0;
  // Decodes a validated chunk in place of decode_rows(root, type, 0, rows): the GPU, say.
  std::function<Column(const NodeView&, const DataType&)> decoder;
};

// Throws Error at the first fault in file order, naming file, column, chunk and byte.
VerifyReport verify_file(const File& file, ThreadPool& pool, const VerifyOptions& options = {});

}  // namespace basalt
