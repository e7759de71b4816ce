// Printing, parsing and binding of encoding trees.
#include "basalt/encoding/tree.h"

#include <algorithm>
#include <cctype>

#include "basalt/codec/codec.h"
#include "basalt/core/error.h"

namespace basalt {

namespace {

bool is_name_sign(char sign) { return std::isalnum(static_cast<unsigned char>(sign)) || sign == '_'; }
bool is_plain_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return is_name_sign(c) || c == '.'; });
}

}  // namespace

bool is_column_name(const Tree& node) { return node.codec.starts_with('@'); }
Tree column_named(const std::string& name) { return {"@" + name, {}}; }
std::string column_of(const Tree& node) { return node.codec.substr(1); }

std::vector<std::string> columns_of(const Tree& tree) {
  std::vector<std::string> names;
  if (is_column_name(tree)) names.push_back(column_of(tree));
  for (const Tree& child : tree.children) {
    for (std::string& name : columns_of(child)) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
    }
  }
  return names;
}

std::string to_string(const Tree& tree) {
  std::string text = tree.codec;
  if (is_column_name(tree) && !is_plain_name(column_of(tree))) {
    text = "@\"";
    for (const char sign : column_of(tree)) text += sign == '"' ? std::string("\"\"") : std::string(1, sign);
    text += '"';
  }
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
    while (at_ < text_.size() && is_name_sign(text_[at_])) ++at_;
    if (at_ == begin) fail("a codec's name");
    return std::string(text_.substr(begin, at_ - begin));
  }
  // Behind '@'.
  std::string column() {
    std::string name;
    if (at_ < text_.size() && text_[at_] == '"') {
      for (++at_; at_ < text_.size(); ++at_) {
        // Two of them are one that belongs to the name.
        if (text_[at_] == '"' && (++at_ == text_.size() || text_[at_] != '"')) return name;
        name += text_[at_];
      }
      fail("'\"'");
    }
    while (at_ < text_.size() && (is_name_sign(text_[at_]) || text_[at_] == '.')) name += text_[at_++];
    if (name.empty()) fail("a column's name");
    return name;
  }
  Tree node(uint32_t level) {
    if (level > kMaxTreeLevels) fail("at most " + std::to_string(kMaxTreeLevels) + " levels");
    if (take('@')) return column_named(column());
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

[[noreturn]] void refuse(const std::string& what, const std::string& path) {
  throw Error(ErrorCode::kInvalidArgument, what + (path.empty() ? "" : " (" + path + ")"));
}

// `path`: codecs and their children from the top to this node, for messages; empty at the top.
Tree bind_node(const Tree& tree, Physical type, TreePlace place, const std::string& path, uint32_t level,
               uint32_t& nodes) {
  if (is_column_name(tree)) {
    if (place == TreePlace::kInner && is_integer(type) && type != Physical::kI128) return tree;
    refuse(to_string(tree) + " cannot stand for " + words_for(type) + " here", path);
  }
  const Codec& codec = get_codec(tree.codec);
  if (level > kMaxTreeLevels || ++nodes > kMaxTreeNodes) {
    throw Error(ErrorCode::kInvalidArgument, "an encoding has at most " + std::to_string(kMaxTreeLevels) +
                                                 " levels and " + std::to_string(kMaxTreeNodes) + " nodes");
  }
  if (!may_hold(codec, type, place)) {
    const bool is_bytes = place == TreePlace::kBytes;
    refuse(tree.codec + " cannot hold " + (is_bytes ? "the bytes of strings" : words_for(type)) +
               (place == TreePlace::kColumn ? "" : " at this place of a tree"),
           path);
  }
  const auto slots = codec.children(type);
  if (tree.children.size() > slots.size()) {
    refuse(tree.codec + " takes " + std::to_string(slots.size()) + " children, not " +
               std::to_string(tree.children.size()),
           path);
  }
  Tree bound{tree.codec, {}};
  for (size_t i = 0; i < slots.size(); ++i) {
    const Tree child = i < tree.children.size() ? tree.children[i] : codec.default_child(type, i);
    const std::string name(slots[i].name);
    if (slots[i].point_access && (is_column_name(child) || !get_codec(child.codec).point_access())) {
      refuse(tree.codec + "'s " + name + " must allow access to single rows, " + child.codec + " does not", path);
    }
    const std::string below = (path.empty() ? "" : path + ", ") + tree.codec + "'s " + name;
    bound.children.push_back(bind_node(child, slots[i].type, place_of(slots[i]), below, level + 1, nodes));
  }
  return bound;
}

}  // namespace

Tree parse_tree(std::string_view text) { return Parser(text).parse(); }

Tree bind_tree(const Tree& tree, Physical type) {
  uint32_t nodes = 0;
  return bind_node(tree, type, TreePlace::kColumn, {}, 1, nodes);
}

}  // namespace basalt
