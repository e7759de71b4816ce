// Columns of text for `columns strings`: repeated in random order, or made by a rule.
#pragma once

#include <span>
#include <string>

#include "gen/texts.h"

namespace basalt::bench {

using gen::Texts;

// All strings again and again, at least once, up to `bytes`: each time in another random order, the same on every
// machine.
Texts shuffled(const Texts& texts, uint64_t bytes);

struct MadeColumn {
  const char* name;
  Texts (*make)(uint64_t bytes);
};
std::span<const MadeColumn> made_columns();

}  // namespace basalt::bench
