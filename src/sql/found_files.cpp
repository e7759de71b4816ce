#include "sql/found_files.h"

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>

#include "duckdb/common/file_system.hpp"
#include "duckdb/common/multi_file/multi_file_list.hpp"
#include "duckdb/function/table_function.hpp"

namespace basalt::sql {

using duckdb::ClientContext;
using duckdb::FileSystem;

namespace {

using Paths = duckdb::vector<duckdb::OpenFileInfo>;

bool is_hidden(const std::string& name) { return name.size() > 1 && name.front() == '.' && name != ".."; }

// Whether a part of the path is hidden that no part of the pattern names, as `.*` or its own name do.
bool is_out_of_sight(const std::string& path, const std::filesystem::path& pattern) {
  return std::ranges::any_of(std::filesystem::path(path), [&](const std::filesystem::path& part) {
    if (!is_hidden(part.string())) return false;
    return std::ranges::none_of(pattern, [&](const std::filesystem::path& named) {
      return is_hidden(named.string()) && fnmatch(named.c_str(), part.c_str(), 0) == 0;
    });
  });
}

Paths in_sight(ClientContext& context, const std::string& pattern) {
  Paths found = FileSystem::GetFileSystem(context).Glob(pattern);
  std::erase_if(found, [&](const duckdb::OpenFileInfo& file) { return is_out_of_sight(file.path, pattern); });
  std::ranges::sort(found, {}, &duckdb::OpenFileInfo::path);  // rows come in this order
  return found;
}

// Elsewhere it is a question of many requests, which names of files need not ask.
bool is_folder(ClientContext& context, const std::string& path) {
  const bool is_far = path.find("://") != std::string::npos && !path.starts_with("file://");
  if (path.empty() || FileSystem::HasGlob(path) || (is_far && path.ends_with(".basalt"))) return false;
  return FileSystem::GetFileSystem(context).DirectoryExists(path);
}

Paths in_folder(ClientContext& context, std::string folder) {
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  Paths found = in_sight(context, folder + "/*.basalt");
  return found.empty() ? in_sight(context, folder + "/**/*.basalt") : found;
}

class FileFinder : public duckdb::MultiFileReader {
 public:
  using MultiFileReader::CreateFileList;
  duckdb::shared_ptr<duckdb::MultiFileList> CreateFileList(ClientContext& context,
                                                           const duckdb::vector<duckdb::string>& paths,
                                                           const duckdb::FileGlobInput& glob) override {
    const auto stands_for_itself = [&](const std::string& path) {
      return !FileSystem::HasGlob(path) && !is_folder(context, path);
    };
    if (std::ranges::all_of(paths, stands_for_itself)) return MultiFileReader::CreateFileList(context, paths, glob);
    Paths found;
    for (const std::string& path : paths) add(context, path, glob, found);
    return duckdb::make_shared_ptr<duckdb::SimpleMultiFileList>(std::move(found));
  }

  duckdb::unique_ptr<MultiFileReader> Copy() const override { return duckdb::make_uniq<FileFinder>(*this); }

 private:
  void add(ClientContext& context, const std::string& path, const duckdb::FileGlobInput& glob, Paths& found) {
    Paths more;
    if (FileSystem::HasGlob(path)) {
      more = in_sight(context, path);
      if (more.empty()) throw duckdb::IOException("No files found that match the pattern \"%s\"", path);
    } else if (is_folder(context, path)) {
      more = in_folder(context, path);
      if (more.empty()) throw duckdb::IOException("%s: a folder without .basalt files", path);
    } else {
      more = MultiFileReader::CreateFileList(context, duckdb::vector<duckdb::string>{path}, glob)->GetAllFiles();
    }
    found.insert(found.end(), more.begin(), more.end());
  }
};

}  // namespace

duckdb::unique_ptr<duckdb::MultiFileReader> make_file_finder(const duckdb::TableFunction&) {
  return duckdb::make_uniq<FileFinder>();
}

std::vector<std::string> find_files(ClientContext& context, const std::string& path) {
  const bool folder = is_folder(context, path);
  if (!folder && !FileSystem::HasGlob(path)) return {path};
  std::vector<std::string> paths;
  for (const auto& file : folder ? in_folder(context, path) : in_sight(context, path)) paths.push_back(file.path);
  return paths;
}

bool stands_for_files(ClientContext& context, const std::string& path) {
  if (is_folder(context, path)) return true;
  if (!FileSystem::HasGlob(path)) return false;
  const Paths found = in_sight(context, path);
  return !found.empty() &&
         std::ranges::all_of(found, [](const duckdb::OpenFileInfo& file) { return file.path.ends_with(".basalt"); });
}

}  // namespace basalt::sql
