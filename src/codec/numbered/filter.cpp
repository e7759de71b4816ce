// What a test of strings becomes over digits: the automaton as it is, behind the text that all rows begin with.
#include <string>

#include "codec/device_names.h"
#include "codec/numbered/layout.h"
#include "codec/numbered/numbered.h"
#include "codec/strings/make_table.h"

namespace basalt {

namespace {

class NumberedAlphabet final : public TextAlphabet {
 public:
  explicit NumberedAlphabet(const NodeView& node)
      : text_(reinterpret_cast<const char*>(node.params.data()) + 1, node.params.size() - 1) {}
  Buffer table(const Automaton& test) const override {
    Buffer out;
    strings::append_byte_table(out, test).start = test.run(test.start(), text_);
    return out;
  }
  uint64_t bytes() const override { return text_.size(); }

 private:
  std::string text_;
};

// As an argument of device types.
DeviceType parameter_words(const NodeView& node) { return {std::to_string((node.params.size() + 7) / 8)}; }

}  // namespace

DeviceReader NumberedCodec::device_filter(const NodeView& node) const {
  DeviceReader words;
  words.type = parameter_words(node);
  return device_filter_named("NumberedFilter", node, {words, device_reader_of(node.children[numbered::kNumbers])});
}

DeviceReader NumberedCodec::device_codes(const NodeView& node) const {
  const NodeView& numbers = node.children[numbered::kNumbers];
  DeviceReader codes = numbers.codec->device_codes(numbers);
  if (!codes.empty())
    codes.type = device_type_of(node, "NumberedCodes", "codes.cuh", {parameter_words(node), codes.type});
  return codes;
}

std::shared_ptr<const TextAlphabet> NumberedCodec::text_alphabet(const NodeView& node) const {
  return std::make_shared<const NumberedAlphabet>(node);
}

uint64_t NumberedCodec::filter_table_bytes(const NodeView&, uint32_t states) const {
  return strings::table_bytes(states, strings::kByteSymbols);
}

}  // namespace basalt
