// SQL over files whose footers and zones lie under checksums that fit. Statistics answer alone, prune, prove that sums
// do not overflow, choose the width of lanes, and DuckDB sizes its tables by them: a lie may cost a row or end in an
// error that names it, but nothing is ever read or written out of bounds (the sanitizer builds run these tests too).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>

#include "basalt/encoding/tree.h"
#include "file/format.h"
#include "sql/support.h"
#include "support/crafted_file.h"

namespace basalt::testing {
namespace {

using ::testing::HasSubstr;
using namespace format_v1;
using test::CraftedFile;

enum Fields : uint32_t { kX, kY, kZ, kS, kD, kM, kB, kH };

template <typename T>
std::vector<uint8_t> bound(T value) {
  std::vector<uint8_t> bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

template <typename T>
void set_zones(CraftedFile& file, uint32_t field, T low, T high) {
  format::ZonesT& zones = *file.columns[field].metadata.zones;
  for (size_t zone = 0; zone < zones.flags.size(); ++zone) {
    std::memcpy(zones.mins.data() + zone * sizeof(T), &low, sizeof(T));
    std::memcpy(zones.maxs.data() + zone * sizeof(T), &high, sizeof(T));
  }
}
template <typename T>
void set_footer(CraftedFile& file, uint32_t field, T low, T high) {
  file.footer.columns[field]->min = bound(low);
  file.footer.columns[field]->max = bound(high);
}
template <typename T>
void set_all(CraftedFile& file, uint32_t field, T low, T high) {
  set_footer(file, field, low, high);
  set_zones(file, field, low, high);
}

class LyingFiles : public ::testing::Test {
 protected:
  LyingFiles() : session_(session_options(Device::kCpu)), path_(folder_.file("lie.basalt")) {
    session_.convert(
        "select (hash(i) % 100000)::bigint x, case when i % 3 = 0 then null else (hash(i + 1) % 3000)::int end y, "
        "(hash(i) % 777)::double / 8 z, 'text ' || hash(i) % 500 s, date '2020-01-01' + (hash(i) % 900)::int d, "
        "((hash(i) % 1000000)::bigint / 100)::decimal(12, 2) m, hash(i) % 2 = 0 b, hash(i)::hugeint * 1000000007 h "
        "from range(30000) t(i)",
        folder_.file("sound.basalt"));
    std::ifstream in(folder_.file("sound.basalt"), std::ios::binary);
    const std::vector<char> chars((std::istreambuf_iterator<char>(in)), {});
    sound_ = test::bytes_of(chars);
  }

  void write(const std::function<void(CraftedFile&)>& lie) {
    CraftedFile file(sound_);
    lie(file);
    const std::vector<std::byte> bytes = file.seal();
    // Not over the old one: files that are open are known by their name, size and time.
    path_ = folder_.file("lie " + std::to_string(++files_) + ".basalt");
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }

  // The error, or nothing.
  std::string run(std::string statement) {
    for (size_t at = statement.find('@'); at != std::string::npos; at = statement.find('@')) {
      statement.replace(at, 1, "'" + path_ + "'");
    }
    try {
      rows_of(session_, statement);
      return {};
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::kInternal) << statement << ": " << error.what();
      return error.what();
    }
  }

  ScratchFolder folder_;
  Session session_;
  std::string path_;
  std::vector<std::byte> sound_;
  int files_ = 0;
};

const std::vector<std::string> kStatements = {
    "select x, count(*) from @ group by x",
    "select y, sum(x), min(z) from @ group by y",
    "select x, y, count(*) from @ group by all",
    "select d, max(m) from @ group by d order by d",
    "select count(*) from @ a join @ b using (x)",
    "select count(*) from @ a join (select distinct y from @) b on a.y = b.y",
    "select count(*) from range(10000) r(i) join @ a on r.i = a.y",
    "select min(x), max(x), count(x), min(y), max(y), count(y), min(b), max(b), min(h), max(h) from @",
    "select sum(x), sum(x * 3 - y), sum(m), avg(m), sum(h), sum(z) from @",
    "select sum(x * x), sum(m * m) from @",
    "select count(*) from @ where x > 50 and y between 3 and 900 and s > 'text 3' and z < 20",
    "select count(*) from @ where x in (1, 5, 99999) or y is null or d > date '2021-01-01'",
    "select * from @ order by x, y limit 10",
    "select distinct y, b from @",
    "select x, row_number() over (partition by y order by x) from @ qualify row_number() over () < 5",
    "select bitstring_agg(y) from @",
    "select histogram(y), approx_count_distinct(x) from @",
    "create or replace table t as select * from @; select count(*) from t where x > 90000",
};

TEST_F(LyingFiles, GiveRowsOrAnErrorAndNothingElse) {
  const std::vector<std::pair<const char*, std::function<void(CraftedFile&)>>> lies = {
      {"nothing", [](CraftedFile&) {}},
      {"narrow", [](CraftedFile& f) { set_all<int64_t>(f, kX, 0, 7), set_all<int32_t>(f, kY, 0, 7); }},
      {"narrow in the footer", [](CraftedFile& f) { set_footer<int64_t>(f, kX, 0, 7), set_footer(f, kY, 0, 7); }},
      {"narrow in the zones", [](CraftedFile& f) { set_zones<int64_t>(f, kX, 0, 7), set_zones(f, kY, 0, 7); }},
      {"elsewhere", [](CraftedFile& f) { set_all<int64_t>(f, kX, -90, -80), set_all(f, kD, 1000000, 1000100); }},
      {"upside down", [](CraftedFile& f) { set_all<int64_t>(f, kX, 99999, 0), set_all(f, kY, 2999, 0); }},
      {"wide",
       [](CraftedFile& f) {
         set_all<int64_t>(f, kX, INT64_MIN, INT64_MAX), set_all<int32_t>(f, kY, INT32_MIN, INT32_MAX);
         set_all<int64_t>(f, kM, INT64_MIN, INT64_MAX);
       }},
      {"floats", [](CraftedFile& f) { set_all<double>(f, kZ, -std::nan(""), std::nan("")); }},
      {"texts",
       [](CraftedFile& f) {
         f.footer.columns[kS]->max = {'a'}, f.footer.columns[kS]->min = {'z', 0xFF};
       }},
      {"booleans", [](CraftedFile& f) { set_all<uint8_t>(f, kB, 5, 200); }},
      {"wide integers", [](CraftedFile& f) { set_all<__int128>(f, kH, 0, 1), set_all<int64_t>(f, kM, 0, 0); }},
      {"no NULLs",
       [](CraftedFile& f) {
         f.footer.columns[kY]->null_count = 0;
         f.columns[kY].metadata.zones->null_counts.clear();
       }},
      {"nothing but NULLs",
       [](CraftedFile& f) {
         f.footer.columns[kX]->null_count = 30000;
         f.columns[kX].metadata.zones->null_counts = {8192, 8192, 8192, 5424};
       }},
      {"flags and counts",
       [](CraftedFile& f) {
         for (const auto& column : f.footer.columns) column->flags |= 31, column->distinct = ~uint64_t{0};
         for (test::CraftedColumn& column : f.columns) column.metadata.width_tiles.assign(65, uint64_t{1} << 40);
         f.footer.sort_columns = {kX, kS};
       }},
  };
  for (const auto& [name, lie] : lies) {
    write(lie);
    for (const std::string& statement : kStatements) {
      SCOPED_TRACE(std::string(name) + ": " + statement);
      const std::string error = run(statement);
      EXPECT_TRUE(error.empty() || std::string(name) != "nothing") << error;
    }
  }
}

TEST_F(LyingFiles, AreNamedWhereDuckDbWouldLayOutMemoryByThem) {
  const std::string group = "select y, count(*) from @ group by y";
  for (const bool above : {true, false}) {
    write([&](CraftedFile& f) { set_footer<int32_t>(f, kY, above ? 0 : 10, above ? 7 : 5000); });
    EXPECT_THAT(run(group), HasSubstr("break the statistics in the footer"));
  }
  write(
      [](CraftedFile& f) { f.footer.columns[kY]->null_count = 0, f.columns[kY].metadata.zones->null_counts.clear(); });
  EXPECT_THAT(run(group), HasSubstr("break the statistics in the footer"));
  // What lies under a NULL is not a value.
  write([](CraftedFile& f) { set_footer<int32_t>(f, kY, 0, 2999); });
  EXPECT_EQ(run(group), "");
}

// Values are taken modulo their type: a reference that is not a tile's smallest value carries some over its end. Lanes
// are wider than the type, and must not show it.
TEST_F(LyingFiles, ReferencesThatWrapAroundGiveTheSameValuesEverywhere) {
  session_.convert("select (i % 4)::utinyint u, (i % 4)::smallint s from range(3000) t(i)",
                   folder_.file("small.basalt"));
  std::ifstream in(folder_.file("small.basalt"), std::ios::binary);
  const std::vector<char> chars((std::istreambuf_iterator<char>(in)), {});
  sound_ = test::bytes_of(chars);
  write([](CraftedFile& f) {
    const auto wrap = [&](uint32_t field, auto reference, auto low, auto high) {
      using T = decltype(reference);
      std::vector<T> rows;
      for (int i = 0; i < 3000; ++i) rows.push_back(static_cast<T>(i % 4));
      Values values;
      values.type = sizeof(T) == 1 ? Physical::kU8 : Physical::kI16;
      values.count = rows.size();
      values.data = reinterpret_cast<const std::byte*>(rows.data());
      test::CraftedNode node = test::crafted(encode_tree(values, bind_tree(parse_tree("packed"), values.type)));
      node.streams[0] = test::bytes_of(std::vector<T>(3, reference));
      f.set_array(field, node);
      set_all<T>(f, field, low, high);
    };
    wrap(0, uint8_t{254}, uint8_t{0}, uint8_t{255});
    wrap(1, int16_t{INT16_MAX - 1}, int16_t{INT16_MIN}, int16_t{INT16_MAX});
  });
  const std::string sums =
      "select sum(u), sum(u::int * 2), max(u::int + 1), sum(s), sum(s::int * 2), min(s::int - 1) from ";
  const std::string selected = " where u > 100 or s > 100";
  const std::string file = "'" + path_ + "'";
  rows_of(session_, "create table copied as select * from " + file);
  EXPECT_EQ(rows_of(session_, sums + file), rows_of(session_, sums + "copied"));
  EXPECT_EQ(rows_of(session_, sums + file + selected), rows_of(session_, sums + "copied" + selected));
  EXPECT_EQ(rows_of(session_, "select sum(u::bigint * 5000000000) from " + file),
            rows_of(session_, "select sum(u::bigint * 5000000000) from copied"));
}

}  // namespace
}  // namespace basalt::testing
