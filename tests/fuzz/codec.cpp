// Fuzzes validate + decode of encoded arrays: the input picks a tree, a type and a count, then supplies parameters and
// streams. Trees need not fit their types. Whatever the bytes are: an Error, or rows that can be read in full.
#include <cstring>

#include "basalt/codec/codec.h"
#include "basalt/core/error.h"
#include "basalt/encoding/tree.h"
#include "support/untrusted.h"

namespace {

using basalt::Buffer;
using basalt::Codec;
using basalt::Node;
using basalt::Physical;

class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), left_(size) {}
  uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  uint32_t word() { return byte() | static_cast<uint32_t>(byte()) << 8 | static_cast<uint32_t>(byte()) << 16; }
  Buffer take(size_t size) {
    size = std::min(size, left_);
    Buffer out;
    out.append(data_, size);
    data_ += size;
    left_ -= size;
    return out;
  }
  bool empty() const { return left_ == 0; }

 private:
  const uint8_t* data_;
  size_t left_;
};

constexpr uint64_t kMaxCount = 8192;

Node read_node(Input& input, Physical type, bool is_bytes, int depth) {
  const auto codecs = basalt::all_codecs();
  const Codec* codec = codecs[input.byte() % codecs.size()];
  // One in eight codecs that do not fit stays: validation has to find it.
  const bool fits = codec->accepts(type, is_bytes);
  if (depth > 4 || (!fits && input.byte() % 8 != 0)) codec = basalt::find_codec("plain");
  Node node{codec, type, input.word() % kMaxCount, {}, {}, {}};
  node.params.resize(input.byte() % 20);
  for (std::byte& param : node.params) param = static_cast<std::byte>(input.byte());
  const int streams = input.byte() % 6;
  for (int i = 0; i < streams; ++i) node.streams.push_back(input.take(input.word() % 65536));
  if (!codec->accepts(type, is_bytes)) return node;
  for (const auto& slot : codec->children(type)) {
    node.children.push_back(read_node(input, slot.type, slot.is_bytes, depth + 1));
  }
  return node;
}

void read_all(const basalt::NodeView& view) {
  if (view.codec->holds_nulls()) {
    for (const basalt::NodeView& child : view.children) read_all(child);
    return;
  }
  if (view.type == Physical::kNone) return;
  const auto reader = basalt::open_reader(view);
  const std::vector<uint32_t> rows = {0, static_cast<uint32_t>(view.count / 2), static_cast<uint32_t>(view.count - 1)};
  if (view.type == Physical::kBytes) {
    basalt::StringRows out;
    for (uint32_t tile = 0; tile < basalt::tile_count(view.count); ++tile) reader->decode_tile(tile, out);
    if (out.size() != view.count) std::abort();
    if (view.count > 0) reader->gather(rows, out);
    return;
  }
  Buffer out(static_cast<size_t>(basalt::kTileRows) * basalt::width_of(view.type));
  for (uint32_t tile = 0; tile < basalt::tile_count(view.count); ++tile) reader->decode_tile(tile, out.data());
  if (view.count > 0) reader->gather(rows, out.data());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  const auto type = static_cast<Physical>(1 + input.byte() % 12);
  const Node node = read_node(input, type, false, 0);
  const basalt::NodeView view = basalt::view_of(node);
  basalt::test::refusing([&] {
    basalt::validate_tree(view);
    read_all(view);
  });
  return 0;
}
