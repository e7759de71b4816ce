// A file under construction: written under a temporary name beside its target, synced and renamed when complete,
// removed when given up.
#pragma once

#include <cstdint>
#include <string>

#include "basalt/core/buffer.h"

namespace basalt::format_v1 {

class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  uint64_t position() const { return position_; }
  void write(ByteView bytes);
  void pad_to(uint64_t alignment);
  // Everything is on the disk under the final name when this returns.
  void commit();

 private:
  void flush();
  void write_through(const std::byte* bytes, size_t count);
  [[noreturn]] void fail(const char* action) const;

  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
  uint64_t position_ = 0;
  Buffer pending_;
};

}  // namespace basalt::format_v1
