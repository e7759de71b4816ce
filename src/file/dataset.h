// A dataset: a folder whose .basalt files are read as one table, in the order of their names. A file is added by one
// rename; several are replaced by fewer by exchanging the whole folder, at once as well. Who reads meanwhile sees what
// was there before, or what is there afterwards. Writers wait for each other by a lock that ends with their process.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "basalt/core/types.h"

namespace basalt {

// Held by any number of those who add, or by one who replaces. Makes the folder if it is not there. Throws Error(kIo)
// where the folder is one that was replaced, and for replacing where the process stands in it.
class DatasetLock {
 public:
  enum class Kind { kAdd, kReplace };
  DatasetLock(const std::string& folder, Kind kind);
  ~DatasetLock();
  DatasetLock(const DatasetLock&) = delete;
  DatasetLock& operator=(const DatasetLock&) = delete;
  void wait_to_be_alone();                               // others may have been there meanwhile
  const std::string& folder() const { return folder_; }  // absolute: also where "." has been exchanged meanwhile

 private:
  void wait(int kind);

  std::string folder_;
  std::string path_;
  int descriptor_ = -1;
};

// Paths of the folder's .basalt files, sorted; hidden ones left out.
std::vector<std::string> dataset_parts(const std::string& folder);

// A file that is to be added.
class DatasetPart {
 public:
  // Throws Error(kInvalidArgument) where the files that are there have other columns or types.
  DatasetPart(const std::string& folder, const Schema& schema);
  const std::string& path() const { return path_; }

 private:
  DatasetLock lock_;
  std::string path_;
};

// Replaces the files `parts`, which follow each other, by one that `write` makes under the path that it is given.
// Throws Error(kUnsupported) and changes nothing where their columns differ, or the new file's from theirs. `lock` is
// for replacing in its folder. Files that readers have listed and not yet opened stay where replaced_path() finds them
// until ten minutes later, when the next one comes who holds a lock.
void replace_parts(const DatasetLock& lock, const std::vector<std::string>& parts,
                   const std::function<void(const std::string& path)>& write);

// Where a file that was replaced lies now; empty if it is not there either.
std::string replaced_path(const std::string& path);

}  // namespace basalt
