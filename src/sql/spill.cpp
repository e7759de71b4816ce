// A file system of DuckDB's that differs from its own in one thing: how the folder for spilled rows is made.
#include "sql/spill.h"

#include <filesystem>
#include <memory>

#include "basalt/core/error.h"
#include "core/private_folder.h"
#include "duckdb/common/local_file_system.hpp"

namespace basalt::sql {

namespace {

class SpillFileSystem : public duckdb::LocalFileSystem {
 public:
  explicit SpillFileSystem(std::string path) : path_(std::move(path)) {}

  bool CanHandleFile(const duckdb::string& path) override { return path == path_ || path.starts_with(path_ + "/"); }
  std::string GetName() const override { return "BasaltSpillFileSystem"; }

  void CreateDirectory(const duckdb::string& path, duckdb::optional_ptr<duckdb::FileOpener> opener) override {
    if (path != path_) return duckdb::LocalFileSystem::CreateDirectory(path, opener);
    try {
      folder_.reset();
      folder_ = std::make_unique<PrivateFolder>(path);
    } catch (const Error& error) {
      throw duckdb::IOException(std::string(error.what()));
    }
  }

 private:
  std::string path_;
  std::unique_ptr<PrivateFolder> folder_;
};

}  // namespace

std::string spill_folder_in(const std::string& parent) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(parent.empty() ? "." : parent, error);
  return PrivateFolder::unused_name(error ? parent : absolute.lexically_normal().string(), ".basalt-spill");
}

void use_spill_folder(duckdb::DuckDB& database, const std::string& folder) {
  database.GetFileSystem().RegisterSubSystem(duckdb::make_uniq<SpillFileSystem>(folder));
}

}  // namespace basalt::sql
