// The keys of one side of a join as words: equal words are equal keys. Both sides use one layout, which knows nothing
// of their values but the types.
#pragma once

#include <functional>
#include <vector>

#include "exec/evaluate.h"
#include "exec/group_keys.h"

namespace basalt::exec {

// Of the keys in their order; those that NULL cannot match have no code for it.
KeyLayout layout_of(const std::vector<JoinKey>& keys);

class JoinKeys {
 public:
  enum class Side : uint8_t { kProbe, kBuild };
  // The number of a text; nothing: no other row has it.
  using NumberText = std::function<std::optional<uint32_t>(std::string_view)>;

  // Both must outlive this object.
  JoinKeys(const std::vector<JoinKey>& keys, const KeyLayout& layout, Side side);

  void open(const StatisticsList& stats);
  // For each live row of the input its words.
  void read(TileInput& input, const NumberText& number);

  const std::vector<uint16_t>& rows() const { return rows_; }
  const uint64_t* words(size_t row) const { return words_.data() + row * layout_.words(); }
  // Whether a key is NULL that matches nothing then.
  bool is_null(size_t row) const { return (states_[row] & kNull) != 0; }
  bool can_match(size_t row) const { return states_[row] == 0; }
  // Whether other rows may be equal in the keys where NULL equals NULL.
  bool can_have_peers(size_t row) const { return (states_[row] & kUnknownPeerText) == 0; }

 private:
  // Why the words of a row stand for no key of the other side. An unknown text has the code of some other text.
  enum State : uint8_t { kNull = 1, kUnknownText = 2, kUnknownPeerText = 4 };

  void put_texts(size_t key, const Vector& vector, const NumberText& number);

  const std::vector<JoinKey>& keys_;
  const KeyLayout& layout_;
  Side side_;
  std::vector<Step> steps_;
  std::vector<uint16_t> rows_;
  std::vector<uint64_t> words_;
  std::vector<uint8_t> states_;  // bits of State
};

}  // namespace basalt::exec
