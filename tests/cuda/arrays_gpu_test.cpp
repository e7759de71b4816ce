// Arrays of every type in many trees: decoded on the device like on the CPU, encoded to the same bytes; damaged values
// become an error and never a crash.
#include <bit>
#include <cstring>

#include "codec/dict/layout.h"
#include "codec/fsst_texts.h"
#include "codec/galp_values.h"
#include "cuda/gpu.h"
#include "cuda/string_arrays.h"
#include "exec/tables.h"
#include "gen/l3.h"

namespace basalt::test {
namespace {

const std::vector<std::string>& trees_for(Physical type) {
  static const std::vector<std::string> kIntegers = {"plain",
                                                     "packed",
                                                     "dict(packed, plain)",
                                                     "dict(packed, packed)",
                                                     "dict(rle(packed, packed), plain)",
                                                     "rle(packed, packed)",
                                                     "rle(plain, delta(packed))",
                                                     "delta(packed)",
                                                     "delta(rle(packed, packed))",
                                                     "l3",
                                                     "delta(l3)",
                                                     "rle(l3, l3)",
                                                     "ans",
                                                     "dict(ans, plain)",
                                                     "rle(ans, packed)",
                                                     "stride(rle(packed, packed))",
                                                     "rle(stride(dict(l3, l3)), delta(packed))",
                                                     "grouped(packed)",
                                                     "grouped(dict(ans, plain))"};
  static const std::vector<std::string> kFloats = {"plain", "dict(packed, plain)", "rle(plain, packed)"};
  static const std::vector<std::string> kStrings = {
      "strings(packed, plain)",
      "dict(packed, strings(packed, plain))",
      "strings(dict(packed, plain), plain)",
      "strings(packed, constant)",
      "dict(rle(packed, packed), strings(packed, constant))",
      "strings(packed, fsst(packed))",
      "dict(packed, strings(packed, fsst(plain)))",
      "strings(packed, tokens)",
      "strings(ans, plain)",
      "dict(ans, strings(ans, plain))",
      "strings(packed, tokens(ans, ans, strings(packed, plain)))",
      "strings(plain, tokens(delta(packed), plain, strings(packed, fsst)))",
      "dict(packed, strings(packed, tokens(rle(packed, packed), l3, strings(packed, plain))))"};
  return type == Physical::kBytes ? kStrings : is_float(type) ? kFloats : kIntegers;
}

Values values_of(const Column& column) {
  Values values;
  values.type = physical_of(column.type);
  values.count = column.length;
  values.data = column.values.data();
  values.offsets = column.offsets.as<int64_t>();
  values.bytes = column.bytes.as<char>();
  values.validity = column.validity.empty() ? nullptr : column.validity.as<uint8_t>();
  return values;
}

void expect_same(const Node& a, const Node& b, const std::string& place) {
  EXPECT_EQ(a.codec, b.codec) << place;
  EXPECT_EQ(a.type, b.type) << place;
  EXPECT_EQ(a.count, b.count) << place;
  EXPECT_EQ(a.params, b.params) << place;
  ASSERT_EQ(a.streams.size(), b.streams.size()) << place;
  for (size_t i = 0; i < a.streams.size(); ++i) {
    ASSERT_EQ(a.streams[i].size(), b.streams[i].size()) << place << " stream " << i;
    EXPECT_TRUE(a.streams[i].empty() || std::memcmp(a.streams[i].data(), b.streams[i].data(), a.streams[i].size()) == 0)
        << place << " stream " << i;
  }
  ASSERT_EQ(a.children.size(), b.children.size()) << place;
  for (size_t i = 0; i < a.children.size(); ++i) {
    expect_same(a.children[i], b.children[i], place + " child " + std::to_string(i));
  }
}

template <typename Body>
void for_each_array(Body&& body) {
  Random random(11);
  for (const DataType& type : all_types()) {
    for (const uint64_t rows : {uint64_t{1}, uint64_t{1024}, uint64_t{9001}}) {
      const Column column = random_column(random, type, rows);
      for (std::string text : trees_for(physical_of(type))) {
        if (!column.validity.empty()) text = "validity(packed, " + text + ")";
        const Values values = values_of(column);
        Tree tree;
        try {
          tree = bind_tree(parse_tree(text), physical_of(type));
        } catch (const Error&) {
          continue;  // types that this tree cannot hold
        }
        for (const Effort effort : {Effort::kFast, Effort::kBalanced, Effort::kBest}) {
          const bool differs = text.find("l3") != std::string::npos || text.find("fsst") != std::string::npos ||
                               text.find("tokens") != std::string::npos;
          if (effort != Effort::kBalanced && !differs) continue;
          Node expected;
          try {
            expected = encode_tree(values, tree, effort);
          } catch (const Error&) {
            continue;  // values that this tree cannot hold
          }
          body(column, values, tree, effort, expected,
               text + " of " + to_string(type) + ", " + std::to_string(rows) + " rows, effort " +
                   std::to_string(static_cast<int>(effort)));
        }
      }
    }
  }
}

// Some trees have a precompiled kernel, the others one that is compiled now.
TEST(GpuArrays, DecodeLikeTheCpu) {
  BASALT_NEEDS_GPU();
  int precompiled = 0;
  int generated = 0;
  for_each_array(
      [&](const Column& column, const Values&, const Tree&, Effort, const Node& node, const std::string& place) {
        const NodeView view = view_of(node);
        const bool fixed = width_of(physical_of(column.type)) > 0 && node.codec->name() != "validity";
        if (fixed) ++(gpu().backend->has_precompiled_decoder(view) ? precompiled : generated);
        try {
          const Column decoded = gpu().backend->decode(view, column.type);
          EXPECT_TRUE(equal(decoded, decode_rows(view, column.type, 0, node.count))) << place;
        } catch (const Error& error) {
          ADD_FAILURE() << place << ": " << error.what();
        }
      });
  EXPECT_GT(precompiled, 50);
  EXPECT_GT(generated, 50);
}

// What the benchmarks under bench/ measure is what decode() launches.
TEST(GpuArrays, BenchedTreesArePrecompiled) {
  BASALT_NEEDS_GPU();
  const std::vector<int64_t> numbers = {1, 1, 1, 5, 5, 9};
  const Column column = make_fixed({TypeKind::kInt64, 0, 0, TimeUnit::kMicro}, numbers);
  const auto precompiled = [&](const char* tree) {
    const Node node = encode_tree(values_of(column), bind_tree(parse_tree(tree), Physical::kI64));
    return gpu().backend->has_precompiled_decoder(view_of(node));
  };
  for (const char* tree : {"packed", "l3", "rle(packed, packed)", "rle(packed, delta(packed))", "dict(packed, packed)",
                           "dict(packed, plain)", "delta(packed)"}) {
    EXPECT_TRUE(precompiled(tree)) << tree;
  }
  for (const char* tree : {"plain", "rle(l3, l3)", "delta(rle(packed, packed))"})
    EXPECT_FALSE(precompiled(tree)) << tree;
}

// Decimals with a few values that are none, whole tiles that are none, and integers in many encodings.
template <typename T>
void expect_decimals(TypeKind kind) {
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  const DataType type{kind, 0, 0, TimeUnit::kMicro};
  Random random(17);
  for (const uint64_t rows : {uint64_t{1}, uint64_t{1024}, uint64_t{200'003}}) {
    for (const uint64_t share : {uint64_t{0}, uint64_t{100}, uint64_t{12}}) {
      std::vector<T> numbers(rows);
      for (uint64_t i = 0; i < rows; ++i) {
        numbers[i] = static_cast<T>(static_cast<double>(below(random, 50'000)) / 100);
        if (i > 0 && i / 5000 % 3 == 1 && below(random, 4) != 0) numbers[i] = numbers[i - 1];
        if (share != 0 && (i / 30'000 == 2 || below(random, share) == 0))
          numbers[i] = std::bit_cast<T>(static_cast<Bits>(random()));
        if (share == 12 && below(random, 40) == 0) numbers[i] = -T{0};
      }
      const Column column = make_fixed(type, numbers);
      for (const char* text : {"galp(packed)", "galp(plain)", "galp(l3)", "galp(delta(packed))",
                               "galp(rle(packed, packed))", "galp(dict(packed, packed))", "rle(galp(packed), packed)",
                               "rle(galp(packed), delta(packed))", "rle(galp(l3), delta(l3))"}) {
        const Node node = encode_tree(values_of(column), bind_tree(parse_tree(text), physical_of(type)));
        const Column decoded = gpu().backend->decode(view_of(node), type);
        EXPECT_EQ(std::memcmp(decoded.values.data(), column.values.data(), rows * sizeof(T)), 0)
            << text << ", " << rows << " rows, 1 of " << share << " no decimal";
      }
    }
  }
}

TEST(GpuArrays, DecodeDecimals) {
  BASALT_NEEDS_GPU();
  expect_decimals<double>(TypeKind::kFloat64);
  expect_decimals<float>(TypeKind::kFloat32);
}

TEST(GpuArrays, EncodeToTheSameBytes) {
  BASALT_NEEDS_GPU();
  for_each_array([](const Column&, const Values& values, const Tree& tree, Effort effort, const Node& node,
                    const std::string& place) {
    EXPECT_EQ(gpu().backend->why_not_encode(values.type, tree), "") << place;
    try {
      expect_same(gpu().backend->encode(values, tree, effort), node, place);
    } catch (const Error& error) {
      ADD_FAILURE() << place << ": " << error.what();
    }
  });
}

template <typename T>
Values values_of(const std::vector<T>& integers) {
  constexpr Physical kSigned[] = {Physical::kI8, Physical::kI16, Physical::kI32, Physical::kI64};
  constexpr Physical kUnsigned[] = {Physical::kU8, Physical::kU16, Physical::kU32, Physical::kU64};
  Values values;
  values.type = (std::is_signed_v<T> ? kSigned : kUnsigned)[std::bit_width(sizeof(T)) - 1];
  values.count = integers.size();
  values.data = integers.data();
  return values;
}

template <typename T>
void expect_same_integers(const std::vector<T>& integers, const char* text, Aims aims, const std::string& name) {
  const Values values = values_of(integers);
  const Tree tree = bind_tree(parse_tree(text), values.type);
  ASSERT_EQ(gpu().backend->why_not_encode(values.type, tree), "") << text;
  expect_same(gpu().backend->encode(values, tree, aims), encode_tree(values, tree, aims),
              std::string(text) + " of " + name + ", " + std::to_string(integers.size()) + " rows of " +
                  std::to_string(sizeof(T)) + " bytes");
}

// Alphabets of all sizes, units of both lengths, rows that nearly all have one symbol.
template <typename T>
void expect_same_symbols() {
  std::mt19937_64 random(3);
  for (const size_t rows : {0, 1, 33, 8192, 9001, 200'000}) {
    for (const uint32_t alphabet : {1u, 2u, 3u, 256u, 257u, 4096u}) {
      if (alphabet > 256 && sizeof(T) == 1) continue;
      std::vector<T> values(rows);
      for (T& value : values) {
        const uint64_t skewed = std::min(random() % alphabet, random() % alphabet);
        value = static_cast<T>(static_cast<T>(-5) + static_cast<T>(random() % 64 == 0 || alphabet > 3 ? skewed : 0));
      }
      for (const Purpose purpose : {Purpose::kBalanced, Purpose::kDisk}) {
        expect_same_integers(values, "ans", {Effort::kBalanced, purpose}, std::to_string(alphabet) + " symbols");
      }
    }
  }
}

TEST(GpuArrays, EncodeSymbolsToTheSameBytes) {
  BASALT_NEEDS_GPU();
  expect_same_symbols<uint8_t>();
  expect_same_symbols<uint16_t>();
  expect_same_symbols<int32_t>();
  expect_same_symbols<int64_t>();
}

// Steps that all, most, half and few neighbours differ by.
template <typename T>
void expect_same_steps() {
  std::mt19937_64 random(4);
  for (const size_t rows : {0, 1, 2, 3, 1025, 300'000}) {
    for (const T step : {T{0}, T{1}, static_cast<T>(-3), static_cast<T>(~T{0} / 5)}) {
      for (const uint32_t breaks : {0u, 1u, 2u, 50u}) {
        std::vector<T> values(rows);
        T value = 7;
        for (T& one : values) {
          one = value;
          value = static_cast<T>(value + (breaks > 0 && random() % breaks == 0 ? static_cast<T>(random()) : step));
        }
        const std::string name = "one break in " + std::to_string(breaks);
        expect_same_integers(values, "stride(rle(packed, packed))", {}, name);
      }
    }
  }
}

TEST(GpuArrays, EncodeStepsToTheSameBytes) {
  BASALT_NEEDS_GPU();
  expect_same_steps<uint8_t>();
  expect_same_steps<uint16_t>();
  expect_same_steps<uint32_t>();
  expect_same_steps<uint64_t>();
}

TEST(GpuArrays, EncodeGroupsToTheSameBytes) {
  BASALT_NEEDS_GPU();
  for (const size_t rows : {0, 1, 5, 10'007}) {
    for (const uint32_t pattern : {2u, 4u, 7u, 10'000u}) {
      std::vector<int32_t> values(rows);
      for (size_t i = 0; i < rows; ++i) values[i] = static_cast<int32_t>(i % pattern * 2654435761u % 1000) - 500;
      expect_same_integers(values, "grouped(dict(packed, plain))", {}, "a pattern of " + std::to_string(pattern));
      expect_same_integers(values, "grouped(packed)", {}, "a pattern of " + std::to_string(pattern));
    }
  }
}

// Long partitions and many of them: curves, runs, noise.
TEST(GpuArrays, EncodeLearnedColumnsToTheSameBytes) {
  BASALT_NEEDS_GPU();
  for (const L3Set& set : l3_sets()) {
    const uint64_t rows = std::min<uint64_t>(set.rows, 300'000);
    const Table table = L3Generator(set, rows).next(rows);
    const Values values = values_of(table.columns[0]);
    const Tree tree = bind_tree({"l3", {}}, values.type);
    EXPECT_EQ(gpu().backend->why_not_encode(values.type, tree), "");
    for (const Effort effort : {Effort::kFast, Effort::kBalanced, Effort::kBest}) {
      expect_same(gpu().backend->encode(values, tree, effort), encode_tree(values, tree, effort),
                  std::string(set.name) + ", effort " + std::to_string(static_cast<int>(effort)));
    }
  }
}

template <typename T>
void expect_same_floats(const std::vector<T>& floats, const std::string& name) {
  const Values values = testing::view(floats);
  for (const char* text : {"galp(packed)", "galp(delta(packed))", "galp(rle(packed, packed))",
                           "galp(dict(packed, packed))", "galp(l3)", "galp(plain)"}) {
    const Tree tree = bind_tree(parse_tree(text), values.type);
    ASSERT_EQ(gpu().backend->why_not_encode(values.type, tree), "") << text;
    for (const Effort effort : {Effort::kFast, Effort::kBalanced, Effort::kBest}) {
      expect_same(gpu().backend->encode(values, tree, effort), encode_tree(values, tree, effort),
                  std::string(text) + " of " + name + ", " + std::to_string(floats.size()) + " rows of " +
                      std::to_string(sizeof(T)) + " bytes, effort " + std::to_string(static_cast<int>(effort)));
    }
  }
}

template <typename T>
void expect_same_floats_of_every_kind() {
  std::mt19937_64 random(1);
  for (const size_t rows : {0, 1, 31, 33, 1023, 1024, 1025, 131072 + 5, 1'000'000}) {
    expect_same_floats(testing::decimals<T>(rows, 30'000, 100, rows), "decimals");
    expect_same_floats(testing::mixed_tiles<T>(rows, rows), "mixed tiles");
  }
  for (const T value : testing::special_values<T>()) expect_same_floats(std::vector<T>(1100, value), "one value");
  for (const uint32_t share : {2u, 10u, 300u}) {
    std::vector<T> values = testing::decimals<T>(200'000, 3000, 100, share);
    for (T& value : values) {
      if (random() % share == 0) value = testing::random_bits<T>(random);
    }
    expect_same_floats(values, "one exception in " + std::to_string(share));
  }
  // Few upper parts, with outliers: RD.
  std::vector<T> reals(300'000);
  std::uniform_real_distribution<double> real(1, 4);
  for (T& value : reals) value = random() % 500 == 0 ? testing::random_bits<T>(random) : static_cast<T>(real(random));
  expect_same_floats(reals, "reals");
}

TEST(GpuArrays, EncodeFloatsToTheSameBytes) {
  BASALT_NEEDS_GPU();
  expect_same_floats_of_every_kind<double>();
  expect_same_floats_of_every_kind<float>();
}

// A few tiles in every encoder that is not a plain loop: little enough for compute-sanitizer to watch.
TEST(GpuSmall, EncodersAndDecoders) {
  BASALT_NEEDS_GPU();
  const auto expect = [](const Values& values, const DataType& type, const char* text, Effort effort) {
    const Tree tree = bind_tree(parse_tree(text), values.type);
    const Node node = encode_tree(values, tree, effort);
    const std::string place = std::string(text) + ", effort " + std::to_string(static_cast<int>(effort));
    expect_same(gpu().backend->encode(values, tree, effort), node, place);
    const NodeView view = view_of(node);
    EXPECT_TRUE(equal(gpu().backend->decode(view, type), decode_rows(view, type, 0, node.count))) << place;
  };
  const auto expect_floats = [&](const auto& floats, TypeKind kind) {
    expect(testing::view(floats), {kind, 0, 0, TimeUnit::kMicro}, "galp(packed)", Effort::kFast);
    expect(testing::view(floats), {kind, 0, 0, TimeUnit::kMicro}, "galp(packed)", Effort::kBalanced);
  };
  expect_floats(testing::mixed_tiles<double>(5003, 1), TypeKind::kFloat64);
  expect_floats(testing::mixed_tiles<float>(5003, 2), TypeKind::kFloat32);
  for (const L3Set& set : l3_sets()) {
    const Table table = L3Generator(set, 5003).next(5003);
    expect(values_of(table.columns[0]), table.columns[0].type, "l3", Effort::kBalanced);
    if (set.name == l3_sets().front().name) {
      expect(values_of(table.columns[0]), table.columns[0].type, "l3", Effort::kFast);
      expect(values_of(table.columns[0]), table.columns[0].type, "l3", Effort::kBest);
    }
  }
  const testing::Array texts = make_texts(pick(random_texts(300, 40, 2, "https://", '\0', 4), 3000, 3), 3);
  const DataType binary{TypeKind::kBinary, 0, 0, TimeUnit::kMicro};
  for (const char* text : {"dict(packed, strings(packed, plain))", "strings(packed, fsst)", "strings(packed, tokens)",
                           "dict(packed, strings(plain, tokens(plain, plain, strings(packed, fsst))))"}) {
    expect(texts.values, binary, text, Effort::kBalanced);
  }
  const testing::Array numbered = make_texts(numbered_texts(3000, "Customer#", 9, 4), 3);
  for (const char* text : {"numbered(packed)", "numbered(plain)", "numbered(delta(packed))"}) {
    expect(numbered.values, binary, text, Effort::kBalanced);
  }
  Random random(5);
  std::vector<int64_t> numbers(6001);
  for (size_t i = 1; i < numbers.size(); ++i) numbers[i] = numbers[i - 1] + (below(random, 3) == 0 ? 7 : 0);
  const Column runs = make_fixed({TypeKind::kInt64, 0, 0, TimeUnit::kMicro}, numbers);
  for (const char* text : {"rle(packed, packed)", "rle(packed, delta(packed))", "delta(packed)", "dict(packed, packed)",
                           "stride(rle(packed, packed))", "rle(ans, packed)", "dict(ans, packed)", "grouped(packed)"}) {
    expect(values_of(runs), runs.type, text, Effort::kBalanced);
  }
}

// Nothing if the values do not fit the tree.
std::optional<Node> encoded(const std::function<Node()>& encode) {
  try {
    return encode();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported) << error.what();
    return std::nullopt;
  }
}

void expect_same_strings(const Values& values, const std::string& text, const std::string& name,
                         Effort effort = Effort::kBalanced) {
  const Tree tree = bind_tree(parse_tree(text), Physical::kBytes);
  const std::string place = text + " of " + name;
  ASSERT_EQ(gpu().backend->why_not_encode(values.type, tree), "") << place;
  const auto expected = encoded([&] { return encode_tree(values, tree, effort); });
  const auto got = encoded([&] { return gpu().backend->encode(values, tree, effort); });
  ASSERT_EQ(got.has_value(), expected.has_value()) << place;
  if (got) expect_same(*got, *expected, place);
}

TEST(GpuArrays, EncodeStringsToTheSameBytes) {
  BASALT_NEEDS_GPU();
  for (const StringCase& test : string_cases()) {
    for (const char* text : {"strings(packed, plain)", "strings(packed, constant)", "strings(constant, constant)",
                             "dict(packed, strings(packed, plain))", "dict(packed, strings(packed, constant))",
                             "dict(rle(packed, packed), strings(dict(packed, plain), plain))"}) {
      expect_same_strings(test.array.values, text, test.name);
    }
  }
}

TEST(GpuArrays, CompressStringsToTheSameBytes) {
  BASALT_NEEDS_GPU();
  for (const testing::TextCase& one : testing::text_cases()) {
    const testing::Array array = testing::make_texts(one.texts);
    for (const Effort effort : {Effort::kFast, Effort::kBalanced, Effort::kBest}) {
      expect_same_strings(array.values, "strings(packed, fsst(packed))", one.name, effort);
    }
    expect_same_strings(array.values, "dict(packed, strings(packed, fsst(packed)))", one.name);
  }
}

TEST(GpuArrays, TokeniseStringsToTheSameBytes) {
  BASALT_NEEDS_GPU();
  for (const testing::TextCase& one : testing::text_cases()) {
    const testing::Array array = testing::make_texts(one.texts);
    for (const Effort effort : {Effort::kFast, Effort::kBalanced, Effort::kBest}) {
      expect_same_strings(array.values, "strings(packed, tokens)", one.name, effort);
    }
    expect_same_strings(array.values, "dict(packed, strings(packed, tokens))", one.name);
  }
  for (const StringCase& test : string_cases()) {
    expect_same_strings(test.array.values, "strings(packed, tokens(plain, delta(packed), strings(packed, fsst)))",
                        test.name);
  }
  std::vector<std::string> long_row = testing::sentences(3000, 2);
  while (long_row[7].size() < 1'500'000) long_row[7] += long_row[long_row[7].size() % 2000 + 100];
  expect_same_strings(testing::make_texts(long_row).values, "strings(packed, tokens)", "a row of 1.5 MB");
  expect_same_strings(testing::make_texts(testing::sentences(1 << 20, 3)).values, "strings(packed, tokens)",
                      "a million sentences");
  expect_same_strings(make_texts(pick(colliding_words(1), 5000, 2)).values, "strings(packed, tokens)",
                      "words that no hash table tells apart");
}

// Entries that no reader would take are encoded again, by both encoders alike.
TEST(GpuArrays, EncodeEntriesThatReadersTakeToTheSameBytes) {
  BASALT_NEEDS_GPU();
  std::vector<std::string> texts;
  for (size_t i = 0; i < 800; ++i) texts.push_back(std::string(100'000, 'x') + std::to_string(i / 2));
  const testing::Array array = make_texts(texts);
  const Tree tree = bind_tree(parse_tree("dict(packed, strings(packed, tokens))"), Physical::kBytes);
  const Node got = gpu().backend->encode(array.values, tree, Effort::kBalanced);
  ASSERT_EQ(got.children.at(dict::kEntries).children.at(1).codec->name(), "fsst");
  expect_same(got, encode_tree(array.values, tree, Effort::kBalanced), "entries beyond the limit");
}

TEST(GpuArrays, TakeNumbersOutOfStringsToTheSameBytes) {
  BASALT_NEEDS_GPU();
  const auto expect = [](const std::vector<std::string>& texts, const std::string& name) {
    const testing::Array array = make_texts(texts, 5);
    for (const char* tree : {"numbered(packed)", "numbered(delta(packed))"}) {
      expect_same_strings(array.values, tree, name);
    }
  };
  for (const StringCase& test : string_cases()) expect_same_strings(test.array.values, "numbered(packed)", test.name);
  expect({}, "no rows");
  expect(numbered_texts(1, "", 1, 1), "one digit");
  expect(numbered_texts(100'000, "Clerk#", 9, 2), "clerks");
  expect(numbered_texts(5000, std::string(3000, 'p'), 19, 3), "a long text");
  expect(numbered_texts(5000, "digits before 123", 4, 4), "a text that ends in digits");
  std::vector<std::string> other = numbered_texts(5000, "Clerk#", 9, 5);
  other[4000][2] = 'E';
  expect(other, "another text");
  other[4000] = "Clerk#12";
  expect(other, "another length");
}

TEST(GpuArrays, CompressStringsWithTablesOfRangesToTheSameBytes) {
  BASALT_NEEDS_GPU();
  constexpr uint32_t kRange = 20 * kTileRows;
  const testing::Array array = testing::make_texts(testing::changing_texts(5 * kRange + 77, kRange, 36));
  for (const Effort effort : {Effort::kBalanced, Effort::kBest}) {
    expect_same_strings(array.values, "strings(packed, fsst(packed))", "changing texts", effort);
  }
}

TEST(GpuArrays, EncodeManyAndLongStringsToTheSameBytes) {
  BASALT_NEEDS_GPU();
  const auto expect = [](const std::vector<std::string>& texts, const std::string& name) {
    const testing::Array array = make_texts(texts, 3);
    expect_same_strings(array.values, "dict(packed, strings(packed, plain))", name);
    expect_same_strings(array.values, "strings(packed, constant)", name);
    expect_same_strings(array.values, "strings(packed, fsst(packed))", name);
  };
  expect(random_texts(1 << 20, 16, 1, "", 'a', 26), "a million random strings");
  expect(pick(random_texts(50'000, 40, 2, "https://example.org/", '\0', 4), 1 << 20, 3), "a million of 50,000 strings");
  expect(pick(colliding_texts(1000, 4), 200'000, 5), "many equal hashes");
  expect(std::vector<std::string>(1 << 20, "constant"), "a million equal strings");
  std::vector<std::string> huge(5, std::string(30'000'000, 'h'));
  expect(huge, "equal strings of 30 MB");
  huge[1].back() = 'g';
  huge[3][20'000'000] = 'i';
  huge.emplace_back("short");
  huge.emplace_back(100'000'000, 'h');
  expect(huge, "strings of 30 and 100 MB");
}

TEST(GpuArrays, DamagedValuesAreAnErrorAndNoCrash) {
  BASALT_NEEDS_GPU();
  Random random(3);
  int errors = 0;
  for (const char* text : {"dict(packed, plain)", "rle(packed, packed)", "rle(plain, plain)", "delta(packed)", "l3"}) {
    const DataType type{TypeKind::kInt64, 0, 0, TimeUnit::kMicro};
    std::vector<int64_t> numbers(5000);
    for (size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = static_cast<int64_t>(i < 3000 ? i / 7 % 50 : i / 61 * i / 61 * 1'000'003 % 777'777);
    }
    const Column column = make_fixed(type, numbers);
    const Node intact = encode_tree(values_of(column), bind_tree(parse_tree(text), Physical::kI64));
    for (int round = 0; round < 40; ++round) {
      Node damaged = intact;
      Node* node = &damaged;
      while (!node->children.empty() && below(random, 3) != 0)
        node = &node->children[below(random, node->children.size())];
      for (Buffer& stream : node->streams) {
        if (!stream.empty()) stream.data()[below(random, stream.size())] ^= std::byte{0xFF};
      }
      const NodeView view = view_of(damaged);
      try {
        validate_tree(view);
        const Column decoded = gpu().backend->decode(view, type);
        EXPECT_EQ(decoded.length, column.length);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kCorrupt) << text << ": " << error.what();
        ++errors;
      }
    }
  }
  EXPECT_GT(errors, 0);
}

}  // namespace
}  // namespace basalt::test
