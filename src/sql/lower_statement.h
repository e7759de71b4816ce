// A statement's text to a query of Basalt's own engine, or the reason why it is none.
#pragma once

#include <string>

#include "basalt/exec/pipeline.h"
#include "duckdb.hpp"

namespace basalt::sql {

// Throws Error(kUnsupported) where a part of it is DuckDB's. `values`: what its parameters stand for.
Query lower_statement(duckdb::ClientContext& context, const std::string& text,
                      const duckdb::case_insensitive_map_t<duckdb::BoundParameterData>& values);

}  // namespace basalt::sql
