// Choosing among trees that name other columns; see the header.
#include "file/related_trees.h"

#include <algorithm>

#include "basalt/core/error.h"
#include "codec/trees.h"
#include "encoding/related_columns.h"

namespace basalt::format_v1 {

namespace {

// What another column has to save: whoever reads this one alone reads that one, too.
constexpr double kMostOfOwn = 7.0 / 8;
constexpr uint64_t kLeastSaved = 1024;

bool pays(uint64_t bytes, uint64_t own_bytes) {
  return static_cast<double>(bytes) <= static_cast<double>(own_bytes) * kMostOfOwn && bytes + kLeastSaved <= own_bytes;
}

// Codes of strings are other ones in every chunk.
bool may_share_entries(const Tree& tree) {
  const Codec* codec = find_codec(tree.codec);
  if (codec == nullptr || codec->holds_entries()) return false;
  return codec->shared_child() || std::any_of(tree.children.begin(), tree.children.end(), may_share_entries);
}

uint64_t shared_bytes(const Node& node) {
  if (node.codec->source_field(node.params)) return 0;
  if (const std::optional<size_t> child = node.codec->shared_child()) return node.children[*child].encoded_bytes();
  uint64_t bytes = 0;
  for (const Node& child : node.children) bytes += shared_bytes(child);
  return bytes;
}

}  // namespace

std::optional<Tree> RelatedTrees::choose(const Values& values, const std::function<uint64_t()>& own_bytes) {
  if (values.sources == nullptr) return std::nullopt;
  if (!settled_ && !forced_) settle(values, own_bytes());
  settled_ = true;
  if (proposed_.empty() || (entries_ && !learn(values))) return std::nullopt;
  const Tree& proposed = proposed_[0];
  // A source that has many levels itself may leave no room for a residual.
  std::optional<Tree> tree = fitting(proposed, values);
  if (!tree && !forced_) tree = fitting(without_residual(proposed), values);
  return tree;
}

// With the sources' trees of this chunk; nullopt: too deep for the format, or one shape too many.
std::optional<Tree> RelatedTrees::fitting(const Tree& proposed, const Values& values) {
  const Tree tree = values.validity == nullptr ? proposed : with_nulls(packed_tree(), proposed);
  try {
    // A source may have another tree in every chunk.
    const Tree whole = bind_tree(with_sources(tree, *values.sources), values.type);
    if (std::find(shapes_.begin(), shapes_.end(), whole) == shapes_.end()) {
      if (shapes_.size() == kMostRelatedShapes) return std::nullopt;
      shapes_.push_back(whole);
    }
    return bind_tree(tree, values.type);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalidArgument) throw;
    return std::nullopt;
  }
}

std::optional<Node> RelatedTrees::encode(const Values& values, const Tree& tree, uint64_t own_bytes) const {
  Values with_entries = values;
  with_entries.entries = entries_.get();
  std::optional<Node> node = encode(with_entries, tree);
  if (!node || forced_) return node;
  const uint64_t bytes = basalt::own_bytes(*node) - (entries_ ? shared_bytes(*node) : 0);
  if (!pays(bytes, own_bytes)) node.reset();
  return node;
}

bool RelatedTrees::shares(const Tree& tree) const { return !one_chunk_ && may_share_entries(tree); }

// Whether all sources have entries then.
bool RelatedTrees::learn(const Values& values) const {
  Values teaching = values;
  teaching.validity = nullptr;
  teaching.may_miss = true;
  teaching.entries = entries_.get();
  teaching.only_learns = true;
  const Tree bound = bind_tree(proposed_[0], values.type);
  return encode(teaching, bound.children.back()).has_value();
}

std::optional<Node> RelatedTrees::encode(const Values& values, const Tree& tree) const {
  try {
    return encode_tree(values, tree, {effort_, purpose_});
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnsupported) throw;
    return std::nullopt;
  }
}

void RelatedTrees::settle(const Values& values, uint64_t own_bytes) {
  Values dense = values;
  dense.validity = nullptr;
  std::optional<Tree> best;
  uint64_t best_bytes = own_bytes;
  for (Tree& tree : proposed_) {
    Tree bound = bind_tree(tree, values.type);
    std::optional<Node> node = encode(dense, bound);
    if (!node) continue;
    if (Tree* residual = residual_of(bound)) {
      *residual = choose_tree(plain_residual_of(*node), effort_, purpose_);
      node = encode(dense, bound);
      if (!node) continue;
    }
    // Further chunks need no further entries.
    const double later = shares(bound) ? (1 - kEntriesShare) * static_cast<double>(shared_bytes(*node)) : 0;
    const uint64_t bytes = basalt::own_bytes(*node) - static_cast<uint64_t>(later);
    if (!pays(bytes, own_bytes) || bytes >= best_bytes) continue;
    best = std::move(bound);
    best_bytes = bytes;
  }
  proposed_.clear();
  if (!best) return;
  if (shares(*best)) entries_ = std::make_shared<SharedEntries>(true);
  proposed_.push_back(std::move(*best));
}

}  // namespace basalt::format_v1
