// The text form of encodings: a tree of codec names, `dict(packed, strings(packed, plain))`. It prints and parses back;
// children left out are filled with each codec's defaults when the tree is bound to a type. `@name` stands for another
// column of the same table, `@"a name"` for one whose name has other signs than letters, digits, '_' and '.'.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/core/types.h"

namespace basalt {

// Limits of the format, which writers and readers keep: a reader's work for one tile grows with both, and what choosers
// find stays well below.
constexpr uint32_t kMaxTreeLevels = 8;
constexpr uint32_t kMaxTreeNodes = 64;

struct Tree {
  std::string codec;
  std::vector<Tree> children;

  bool operator==(const Tree&) const = default;
};

// Whether the node is `@name`: another column, by which a writer encodes this one (basalt/codec/codec.h, SourceColumn).
bool is_column_name(const Tree& node);
Tree column_named(const std::string& name);
std::string column_of(const Tree& node);  // its name
// All that a tree names, each once.
std::vector<std::string> columns_of(const Tree& tree);

std::string to_string(const Tree& tree);

// Throws Error(kInvalidArgument) that names the position and what was expected. Does not look codecs up.
Tree parse_tree(std::string_view text);

// Checks that every codec exists, takes its type and has the right children, and fills in missing ones; and that the
// whole is not larger than the format allows.
Tree bind_tree(const Tree& tree, Physical type);

}  // namespace basalt
