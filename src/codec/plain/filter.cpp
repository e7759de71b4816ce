// What a test of strings becomes over plain bytes: the automaton as it is.
#include "codec/device_names.h"
#include "codec/plain/plain.h"
#include "codec/strings/make_table.h"

namespace basalt {

namespace {

class BytesAlphabet final : public TextAlphabet {
 public:
  Buffer table(const Automaton& test) const override {
    Buffer out;
    strings::append_byte_table(out, test);
    return out;
  }
  uint64_t bytes() const override { return 0; }
};

}  // namespace

DeviceReader PlainCodec::device_filter(const NodeView& node) const { return device_filter_named("PlainFilter", node); }

std::shared_ptr<const TextAlphabet> PlainCodec::text_alphabet(const NodeView&) const {
  static const auto alphabet = std::make_shared<const BytesAlphabet>();  // one for all arrays
  return alphabet;
}

uint64_t PlainCodec::filter_table_bytes(const NodeView&, uint32_t states) const {
  return strings::table_bytes(states, strings::kByteSymbols);
}

}  // namespace basalt
