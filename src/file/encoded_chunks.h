// The chunks that a range of rows lies in, and their encoded columns, fetched when the first of some is asked for.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "basalt/file/reader.h"
#include "basalt/file/remote_source.h"

namespace basalt {

struct ChunkRange {
  uint32_t chunk = 0;
  uint64_t begin = 0;  // rows inside the chunk
  uint64_t end = 0;
};

std::vector<ChunkRange> chunks_of(const File& file, uint64_t first_row, uint64_t rows);

// Consecutive chunks of a column come with one request. Thread-safe; what is given must live as long.
class EncodedChunks {
 public:
  // `columns`: of the file's schema.
  EncodedChunks(const File& file, const std::vector<uint32_t>& columns, const std::vector<ChunkRange>& ranges);

  // Once for each.
  EncodedChunk take(size_t column, size_t range);

 private:
  struct Fetch {
    Fetch(size_t of_column, size_t first_range) : column(of_column), first(first_range) {}

    size_t column;
    size_t first;  // into the list of ranges
    size_t count = 0;
    std::mutex mutex;
    bool is_done = false;
    std::exception_ptr failed;
  };

  size_t place(size_t column, size_t range) const { return range * columns_.size() + column; }
  void run(Fetch& fetch);

  const File& file_;
  const std::vector<uint32_t>& columns_;
  const std::vector<ChunkRange>& ranges_;
  std::shared_ptr<const RemoteSource::Plan> plan_;
  std::deque<Fetch> fetches_;
  std::vector<Fetch*> fetch_of_;  // by place
  std::vector<EncodedChunk> chunks_;
};

}  // namespace basalt
