// Where bytes come from. All reads of a .basalt file pass through read_ranges(), never through mmap: a file that is cut
// while it is being read must become an error and not a signal.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "basalt/core/buffer.h"

namespace basalt {

struct Range {
  uint64_t offset = 0;
  uint64_t length = 0;
};

class Source {
 public:
  virtual ~Source() = default;
  virtual std::string name() const = 0;
  virtual uint64_t size() const = 0;
  // Fills `out` (room for range.length bytes). Thread-safe. Throws Error(kIo), also when the range passes the end.
  virtual void read(Range range, std::byte* out) const = 0;
  // Whether many small requests cost no more than few large ones.
  virtual bool is_local() const { return false; }
};

std::shared_ptr<Source> open_file_source(const std::string& path);
std::shared_ptr<Source> memory_source(Buffer bytes, std::string name = "memory");

// Reads many ranges with few requests: neighbours with gaps up to `max_gap` are fetched as one.
std::vector<Buffer> read_ranges(const Source& source, std::span<const Range> ranges, uint64_t max_gap = 64 << 10);

}  // namespace basalt
