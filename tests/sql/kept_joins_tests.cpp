// Plans over joins that are kept for all texts that differ in literals only: TPC-H's queries with literals by chance
// must give DuckDB's rows, and be planned only until their shape is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <random>
#include <regex>

#include "sql/generated_tables.h"

namespace basalt::testing {
namespace {

// Words of which each may stand where another one does.
const std::vector<std::vector<std::string>> kWords = {
    {"EUROPE", "ASIA", "AMERICA", "AFRICA", "MIDDLE EAST", "ATLANTIS"},
    {"FRANCE", "GERMANY", "BRAZIL", "CANADA", "SAUDI ARABIA", "CHINA", "PERU"},
    {"BUILDING", "AUTOMOBILE", "MACHINERY"},
    {"ECONOMY ANODIZED STEEL", "PROMO BURNISHED COPPER", "SMALL PLATED BRASS"},
    {"BRASS", "COPPER", "NICKEL", "S_EEL"},
    {"MEDIUM POLISHED", "PROMO", "LARGE", "%RO%O"},
    {"green", "forest", "red", "a%e", "_lue", ""},
    {"special", "pending", "unusual"},
    {"requests", "accounts", "de%its"},
    {"Brand#12", "Brand#23", "Brand#34", "Brand#45", "Brand#51"},
    {"SM CASE", "SM BOX", "SM PACK", "SM PKG", "LG CASE", "MED BOX", "MED BAG", "JUMBO JAR"},
    {"MAIL", "SHIP", "TRUCK", "RAIL", "AIR REG", "FOB"},
    {"1-URGENT", "2-HIGH", "5-LOW"},
    {"'13'", "'31'", "'23'", "'29'", "'30'", "'18'", "'17'", "'99'"},
};

// A text of TPC-H with other literals: one source of chance gives the same text again.
class OtherLiterals {
 public:
  explicit OtherLiterals(std::mt19937_64& chance) : chance_(chance), months_(chance() % 40) {}

  std::string in(const std::string& text) {
    std::string pattern = R"((\d{4})-(\d\d)-\d\d|([<>=] |IN \(|, |AND |BETWEEN )(\d+)\b(?!\.))";
    for (const auto& words : kWords) {
      for (const std::string& word : words) pattern += word.empty() ? "" : "|" + word;
    }
    const std::regex literals(pattern);
    std::string out;
    auto rest = text.cbegin();
    for (std::sregex_iterator at(text.cbegin(), text.cend(), literals), end; at != end; ++at) {
      out.append(rest, (*at)[0].first);
      out += other(*at);
      rest = (*at)[0].second;
    }
    return out.append(rest, text.cend());
  }

 private:
  std::string other(const std::smatch& match) {
    if (match[1].matched) return later(std::stoul(match[1]), std::stoul(match[2]));
    if (match[4].matched) return match[3].str() + std::to_string(std::stoul(match[4]) + chance_() % 3);
    for (const auto& words : kWords) {
      if (std::find(words.begin(), words.end(), match.str()) == words.end()) continue;
      return words_.try_emplace(match.str(), words[chance_() % words.size()]).first->second;
    }
    return match.str();
  }

  // The first day of a month some months later, before the last one that TPC-H knows.
  std::string later(uint64_t year, uint64_t month) const {
    const uint64_t months = 1992 * 12 + (year * 12 + month - 1 - 1992 * 12 + months_) % (7 * 12);
    char text[32];
    std::snprintf(text, sizeof(text), "%04d-%02d-01", static_cast<int>(months / 12), static_cast<int>(months % 12 + 1));
    return text;
  }

  std::mt19937_64& chance_;
  uint64_t months_;
  std::map<std::string, std::string> words_;  // the same for all places of a text
};

class KeptJoins : public ::testing::TestWithParam<Device> {
 protected:
  static void SetUpTestSuite() {
    tables_ = new GeneratedTables([](Session& session) { session.generate_tpch(0.01); });
  }
  static void TearDownTestSuite() { delete tables_; }

  KeptJoins() : session_(session_options(GetParam())) {
    tables_->create_views(session_);
    rows_of(session_, "set basalt_strict = true");
  }

  // Whether the text ran by a plan that was kept; it gives what DuckDB gives.
  bool is_kept(const std::string& text) {
    QueryResult result = session_.execute(text);
    const bool kept = result.report().kept_plan;
    std::vector<std::string> rows = rows_of(std::move(result));
    std::vector<std::string> expected = rows_of(tables_->native(), text);
    std::sort(rows.begin(), rows.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(rows, expected) << text;
    return kept;
  }

  static GeneratedTables* tables_;
  Session session_;
};

GeneratedTables* KeptJoins::tables_ = nullptr;

// Texts from whose literals DuckDB knows that they have no rows are not noted, so that it may take some to have a plan.
TEST_P(KeptJoins, ServeAllQueriesOfTpchWithLiteralsByChance) {
  std::mt19937_64 chance(20261118);
  const int texts = kQuick ? 4 : 10;
  for (int number = 1; number <= 22; ++number) {
    SCOPED_TRACE("query " + std::to_string(number));
    int kept = 0;
    for (int i = 0; i < texts; ++i) kept += is_kept(OtherLiterals(chance).in(Session::tpch_query(number))) ? 1 : 0;
    EXPECT_GE(kept, texts - 3);
  }
}

// Literals that are equal in the texts from which the plan was made, and are not later.
TEST_P(KeptJoins, DoNotTakeLiteralsForEqualThatWereSoByChance) {
  const auto text = [](const std::string& first, const std::string& second, int size) {
    return "select count(*) from part, partsupp where p_partkey = ps_partkey and (p_brand = '" + first +
           "' and p_size < 10 and ps_availqty < 5000 or p_brand = '" + second + "' and p_size < " +
           std::to_string(size) + " and ps_availqty > 7000)";
  };
  EXPECT_FALSE(is_kept(text("Brand#11", "Brand#11", 10)));
  EXPECT_TRUE(is_kept(text("Brand#12", "Brand#12", 10)));
  EXPECT_TRUE(is_kept(text("Brand#12", "Brand#13", 10)));
  EXPECT_TRUE(is_kept(text("Brand#12", "Brand#13", 20)));
  EXPECT_TRUE(is_kept(text("Brand#22", "Brand#22", 10)));
}

// A plan of its own would need kernels that no other text needs. (DuckDB knows that the first of these has no rows, so
// that where it is planned as it is there is nothing to keep.)
TEST_P(KeptJoins, AreMadeOfTheFirstTextWhereKernelsAreCompiled) {
  const auto text = [](int least, int most) {
    return "select count(*) as n from lineitem, orders where l_orderkey = o_orderkey and l_linenumber > " +
           std::to_string(least) + " and l_linenumber < " + std::to_string(most);
  };
  EXPECT_FALSE(is_kept(text(5, 2)));
  EXPECT_EQ(is_kept(text(2, 5)), GetParam() == Device::kCuda);
  EXPECT_TRUE(is_kept(text(1, 6)));
}

// Neither a switch of Basalt's nor one of DuckDB's is lost where a shape is planned before its first text.
TEST_P(KeptJoins, DoNotOutliveWhatSwitchesThemOff) {
  const auto in_basalt = [&](const std::string& text) {
    QueryResult result = session_.execute(text);
    result.write_csv([](std::string_view) {}, false, '|');
    return !result.report().in_basalt.empty();
  };
  const std::string text = "select count(*) from lineitem, orders where l_orderkey = o_orderkey and l_linenumber < ";
  EXPECT_TRUE(in_basalt(text + "3"));
  rows_of(session_, "set basalt_strict = false");
  rows_of(session_, "set basalt_lowering = false");
  EXPECT_FALSE(in_basalt(text + "4"));
  EXPECT_FALSE(in_basalt(text + "4"));
  rows_of(session_, "set basalt_lowering = true");
  const std::vector<std::string> expected = rows_of(tables_->native(), text + "5");
  rows_of(session_, "pragma disable_optimizer");
  EXPECT_EQ(rows_of(session_, text + "5"), expected);
}

TEST_P(KeptJoins, KeepTheNamesOfColumns) {
  const auto names = [](Session& session, const std::string& text) {
    QueryResult result = session.execute(text);
    std::string out;
    for (const ResultColumn& column : result.columns()) out += column.name + "|" + column.type + "\n";
    return out;
  };
  for (const char* selected :
       {"count(*), max(l_quantity) as \"the \"\"most\"\"\"", "count(*) as n, min(l_shipdate) as n",
        "sum(case when l_tax > 0.05 then 1 else 0 end)"}) {
    const std::string text = std::string("select ") + selected + " from lineitem where l_linenumber < 3";
    EXPECT_EQ(names(session_, text), names(tables_->native(), text));
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, KeptJoins, ::testing::ValuesIn(test_devices()),
                         [](const auto& device) { return device.param == Device::kCpu ? "cpu" : "cuda"; });

}  // namespace
}  // namespace basalt::testing
