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
};

}  // namespace

DeviceReader PlainCodec::device_tester(const NodeView&) const { return device_tester_named("PlainTest", {}); }

std::unique_ptr<TextAlphabet> PlainCodec::text_alphabet(const NodeView&) const {
  return std::make_unique<BytesAlphabet>();
}

}  // namespace basalt
