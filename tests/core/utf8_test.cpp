// UTF-8: every short sequence is judged as the standard does, wherever it lies; columns by their valid rows only.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "core/utf8.h"

namespace basalt {
namespace {

// Table 3-7 of the Unicode standard, word for word.
bool is_well_formed(const std::string& text) {
  const auto in = [&](size_t i, int low, int high) {
    return i < text.size() && static_cast<uint8_t>(text[i]) >= low && static_cast<uint8_t>(text[i]) <= high;
  };
  for (size_t i = 0; i < text.size();) {
    const auto tail = [&](size_t k) { return in(i + k, 0x80, 0xBF); };
    if (in(i, 0x00, 0x7F)) {
      i += 1;
    } else if (in(i, 0xC2, 0xDF) && tail(1)) {
      i += 2;
    } else if ((in(i, 0xE0, 0xE0) && in(i + 1, 0xA0, 0xBF) && tail(2)) || (in(i, 0xE1, 0xEC) && tail(1) && tail(2)) ||
               (in(i, 0xED, 0xED) && in(i + 1, 0x80, 0x9F) && tail(2)) || (in(i, 0xEE, 0xEF) && tail(1) && tail(2))) {
      i += 3;
    } else if ((in(i, 0xF0, 0xF0) && in(i + 1, 0x90, 0xBF) && tail(2) && tail(3)) ||
               (in(i, 0xF1, 0xF3) && tail(1) && tail(2) && tail(3)) ||
               (in(i, 0xF4, 0xF4) && in(i + 1, 0x80, 0x8F) && tail(2) && tail(3))) {
      i += 4;
    } else {
      return false;
    }
  }
  return true;
}

TEST(Utf8, EveryShortSequence) {
  // Bytes on both sides of every border that matters.
  const std::string edges(
      "\x00\x41\x7F\x80\x8F\x90\x9F\xA0\xBF\xC0\xC1\xC2\xDF\xE0\xE1\xEC\xED\xEE\xEF\xF0\xF1\xF3\xF4\xF5\xFF", 25);
  for (const char a : edges) {
    for (const char b : edges) {
      for (const char c : edges) {
        for (const char d : edges) {
          const std::string text{a, b, c, d};
          for (size_t length = 1; length <= 4; ++length) {
            const std::string part = text.substr(0, length);
            ASSERT_EQ(is_utf8(part), is_well_formed(part)) << testing::PrintToString(part);
          }
        }
      }
    }
  }
}

TEST(Utf8, AtEveryPlaceOfALongText) {
  for (const std::string& character : {std::string("é"), std::string("漢"), std::string("\U0001F30B")}) {
    for (size_t before = 0; before < 140; ++before) {
      for (const size_t after : {size_t{0}, size_t{1}, size_t{64}, size_t{200}}) {
        const std::string text = std::string(before, 'x') + character + std::string(after, 'y');
        ASSERT_TRUE(is_utf8(text));
        for (size_t i = 0; i < character.size(); ++i) {
          std::string damaged = text;
          damaged[before + i] = '\xFF';
          ASSERT_FALSE(is_utf8(damaged));
          damaged.erase(before + i, 1);
          ASSERT_FALSE(is_utf8(damaged)) << before;
        }
      }
    }
  }
}

TEST(Utf8, CharactersOfAllLengthsWithAndWithoutDamage) {
  const std::vector<std::string> characters = {"a", " ", "é", "я", "漢", "\U0001F30B", std::string(130, 'x')};
  std::mt19937 random(1);
  const auto below = [&](size_t end) { return static_cast<size_t>(random() % end); };
  uint32_t sound = 0;
  for (int round = 0; round < 100'000; ++round) {
    std::string text;
    for (size_t left = below(40); left > 0; --left)
      text += characters[below(characters.size() - (round % 4 == 0 ? 0 : 1))];
    if (!text.empty() && round % 2 == 1) {
      const size_t at = below(text.size());
      if (round % 3 == 0) text[at] = static_cast<char>(random());
      if (round % 3 == 1) text.erase(at, 1 + below(3));
      if (round % 3 == 2) text.resize(at);
    }
    sound += is_utf8(text) ? 1 : 0;
    ASSERT_EQ(is_utf8(text), is_well_formed(text)) << testing::PrintToString(text);
  }
  EXPECT_GT(sound, 50'000u);
  EXPECT_LT(sound, 90'000u);
}

Column column_of(const std::vector<std::string>& texts) {
  Field field;
  field.type = {TypeKind::kUtf8};
  Column column = make_column(field);
  for (const std::string& text : texts) {
    column.bytes.append(text.data(), text.size());
    column.offsets.push(static_cast<int64_t>(column.bytes.size()));
  }
  column.length = texts.size();
  return column;
}

TEST(Utf8, ColumnsAreJudgedRowByRow) {
  EXPECT_EQ(find_invalid_utf8(column_of({})), std::nullopt);
  EXPECT_EQ(find_invalid_utf8(column_of({"", "a", "é", "", "漢", ""})), std::nullopt);
  std::string ends_badly(100, 'x');
  ends_badly.push_back('\xFF');
  EXPECT_EQ(find_invalid_utf8(column_of({"a", "b", ends_badly, "c"})), 2u);
  // One character cut by the border of two rows: well formed as a whole, not row by row.
  EXPECT_EQ(find_invalid_utf8(column_of({"a", "\xC3", "\xA9"})), 1u);
  Column nulls = column_of({"a", "\xFF", "é", "\xFE"});
  nulls.validity.resize(1);
  nulls.validity.as<uint8_t>()[0] = 0b1101;
  nulls.null_count = 1;
  EXPECT_EQ(find_invalid_utf8(nulls), 3u);
  nulls.validity.as<uint8_t>()[0] = 0b0101;
  EXPECT_EQ(find_invalid_utf8(nulls), std::nullopt);
}

}  // namespace
}  // namespace basalt
