// Named trees; see the header.
#include "codec/trees.h"

namespace basalt {

Tree packed_tree() { return {"packed", {}}; }

Tree plain_tree(Physical type) {
  const Tree plain{"plain", {}};
  return type == Physical::kBytes ? Tree{"strings", {packed_tree(), plain}} : plain;
}

// `packed` holds no range of more than 64 bits.
Tree default_tree(Physical type) {
  const bool narrow = is_integer(type) && type != Physical::kI128;
  return narrow ? packed_tree() : plain_tree(type);
}

Tree constant_tree(Physical type) {
  const Tree constant{"constant", {}};
  return type == Physical::kBytes ? Tree{"strings", {constant, constant}} : constant;
}

Tree ascending_tree() { return {"delta", {packed_tree()}}; }
Tree packed_decimals_tree() { return {"galp", {packed_tree()}}; }

const Codec& null_codec() { return get_codec("validity"); }
Tree with_nulls(Tree flags, Tree values) { return {"validity", {std::move(flags), std::move(values)}}; }
Tree with_nulls(Tree flags) { return {"validity", {std::move(flags)}}; }

std::vector<Tree> simplest_trees(Physical type) {
  const std::vector<Tree> simplest = {
      packed_tree(), ascending_tree(), {"rle", {packed_tree(), packed_tree()}}, {"l3", {}}};
  if (is_integer(type) && get_codec("l3").accepts(type, false)) return simplest;
  if (is_integer(type)) return {simplest.begin(), simplest.end() - 1};
  std::vector<Tree> trees;
  for (const Codec* codec : all_codecs()) {
    if (!codec->accepts(type, false)) continue;
    const std::vector<ChildSlot> slots = codec->children(type);
    if (slots.size() != 1 || !is_integer(slots[0].type)) continue;
    for (const Tree& tree : simplest) trees.push_back({std::string(codec->name()), {tree}});
    for (const Tree& leaf : {simplest.front(), simplest.back()}) {
      trees.push_back({"rle", {{std::string(codec->name()), {leaf}}, {"delta", {leaf}}}});
    }
  }
  return trees;
}

}  // namespace basalt
