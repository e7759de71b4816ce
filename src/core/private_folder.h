// A folder for files that have to have names, such as rows that a sort puts aside: its name cannot be foreseen, nobody
// else may look into it (0700), and it goes with everything in it when the object does. What a killed process left is
// removed by the next that makes such a folder in the same place.
#pragma once

#include <string>
#include <string_view>

namespace basalt {

class PrivateFolder {
 public:
  // A name in `parent` that is not in use. `prefix` tells people what the folder is for.
  static std::string unused_name(const std::string& parent, std::string_view prefix);

  // Makes the folder `path`, a result of unused_name(). Throws Error(kIo) if there is anything of that name but an
  // empty folder, which is replaced.
  explicit PrivateFolder(const std::string& path);
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  [[noreturn]] void fail() const;

  std::string path_;
  int lock_ = -1;
};

}  // namespace basalt
