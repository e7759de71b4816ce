// Trees print and parse back, bind to types, and the chooser keeps its promises.
#include "basalt/encoding/tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "basalt/core/error.h"
#include "basalt/encoding/chooser.h"
#include "codec/arrays.h"
#include "codec/galp_values.h"
#include "gen/l3.h"

namespace basalt {
namespace {

using testing::Array;
using testing::make_array;
using testing::Pattern;
using testing::view;

TEST(Tree, PrintsAndParsesBack) {
  for (const char* text : {"plain", "dict(packed, strings(packed, plain))", "rle(delta(packed), packed)",
                           "validity(rle(packed, packed), packed)", "sum(packed, @l_shipdate)",
                           "sum(packed, product(map(@a.b, packed), @\"the \"\"other\"\", (one)\"))"}) {
    EXPECT_EQ(to_string(parse_tree(text)), text);
  }
  EXPECT_EQ(to_string(parse_tree("  dict( packed ,plain )")), "dict(packed, plain)");
}

TEST(Tree, ErrorsNameThePosition) {
  for (const char* text : {"", "dict(", "dict(packed", "dict(packed,)", "packed)", "dict packed", "(packed)", "sum(@)",
                           "@", "@\"a", "sum(packed, @a(packed))"}) {
    try {
      parse_tree(text);
      ADD_FAILURE() << text << " parsed";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      EXPECT_NE(std::string(error.what()).find("position"), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(parse_tree(std::string(5000, 'a') + std::string(5000, '(')), Error);
}

TEST(Tree, BindingFillsInDefaults) {
  EXPECT_EQ(to_string(bind_tree(parse_tree("dict"), Physical::kBytes)), "dict(packed, strings(packed, plain))");
  EXPECT_EQ(to_string(bind_tree(parse_tree("strings(packed, fsst)"), Physical::kBytes)),
            "strings(packed, fsst(packed))");
  EXPECT_EQ(to_string(bind_tree(parse_tree("dict"), Physical::kF64)), "dict(packed, plain)");
  EXPECT_EQ(to_string(bind_tree(parse_tree("rle"), Physical::kI32)), "rle(packed, packed)");
  EXPECT_EQ(to_string(bind_tree(parse_tree("validity"), Physical::kI8)), "validity(packed, packed)");
}

TEST(Tree, BindingRefusesWhatCannotWork) {
  EXPECT_THROW(bind_tree(parse_tree("packed"), Physical::kF64), Error);
  EXPECT_THROW(bind_tree(parse_tree("strings"), Physical::kI32), Error);
  EXPECT_THROW(bind_tree(parse_tree("rle(validity, packed)"), Physical::kI32), Error);
  EXPECT_THROW(bind_tree(parse_tree("dict(packed, delta(packed))"), Physical::kI32), Error);
  EXPECT_THROW(bind_tree(parse_tree("packed(packed)"), Physical::kI32), Error);
  EXPECT_THROW(bind_tree(parse_tree("zip"), Physical::kI32), Error);
}

TEST(Tree, RefusalsNameThePlaceInTheTree) {
  const auto refusal = [](const char* tree, Physical type) -> std::string {
    try {
      bind_tree(parse_tree(tree), type);
    } catch (const Error& error) {
      return error.what();
    }
    return "no refusal";
  };
  EXPECT_EQ(refusal("packed(plain)", Physical::kI64), "packed takes 0 children, not 1");
  EXPECT_EQ(refusal("rle(delta(packed, packed), packed)", Physical::kI64),
            "delta takes 1 children, not 2 (rle's values)");
  EXPECT_EQ(refusal("rle(packed, delta(rle(packed, galp)))", Physical::kI64),
            "galp cannot hold unsigned 32-bit integers at this place of a tree (rle's run ends, delta's deltas, rle's "
            "run ends)");
  EXPECT_EQ(refusal("rle(dict(packed, delta))", Physical::kF64),
            "dict's entries must allow access to single rows, delta does not (rle's values)");
}

std::string chosen(Physical type, Pattern pattern) {
  const Array array = make_array(type, 200000, pattern, 3);
  return to_string(choose_tree(array.values));
}

TEST(Chooser, TakesTheObviousTree) {
  EXPECT_EQ(chosen(Physical::kI64, Pattern::kConstant), "constant");
  EXPECT_EQ(chosen(Physical::kI64, Pattern::kNarrow), "packed");
  EXPECT_EQ(chosen(Physical::kI64, Pattern::kSorted), "delta(packed)");
  EXPECT_EQ(chosen(Physical::kI64, Pattern::kFewDistinct).rfind("dict(packed", 0), 0u);
  EXPECT_EQ(chosen(Physical::kI64, Pattern::kRuns).rfind("rle(", 0), 0u);
  EXPECT_EQ(chosen(Physical::kBytes, Pattern::kFewDistinct).rfind("dict(", 0), 0u);
  EXPECT_EQ(chosen(Physical::kF64, Pattern::kRandom), "plain");
}

size_t counted_depth(const Tree& tree) {
  size_t depth = 0;
  for (const Tree& child : tree.children) depth = std::max(depth, counted_depth(child));
  return depth + get_codec(tree.codec).depth_cost();
}

TEST(Chooser, StaysWithinTheDepth) {
  for (const Pattern pattern : testing::kAllPatterns) {
    for (const Physical type : {Physical::kI32, Physical::kU64, Physical::kF64, Physical::kBytes}) {
      const Array array = make_array(type, 60000, pattern, 11);
      const Tree tree = choose_tree(array.values);
      EXPECT_LE(counted_depth(tree), kMaxTreeDepth) << to_string(tree);
    }
  }
}

TEST(Chooser, KeepsToFourShapesAndAlwaysHoldsTheValues) {
  for (const Physical type : {Physical::kI64, Physical::kI128, Physical::kF64, Physical::kBytes}) {
    ShapeChooser chooser(type);
    std::vector<uint8_t> validity(40000 / 8, 0xAA);
    for (int round = 0; round < 40; ++round) {
      Array array = make_array(type, 40000, testing::kAllPatterns[round * 7 % 9], static_cast<uint64_t>(round));
      if (round % 3 == 2) array.values.validity = validity.data();
      Tree tree = chooser.choose(array.values);
      try {
        encode_tree(array.values, tree);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
        tree = universal_tree(type);
        encode_tree(array.values, tree);
      }
      EXPECT_TRUE(array.values.validity == nullptr || tree.codec == "validity") << to_string(tree);
    }
    EXPECT_LE(chooser.shapes().size(), kMaxShapes);
    const auto& shapes = chooser.shapes();
    const bool universal_there = std::find(shapes.begin(), shapes.end(), universal_tree(type)) != shapes.end();
    EXPECT_LE(shapes.size() + (universal_there ? 0 : 1), kMaxShapes);
  }
}

// A line goes through all tiles, which a sample of tiles that are no neighbours does not show.
TEST(Chooser, RunnersUpAreTriedOnAllRows) {
  std::vector<int64_t> numbers(1 << 18);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(21.47 * static_cast<double>(i));
  Values values;
  values.type = Physical::kI64;
  values.count = numbers.size();
  values.data = numbers.data();
  EXPECT_EQ(to_string(choose_tree(values)), "l3");
}

// Integers whose symbols are far from equally frequent; `outlier` stands at the last row but one, where no sample
// looks.
std::vector<int64_t> skewed_numbers(int64_t outlier) {
  std::mt19937_64 random(4);
  std::vector<int64_t> numbers(200000);
  for (int64_t& number : numbers) number = std::countl_zero(random() | 1);
  numbers[numbers.size() / 2 + 3000] = outlier;
  return numbers;
}

Values values_of(const std::vector<int64_t>& numbers) {
  Values values;
  values.type = Physical::kI64;
  values.count = numbers.size();
  values.data = numbers.data();
  return values;
}

TEST(Chooser, EntropyCodesAreForDiskOnly) {
  const std::vector<int64_t> numbers = skewed_numbers(1);
  for (const Effort effort : {Effort::kFast, Effort::kBalanced, Effort::kBest}) {
    EXPECT_EQ(to_string(choose_tree(values_of(numbers), effort)).find("ans"), std::string::npos);
    EXPECT_EQ(to_string(choose_tree(values_of(numbers), effort, Purpose::kDisk)), "ans");
  }
  // 5.8 bits of 6 are worth it, 6 are not.
  for (const auto& [symbols, worth_it] : {std::pair{56, true}, {64, false}}) {
    std::vector<int64_t> alike(200000);
    std::mt19937_64 random(1);
    for (int64_t& number : alike) number = static_cast<int64_t>(random() % static_cast<uint64_t>(symbols));
    EXPECT_EQ(to_string(choose_tree(values_of(alike), Effort::kBalanced, Purpose::kDisk)) == "ans", worth_it);
  }
  // Runs that take hardly more than their entropy are read faster.
  std::vector<int64_t> runs;
  std::mt19937_64 random(2);
  while (runs.size() < 200000) {
    const auto number = static_cast<int64_t>(random() % 2000);
    runs.insert(runs.end(), 30 + random() % 40, number);
  }
  EXPECT_EQ(to_string(choose_tree(values_of(runs), Effort::kBalanced, Purpose::kDisk)).rfind("rle(", 0), 0u);
  std::vector<int64_t> apart = numbers;
  for (int64_t& number : apart) number *= 1000000;
  EXPECT_EQ(to_string(choose_tree(values_of(apart), Effort::kBalanced, Purpose::kDisk)).rfind("dict(ans, ", 0), 0u);
}

// Codes of a dictionary are looked up, which takes a kernel longer than to read more bits; copying these would take
// longer still. Entropy pays for a copy from five bits on, over a slow link sooner.
TEST(Chooser, TreesSuitWhatTheFileIsFor) {
  std::mt19937_64 random(5);
  std::vector<int64_t> few(200000);
  for (int64_t& number : few) number = static_cast<int64_t>(random() % 4 * 100);
  EXPECT_EQ(to_string(choose_tree(values_of(few))).rfind("dict(packed, ", 0), 0u);
  EXPECT_EQ(to_string(choose_tree(values_of(few), Effort::kBalanced, Purpose::kResident)), "packed");
  EXPECT_EQ(to_string(choose_tree(values_of(few), Effort::kBalanced, Purpose::kTransfer)).rfind("dict(packed, ", 0),
            0u);

  const std::vector<int64_t> skewed = skewed_numbers(1);
  EXPECT_EQ(to_string(choose_tree(values_of(skewed), Effort::kBalanced, Purpose::kResident)), "packed");
  const auto over = [&](const std::vector<int64_t>& numbers, double link_gbs) {
    return to_string(choose_tree(values_of(numbers), Effort::kBalanced, Purpose::kTransfer, link_gbs));
  };
  const auto no_ans = ::testing::Not(::testing::HasSubstr("ans"));
  EXPECT_THAT(over(skewed, kUsualLink), no_ans);
  EXPECT_EQ(over(skewed, 12), "ans");
  EXPECT_THAT(over(skewed, 450), no_ans);
  // Three rows in four take one bit of entropy, and all twelve of width.
  std::vector<int64_t> wide(200000);
  for (int64_t& number : wide) number = static_cast<int64_t>(random() % 4 == 0 ? random() % 4096 : random() % 2 * 4000);
  EXPECT_EQ(over(wide, kUsualLink), "ans");
  EXPECT_THAT(over(wide, 450), no_ans);
  std::vector<int64_t> alike(200000);
  for (int64_t& number : alike) number = static_cast<int64_t>(random() % 37);
  EXPECT_THAT(over(alike, 12), no_ans);
}

// Values with NULLs keep them whatever the file is for.
TEST(Chooser, TreesForAGpuHoldNulls) {
  std::vector<uint8_t> validity(200000 / 8, 0xF7);
  const std::vector<int64_t> numbers = skewed_numbers(1);
  for (const Purpose purpose : {Purpose::kResident, Purpose::kTransfer}) {
    Values values = values_of(numbers);
    values.validity = validity.data();
    const Tree tree = choose_tree(values, Effort::kBalanced, purpose, 12);
    EXPECT_EQ(tree.codec, "validity");
    EXPECT_EQ(tree.children.back().codec, purpose == Purpose::kTransfer ? "ans" : "packed");
    EXPECT_NO_THROW(encode_tree(values, tree));
  }
}

// Keys of which eight of 32 are used are runs without their slope.
TEST(Chooser, TakesProgressions) {
  std::vector<int64_t> keys(500000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<int64_t>(i / 8 * 32 + i % 8 + 1);
  const Tree tree = choose_tree(values_of(keys));
  EXPECT_EQ(to_string(tree).rfind("stride(rle(", 0), 0u) << to_string(tree);
  EXPECT_LT(encode_tree(values_of(keys), tree).encoded_bytes(), 16000u);
}

// A sample does not show that one value lies too far from the others: another tree is taken, not none.
TEST(Chooser, TreesForDiskHoldAllValues) {
  const std::vector<int64_t> numbers = skewed_numbers(int64_t{1} << 50);
  const Values values = values_of(numbers);
  EXPECT_THROW(encode_tree(values, {"ans", {}}), Error);
  for (const Effort effort : {Effort::kFast, Effort::kBalanced, Effort::kBest}) {
    ShapeChooser chooser(values.type, effort, Purpose::kDisk);
    for (int round = 0; round < 2; ++round) {
      const Tree tree = chooser.choose(values);
      EXPECT_NO_THROW(encode_tree(values, tree)) << to_string(tree);
    }
  }
}

// Chunks of strings that look alike share one search; others have their own.
TEST(Chooser, TextsAreSearchedOnceForAllThatLookAlike) {
  std::mt19937_64 random(3);
  const auto sentences = [&](uint64_t rows, uint64_t words) {
    std::vector<std::string> texts(rows);
    for (std::string& text : texts) {
      for (uint64_t i = 0; i < 8; ++i) text += "word" + std::to_string(random() % words) + " ";
    }
    return testing::make_texts(texts);
  };
  ShapeChooser chooser(Physical::kBytes);
  const Tree first = chooser.choose(sentences(20'000, 500).values);
  EXPECT_EQ(chooser.choose(sentences(20'000, 500).values), first);
  EXPECT_EQ(chooser.shapes().size(), 1u);
  std::vector<std::string> few(20'000);
  for (size_t i = 0; i < few.size(); ++i) few[i] = i % 3 == 0 ? "left" : i % 3 == 1 ? "right" : "straight on";
  const Tree other = chooser.choose(testing::make_texts(few).values);
  EXPECT_NE(other, first);
  EXPECT_EQ(other.codec, "dict");
  EXPECT_EQ(chooser.choose(sentences(20'000, 500).values), first);
}

// The last chunk of a table ends inside of a tile, which some trees store for less.
TEST(Chooser, AFewBytesLessAreNoReasonForAnotherTree) {
  const auto dates = [](uint64_t rows) {
    std::vector<int32_t> days(rows);
    for (size_t i = 0; i < rows; ++i) days[i] = static_cast<int32_t>(8036 + i * 2654435761u % 2526);
    return days;
  };
  ShapeChooser chooser(Physical::kI32);
  const auto choose = [&](const std::vector<int32_t>& days) {
    Values values;
    values.type = Physical::kI32;
    values.count = days.size();
    values.data = days.data();
    return chooser.choose(values);
  };
  const Tree first = choose(dates(200 * 1024));
  for (const uint64_t rows : {2, 300, 1025, 21 * 1024 + 100}) EXPECT_EQ(choose(dates(rows)), first) << rows;
}

// A tree of an earlier chunk is not kept where another is more than a per cent smaller.
TEST(Chooser, BestEffortChangesTreesBetweenChunks) {
  const Array sorted = make_array(Physical::kI64, 50000, Pattern::kSorted, 1);
  const Array noise = make_array(Physical::kI64, 50000, Pattern::kNarrow, 2);
  ShapeChooser chooser(Physical::kI64, Effort::kBest);
  for (const Array* array : {&sorted, &noise, &sorted}) {
    const auto bytes_of = [&](const Tree& tree) {
      return encode_tree(array->values, bind_tree(tree, Physical::kI64), Effort::kBest).encoded_bytes();
    };
    const uint64_t chosen_bytes = bytes_of(chooser.choose(array->values));
    for (const char* simple : {"packed", "delta(packed)", "rle"}) {
      const uint64_t bytes = bytes_of(parse_tree(simple));
      EXPECT_LE(chosen_bytes, bytes + std::max<uint64_t>(bytes / 100, 64)) << simple;
    }
  }
}

// At the best effort, trees are compared by what they take: nothing simple is smaller, with NULLs and without.
TEST(Chooser, BestEffortIsNeverBeatenBySimpleTrees) {
  constexpr uint64_t kRows = 60000;
  for (const L3Set& set : l3_sets()) {
    const uint64_t rows = std::min(kRows, set.rows);
    const Table table = L3Generator(set, rows).next(rows);
    Values values;
    values.type = physical_of(table.columns[0].type);
    values.count = rows;
    values.data = table.columns[0].values.data();
    const auto bytes_of = [&](const Tree& tree) {
      return encode_tree(values, bind_tree(tree, values.type), Effort::kBest).encoded_bytes();
    };
    const uint64_t chosen_bytes = bytes_of(choose_tree(values, Effort::kBest));
    for (const char* simple : {"packed", "delta(packed)", "rle", "l3"}) {
      const uint64_t bytes = bytes_of(parse_tree(simple));
      EXPECT_LE(chosen_bytes, bytes + std::max<uint64_t>(bytes / 100, 64)) << set.name << " as " << simple;
    }
    std::vector<uint8_t> valid((rows + 7) / 8, 0x7F);
    values.validity = valid.data();
    const uint64_t with_nulls = bytes_of(choose_tree(values, Effort::kBest));
    const uint64_t packed = bytes_of(parse_tree("validity(packed, packed)"));
    EXPECT_LE(with_nulls, packed + std::max<uint64_t>(packed / 100, 64)) << set.name;
  }
}

uint64_t bytes_at_best(const Values& values, const Tree& tree) {
  return encode_tree(values, tree, Effort::kBest).encoded_bytes();
}

// Whole numbers for which a line saves one bit of `bits`.
std::vector<double> noisy_line(uint32_t bits) {
  std::vector<double> column(50000);
  std::mt19937_64 random(bits);
  for (size_t i = 0; i < column.size(); ++i) {
    const double half = static_cast<double>(uint64_t{1} << (bits - 1));
    const double noise = static_cast<double>(random() % 900) / 1000 * half;
    column[i] = std::round(noise + static_cast<double>(i) * half / 3000);
  }
  return column;
}

// Floats at the best effort: one bit of 48 is not worth its time, one of 9 is.
TEST(Chooser, FloatsThatReadFasterMayBeAFewPerCentLarger) {
  for (const uint32_t bits : {48u, 9u}) {
    const std::vector<double> column = noisy_line(bits);
    const Values values = view(column);
    const uint64_t packed = bytes_at_best(values, parse_tree("galp(packed)"));
    const uint64_t learned = bytes_at_best(values, parse_tree("galp(l3)"));
    const Tree chosen = choose_tree(values, Effort::kBest);
    EXPECT_LT(learned, packed);
    EXPECT_EQ(packed <= learned * 103 / 100, bits == 48);
    EXPECT_EQ(to_string(chosen) == "galp(packed)", bits == 48) << to_string(chosen);
    EXPECT_LE(bytes_at_best(values, chosen), learned * 103 / 100);
  }
}

// Runs of one or two rows of a curve with noise, rounded to 0, 2 or 4 digits: samples take it for a line of one scale.
TEST(Chooser, RunsOfFloatsWithTheirOwnScalesAreTried) {
  std::mt19937_64 random(2);
  std::vector<double> column;
  while (column.size() < 60000) {
    const auto row = static_cast<double>(column.size());
    const double power = std::pow(100, column.size() / 3000 % 3);
    const double value = 1500 + 1000 * std::sin(row / 500) + static_cast<double>(random() % 100000) / 1000;
    column.insert(column.end(), 1 + random() % 2, std::round(value * power) / power);
  }
  const Tree chosen = choose_tree(view(column), Effort::kBest);
  EXPECT_EQ(to_string(chosen), "rle(galp(packed), delta(packed))");
  for (const char* tree : {"galp(rle(l3, delta(packed)))", "rle(galp(l3), delta(packed))", "galp(packed)"}) {
    EXPECT_LT(bytes_at_best(view(column), chosen), bytes_at_best(view(column), parse_tree(tree))) << tree;
  }
}

// Only the first tree of a column is taken for its speed. Later chunks take a faster one that is there; a new one has
// to be the smallest, or the column would run out of places for those that save much. Where a sample says what an
// earlier one said, nothing is tried again.
TEST(Chooser, FloatsSpendNoPlacesOnSpeed) {
  std::vector<double> runs(50000);
  for (size_t i = 0; i < runs.size(); ++i) runs[i] = static_cast<double>(i / 100 * 7919 % 1000) / 100;
  const std::vector<double> line = noisy_line(48);
  const std::vector<double> short_line = noisy_line(9);
  const auto choose = [](const std::vector<const std::vector<double>*>& chunks) {
    ShapeChooser chooser(Physical::kF64, Effort::kBest);
    std::vector<std::string> trees;
    for (const auto* chunk : chunks) trees.push_back(to_string(chooser.choose(view(*chunk))));
    return trees;
  };
  const std::string of_runs = choose({&runs})[0];
  EXPECT_EQ(choose({&runs, &line}), (std::vector<std::string>{of_runs, "galp(l3)"}));
  EXPECT_EQ(choose({&line, &short_line, &runs, &line}),
            (std::vector<std::string>{"galp(packed)", "galp(packed)", of_runs, "galp(packed)"}));
}

}  // namespace
}  // namespace basalt
