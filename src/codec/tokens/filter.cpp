// What a test of strings becomes over the ids of `tokens`.
#include "codec/checks.h"
#include "codec/device_names.h"
#include "codec/strings/make_table.h"
#include "codec/tokens/decoded_entries.h"
#include "codec/tokens/layout.h"
#include "codec/tokens/tokens.h"

namespace basalt {

namespace {

class TokensAlphabet final : public TextAlphabet {
 public:
  explicit TokensAlphabet(const NodeView& node) {
    if (!tokens::decode_entries(node.children[tokens::kEntries], entries_)) {
      fail_corrupt(node, "its entries break the rules of their encoding");
    }
  }
  Buffer table(const Automaton& test) const override {
    Buffer out;
    strings::append_symbol_table(out, test, static_cast<uint32_t>(entries_.size()),
                                 [&](uint32_t id) { return entries_.at(id); });
    return out;
  }
  uint64_t bytes() const override { return entries_.bytes.size() + entries_.offsets.size() * sizeof(int64_t); }

 private:
  StringRows entries_;
};

}  // namespace

DeviceReader TokensCodec::device_filter(const NodeView& node) const {
  const NodeView& ids = node.children[tokens::kIds];
  DeviceReader none;
  if (!ids.codec->point_access()) {
    none.reason = "ids of tokens that are encoded as " + std::string(ids.codec->name()) + " are not read one by one";
    return none;
  }
  if (ids.count > UINT32_MAX) {
    none.reason = "a chunk has more than 2^32 ids of tokens";
    return none;
  }
  DeviceReader of_ids = device_reader_of(ids);
  if (of_ids.scratch_bytes > 0) of_ids = {};
  return device_filter_named("TokensFilter", node, {of_ids, device_reader_of(node.children[tokens::kCounts])});
}

std::shared_ptr<const TextAlphabet> TokensCodec::text_alphabet(const NodeView& node) const {
  return std::make_shared<const TokensAlphabet>(node);
}

uint64_t TokensCodec::filter_table_bytes(const NodeView& node, uint32_t states) const {
  return strings::table_bytes(states, node.children[tokens::kEntries].count);
}

}  // namespace basalt
