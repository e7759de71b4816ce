// That reading an array in order decodes no tile of a child again and again: work grows with the levels of a tree, not
// with a power of them. A codec that counts stands in every child's place.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "basalt/codec/codec.h"
#include "basalt/core/error.h"
#include "basalt/encoding/tree.h"
#include "codec/child_values.h"

namespace basalt {
namespace {

std::map<uint32_t, uint32_t> decoded_tiles;  // tile of a counted array → how often

class CountedCodec final : public Codec {
 public:
  std::string_view name() const override { return "counted"; }
  bool accepts(Physical type, bool is_bytes) const override { return !is_bytes && width_of(type) != 0; }
  bool point_access() const override { return true; }
  Node encode(const Values& values, const Tree&, Aims) const override {
    Node node{this, values.type, values.count, {}, {}, {}};
    node.streams.resize(1);
    node.streams[0].append(values.data, values.count * width_of(values.type));
    return node;
  }
  void validate(const NodeView& node) const override {
    if (node.streams.size() != 1 || node.streams[0].size() != node.count * width_of(node.type)) {
      throw Error(ErrorCode::kCorrupt, "counted: wrong stream");
    }
  }
  std::unique_ptr<Reader> open(const NodeView& node) const override { return std::make_unique<Counter>(node); }
  std::optional<Estimate> estimate(const Sample&, ChildChooser&) const override { return std::nullopt; }

 private:
  class Counter final : public Reader {
   public:
    explicit Counter(const NodeView& node) : Reader(node.type, node.count), bytes_(node.streams[0]) {}
    void decode_tile(uint32_t tile, void* out) override {
      ++decoded_tiles[tile];
      const size_t width = width_of(type());
      std::memcpy(out, bytes_.data() + size_t{tile} * kTileRows * width, rows_in_tile(count(), tile) * width);
    }
    using Reader::decode_tile;

   private:
    ByteView bytes_;
  };
};

// A tile of single rows, then runs that go through many tiles: a tile of rows needs runs of two tiles of runs, again
// and again. Texts end in numbers and have several words.
struct Rows {
  static constexpr uint64_t kRows = 60 * kTileRows + 5;
  explicit Rows(Physical physical) : type(physical) {
    const uint32_t width = std::max(width_of(type), 1u);
    for (uint64_t i = 0; i < kRows; ++i) {
      const uint64_t value = i < kTileRows ? i + 1 : i < 20 * kTileRows ? 7 : 1000 + i / 50;
      uint128_t wide = value % 120;
      if (width > 1) wide = value;
      if (is_float(type)) {
        const float narrow = static_cast<float>(value);
        const auto real = static_cast<double>(value);
        width == 4 ? data.append(&narrow, 4) : data.append(&real, 8);
      } else {
        data.append(&wide, width);
      }
      const std::string text = "some words of number " + std::to_string(100000 + value);
      bytes += text;
      offsets.push_back(static_cast<int64_t>(bytes.size()));
    }
  }
  Values values() const {
    if (type == Physical::kBytes) return text_values(bytes.data(), offsets);
    Values out;
    out.type = type;
    out.count = kRows;
    out.data = data.data();
    return out;
  }
  Physical type;
  Buffer data;
  std::string bytes;
  std::vector<int64_t> offsets{0};
};

// A column of another type holds no values beyond that.
bool holds(const Rows& rows, const Tree& tree) {
  try {
    encode_tree(rows.values(), bind_tree(tree, rows.type));
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    return false;
  }
}

uint32_t most_reads(const Rows& rows, const Tree& tree) {
  const Node node = encode_tree(rows.values(), bind_tree(tree, rows.type));
  const NodeView view = view_of(node);
  validate_tree(view);
  decoded_tiles.clear();
  const auto reader = open_reader(view);
  Buffer out(size_t{kTileRows} * 16);
  for (uint32_t tile = 0; tile < tile_count(view.count); ++tile) {
    StringRows texts;
    rows.type == Physical::kBytes ? reader->decode_tile(tile, texts) : reader->decode_tile(tile, out.data());
  }
  EXPECT_FALSE(reader->corrupt());
  uint32_t most = 0;
  for (const auto& [tile, times] : decoded_tiles) most = std::max(most, times);
  EXPECT_GT(most, 0u);
  return most;
}

class ChildReads : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (find_codec("counted") == nullptr) register_codec(std::make_unique<CountedCodec>());
  }
};

TEST_F(ChildReads, EveryTileOfAChildIsDecodedOnce) {
  uint32_t tried = 0;
  for (const Codec* codec : all_codecs()) {
    for (int i = 0; i <= static_cast<int>(Physical::kBytes); ++i) {
      const auto type = static_cast<Physical>(i);
      const bool is_bytes = !codec->accepts(type, false) && codec->accepts(type, true);
      if (!codec->accepts(type, is_bytes) || type == Physical::kNone) continue;
      const Rows rows(type);
      const auto slots = codec->children(type);
      for (size_t child = 0; child < slots.size(); ++child) {
        if (width_of(slots[child].type) == 0) continue;
        // Read through other doors than a tile: NULLs by whoever asks for them, code lengths for single rows.
        if (codec->holds_nulls() || codec->name() == "fsst") continue;
        Tree tree{std::string(codec->name()), {}};
        for (size_t before = 0; before < child; ++before) tree.children.push_back(codec->default_child(type, before));
        tree.children.push_back({"counted", {}});
        if (is_bytes) tree = {"strings", {{"packed", {}}, tree}};
        SCOPED_TRACE(to_string(tree) + " of " + to_string(type));
        if (codec->needs_source() && !holds(rows, tree)) continue;
        EXPECT_EQ(most_reads(rows, tree), 1u);
        ++tried;
      }
    }
  }
  EXPECT_GT(tried, 40u);
}

TEST_F(ChildReads, LevelsDoNotMultiply) {
  const Rows rows(Physical::kI64);
  std::string tree = "counted";
  for (uint32_t level = 1; level < kMaxTreeLevels; ++level) {
    tree = "rle(" + tree + ", packed)";
    EXPECT_EQ(most_reads(rows, parse_tree(tree)), 1u) << tree;
  }
}

// Two tiles of runs that every tile of rows needs are asked for again at every level: kept, they are not decoded again.
TEST_F(ChildReads, RunsThatAlternateAreKept) {
  const Rows rows(Physical::kU32);
  EXPECT_EQ(most_reads(rows, parse_tree("rle(counted, packed)")), 1u);
  EXPECT_EQ(most_reads(rows, parse_tree("rle(packed, counted)")), 1u);
  EXPECT_EQ(most_reads(rows, parse_tree("dict(rle(packed, rle(counted, packed)), packed)")), 1u);
}

TEST(TreeLimits, ReadersAndWritersKeepThem) {
  std::string deep = "packed";
  for (uint32_t level = 1; level < kMaxTreeLevels; ++level) deep = "rle(" + deep + ", packed)";
  EXPECT_NO_THROW(bind_tree(parse_tree(deep), Physical::kI64));
  EXPECT_THROW(parse_tree("rle(" + deep + ", packed)"), Error);
  EXPECT_THROW(bind_tree({"rle", {parse_tree(deep), {"packed", {}}}}, Physical::kI64), Error);
  // Within the levels, but too many nodes.
  std::string wide = "packed";
  for (uint32_t level = 1; level < 7; ++level) wide = "rle(" + wide + ", " + (level == 1 ? "packed" : wide) + ")";
  EXPECT_THROW(bind_tree(parse_tree(wide), Physical::kU32), Error);

  const std::vector<uint32_t> numbers(3000, 7);
  Node node = encode_tree(number_values(numbers), parse_tree("packed"));
  for (uint32_t level = 1; level <= kMaxTreeLevels; ++level) {
    const NodeView view = view_of(node);
    EXPECT_NO_THROW(validate_tree(view)) << level;
    Node above{&get_codec("delta"), Physical::kI32, 3000, {}, {}, {}};
    above.streams.push_back(Buffer(3 * sizeof(uint32_t)));
    std::memset(above.streams[0].data(), 0, above.streams[0].size());
    node.type = Physical::kI32;
    above.children.push_back(std::move(node));
    node = std::move(above);
  }
  EXPECT_THROW(validate_tree(view_of(node)), Error);
}

TEST(TreePlaces, RootsAreAskedWhatTheyHold) {
  const std::vector<uint32_t> numbers(3000, 7);
  Node node = encode_tree(number_values(numbers), bind_tree(parse_tree("delta(packed)"), Physical::kU32));
  EXPECT_NO_THROW(validate_tree(view_of(node)));
  node.type = Physical::kF32;
  EXPECT_THROW(validate_tree(view_of(node)), Error);
  EXPECT_THROW(open_reader(view_of(node)), Error);
  // NULLs are held at the top of a column only.
  Values values = number_values(numbers);
  const Node nullable = encode_tree(values, bind_tree(parse_tree("validity(constant, packed)"), Physical::kU32));
  EXPECT_NO_THROW(validate_tree(view_of(nullable)));
  EXPECT_THROW(validate_tree(view_of(nullable), TreePlace::kInner), Error);
}

}  // namespace
}  // namespace basalt
