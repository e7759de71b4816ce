// An Arrow IPC file as the stream that its footer describes: the footer's schema, then dictionaries and batches where
// it says they lie. What a file begins with need not be a stream; some writers put a schema there without a frame.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "basalt/file/source.h"

namespace basalt {

class IpcFile {
 public:
  // `file` begins and ends with Arrow's magic. Throws Error(kCorrupt).
  explicit IpcFile(std::shared_ptr<const Source> file);

  uint64_t stream_bytes() const;
  // Up to `size` bytes of the stream, 0 at its end.
  size_t read(uint8_t* out, size_t size);

 private:
  template <typename Blocks>
  void add_blocks(const Blocks* blocks);

  void read_at(Range range, uint8_t* out) const;

  std::shared_ptr<const Source> file_;
  uint64_t blocks_left_;         // bytes that blocks may still have: each belongs to one
  std::vector<uint8_t> schema_;  // as a message
  std::vector<Range> rest_;      // what follows, less what was read of the first
  size_t schema_used_ = 0;
  size_t next_ = 0;  // of rest_
};

}  // namespace basalt
