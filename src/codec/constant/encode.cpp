// One value for all rows. Refuses values that differ: the sample that the chooser saw may have missed them.
#include <cstring>

#include "basalt/core/error.h"
#include "codec/codecs.h"
#include "codec/constant/constant.h"
#include "codec/constant/layout.h"
#include "codec/device_names.h"

namespace basalt {

std::unique_ptr<Codec> make_constant() { return std::make_unique<ConstantCodec>(); }

bool ConstantCodec::accepts(Physical type, bool is_bytes) const {
  return is_bytes ? type == Physical::kBytes : width_of(type) != 0;
}

Node ConstantCodec::encode(const Values& values, const Tree&, Aims) const {
  if (!all_equal(values)) throw Error(ErrorCode::kUnsupported, "constant: the values are not all equal");
  Node node{this, values.type, values.count, {}, {}, {}};
  if (values.type == Physical::kBytes) {
    const std::string_view text = values.count == 0 ? std::string_view() : values.string(0);
    const auto* from = reinterpret_cast<const std::byte*>(text.data());
    node.params.assign(from, from + text.size());
    return node;
  }
  node.params.resize(constant::kParameterBytes);
  if (values.count > 0) std::memcpy(node.params.data(), values.data, width_of(values.type));
  return node;
}

std::optional<Estimate> ConstantCodec::estimate(const Sample& sample, ChildChooser&) const {
  // Equal values in a part prove nothing about the rest.
  if (sample.values.count < sample.total_rows || !all_equal(sample.values)) return std::nullopt;
  double bytes = constant::kParameterBytes;
  if (sample.values.type == Physical::kBytes && sample.values.count > 0) {
    bytes = static_cast<double>(sample.values.string(0).size());
  }
  return Estimate{bytes, {"constant", {}}};
}

DeviceReader ConstantCodec::device_reader(const NodeView& node) const {
  DeviceReader reader = device_reader_named("Constant", node);
  reader.direct = true;
  return reader;
}

}  // namespace basalt
