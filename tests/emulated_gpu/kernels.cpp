// The kernels of joins and rows, which are loops over rows, compiled as such.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <numeric>

#include "basalt/core/error.h"
#include "basalt/exec/expressions.h"
#include "cuda/query/joins/join_table.h"
#include "cuda/query/joins/members.h"
#include "cuda/query/joins/places.h"
#include "cuda/query/row_arrays.h"
#include "cuda/query/windows/window_rows.h"
//
#include "cuda/emulated_warp.h"
//
#include "cuda/query/joins/join_table.cu"
#include "cuda/query/joins/look_ups.cu"
#include "cuda/query/joins/members.cu"
#include "cuda/query/joins/places.cu"
#include "cuda/query/row_arrays.cu"
#include "cuda/query/windows/window_rows.cu"
