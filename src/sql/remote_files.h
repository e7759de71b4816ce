// Files that the session's owner reaches and the operating system does not: objects of a store, say. Their names have
// "://" in them and end in .basalt, and so do patterns; all others are left to DuckDB's extensions.
#pragma once

#include <memory>
#include <string>

#include "basalt/sql/session.h"

namespace duckdb {
class ClientContext;
class DatabaseInstance;
}  // namespace duckdb

namespace basalt::sql {

bool is_remote_name(const std::string& path);
void reach_files(duckdb::DatabaseInstance& database, RemoteFiles files);
// The same file for as long as a statement runs; nullptr where nobody reaches it.
std::shared_ptr<const File> open_remote(duckdb::ClientContext& context, const std::string& path);

}  // namespace basalt::sql
