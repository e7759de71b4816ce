// Count and sum of the rows of galp tiles between two literals, in generated kernels. Rows of decimals are tested as
// the integers they are stored as, and lanes work out for 32 tiles at once where the literals lie.
#pragma once

#include "codec/galp/totals_doubles.cuh"
#include "codec/galp/totals_floats.cuh"
