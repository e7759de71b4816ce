// What a test of strings becomes over codes: the entries that pass.
#include <algorithm>

#include "codec/checks.h"
#include "codec/device_names.h"
#include "codec/dict/decoded_entries.h"
#include "codec/dict/dict.h"
#include "codec/dict/filter_table.h"
#include "codec/dict/layout.h"
#include "codec/strings/make_table.h"

namespace basalt {

namespace {

// At least one: the device looks there for codes that have no entry.
uint64_t bit_words(uint64_t entries) { return (entries + 31) / 32 + 1; }

class EntriesAlphabet final : public TextAlphabet {
 public:
  explicit EntriesAlphabet(const NodeView& node) {
    if (!dict::decode_entries(node.children[dict::kEntries], entries_)) {
      fail_corrupt(node, "its entries break the rules of their encoding");
    }
  }
  Buffer table(const Automaton& test) const override {
    const auto entries = static_cast<uint32_t>(entries_.size());
    std::vector<uint32_t> bits(bit_words(entries), 0);
    dict::CodeTableHead head{entries, 1, 1, 0};
    for (uint32_t i = 0; i < entries; ++i) {
      if (!test.matches(entries_.at(i))) continue;
      strings::set_bit(bits.data(), i);
      if (head.first > head.last) {
        head.first = i;
      } else if (head.last + 1 != i) {
        head.is_range = 0;
      }
      head.last = i;
    }
    Buffer out;
    out.push(head);
    out.append(bits.data(), bits.size() * sizeof(uint32_t));
    return out;
  }
  uint64_t bytes() const override { return entries_.bytes.size() + entries_.offsets.size() * sizeof(int64_t); }

 private:
  StringRows entries_;
};

}  // namespace

DeviceReader DictCodec::device_filter(const NodeView& node) const {
  const DeviceReader codes = device_reader_of(node.children[dict::kCodes]);
  DeviceReader filter = device_filter_named("DictFilter", node, {codes});
  filter.direct = codes.direct;
  return filter;
}

DeviceReader DictCodec::device_codes(const NodeView& node) const {
  const DeviceReader codes = device_reader_of(node.children[dict::kCodes]);
  DeviceReader reader = device_filter_named("DictCodes", node, {codes});
  if (!reader.empty()) reader.type = device_type_of(node, "DictCodes", "codes.cuh", {codes.type});
  reader.rows_in_shared = codes.rows_in_shared;
  reader.direct = codes.direct;
  return reader;
}

std::shared_ptr<const TextAlphabet> DictCodec::text_alphabet(const NodeView& node) const {
  if (node.type != Physical::kBytes) return nullptr;
  return std::make_shared<const EntriesAlphabet>(node);
}

uint64_t DictCodec::filter_table_bytes(const NodeView& node, uint32_t) const {
  return sizeof(dict::CodeTableHead) + bit_words(node.children[dict::kEntries].count) * sizeof(uint32_t);
}

}  // namespace basalt
