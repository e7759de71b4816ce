// Tests of strings on the device are their bytes' affair.
#include "codec/device_names.h"
#include "codec/strings/layout.h"
#include "codec/strings/strings.h"

namespace basalt {

DeviceReader StringsCodec::device_tester(const NodeView& node) const {
  const NodeView& bytes = node.children[strings::kBytes];
  return device_tester_named("StringsTest",
                             {device_reader_of(node.children[strings::kLengths]), bytes.codec->device_tester(bytes)});
}

std::unique_ptr<TextAlphabet> StringsCodec::text_alphabet(const NodeView& node) const {
  const NodeView& bytes = node.children[strings::kBytes];
  return bytes.codec->text_alphabet(bytes);
}

}  // namespace basalt
