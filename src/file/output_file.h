// A file under construction: without a name where the file system can do that, so that nothing remains of a writer that
// is killed; else under a temporary name beside its target. Synced and put in its place when complete, gone when given
// up.
#pragma once

#include <cstdint>
#include <string>

#include "basalt/core/buffer.h"

namespace basalt::format_v1 {

class OutputFile {
 public:
  // `may_be_nameless` is for tests of the other way.
  explicit OutputFile(const std::string& path, bool may_be_nameless = true);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  uint64_t position() const { return position_; }
  void write(ByteView bytes);
  void pad_to(uint64_t alignment);
  // Everything is on the disk under the final name when this returns.
  void commit();

 private:
  bool open_nameless();
  void open_named();
  bool link_to(const std::string& name) const;
  void put_in_place();
  void flush();
  void write_through(const std::byte* bytes, size_t count);
  [[noreturn]] void fail(const char* action) const;

  std::string path_;
  std::string folder_;
  std::string temporary_;  // empty while the file has no name
  int descriptor_ = -1;
  uint64_t position_ = 0;
  Buffer pending_;
};

}  // namespace basalt::format_v1
