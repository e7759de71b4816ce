// What EXPLAIN and EXPLAIN ANALYZE say of a lowered query: how statistics prune its files, the encodings that it reads,
// and each stage that was run.
#pragma once

#include <string>

#include "basalt/exec/pipeline.h"

namespace basalt::sql {

// "statistics leave 3 of 40 tiles", of all files that stages filter; empty where none does.
std::string pruning_text(const Query& query);

// "price: packed, l3": the encodings of each column that is read from files, a line for each. On a GPU, also what a
// kernel of its own makes of them before the stage's.
std::string encodings_text(const Query& query, Device ran_on);

// What one stage did, a line for each kind of thing.
std::string step_text(const RunReport& step);

}  // namespace basalt::sql
