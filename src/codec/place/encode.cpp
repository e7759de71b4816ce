// The places of a source's rows; where a chunk begins inside a run, the values say how far.
#include <algorithm>
#include <cstring>

#include "basalt/core/error.h"
#include "codec/child_values.h"
#include "codec/codecs.h"
#include "codec/device_names.h"
#include "codec/integer_types.h"
#include "codec/place/layout.h"
#include "codec/place/place.h"
#include "core/dispatch.h"

namespace basalt {

std::unique_ptr<Codec> make_place() { return std::make_unique<PlaceCodec>(); }

bool PlaceCodec::accepts(Physical type, bool is_bytes) const { return !is_bytes && fits_word(type); }

std::vector<ChildSlot> PlaceCodec::children(Physical) const { return {{"source", Physical::kI64}}; }

namespace {

// The first row's place is no other row's business: it is what the value is above that of the next run's first row. 0
// if there is one run only, or that is no place.
template <typename T>
uint32_t first_place(const T* values, const int64_t* source, uint64_t count) {
  uint64_t next = 1;
  while (next < count && source[next] == source[0]) ++next;
  if (next >= count) return 0;
  const uint64_t above = static_cast<uint64_t>(values[0]) - static_cast<uint64_t>(values[next]);
  return above <= UINT32_MAX - count ? static_cast<uint32_t>(above) : 0;
}

Buffer checkpoints_of(const int64_t* source, uint64_t count, uint32_t first) {
  Buffer checkpoints;
  uint32_t at = first;
  for (uint64_t i = 0; i < count; ++i) {
    if (i > 0) at = source[i] == source[i - 1] ? at + 1 : 0;
    if (i % kTileRows == 0) checkpoints.push(at);
  }
  return checkpoints;
}

}  // namespace

// Without another column, the values are their own source.
Node PlaceCodec::encode(const Values& values, const Tree& tree, Aims aims) const {
  Node node{this, values.type, values.count, {}, {}, {}};
  const Tree& source_tree = tree.children[place::kSource];
  const Buffer own = is_column_name(source_tree) ? Buffer() : widened(values);  // which is encoded without values
  Values numbers = values;
  numbers.type = Physical::kI64;
  numbers.data = own.data();
  numbers.may_miss = !columns_of(source_tree).empty();
  node.children.push_back(encode_tree(numbers, source_tree, aims));
  const Buffer source = decoded_values(view_of(node.children[place::kSource]));
  dispatch_typed(values.type, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_integral_v<T> && sizeof(T) <= 8) {
      const uint32_t first = first_place(values.as<T>(), source.as<int64_t>(), values.count);
      node.streams.push_back(checkpoints_of(source.as<int64_t>(), values.count, first));
    }
  });
  if (!values.may_miss) {
    const Buffer decoded = decoded_values(view_of(node));
    if (values.count > 0 && std::memcmp(decoded.data(), values.data, values.count * width_of(values.type)) != 0) {
      throw Error(ErrorCode::kUnsupported, "place: the values are no places in runs");
    }
  }
  return node;
}

std::optional<Estimate> PlaceCodec::estimate(const Sample&, ChildChooser&) const { return std::nullopt; }

DeviceReader PlaceCodec::device_reader(const NodeView& node) const {
  const DeviceReader source = device_reader_of(node.children[place::kSource]);
  DeviceReader reader = device_reader_named("Place", node, {source});
  reader.scratch_bytes = place::scratch_bytes(source.scratch_bytes);
  reader.long_code = true;
  reader.most_instructions = std::max(reader.most_instructions, 2500u);  // of a source that is runs of sums
  return reader;
}

}  // namespace basalt
