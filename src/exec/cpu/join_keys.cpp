#include "exec/cpu/join_keys.h"

#include "basalt/exec/expressions.h"
#include "exec/cpu/key_words.h"

namespace basalt::exec {

KeyLayout layout_of(const std::vector<JoinKey>& keys) {
  KeyLayout layout;
  for (const JoinKey& key : keys) layout.add(column_reference(0, key.build.type), {nullptr}, key.nulls_equal);
  return layout;
}

JoinKeys::JoinKeys(const std::vector<JoinKey>& keys, const KeyLayout& layout, Side side)
    : keys_(keys), layout_(layout), side_(side) {}

void JoinKeys::open(const StatisticsList& stats) {
  steps_.clear();
  for (const JoinKey& key : keys_) steps_.push_back(prepare(side_ == Side::kProbe ? key.probe : key.build, stats));
}

void JoinKeys::put_texts(size_t key, const Vector& vector, const NumberText& number) {
  const KeyPart& part = layout_.parts()[key];
  const State unknown = keys_[key].nulls_equal ? kUnknownPeerText : kUnknownText;
  const auto* texts = vector.as<std::string_view>();
  size_t at = 0;
  put_codes(part, vector.valid, rows_.data(), static_cast<uint32_t>(rows_.size()), words_.data(), layout_.words(),
            [&](uint32_t row) {
              while (rows_[at] != row) ++at;
              const std::optional<uint32_t> known = number(texts[row]);
              if (!known) states_[at] |= unknown;
              return uint64_t{known.value_or(0)};
            });
}

void JoinKeys::read(TileInput& input, const NumberText& number) {
  rows_.clear();
  const uint8_t* live = input.live();
  for (uint32_t i = 0; i < input.rows(); ++i) {
    if (live == nullptr || live[i] != 0) rows_.push_back(static_cast<uint16_t>(i));
  }
  const auto count = static_cast<uint32_t>(rows_.size());
  states_.assign(count, 0);
  words_.assign(size_t{count} * layout_.words(), 0);
  for (size_t i = 0; i < keys_.size(); ++i) {
    const KeyPart& part = layout_.parts()[i];
    const Vector vector = evaluate(steps_[i], input);
    if (part.kind == KeyKind::kText) {
      put_texts(i, vector, number);
    } else if (part.kind == KeyKind::kFloat) {
      put_floats(part, vector, rows_.data(), count, words_.data(), layout_.words());
    } else {
      put_integers(part, vector, rows_.data(), count, words_.data(), layout_.words());
    }
    if (keys_[i].nulls_equal || vector.valid == nullptr) continue;
    for (uint32_t row = 0; row < count; ++row) {
      if (vector.valid[rows_[row]] == 0) states_[row] |= kNull;
    }
  }
}

}  // namespace basalt::exec
