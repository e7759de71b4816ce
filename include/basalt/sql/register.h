// Basalt inside DuckDB: one call adds the scan, the copy function, the replacement scan for '*.basalt', the settings
// and the plan hook to a database. Programs that want no DuckDB type in sight use basalt/sql/session.h.
#pragma once

namespace duckdb {
class DatabaseInstance;
}

namespace basalt {

// Settings it adds (SET name = value):
//   basalt_device      'auto', 'cpu' or 'cuda'
//   basalt_threads     threads of Basalt's own operators; 0 = as many as DuckDB uses
//   basalt_cache_memory  bytes of memory in which columns that were read stay, encoded, for later statements; 0 = none;
//                      for all connections; an eighth of the memory_limit at registration by default
//   basalt_decoded_limit  bytes that one row, a tile of strings or a nested column of a chunk may take when decoded,
//                      besides those it is stored in; never more than the memory_limit
//   basalt_gpu_memory  bytes on the device for cached and staged data; 0 = what is free
//   basalt_lowering    false keeps every operator in DuckDB, over Basalt's scan
//   basalt_pruning     false reads every tile, whatever the statistics say
void register_basalt(duckdb::DatabaseInstance& database);

}  // namespace basalt
