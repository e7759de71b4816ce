// On the CPU, either engine can run groups: DuckDB over Basalt's scan, or Basalt itself.
#pragma once

#include "basalt/exec/pipeline.h"

namespace basalt::sql {

// Whether Basalt's own engine is the faster one for a query that begins with groups over one table, by rules that were
// measured (docs/decisions/groups-on-the-cpu.md). Only statistics are looked at.
bool groups_run_faster_here(const Query& query);

}  // namespace basalt::sql
