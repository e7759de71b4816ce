// Printing, parsing and binding of encoding trees.
#include "basalt/encoding/tree.h"

#include "basalt/codec/codec.h"
#include "basalt/core/error.h"

namespace basalt {

std::string to_string(const Tree& tree) {
  std::string text = tree.codec;
  if (tree.children.empty()) return text;
  text += "(";
  for (size_t i = 0; i < tree.children.size(); ++i) {
    if (i > 0) text += ", ";
    text += to_string(tree.children[i]);
  }
  return text + ")";
}

namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Tree parse() {
    Tree tree = node(1);
    skip_spaces();
    if (at_ != text_.size()) fail("the end");
    return tree;
  }

 private:
  [[noreturn]] void fail(const std::string& expected) const {
    throw Error(ErrorCode::kInvalidArgument, "encoding \"" + std::string(text_) + "\": expected " + expected +
                                                 " at position " + std::to_string(at_ + 1));
  }
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool take(char symbol) {
    skip_spaces();
    if (at_ >= text_.size() || text_[at_] != symbol) return false;
    ++at_;
    return true;
  }
  std::string name() {
    skip_spaces();
    const size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) ++at_;
    if (at_ == begin) fail("a codec's name");
    return std::string(text_.substr(begin, at_ - begin));
  }
  Tree node(uint32_t level) {
    if (level > kMaxTreeLevels) fail("at most " + std::to_string(kMaxTreeLevels) + " levels");
    Tree tree{name(), {}};
    if (!take('(')) return tree;
    do {
      tree.children.push_back(node(level + 1));
    } while (take(','));
    if (!take(')')) fail("\")\" or \",\"");
    return tree;
  }

  std::string_view text_;
  size_t at_ = 0;
};

Tree bind_node(const Tree& tree, Physical type, TreePlace place, uint32_t level, uint32_t& nodes) {
  const Codec& codec = get_codec(tree.codec);
  if (level > kMaxTreeLevels || ++nodes > kMaxTreeNodes) {
    throw Error(ErrorCode::kInvalidArgument, "an encoding has at most " + std::to_string(kMaxTreeLevels) +
                                                 " levels and " + std::to_string(kMaxTreeNodes) + " nodes");
  }
  if (!may_hold(codec, type, place)) {
    const bool is_bytes = place == TreePlace::kBytes;
    throw Error(ErrorCode::kInvalidArgument, tree.codec + " cannot hold " +
                                                 (is_bytes ? "the bytes of strings" : words_for(type)) +
                                                 (place == TreePlace::kColumn ? "" : " at this place of a tree"));
  }
  const auto slots = codec.children(type);
  if (tree.children.size() > slots.size()) {
    throw Error(ErrorCode::kInvalidArgument, tree.codec + " takes " + std::to_string(slots.size()) + " children, not " +
                                                 std::to_string(tree.children.size()));
  }
  Tree bound{tree.codec, {}};
  for (size_t i = 0; i < slots.size(); ++i) {
    const Tree child = i < tree.children.size() ? tree.children[i] : codec.default_child(type, i);
    bound.children.push_back(bind_node(child, slots[i].type, place_of(slots[i]), level + 1, nodes));
    if (slots[i].point_access && !get_codec(child.codec).point_access()) {
      throw Error(ErrorCode::kInvalidArgument, tree.codec + "'s " + std::string(slots[i].name) +
                                                   " must allow access to single rows, " + child.codec + " does not");
    }
  }
  return bound;
}

}  // namespace

Tree parse_tree(std::string_view text) { return Parser(text).parse(); }

Tree bind_tree(const Tree& tree, Physical type) {
  uint32_t nodes = 0;
  return bind_node(tree, type, TreePlace::kColumn, 1, nodes);
}

}  // namespace basalt
