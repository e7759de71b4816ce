// The device decoders of words by number and of texts with numbers, run on the CPU: rows and places are those they were
// made from, wherever the text lies in memory; damage is found and nothing else is written.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>

#include "basalt/core/error.h"
#include "basalt/encoding/tree.h"
#include "codec/fsst_texts.h"
#include "codec/tokens/layout.h"
#include "cuda/device_arrays.h"
//
#include "cuda/emulated_warp.h"
//
#include "codec/numbered/gpu/kernels.cuh"
#include "codec/packed/gpu/kernels.cuh"
#include "codec/plain/gpu/kernels.cuh"
#include "codec/tokens/gpu/kernels.cuh"
//
#include "cuda/emulated_texts.h"

namespace basalt::test {
namespace {

using testing::make_texts;
using testing::sentences;
using testing::text_cases;
using testing::TextCase;

struct Decoded {
  std::string text;
  std::vector<uint64_t> offsets;
  bool fits = true;     // what decoding itself found
  bool checked = true;  // and what the check of rows did
};

// `narrow`: offsets of 32 bits.
struct Offsets {
  std::vector<int64_t> wide;
  std::vector<int32_t> narrow;

  Offsets(strings::TextWork& work, bool is_narrow)
      : wide(is_narrow ? 0 : work.rows + size_t{1}, -1), narrow(is_narrow ? work.rows + size_t{1} : 0, -1) {
    work.narrow_offsets = is_narrow ? 1 : 0;
    work.offsets = is_narrow ? static_cast<void*>(narrow.data()) : wide.data();
  }
  std::vector<uint64_t> all() const {
    std::vector<uint64_t> out(wide.begin(), wide.end());
    out.insert(out.end(), narrow.begin(), narrow.end());
    return out;
  }
};

StringRows rows_of(const NodeView& node) {
  StringRows rows;
  const auto reader = open_reader(node);
  for (uint32_t tile = 0; tile < tile_count(node.count); ++tile) reader->decode_tile(tile, rows);
  return rows;
}

// As the kernels do it: slots, sums of tiles, places, tiles, checks.
template <typename Lengths, typename Ids, typename Counts>
Decoded decode_tokens(const Node& strings_node, uint32_t shift, bool narrow) {
  const NodeView view = view_of(strings_node);
  const NodeView& node = view.children[1];
  const std::vector<uint64_t> lengths = descriptor_of(view.children[0]);
  const std::vector<uint64_t> ids = descriptor_of(node.children[tokens::kIds]);
  const std::vector<uint64_t> counts = descriptor_of(node.children[tokens::kCounts]);
  const StringRows entries = rows_of(node.children[tokens::kEntries]);
  std::vector<tokens::Slot> slots(entries.size());
  tokens::DecodeWork work{};
  work.lengths = lengths.data();
  work.rows = static_cast<uint32_t>(node.count);
  work.starts = reinterpret_cast<const uint64_t*>(node.streams[tokens::kTileStarts].data());
  work.ids = ids.data();
  work.counts = counts.data();
  work.entries = {reinterpret_cast<const uint64_t*>(entries.bytes.data()), entries.offsets.data(), 0};
  work.entry_count = static_cast<uint32_t>(entries.size());
  work.slots = slots.data();
  Decoded out;
  for (uint32_t entry = 0; entry < work.entry_count; ++entry) out.fits = tokens::make_slot(work, entry) && out.fits;

  std::vector<uint64_t> text_starts = text_starts_of<Lengths>(work);
  // No memory is asked for that ids cannot fill.
  if (text_starts.back() > node.children[tokens::kIds].count * tokens::kLongestEntry) {
    out.fits = false;
    return out;
  }
  work.text_starts = text_starts.data();
  Offsets offsets(work, narrow);
  Room room(text_starts.back(), shift);
  work.text = room.base();
  strings::place_end(work);
  const auto scratch = std::make_unique<tokens::DecodeScratch>();
  for (uint32_t tile = 0; tile < work.tiles(); ++tile) {
    EmulatedWarp::run([&] {
      if (!tokens::decode_tile<Lengths, Ids>(work, tile, *scratch)) out.fits = false;
    });
    EmulatedWarp::run([&] {
      if (!tokens::check_tile<Lengths, Ids, Counts>(work, tile)) out.checked = false;
    });
  }
  room.expect_untouched_around();
  out.text = room.text();
  out.offsets = offsets.all();
  return out;
}

template <typename Numbers>
Decoded decode_numbered(const Node& root, uint32_t shift, bool narrow) {
  const NodeView node = view_of(root);
  const std::vector<uint64_t> numbers = descriptor_of(node.children[numbered::kNumbers]);
  const ByteView text = node.params.subspan(1);
  std::vector<uint64_t> words((text.size() + 7) / 8);
  if (!text.empty()) std::memcpy(words.data(), text.data(), text.size());
  numbered::DecodeWork work{};
  work.rows = static_cast<uint32_t>(node.count);
  work.numbers = numbers.data();
  work.prefix = words.data();
  work.prefix_bytes = static_cast<uint32_t>(text.size());
  work.digits = static_cast<uint32_t>(node.params[0]);
  Decoded out;
  Offsets offsets(work, narrow);
  Room room(work.rows * size_t{work.row_bytes()}, shift);
  work.text = room.base();
  work.put_offset(work.rows, uint64_t{work.rows} * work.row_bytes());
  alignas(16) static unsigned char stage[numbered::kStageBytes];
  for (uint32_t tile = 0; tile < work.tiles(); ++tile) {
    EmulatedWarp::run([&] {
      if (!numbered::decode_tile<Numbers>(work, tile, stage)) out.fits = false;
    });
  }
  room.expect_untouched_around();
  out.text = room.text();
  out.offsets = offsets.all();
  return out;
}

void expect_texts(const std::vector<std::string>& texts, const Decoded& got) {
  EXPECT_TRUE(got.fits);
  EXPECT_TRUE(got.checked);
  ASSERT_EQ(got.offsets.size(), texts.size() + 1);
  for (size_t i = 0; i < texts.size(); ++i) {
    ASSERT_EQ(std::string_view(got.text).substr(got.offsets[i], got.offsets[i + 1] - got.offsets[i]), texts[i])
        << "row " << i;
  }
}

using Packed = device::Packed<uint32_t>;
using Plain = device::Plain<uint32_t>;

Node encode(const std::vector<std::string>& texts, const char* tree, Effort effort = Effort::kBalanced) {
  const testing::Array array = make_texts(texts);
  return encode_tree(array.values, bind_tree(parse_tree(tree), Physical::kBytes), effort);
}

TEST(EmulatedTokens, EveryKindOfBytesComesBack) {
  uint32_t shift = 0;
  for (const TextCase& one : text_cases()) {
    SCOPED_TRACE(one.name);
    const Node packed = encode(one.texts, "strings(packed, tokens)");
    expect_texts(one.texts, decode_tokens<Packed, Packed, Packed>(packed, shift, false));
    const Node plain = encode(one.texts, "strings(plain, tokens(plain, plain, strings(packed, fsst)))", Effort::kFast);
    expect_texts(one.texts, decode_tokens<Plain, Plain, Plain>(plain, shift + 3, true));
    shift += 5;
  }
}

// Phrases of four long words: entries longer than a slot, and steps with more text than there is room for.
TEST(EmulatedTokens, LongEntries) {
  std::vector<std::string> words;
  for (char c = 'a'; c < 'k'; ++c) words.push_back(std::string(50 + (c - 'a'), c) + ". ");
  std::vector<std::string> texts;
  std::mt19937_64 random(2);
  for (int row = 0; row < 3000; ++row) {
    std::string text;
    for (uint64_t phrases = random() % 6; phrases > 0; --phrases) {
      const uint64_t first = random() % 7;
      for (uint64_t i = 0; i < 4; ++i) text += words[first + i];
      if (random() % 4 == 0) text += "x";
    }
    texts.push_back(text);
  }
  const Node node = encode(texts, "strings(packed, tokens)");
  const StringRows entries = rows_of(view_of(node.children[1].children[tokens::kEntries]));
  uint64_t longest = 0;
  for (size_t i = 0; i < entries.size(); ++i) longest = std::max<uint64_t>(longest, entries.at(i).size());
  ASSERT_GT(longest, 200u);
  for (uint32_t shift = 0; shift < 16; shift += 3) {
    expect_texts(texts, decode_tokens<Packed, Packed, Packed>(node, shift, shift % 2 == 0));
  }
}

TEST(EmulatedTokens, DamageIsFound) {
  std::vector<std::string> texts = sentences(1500, 4);
  texts[700] = std::string(9000, 'x') + "end";
  const Node intact = encode(texts, "strings(plain, tokens(plain, plain, strings(plain, plain)))");
  const auto damaged = [&](const auto& damage) {
    Node node = intact;
    damage(node);
    return decode_tokens<Plain, Plain, Plain>(node, 3, false);
  };
  const auto lengths = [](Node& node) { return node.children[0].streams[0].as<uint32_t>(); };
  const auto child = [](Node& node, uint32_t i) { return node.children[1].children[i].streams[0].as<uint32_t>(); };
  ASSERT_TRUE(damaged([](Node&) {}).fits);
  ASSERT_TRUE(damaged([](Node&) {}).checked);
  EXPECT_FALSE(damaged([&](Node& node) { ++lengths(node)[5]; }).fits);
  EXPECT_FALSE(damaged([&](Node& node) { lengths(node)[705] -= lengths(node)[705] == 0 ? 0 : 1; }).fits);
  EXPECT_FALSE(damaged([&](Node& node) { child(node, tokens::kIds)[100] = 4000000000u; }).fits);
  EXPECT_FALSE(damaged([&](Node& node) {
                 child(node, tokens::kIds)[100] = static_cast<uint32_t>(node.children[1].children[2].count);
               }).fits);
  EXPECT_FALSE(damaged([&](Node& node) { ++child(node, tokens::kCounts)[3]; }).checked);
  EXPECT_FALSE(damaged([&](Node& node) { child(node, tokens::kCounts)[3] = 4000000000u; }).checked);
  // Sums that are right, of parts that are not.
  EXPECT_FALSE(damaged([&](Node& node) {
                 ++child(node, tokens::kCounts)[3];
                 --child(node, tokens::kCounts)[4];
               }).checked);
  EXPECT_FALSE(damaged([&](Node& node) {
                 ++lengths(node)[3];
                 --lengths(node)[4];
               }).checked);
  // An entry without bytes.
  EXPECT_FALSE(damaged([&](Node& node) {
                 Node& entries = node.children[1].children[tokens::kEntries];
                 auto* bytes = entries.children[0].streams[0].as<uint32_t>();
                 bytes[1] += bytes[0];
                 bytes[0] = 0;
               }).fits);
}

bool is_valid(const Node& node) {
  try {
    validate_tree(view_of(node));
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Nothing if the array is damaged, as the CPU sees it.
std::optional<StringRows> rows_if_sound(const NodeView& node) {
  StringRows rows;
  const auto reader = open_reader(node);
  for (uint32_t tile = 0; tile < tile_count(node.count); ++tile) reader->decode_tile(tile, rows);
  if (reader->corrupt()) return std::nullopt;
  return rows;
}

// Whatever is damaged, the device's verdict is the CPU's, and its rows are.
TEST(EmulatedTokens, DamageIsSeenAsTheCpuSeesIt) {
  std::mt19937_64 random(9);
  const std::vector<std::string> texts = sentences(1100, 5);
  int sound = 0;
  int damaged = 0;
  for (const bool packed : {true, false}) {
    const Node intact = encode(texts, packed ? "strings(packed, tokens(packed, packed, strings(packed, plain)))"
                                             : "strings(plain, tokens(plain, plain, strings(plain, plain)))");
    for (int round = 0; round < 150; ++round) {
      Node node = intact;
      if (!testing::flip_a_bit(node, random)) continue;
      const NodeView view = view_of(node);
      if (!is_valid(node)) continue;
      const std::optional<StringRows> expected = rows_if_sound(view);
      // What is asked before kernels run.
      const NodeView& bytes = view.children[1];
      if (!rows_if_sound(bytes.children[tokens::kEntries])) {
        EXPECT_FALSE(expected) << round;
        continue;
      }
      const Decoded got = packed ? decode_tokens<Packed, Packed, Packed>(node, 1, false)
                                 : decode_tokens<Plain, Plain, Plain>(node, 1, false);
      ASSERT_EQ(got.fits && got.checked, expected.has_value()) << round;
      ++(expected ? sound : damaged);
      if (!expected) continue;
      const std::string_view all(expected->bytes.as<char>(), expected->bytes.size());
      EXPECT_EQ(got.text, all) << round;
    }
  }
  EXPECT_GT(sound, 10);
  EXPECT_GT(damaged, 50);
}

TEST(EmulatedNumbered, RowsComeBack) {
  std::mt19937_64 random(3);
  uint32_t shift = 0;
  for (const std::string& prefix : {std::string(), std::string("Customer#"), std::string("8 bytes."),
                                    std::string("a/b?c"), std::string(150, 'p'), std::string(4000, 'q')}) {
    for (const uint32_t digits : {1u, 9u, 19u}) {
      const size_t rows = prefix.size() > 1000 ? 1030 : 2500;
      std::vector<std::string> texts;
      for (size_t row = 0; row < rows; ++row) {
        std::string number;
        for (uint32_t i = 0; i < digits; ++i) number += static_cast<char>('0' + random() % 10);
        texts.push_back(prefix + number);
      }
      SCOPED_TRACE(std::to_string(prefix.size()) + " bytes, " + std::to_string(digits) + " digits");
      expect_texts(texts, decode_numbered<device::Packed<uint64_t>>(encode(texts, "numbered(packed)"), shift, false));
      expect_texts(texts, decode_numbered<device::Plain<uint64_t>>(encode(texts, "numbered(plain)"), shift + 7, true));
      shift += 3;
    }
  }
}

TEST(EmulatedNumbered, DamageIsFound) {
  std::vector<std::string> texts;
  for (int i = 0; i < 2000; ++i) texts.push_back("id" + std::to_string(10000 + i));
  Node node = encode(texts, "numbered(plain)");
  ASSERT_TRUE(decode_numbered<device::Plain<uint64_t>>(node, 1, false).fits);
  node.children[0].streams[0].as<uint64_t>()[1500] = 100000;
  EXPECT_FALSE(decode_numbered<device::Plain<uint64_t>>(node, 1, false).fits);
}

// Offsets of 32 bits end before 2^31.
TEST(EmulatedStrings, NarrowOffsetsThatOverflowAreAFault) {
  strings::TextWork work{};
  EXPECT_TRUE(work.offsets_hold(uint64_t{1} << 40));
  work.narrow_offsets = 1;
  EXPECT_TRUE(work.offsets_hold(0x7FFFFFFF));
  EXPECT_FALSE(work.offsets_hold(0x80000000));
}

}  // namespace
}  // namespace basalt::test
