// A new codec needs one class and one line of registration: a codec that stores the complement of every byte, added
// from outside the library, becomes an ordinary member of trees.
#include <gtest/gtest.h>

#include <cstring>

#include "basalt/codec/codec.h"
#include "basalt/core/error.h"
#include "basalt/encoding/tree.h"
#include "codec/arrays.h"

namespace basalt {
namespace {

class ComplementCodec final : public Codec {
 public:
  std::string_view name() const override { return "complement"; }
  bool accepts(Physical type, bool is_bytes) const override { return !is_bytes && width_of(type) != 0; }

  Node encode(const Values& values, const Tree&, Aims) const override {
    Node node{this, values.type, values.count, {}, {}, {}};
    Buffer flipped(values.count * width_of(values.type));
    for (size_t i = 0; i < flipped.size(); ++i) flipped.data()[i] = ~values.as<std::byte>()[i];
    node.streams.push_back(std::move(flipped));
    return node;
  }
  void validate(const NodeView& node) const override {
    if (node.streams.size() != 1 || node.streams[0].size() != node.count * width_of(node.type)) {
      throw Error(ErrorCode::kCorrupt, "complement: wrong stream");
    }
  }
  std::unique_ptr<Reader> open(const NodeView& node) const override { return std::make_unique<Flip>(node); }
  std::optional<Estimate> estimate(const Sample&, ChildChooser&) const override { return std::nullopt; }

 private:
  class Flip final : public Reader {
   public:
    explicit Flip(const NodeView& node) : Reader(node.type, node.count), bytes_(node.streams[0]) {}
    void decode_tile(uint32_t tile, void* out) override {
      const size_t width = width_of(type());
      const size_t first = static_cast<size_t>(tile) * kTileRows * width;
      const size_t size = rows_in_tile(count(), tile) * width;
      for (size_t i = 0; i < size; ++i) static_cast<std::byte*>(out)[i] = ~bytes_[first + i];
    }
    using Reader::decode_tile;

   private:
    ByteView bytes_;
  };
};

TEST(Registration, OneClassAndOneLine) {
  register_codec(std::make_unique<ComplementCodec>());
  EXPECT_THROW(register_codec(std::make_unique<ComplementCodec>()), Error);

  const auto array = testing::make_array(Physical::kI32, 5000, testing::Pattern::kRuns, 2);
  const Tree tree = bind_tree(parse_tree("rle(complement, delta(complement))"), Physical::kI32);
  EXPECT_EQ(to_string(tree), "rle(complement, delta(complement))");
  const Node node = encode_tree(array.values, tree);
  validate_tree(view_of(node));
  const auto reader = open_reader(view_of(node));
  int32_t decoded[kTileRows];
  for (uint32_t tile = 0; tile < tile_count(5000); ++tile) {
    reader->decode_tile(tile, decoded);
    EXPECT_EQ(std::memcmp(decoded, array.values.as<int32_t>() + tile * kTileRows, rows_in_tile(5000, tile) * 4u), 0);
  }
}

}  // namespace
}  // namespace basalt
