// Filtering strings on the device is their bytes' affair.
#include "codec/device_names.h"
#include "codec/strings/layout.h"
#include "codec/strings/strings.h"

namespace basalt {

DeviceReader StringsCodec::device_filter(const NodeView& node) const {
  const NodeView& bytes = node.children[strings::kBytes];
  return device_filter_named("StringsFilter", node,
                             {device_reader_of(node.children[strings::kLengths]), bytes.codec->device_filter(bytes)});
}

DeviceReader StringsCodec::device_codes(const NodeView& node) const {
  DeviceReader places;
  if (node.count <= strings::kFewTexts) places.type = device_type_of(node, "StringPlaces", "codes.cuh", {});
  return places;
}

std::shared_ptr<const TextAlphabet> StringsCodec::text_alphabet(const NodeView& node) const {
  const NodeView& bytes = node.children[strings::kBytes];
  return bytes.codec->text_alphabet(bytes);
}

uint64_t StringsCodec::filter_table_bytes(const NodeView& node, uint32_t states) const {
  const NodeView& bytes = node.children[strings::kBytes];
  return bytes.codec->filter_table_bytes(bytes, states);
}

}  // namespace basalt
