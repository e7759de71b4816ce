// What a test of strings becomes where all are the same: its answer.
#include <string>

#include "codec/constant/constant.h"
#include "codec/device_names.h"
#include "codec/strings/make_table.h"

namespace basalt {

namespace {

class ConstantAlphabet final : public TextAlphabet {
 public:
  explicit ConstantAlphabet(ByteView text) : text_(reinterpret_cast<const char*>(text.data()), text.size()) {}
  Buffer table(const Automaton& test) const override {
    Buffer out;
    strings::FilterTableHead& head = strings::append_table(out, 0, 0, [](uint8_t*) {});
    if (test.matches(text_)) strings::set_bit(head.accepts, head.start);
    return out;
  }
  uint64_t bytes() const override { return text_.size(); }

 private:
  std::string text_;
};

}  // namespace

DeviceReader ConstantCodec::device_filter(const NodeView& node) const {
  return device_filter_named("ConstantFilter", node);
}

std::shared_ptr<const TextAlphabet> ConstantCodec::text_alphabet(const NodeView& node) const {
  return std::make_shared<const ConstantAlphabet>(node.params);
}

uint64_t ConstantCodec::filter_table_bytes(const NodeView&, uint32_t) const { return strings::table_bytes(0, 0); }

}  // namespace basalt
