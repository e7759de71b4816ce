// fsst: any bytes come back, rows alone and together; the same input gives the same bytes; damage is reported.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "basalt/codec/codec.h"
#include "basalt/core/error.h"
#include "basalt/encoding/chooser.h"
#include "codec/arrays.h"
#include "codec/fsst/layout.h"
#include "codec/fsst/tables.h"
#include "codec/fsst_texts.h"

namespace basalt {
namespace {

using testing::Array;
using testing::make_texts;
using testing::random_bytes;
using testing::sentences;
using testing::text_cases;
using testing::TextCase;

const Tree kTree{"strings", {{"packed", {}}, {"fsst", {{"packed", {}}}}}};

void expect_reads(const Values& values, const Node& node) {
  const NodeView view = view_of(node);
  ASSERT_NO_THROW(validate_tree(view));
  const auto reader = open_reader(view);
  StringRows all;
  for (uint32_t tile = 0; tile < tile_count(values.count); ++tile) reader->decode_tile(tile, all);
  ASSERT_EQ(all.size(), values.count);
  for (uint64_t i = 0; i < values.count; ++i) ASSERT_EQ(all.at(i), values.string(i)) << "row " << i;
  std::mt19937_64 random(7);
  std::vector<uint32_t> rows;
  for (int i = 0; i < 100 && values.count > 0; ++i) rows.push_back(static_cast<uint32_t>(random() % values.count));
  StringRows some;
  reader->gather(rows, some);
  for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(some.at(i), values.string(rows[i])) << "row " << rows[i];
  EXPECT_FALSE(reader->corrupt());
}

// The pieces that a long row's codes are cut into add up to the row, and each gives its own 4096 bytes.
void expect_pieces(const Values& values, const Node& strings) {
  const Node& node = strings.children[1];
  const auto lengths = open_reader(view_of(node.children[fsst::kCodeLengths]));
  const auto* starts = node.streams[fsst::kStarts].as<uint64_t>();
  const auto* pieces = node.streams[fsst::kPieces].as<uint16_t>();
  fsst::Parameters params;
  std::memcpy(&params, node.params.data(), sizeof(params));
  uint64_t piece = 0;
  for (uint64_t row = 0; row < values.count; ++row) {
    const auto tile = static_cast<uint32_t>(row / kTileRows);
    if (row % kTileRows == 0 && !node.streams[fsst::kPieceStarts].empty()) {
      ASSERT_EQ(node.streams[fsst::kPieceStarts].as<uint32_t>()[tile], piece);
    }
    uint32_t of_rows[kTileRows];
    lengths->decode_tile(tile, of_rows);
    const std::string_view text = values.string(row);
    if (!fsst::is_long(text.size())) continue;
    uint64_t at = std::accumulate(of_rows, of_rows + row % kTileRows, starts[tile]);
    const uint64_t end = at + of_rows[row % kTileRows];
    uint32_t table_start = 0;
    std::memcpy(&table_start, node.streams[fsst::kTables].data() + (tile >> params.table_shift) * 4, 4);
    const fsst::DecodeTable table(fsst::load_table(node.streams[fsst::kTables].data() + table_start));
    for (uint64_t begin = 0; begin < text.size(); begin += fsst::kPieceBytes) {
      const std::string_view expected = text.substr(begin, fsst::kPieceBytes);
      std::string out(expected.size() + fsst::kDecodeSlack, '\0');
      EXPECT_TRUE(fsst::decode_codes(table, node.streams[fsst::kCodes].as<uint8_t>() + at, pieces[piece],
                                     reinterpret_cast<uint8_t*>(out.data()), expected.size()));
      ASSERT_EQ(out.substr(0, expected.size()), expected);
      at += pieces[piece++];
    }
    ASSERT_EQ(at, end);
  }
  EXPECT_EQ(node.streams[fsst::kPieces].size(), piece * sizeof(uint16_t));
}

TEST(Fsst, EveryKindOfBytesComesBack) {
  for (const TextCase& one : text_cases()) {
    const Array array = make_texts(one.texts);
    for (const Effort effort : {Effort::kFast, Effort::kBalanced, Effort::kBest}) {
      SCOPED_TRACE(std::string(one.name) + ", effort " + std::to_string(static_cast<int>(effort)));
      const Node node = encode_tree(array.values, kTree, effort);
      expect_reads(array.values, node);
      expect_pieces(array.values, node);
      // Never much more than the bytes themselves: 255 of 256 byte values can have codes.
      EXPECT_LT(node.children[1].streams[fsst::kCodes].size(), array.bytes.size() * 101 / 100 + 2);
    }
  }
}

TEST(Fsst, ValuesThatDoNotStartAtTheirBuffersBegin) {
  const Array array = make_texts(sentences(2500, 5));
  Values later = array.values;
  later.offsets += 300;
  later.count -= 300;
  expect_reads(later, encode_tree(later, kTree));
}

TEST(Fsst, SameRowsGiveSameBytes) {
  const Array first = make_texts(sentences(5000, 6));
  const Array second = make_texts(sentences(5000, 6));
  for (const Effort effort : {Effort::kFast, Effort::kBalanced, Effort::kBest}) {
    const Node a = encode_tree(first.values, kTree, effort);
    const Node b = encode_tree(second.values, kTree, effort);
    for (uint32_t i = 0; i < fsst::kStreams; ++i) {
      EXPECT_TRUE(std::ranges::equal(a.children[1].streams[i].view(), b.children[1].streams[i].view()));
    }
  }
}

TEST(Fsst, TheBestEffortTakesFewestBytes) {
  const Array array = make_texts(sentences(20000, 8));
  const auto bytes = [&](Effort effort) { return encode_tree(array.values, kTree, effort).encoded_bytes(); };
  EXPECT_LE(bytes(Effort::kBalanced), bytes(Effort::kFast));
  EXPECT_LT(bytes(Effort::kBest), bytes(Effort::kBalanced));
  EXPECT_LT(bytes(Effort::kBalanced), array.bytes.size() / 3);
}

// Optimal parses are never longer than greedy ones with the same table, and decode to the same text.
TEST(Fsst, ParsesGiveTheirText) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 30; ++round) {
    std::vector<std::string> texts;
    const auto range = static_cast<uint32_t>(2 + random() % 4);
    for (int i = 0; i < 200; ++i) texts.push_back(random_bytes(random, random() % 40, round % 2 == 0 ? 'a' : 0, range));
    const std::vector<std::string_view> sample(texts.begin(), texts.end());
    fsst::TrainOptions options;
    options.most_long = static_cast<uint32_t>(random() % 100);
    const fsst::SymbolTable table = fsst::train(sample, options);
    const auto matcher = std::make_unique<fsst::Matcher>(table);
    const fsst::DecodeTable decoder(table);
    for (const std::string& text : texts) {
      size_t sizes[2];
      for (const fsst::Parse parse : {fsst::Parse::kGreedy, fsst::Parse::kOptimal}) {
        std::vector<uint8_t> codes(2 * text.size() + 8);
        const uint8_t* end = matcher->encode(parse, text.data(), text.size(), codes.data());
        sizes[static_cast<size_t>(parse)] = static_cast<size_t>(end - codes.data());
        std::string out(text.size() + fsst::kDecodeSlack, '\0');
        ASSERT_TRUE(fsst::decode_codes(decoder, codes.data(), sizes[static_cast<size_t>(parse)],
                                       reinterpret_cast<uint8_t*>(out.data()), text.size()));
        ASSERT_EQ(out.substr(0, text.size()), text);
      }
      EXPECT_LE(sizes[1], sizes[0]);
    }
  }
}

// The example of the rule: the long symbol that fits, else two bytes, else one, else an escape.
TEST(Fsst, GreedyParseByTheRule) {
  fsst::SymbolTable table;
  for (const std::string_view symbol : {"abc", "ab", "a"}) {
    table.symbols.push_back({load_text(symbol.data(), symbol.size()), static_cast<uint32_t>(symbol.size())});
  }
  const auto matcher = std::make_unique<fsst::Matcher>(table);
  uint8_t codes[32];
  const uint8_t* end = matcher->encode_greedy("abcabx", 6, codes);
  EXPECT_EQ(std::vector<uint8_t>(codes, const_cast<uint8_t*>(end)), (std::vector<uint8_t>{0, 1, 0xFF, 'x'}));
}

// Codes by that rule, one comparison after the other.
std::vector<uint8_t> greedy_codes(const fsst::SymbolTable& table, std::string_view text) {
  std::vector<uint8_t> codes;
  while (!text.empty()) {
    size_t best = fsst::kEscape;
    for (size_t code = 0; code < table.symbols.size(); ++code) {
      const fsst::Symbol& symbol = table.symbols[code];
      const bool fits = symbol.length <= text.size() && load_text(text.data(), symbol.length) == symbol.value;
      if (fits && (best == fsst::kEscape || symbol.length > table.symbols[best].length)) best = code;
    }
    codes.push_back(static_cast<uint8_t>(best));
    if (best == fsst::kEscape) codes.push_back(static_cast<uint8_t>(text[0]));
    text.remove_prefix(best == fsst::kEscape ? 1 : table.symbols[best].length);
  }
  return codes;
}

// Texts lie side by side and are cut where symbols go on, which would be complete with the next one's bytes; tables are
// full, and have symbols that end in any byte but one.
TEST(Fsst, SymbolsEndWithTheirTextWhateverFollows) {
  std::mt19937_64 random(9);
  for (int round = 0; round < 20; ++round) {
    const auto unused = static_cast<uint64_t>(random() % 256);
    fsst::SymbolTable table;
    std::vector<bool> taken(fsst::kSlots);
    for (uint64_t last = 0; last < 256; ++last) {
      if (last == unused) continue;
      const auto symbol = [&](uint32_t length) {
        const uint64_t before =
            length == 1 ? 0 : load_text(random_bytes(random, length - 1, 'a', 7).data(), length - 1);
        return fsst::Symbol{before | last << 8 * (length - 1), length};
      };
      fsst::Symbol one = symbol(static_cast<uint32_t>(1 + random() % 8));
      for (int tries = 0; one.length > 2 && taken[fsst::slot_of(one.value)]; ++tries) {
        one = symbol(tries < 20 ? one.length : 1);
      }
      if (one.length > 2) taken[fsst::slot_of(one.value)] = true;
      table.symbols.push_back(one);
    }
    ASSERT_EQ(table.symbols.size(), 255u);
    std::ranges::stable_sort(table.symbols, std::greater<>(), &fsst::Symbol::length);
    std::string text;
    std::vector<size_t> ends;
    for (int i = 0; i < 600; ++i) {
      const fsst::Symbol& next = table.symbols[random() % table.symbols.size()];
      text.append(reinterpret_cast<const char*>(&next.value), next.length);
      if (random() % 4 == 0) text += static_cast<char>(unused);
      const size_t end = text.size() - random() % next.length;
      if (random() % 2 == 0 && end > (ends.empty() ? 0 : ends.back())) ends.push_back(end);
    }
    if (ends.back() != text.size()) ends.push_back(text.size());
    std::vector<fsst::Matcher::Part> parts;
    for (const size_t end : ends) parts.push_back({text.data() + end});
    const auto matcher = std::make_unique<fsst::Matcher>(table);
    Buffer codes;
    matcher->encode_all(text.data(), parts, text.data() + text.size(), codes);
    const uint8_t* at = codes.as<uint8_t>();
    size_t begin = 0;
    for (size_t i = 0; i < ends.size(); begin = ends[i++]) {
      const auto expected = greedy_codes(table, std::string_view(text).substr(begin, ends[i] - begin));
      ASSERT_EQ(std::vector<uint8_t>(at, at + parts[i].code_bytes), expected) << "round " << round << ", text " << i;
      at += parts[i].code_bytes;
      std::vector<uint8_t> alone(2 * (ends[i] - begin) + 8);
      alone.resize(static_cast<size_t>(matcher->encode_greedy(text.data() + begin, ends[i] - begin, alone.data()) -
                                       alone.data()));
      ASSERT_EQ(alone, expected);
    }
    EXPECT_EQ(at, codes.as<uint8_t>() + codes.size());
  }
}

TEST(Fsst, LimitsOfTables) {
  std::mt19937_64 random(3);
  const std::vector<std::string> texts = sentences(3000, 11);
  const std::vector<std::string_view> sample(texts.begin(), texts.end());
  fsst::TrainOptions options;
  options.most_long = 40;
  options.most_rows = 8;
  options.most_per_row = 3;
  const fsst::SymbolTable table = fsst::train(sample, options);
  uint32_t longer = 0;
  std::array<uint32_t, 256> rows{};
  for (const fsst::Symbol& symbol : table.symbols) {
    if (symbol.length > 2) ++longer;
    if (symbol.length == 2) ++rows[symbol.value & 0xFF];
  }
  EXPECT_EQ(longer, 40u);
  EXPECT_EQ(std::ranges::count_if(rows, [](uint32_t n) { return n > 0; }), 8);
  EXPECT_LE(*std::ranges::max_element(rows), 3u);
  EXPECT_TRUE(std::ranges::is_sorted(table.symbols, std::greater<>(), &fsst::Symbol::length));
}

TEST(Fsst, NoTwoLongSymbolsBeginAlike) {
  for (const TextCase& one : text_cases()) {
    std::vector<std::string_view> sample;
    for (const std::string& text : one.texts) sample.push_back(std::string_view(text).substr(0, 512));
    std::vector<uint64_t> prefixes;
    for (const fsst::Symbol& symbol : fsst::train(sample, {}).symbols) {
      EXPECT_EQ(symbol.value & ~fsst::lowest_bytes(symbol.length), 0u);
      if (symbol.length > 2) prefixes.push_back(symbol.value & 0xFFFFFF);
    }
    std::ranges::sort(prefixes);
    EXPECT_EQ(std::ranges::adjacent_find(prefixes), prefixes.end()) << one.name;
  }
}

TEST(Fsst, TablesOfTheirOwnWhereTextChanges) {
  std::vector<std::string> texts;
  std::mt19937_64 random(4);
  for (uint32_t part = 0; part < 4; ++part) {
    std::vector<std::string> words;
    for (int i = 0; i < 150; ++i) words.push_back(random_bytes(random, 6 + random() % 9, 'a', 26));
    for (int i = 0; i < 32 * 1024; ++i) {
      std::string text;
      for (int w = 0; w < 18; ++w) text += words[random() % words.size()];
      texts.push_back(text);
    }
  }
  const Array array = make_texts(texts);
  const Node node = encode_tree(array.values, kTree);
  fsst::Parameters params;
  std::memcpy(&params, node.children[1].params.data(), sizeof(params));
  EXPECT_LT(params.table_shift, 7);
  EXPECT_GT(node.children[1].streams[fsst::kTables].as<uint32_t>()[0], 8u);
  expect_reads(array.values, node);

  texts.resize(32 * 1024);
  const Array alike = make_texts(texts);
  const Node one_table = encode_tree(alike.values, kTree);
  EXPECT_EQ(one_table.children[1].streams[fsst::kTables].as<uint32_t>()[0], 8u);
}

TEST(Fsst, EscapeFreeWhereNoRowNeedsThem) {
  const auto flag = [](const std::vector<std::string>& texts) {
    const Array array = make_texts(texts);
    const Node node = encode_tree(array.values, kTree);
    const Buffer& tables = node.children[1].streams[fsst::kTables];
    return fsst::load_table(tables.data() + tables.as<uint32_t>()[0]).escape_free;
  };
  std::vector<std::string> texts = sentences(40000, 12);
  EXPECT_TRUE(flag(texts));
  texts[20001] += "\x01";
  EXPECT_FALSE(flag(texts));
}

TEST(Fsst, TheChooserTakesItWhereItPays) {
  const auto chosen = [](const std::vector<std::string>& texts) {
    return to_string(choose_tree(make_texts(texts).values));
  };
  EXPECT_NE(chosen(sentences(20000, 13)).find("fsst"), std::string::npos);
  std::mt19937_64 random(5);
  std::vector<std::string> noise;
  for (int i = 0; i < 20000; ++i) noise.push_back(random_bytes(random, 20, 0, 256));
  EXPECT_EQ(chosen(noise).find("fsst"), std::string::npos);
}

TEST(Fsst, EstimatesAreNearTheTruth) {
  const Array array = make_texts(sentences(200000, 14));
  const Node node = encode_tree(array.values, kTree);
  class Children final : public ChildChooser {
    Estimate best(const Sample& sample, size_t) override { return *get_codec("packed").estimate(sample, *this); }
  } children;
  const Sample sample{array.values, array.values.count, kTileRows};
  const auto estimate = get_codec("fsst").estimate(sample, children);
  ASSERT_TRUE(estimate);
  const auto truth = static_cast<double>(node.children[1].encoded_bytes());
  EXPECT_NEAR(estimate->bytes, truth, truth * 0.02);
}

TEST(Fsst, ImportsTablesOfTheFsstLibrary) {
  std::vector<std::byte> bytes;
  const auto put = [&](std::string_view text) {
    for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
  };
  const uint64_t word = uint64_t{20190218} << 32 | 7u << 16 | 4u << 8 | 1;
  put({reinterpret_cast<const char*>(&word), 8});
  put(std::string_view("\0", 1));
  put(std::string_view("\1\1\0\0\0\0\0\2", 8));
  put("thabcdefghABCDEFGHx");
  const fsst::SymbolTable table = fsst::import_table(bytes);
  ASSERT_EQ(table.symbols.size(), 4u);
  const uint8_t codes[] = {1, 0, 3, 255, 'q', 2};
  const std::string expected = "abcdefghthxqABCDEFGH";
  std::string out(expected.size() + fsst::kDecodeSlack, '\0');
  EXPECT_TRUE(fsst::decode_codes(fsst::DecodeTable(table), codes, sizeof(codes), reinterpret_cast<uint8_t*>(out.data()),
                                 expected.size()));
  EXPECT_EQ(out.substr(0, expected.size()), expected);
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_THROW(fsst::import_table({bytes.data(), size}), Error);
  bytes[4] ^= std::byte{1};
  EXPECT_THROW(fsst::import_table(bytes), Error);
}

// --- damage ---

Node encoded_plainly(const Array& array) {
  return encode_tree(array.values, bind_tree(parse_tree("strings(plain, fsst(plain))"), Physical::kBytes));
}

bool tile_is_corrupt(const Node& node) {
  validate_tree(view_of(node));
  const auto reader = open_reader(view_of(node));
  StringRows rows;
  reader->decode_tile(0, rows);
  EXPECT_EQ(rows.size(), node.count);
  return reader->corrupt();
}

bool row_is_corrupt(const Node& node, uint32_t row) {
  validate_tree(view_of(node));
  const auto reader = open_reader(view_of(node));
  StringRows rows;
  reader->gather({&row, 1}, rows);
  return reader->corrupt();
}

TEST(FsstDamage, EscapeAtTheEndIsReported) {
  const Array array = make_texts({"abab", "abab"});
  Node node = encoded_plainly(array);
  ASSERT_FALSE(tile_is_corrupt(node));
  Buffer& tables = node.children[1].streams[fsst::kTables];
  Buffer& codes = node.children[1].streams[fsst::kCodes];
  tables.data()[tables.as<uint32_t>()[0] + fsst::kTableFlags] = std::byte{0};
  codes.as<uint8_t>()[codes.size() - 1] = fsst::kEscape;
  EXPECT_TRUE(tile_is_corrupt(node));
  EXPECT_TRUE(row_is_corrupt(node, 1));
  EXPECT_FALSE(row_is_corrupt(node, 0));
}

TEST(FsstDamage, CodesBeyondTheTableAreReported) {
  const Array array = make_texts({"abab", "abab"});
  Node node = encoded_plainly(array);
  node.children[1].streams[fsst::kCodes].as<uint8_t>()[0] = 200;
  EXPECT_TRUE(tile_is_corrupt(node));
}

TEST(FsstDamage, LengthsThatDoNotAddUpAreReported) {
  const Array array = make_texts(sentences(500, 15));
  Node longer = encoded_plainly(array);
  ++longer.children[0].streams[0].as<uint32_t>()[17];
  EXPECT_TRUE(tile_is_corrupt(longer));
  EXPECT_TRUE(row_is_corrupt(longer, 17));
  EXPECT_FALSE(row_is_corrupt(longer, 18));
  Node absurd = encoded_plainly(array);
  absurd.children[0].streams[0].as<uint32_t>()[17] = 4000000000u;
  EXPECT_TRUE(tile_is_corrupt(absurd));
  Node codes = encoded_plainly(array);
  ++codes.children[1].children[0].streams[0].as<uint32_t>()[17];
  EXPECT_TRUE(row_is_corrupt(codes, 3));
}

TEST(FsstDamage, TablesThatDoNotHoldTogetherAreRefused) {
  const Array array = make_texts(sentences(500, 16));
  const auto refused = [&](size_t at, int change) {
    Node node = encoded_plainly(array);
    Buffer& tables = node.children[1].streams[fsst::kTables];
    auto& byte = tables.as<uint8_t>()[tables.as<uint32_t>()[0] + at];
    byte = static_cast<uint8_t>(byte + change);
    try {
      validate_tree(view_of(node));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
      return true;
    }
    return false;
  };
  EXPECT_TRUE(refused(fsst::kSymbolCount, 1));
  EXPECT_TRUE(refused(fsst::kTableFlags, 2));
  for (uint32_t length = 0; length < fsst::kMaxSymbolBytes; ++length)
    EXPECT_TRUE(refused(fsst::kHistogram + length, 1));
}

}  // namespace
}  // namespace basalt
