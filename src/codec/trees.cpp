// Named trees; see the header.
#include "codec/trees.h"

#include "codec/plain/layout.h"
#include "codec/sum/layout.h"

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

Tree difference_tree(Tree source) { return {"sum", {plain_tree(Physical::kI64), std::move(source)}}; }
Tree function_tree(Tree source) { return {"map", {std::move(source), packed_tree()}}; }
Tree product_tree(Tree factor, Tree source) { return {"product", {std::move(factor), std::move(source)}}; }
Tree sum_tree(Tree one, Tree other) { return {"sum", {std::move(one), std::move(other)}}; }
Tree place_tree(Tree source) { return {"place", {std::move(source)}}; }
Tree dictionary_tree(Tree codes, Physical type) {
  return {"dict", {std::move(codes), type == Physical::kBytes ? plain_tree(type) : default_tree(type)}};
}

Tree* residual_of(Tree& tree) {
  if (tree.codec == "sum") return &tree.children[sum::kResidual];
  for (Tree& child : tree.children) {
    if (Tree* residual = residual_of(child)) return residual;
  }
  return nullptr;
}

Tree without_residual(const Tree& tree) {
  if (tree.codec == "sum") return tree.children[sum::kSource];
  Tree out = tree;
  for (Tree& child : out.children) child = without_residual(child);
  return out;
}

Values plain_residual_of(const Node& node) {
  const Node* at = &node;
  while (at->codec->name() != "sum") at = &at->children.at(0);
  const Node& residual = at->children[sum::kResidual];
  Values values;
  values.type = residual.type;
  values.count = residual.count;
  values.data = residual.streams.at(plain::kValues).data();
  return values;
}

Tree named_tree_of(const NodeView& node, const std::vector<SourceColumn>& sources) {
  if (const std::optional<uint32_t> field = node.codec->source_field(node.params)) {
    for (const SourceColumn& source : sources) {
      if (source.field_id == *field) return column_named(source.name);
    }
  }
  Tree tree{std::string(node.codec->name()), {}};
  for (const NodeView& child : node.children) tree.children.push_back(named_tree_of(child, sources));
  return tree;
}

Tree with_sources(const Tree& tree, const std::vector<SourceColumn>& sources) {
  if (is_column_name(tree)) {
    for (const SourceColumn& source : sources) {
      if (source.name != column_of(tree)) continue;
      return {std::string("column_") + to_string(source.array.type), {tree_of(source.array)}};
    }
    return tree;
  }
  Tree out{tree.codec, {}};
  for (const Tree& child : tree.children) out.children.push_back(with_sources(child, sources));
  return out;
}

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
