// Functions of strings as the device evaluates them, byte by byte, against their plain meaning.
#include <gtest/gtest.h>

#include "exec/plain_texts.h"
#include "exec/random_expr.h"
#include "exec/text_functions.h"

namespace basalt::test {
namespace {

TextBytes bytes_of(const std::string& text) {
  return {reinterpret_cast<const unsigned char*>(text.data()), text.size()};
}
std::string string_of(const TextBytes& bytes) { return {reinterpret_cast<const char*>(bytes.data), bytes.size}; }

std::string random_text(Random& random) {
  static const char* const kPieces[] = {"a", "b", "ab", "A", " ", "\u00FC", "\u4E16", "\U0001F986"};
  std::string out;
  for (uint64_t left = below(random, 9); left > 0; --left) out += kPieces[below(random, std::size(kPieces))];
  return out;
}

Value plain(ExprOp op, Physical type, const std::vector<Value>& args) {
  Expr expr;
  expr.op = op;
  expr.type = type;
  return *plain_text_function(expr, args);
}

TEST(TextFunctions, EqualTheirPlainMeaning) {
  Random random(81);
  for (int round = 0; round < 5000; ++round) {
    const std::string text = random_text(random);
    const std::string other = random_text(random);
    const std::string third = random_text(random);
    const uint64_t count = below(random, 6);
    const int64_t sides = static_cast<int64_t>(below(random, 4));
    const Value a = Value::of_bytes(text);
    const Value b = Value::of_bytes(other);
    const auto number = [](uint64_t value) { return Value::of_integer(Physical::kI64, static_cast<int128_t>(value)); };
    EXPECT_EQ(string_of(exec::suffix_of(bytes_of(text), count)),
              plain(ExprOp::kSuffix, Physical::kBytes, {a, number(count)}).bytes);
    EXPECT_EQ(exec::position_in(bytes_of(text), bytes_of(other)),
              static_cast<uint64_t>(plain(ExprOp::kPosition, Physical::kI64, {a, b}).integer))
        << text << " in " << other;
    EXPECT_EQ(string_of(exec::trimmed_text(bytes_of(text), bytes_of(other), (sides & 1) != 0, (sides & 2) != 0)),
              plain(ExprOp::kTrim, Physical::kBytes, {a, b, number(static_cast<uint64_t>(sides))}).bytes);
    CountingSink counted;
    exec::replace_text(bytes_of(text), bytes_of(other), bytes_of(third), counted);
    std::string replaced(counted.size, '?');
    WritingSink written{reinterpret_cast<unsigned char*>(replaced.data())};
    exec::replace_text(bytes_of(text), bytes_of(other), bytes_of(third), written);
    EXPECT_EQ(replaced, plain(ExprOp::kReplace, Physical::kBytes, {a, b, Value::of_bytes(third)}).bytes);
    if (HasFailure()) return;
  }
}

TEST(TextFunctions, CountCodePoints) {
  const std::string text = "gr\u00FCn \u4E16";
  EXPECT_EQ(exec::code_points_of(bytes_of(text)), 6u);
  EXPECT_EQ(string_of(exec::substring_of(bytes_of(text), 2, 3)), "\u00FCn ");
  EXPECT_EQ(string_of(exec::substring_of(bytes_of(text), 5, 100)), "\u4E16");
  EXPECT_EQ(string_of(exec::substring_of(bytes_of(text), 9, 1)), "");
}

TEST(TextFunctions, KnowLettersOfAscii) {
  const std::string text = "az AZ @[`{09";
  std::string upper(text.size(), '?');
  WritingSink sink{reinterpret_cast<unsigned char*>(upper.data())};
  EXPECT_TRUE(exec::put_in_case(bytes_of(text), true, sink));
  EXPECT_EQ(upper, "AZ AZ @[`{09");
  CountingSink counted;
  EXPECT_FALSE(exec::put_in_case(bytes_of("gr\u00FCn"), false, counted));
}

}  // namespace
}  // namespace basalt::test
