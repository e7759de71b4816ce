// Trees of any codecs that may stand at their places, as deep as wanted, over arrays of every pattern.
#pragma once

#include <random>
#include <string>

#include "basalt/core/error.h"
#include "codec/arrays.h"

namespace basalt::testing {

// Its deepest branch has `levels` levels where codecs that have children allow that.
inline Tree random_tree(std::mt19937_64& random, const ChildSlot& slot, uint32_t levels) {
  std::vector<const Codec*> leaves, inner;
  for (const Codec* codec : all_codecs()) {
    if (!may_hold(*codec, slot.type, place_of(slot)) || (slot.point_access && !codec->point_access())) continue;
    if (codec->name() == "constant" || codec->name().starts_with("column_")) continue;  // which hold few arrays
    (codec->children(slot.type).empty() ? leaves : inner).push_back(codec);
  }
  const bool deeper = levels > 1 && !inner.empty();
  const auto& choices = deeper || leaves.empty() ? inner : leaves;
  const Codec& codec = *choices[random() % choices.size()];
  Tree tree{std::string(codec.name()), {}};
  const std::vector<ChildSlot> slots = codec.children(slot.type);
  const size_t deepest = slots.empty() ? 0 : random() % slots.size();
  for (size_t i = 0; i < slots.size(); ++i) {
    const auto most = levels > 1 ? levels - 1 : 1;
    tree.children.push_back(random_tree(random, slots[i], i == deepest ? most : 1 + random() % std::min(2u, most)));
  }
  return tree;
}

struct RandomNode {
  Array array;
  Tree tree;
  Node node;
};

// Calls body(RandomNode) for so many arrays that their random trees hold; gives how many trees were refused by values.
template <typename Body>
uint32_t for_random_trees(uint64_t seed, uint32_t count, uint32_t most_levels, uint64_t most_rows, Body&& body) {
  std::mt19937_64 random(seed);
  constexpr Physical kTypes[] = {Physical::kU8,   Physical::kI16, Physical::kI32, Physical::kU64,
                                 Physical::kI128, Physical::kF32, Physical::kF64, Physical::kBytes};
  uint32_t refused = 0;
  for (uint32_t held = 0; held < count;) {
    RandomNode one;
    const Physical type = kTypes[random() % std::size(kTypes)];
    const auto levels = static_cast<uint32_t>(1 + random() % most_levels);
    one.array = make_array(type, 1 + random() % most_rows, kAllPatterns[random() % std::size(kAllPatterns)], random());
    try {
      one.tree = bind_tree(random_tree(random, {"column", type}, levels), type);
      one.node = encode_tree(one.array.values, one.tree);
    } catch (const Error& error) {
      // Values that the tree cannot hold, or more nodes than a tree may have.
      if (error.code() != ErrorCode::kUnsupported && error.code() != ErrorCode::kInvalidArgument) throw;
      ++refused;
      continue;
    }
    ++held;
    body(one);
  }
  return refused;
}

inline uint32_t levels_of(const Tree& tree) {
  uint32_t levels = 0;
  for (const Tree& child : tree.children) levels = std::max(levels, levels_of(child));
  return levels + 1;
}

}  // namespace basalt::testing
