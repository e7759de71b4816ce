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

// Trees of columns that others of the table help to encode: by what is missed by another column's values, by a function
// of them, by their products with a factor, by the sum of two columns, by places in runs; or a dictionary with codes of
// such a tree. A residual is plain at first.
Tree difference_tree(Tree source);
Tree function_tree(Tree source);
Tree product_tree(Tree factor, Tree source);
Tree sum_tree(Tree one, Tree other);
Tree place_tree(Tree source);
Tree dictionary_tree(Tree codes, Physical type);  // of values of this type
Tree* residual_of(Tree& tree);                    // the tree of what sources miss; nullptr: they miss nothing
Tree without_residual(const Tree& tree);          // for values of which sources miss nothing
Values plain_residual_of(const Node& node);       // of an array whose residual is plain
// With names where an array stands for a column, and with the trees of the columns that are named.
Tree named_tree_of(const NodeView& node, const std::vector<SourceColumn>& sources);
Tree with_sources(const Tree& tree, const std::vector<SourceColumn>& sources);

// The simplest trees of integers, and of what a codec turns into one array of integers, all rows or one of each run.
std::vector<Tree> simplest_trees(Physical type);

}  // namespace basalt
