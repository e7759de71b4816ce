// DuckDB finds such files by a file system that does nothing but that; Basalt's scan opens them.
#include "sql/remote_files.h"

#include "duckdb.hpp"
#include "duckdb/storage/object_cache.hpp"
#include "sql/state.h"

namespace basalt::sql {

namespace {

constexpr const char* kEnding = ".basalt";

struct Reached : duckdb::ObjectCacheEntry {
  explicit Reached(RemoteFiles functions) : files(std::move(functions)) {}
  static duckdb::string ObjectType() { return "basalt_remote_files"; }  // NOLINT: looked for under this name
  duckdb::string GetObjectType() override { return ObjectType(); }
  duckdb::optional_idx GetEstimatedCacheMemory() const override { return duckdb::optional_idx(); }

  RemoteFiles files;
};

class RemoteFileSystem : public duckdb::FileSystem {
 public:
  explicit RemoteFileSystem(duckdb::shared_ptr<Reached> reached) : reached_(std::move(reached)) {}

  bool CanHandleFile(const duckdb::string& path) override { return is_remote_name(path); }
  std::string GetName() const override { return "BasaltRemoteFileSystem"; }

  duckdb::vector<duckdb::OpenFileInfo> Glob(const duckdb::string& path, duckdb::FileOpener*) override {
    try {
      duckdb::vector<duckdb::OpenFileInfo> found;
      for (const std::string& name : reached_->files.find(path)) found.emplace_back(name);
      return found;
    } catch (const Error& error) {
      throw duckdb::IOException(std::string(error.what()));
    }
  }

  bool FileExists(const duckdb::string& path, duckdb::optional_ptr<duckdb::FileOpener>) override {
    return !Glob(path, nullptr).empty();
  }
  bool DirectoryExists(const duckdb::string&, duckdb::optional_ptr<duckdb::FileOpener>) override { return false; }

 private:
  duckdb::shared_ptr<Reached> reached_;
};

}  // namespace

bool is_remote_name(const std::string& path) {
  return path.find("://") != std::string::npos && path.ends_with(kEnding);
}

void reach_files(duckdb::DatabaseInstance& database, RemoteFiles files) {
  auto reached = duckdb::make_shared_ptr<Reached>(std::move(files));
  database.GetObjectCache().Put(Reached::ObjectType(), reached);
  database.GetFileSystem().RegisterSubSystem(duckdb::make_uniq<RemoteFileSystem>(std::move(reached)));
}

std::shared_ptr<const File> open_remote(duckdb::ClientContext& context, const std::string& path) {
  if (!is_remote_name(path)) return nullptr;
  const auto reached = duckdb::ObjectCache::GetObjectCache(context).Get<Reached>(Reached::ObjectType());
  if (reached == nullptr) return nullptr;
  const auto log = StatementLog::of(context);
  if (auto known = log->remote_file(path)) return known;
  return log->keep_remote_file(path, reached->files.open(path));
}

}  // namespace basalt::sql
