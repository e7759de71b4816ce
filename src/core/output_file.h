// Every file that the program makes is made here: results, copies of pipes, compiled kernels. While under construction
// it has no name where the file system can do that, so that nothing remains of a writer that is killed; else a name
// beside its target that nobody can foresee, made by this process and no other (O_EXCL, O_NOFOLLOW): a link that
// somebody planted is replaced, never followed. Complete, it is synced and put in its place; given up, it is gone.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "basalt/core/buffer.h"

namespace basalt {

struct OutputOptions {
  mode_t mode = 0666;  // less the user's mask
  // Pipes and terminals are written as they are, and names of descriptors (/dev/stdout, /dev/fd/3) through what is open
  // there. Without it they are refused.
  bool may_be_device = false;
  bool may_be_nameless = true;  // false is for tests of the other way
  bool durable = true;          // synced before it gets its name
};

class OutputFile {
 public:
  explicit OutputFile(const std::string& path, const OutputOptions& options = {});
  // A file for as long as the object lives, for its owner's eyes only, in $TMPDIR (/tmp if that is not set).
  static std::unique_ptr<OutputFile> temporary(bool may_be_nameless = true);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  uint64_t position() const { return position_; }
  void write(ByteView bytes);
  void pad_to(uint64_t alignment);
  void flush();
  // What is still in memory; all of a file that is shorter than some megabytes. It can be exchanged.
  ByteView unwritten() const { return pending_.view(); }
  void replace_unwritten(Buffer bytes);

  // For writers of other libraries: a descriptor, and a name under which this process can open the file meanwhile. What
  // is written by that name in place of a descriptor's arrives there with commit().
  int descriptor() const { return descriptor_; }
  std::string path_to_open();

  // Everything is there under the final name when this returns, and on the disk if it has to be durable.
  void commit();

 private:
  enum class Kind { kReplace, kDevice, kTemporary };
  OutputFile(std::string path, Kind kind, const OutputOptions& options);
  void open_file(bool may_be_nameless);
  bool open_nameless();
  void open_named();
  bool link_to(const std::string& name) const;
  void put_in_place();
  void write_spool();
  void write_through(const std::byte* bytes, size_t count);
  [[noreturn]] void fail(const char* action) const;

  std::string path_;  // the target; of a temporary file, what its name would begin with
  std::string folder_;
  std::string temporary_;  // empty while the file has no name
  Kind kind_ = Kind::kReplace;
  mode_t mode_ = 0666;
  bool durable_ = true;
  int descriptor_ = -1;
  uint64_t position_ = 0;
  Buffer pending_;
  std::unique_ptr<OutputFile> spool_;  // of a descriptor that a library writes to by name
};

// Whether an output of this name goes to what is there (a pipe, a device, an open descriptor) instead of replacing it.
bool is_written_through(const std::string& path);

// $TMPDIR, else /tmp.
std::string temporary_folder();

}  // namespace basalt
