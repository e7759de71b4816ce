// Names that SQL can tell apart, and texts that a terminal may get.
#include "core/distinct_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/utf8.h"

namespace basalt {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<Field> fields_of(const std::vector<std::string>& names) {
  std::vector<Field> fields;
  for (const std::string& name : names) {
    fields.emplace_back().name = name;
    fields.back().type.kind = TypeKind::kInt32;
  }
  return fields;
}

TEST(DistinctNames, TheFirstKeepsItsName) {
  EXPECT_THAT(distinct_names(fields_of({"a", "b", "c"})), ElementsAre("a", "b", "c"));
  EXPECT_THAT(distinct_names(fields_of({"a", "A", "a"})), ElementsAre("a", "A_1", "a_2"));
  EXPECT_THAT(distinct_names(fields_of({"ä", "Ä"})), ElementsAre("ä", "Ä")) << "SQL folds ASCII only";
}

TEST(DistinctNames, NoNameOfAnotherFieldIsTaken) {
  EXPECT_THAT(distinct_names(fields_of({"a", "A", "A_1"})), ElementsAre("a", "A_2", "A_1"));
  EXPECT_THAT(distinct_names(fields_of({"a", "A", "a_1", "A_1"})), ElementsAre("a", "A_2", "a_1", "A_1_1"));
}

TEST(DistinctNames, FieldsWithoutNamesAreCalledByTheirPosition) {
  EXPECT_THAT(distinct_names(fields_of({"", ""})), ElementsAre("f1", "f2"));
  EXPECT_THAT(distinct_names(fields_of({"F2", "", "x", ""})), ElementsAre("F2", "f2_1", "x", "f4"));
}

TEST(DistinctNames, OnAllLevelsWithANoticeEach) {
  std::vector<Field> fields = fields_of({"s", "l"});
  fields[0].type.kind = TypeKind::kStruct;
  fields[0].children = fields_of({"x", "X"});
  fields[1].type.kind = TypeKind::kList;
  fields[1].children = fields_of({"element"});
  fields[1].children[0].type.kind = TypeKind::kStruct;
  fields[1].children[0].children = fields_of({"", "k"});
  std::vector<std::string> notices;
  make_names_distinct(fields, &notices);
  EXPECT_EQ(fields[0].children[1].name, "X_1");
  EXPECT_EQ(fields[1].children[0].name, "element");
  EXPECT_EQ(fields[1].children[0].children[0].name, "f1");
  EXPECT_THAT(notices,
              ElementsAre(HasSubstr("column s.X_1: its name was X"), HasSubstr("column l[].f1: it had no name")));
  fields[0].children[1].name = "X";
  make_names_distinct(fields, &notices);
  EXPECT_EQ(notices.size(), 2u) << "once, however often it is found";
  notices.clear();
  make_names_distinct(fields, &notices);
  EXPECT_TRUE(notices.empty());
}

TEST(EscapeControls, NoControlCharacterPasses) {
  EXPECT_EQ(escape_controls("plain Zürich 山 \\x1b"), "plain Zürich 山 \\x1b");
  EXPECT_EQ(escape_controls("\x1b[31m\x7f"), "\\x1b[31m\\x7f");
  EXPECT_EQ(escape_controls("a\nb\tc\r"), "a\\x0ab\\x09c\\x0d");
  EXPECT_EQ(escape_controls("a\nb\tc\r", true), "a\nb\tc\\x0d");
  EXPECT_EQ(escape_controls("\xC2\x9B"
                            "31m \xC2\xA0"),
            "\\x9b31m \xC2\xA0")
      << "C1 goes, U+00A0 stays";
  EXPECT_EQ(escape_controls("\x9B"
                            "31m \xC2"),
            "\\x9b31m \\xc2")
      << "bytes that are not UTF-8";
  EXPECT_EQ(escape_controls(std::string_view("\0", 1)), "\\x00");
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      const std::string text{static_cast<char>(a), static_cast<char>(b), 'x'};
      const std::string shown = escape_controls(text);
      ASSERT_TRUE(is_utf8(shown));
      ASSERT_EQ(escape_controls(shown), shown) << "doing it twice changes nothing";
      for (size_t i = 0; i < shown.size(); ++i) {
        const auto byte = static_cast<uint8_t>(shown[i]);
        ASSERT_TRUE(byte >= 0x20 && byte != 0x7F);
        ASSERT_FALSE(byte == 0xC2 && static_cast<uint8_t>(shown[i + 1]) < 0xA0);
      }
    }
  }
}

}  // namespace
}  // namespace basalt
