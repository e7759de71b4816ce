// Trees that code outside of src/codec asks for by what they are for: names of codecs stay in this folder. All are
// bound: they name all their children.
#pragma once

#include <vector>

#include "basalt/codec/codec.h"

namespace basalt {

Tree packed_tree();                 // integers
Tree plain_tree(Physical type);     // values as they are; of strings, bytes beside packed lengths
Tree default_tree(Physical type);   // holds any values of this type
Tree constant_tree(Physical type);  // one value for all rows
Tree ascending_tree();              // integers that never fall
Tree packed_decimals_tree();        // floats as decimals in packed tiles: what Reader::filter_sum() adds

const Codec& null_codec();  // that of with_nulls()
Tree with_nulls(Tree flags, Tree values);
Tree with_nulls(Tree flags);  // of a struct, which has no values

// The simplest trees of integers, and of what a codec turns into one array of integers, all rows or one of each run.
std::vector<Tree> simplest_trees(Physical type);

}  // namespace basalt
