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

// Where counting begins, and the place of the first row, whose run may have begun before the chunk.
struct Start {
  uint64_t base;
  uint32_t first_place;
};

// The next run's first row has the base. With one run only, the first row has it.
template <typename T>
Start start_of(const T* values, const int64_t* source, uint64_t count) {
  if (count == 0) return {0, 0};
  uint64_t next = 1;
  while (next < count && source[next] == source[0]) ++next;
  if (next >= count) next = 0;
  const uint64_t above = static_cast<uint64_t>(values[0]) - static_cast<uint64_t>(values[next]);
  const bool is_place = above <= UINT32_MAX - count;
  return {static_cast<uint64_t>(static_cast<std::make_unsigned_t<T>>(values[next])),
          is_place ? static_cast<uint32_t>(above) : 0};
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
      const Start start = start_of(values.as<T>(), source.as<int64_t>(), values.count);
      node.params.resize(place::kParameterBytes);
      std::memcpy(node.params.data(), &start.base, sizeof(start.base));
      node.streams.push_back(checkpoints_of(source.as<int64_t>(), values.count, start.first_place));
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
