// The five tables of the Star Schema Benchmark. Lines per order must be known for any row without counting from the
// start, so every block of 7 orders holds 28 lines: a permutation of 1..7, drawn per block.
#include "gen/ssb.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "basalt/core/error.h"
#include "gen/random.h"
#include "gen/row_writer.h"
#include "gen/ssb_words.h"

namespace basalt {
namespace {

using namespace gen;

constexpr uint64_t kOrdersPerBlock = 7;
constexpr uint64_t kLinesPerBlock = 28;
constexpr int64_t kDays = 2556;
// The last order of the original generator is from 1998-08-02, so that every commit date lies inside the date table.
constexpr int64_t kOrderDays = 2406;

Stream stream_of(SsbTable table, int column) {
  return Stream(static_cast<uint64_t>(table) * 100 + static_cast<uint64_t>(column));
}

struct Day {
  int year, month, day, of_year, weekday;  // month and day from 1, weekday 0 = Sunday
  bool last_of_month;
  int32_t key() const { return year * 10000 + month * 100 + day; }
};

Day day_at(int64_t index) {
  using namespace std::chrono;
  const sys_days date = sys_days{year{1992} / January / 1} + days{index};
  const year_month_day parts{date};
  const auto first = sys_days{parts.year() / January / 1};
  return {static_cast<int>(parts.year()),
          static_cast<int>(static_cast<unsigned>(parts.month())),
          static_cast<int>(static_cast<unsigned>(parts.day())),
          static_cast<int>((date - first).count()) + 1,
          static_cast<int>(weekday{date}.c_encoding()),
          parts.day() == year_month_day_last{parts.year() / parts.month() / last}.day()};
}

// Keys of all days, so that lineorder needs no calendar arithmetic per row.
const std::array<int32_t, kDays>& date_keys() {
  static const std::array<int32_t, kDays> keys = [] {
    std::array<int32_t, kDays> out{};
    for (int64_t i = 0; i < kDays; ++i) out[static_cast<size_t>(i)] = day_at(i).key();
    return out;
  }();
  return keys;
}

Field column_of(const char* name, TypeKind kind) {
  Field field;
  field.name = name;
  field.type = DataType{kind};
  field.nullable = false;
  return field;
}

std::string numbered(std::string_view name, uint64_t key) {
  const std::string digits = std::to_string(key);
  return std::string(name) + "#" + std::string(digits.size() < 9 ? 9 - digits.size() : 0, '0') + digits;
}

// Nine characters of the nation and a digit: "UNITED KI1".
std::string city_name(std::string_view nation, int64_t digit) {
  std::string city(nation.substr(0, 9));
  city.resize(9, ' ');
  return city + static_cast<char>('0' + digit);
}

std::string phone_number(int64_t nation, uint64_t row, const Stream& random) {
  const Stream inner(random.bits(row));
  return std::to_string(10 + nation) + "-" + std::to_string(inner.between(0, 100, 999)) + "-" +
         std::to_string(inner.between(1, 100, 999)) + "-" + std::to_string(inner.between(2, 1000, 9999));
}

// Name, address, city, nation, region, phone: the same for customers and suppliers.
void add_party(RowWriter& out, SsbTable table, std::string_view title, uint64_t row) {
  const int64_t nation = stream_of(table, 1).between(row, 0, 24);
  const Nation& home = kNations[static_cast<size_t>(nation)];
  out.integer(static_cast<int64_t>(row) + 1)
      .text(numbered(title, row + 1))
      .text(stream_of(table, 2).text(row, 10, 25))
      .text(city_name(home.name, stream_of(table, 3).between(row, 0, 9)))
      .text(home.name)
      .text(kRegions[static_cast<size_t>(home.region)])
      .text(phone_number(nation, row, stream_of(table, 4)));
}

template <size_t N>
std::string_view pick(const std::array<std::string_view, N>& words, const Stream& random, uint64_t row) {
  return words[static_cast<size_t>(random.between(row, 0, static_cast<int64_t>(N) - 1))];
}

void add_customer(RowWriter& out, uint64_t row) {
  add_party(out, SsbTable::kCustomer, "Customer", row);
  out.text(pick(kSegments, stream_of(SsbTable::kCustomer, 5), row)).end_row();
}

void add_supplier(RowWriter& out, uint64_t row) {
  add_party(out, SsbTable::kSupplier, "Supplier", row);
  out.end_row();
}

void add_part(RowWriter& out, uint64_t row) {
  const auto random = [](int column) { return stream_of(SsbTable::kPart, column); };
  const std::string_view color = pick(kColors, random(1), row);
  const std::string maker = "MFGR#" + std::to_string(random(3).between(row, 1, 5));
  const std::string category = maker + std::to_string(random(4).between(row, 1, 5));
  const std::string type = std::string(pick(kTypeFirst, random(6), row)) + " " +
                           std::string(pick(kTypeSecond, random(7), row)) + " " +
                           std::string(pick(kTypeThird, random(8), row));
  const std::string container =
      std::string(pick(kContainerFirst, random(10), row)) + " " + std::string(pick(kContainerSecond, random(11), row));
  out.integer(static_cast<int64_t>(row) + 1)
      .text(std::string(color) + " " + std::string(pick(kColors, random(2), row)))
      .text(maker)
      .text(category)
      .text(category + std::to_string(random(5).between(row, 1, 40)))
      .text(color)
      .text(type)
      .integer(random(9).between(row, 1, 50))
      .text(container)
      .end_row();
}

std::string_view selling_season(int month) {
  if (month >= 11) return "Christmas";
  if (month >= 9) return "Fall";
  if (month >= 5) return "Summer";
  return month == 4 ? "Spring" : "Winter";
}

bool is_holiday(int month, int day) {
  static constexpr std::array<std::pair<int, int>, 10> kHolidays = {
      {{12, 24}, {1, 1}, {2, 20}, {4, 20}, {5, 20}, {7, 20}, {8, 20}, {9, 20}, {10, 20}, {11, 20}}};
  return std::find(kHolidays.begin(), kHolidays.end(), std::pair{month, day}) != kHolidays.end();
}

void add_date(RowWriter& out, uint64_t row) {
  const Day day = day_at(static_cast<int64_t>(row));
  const std::string month(kMonths[static_cast<size_t>(day.month - 1)]);
  out.integer(day.key())
      .text(month + " " + std::to_string(day.day) + ", " + std::to_string(day.year))
      .text(kWeekdays[static_cast<size_t>(day.weekday)])
      .text(month)
      .integer(day.year)
      .integer(day.year * 100 + day.month)
      .text(month.substr(0, 3) + std::to_string(day.year))
      .integer(day.weekday + 1)
      .integer(day.day)
      .integer(day.of_year)
      .integer(day.month)
      .integer((day.of_year - 1) / 7 + 1)
      .text(selling_season(day.month))
      .flag(day.weekday == 6)
      .flag(day.last_of_month)
      .flag(is_holiday(day.month, day.day))
      .flag(day.weekday != 0 && day.weekday != 6)
      .end_row();
}

struct Line {
  int64_t part, supplier, quantity, price, discount, tax, commit_day;
  int64_t revenue() const { return price * (100 - discount) / 100; }
  int64_t charge() const { return price * (100 - discount) * (100 + tax) / 10000; }
};

// The lines of one block of orders. Only whole orders know their total price, so blocks are made whole.
void add_block(RowWriter& out, uint64_t block, uint64_t begin, uint64_t end, uint64_t customers, uint64_t suppliers,
               uint64_t parts) {
  const auto random = [](int column) { return stream_of(SsbTable::kLineorder, column); };
  std::array<uint64_t, kOrdersPerBlock> lines = {1, 2, 3, 4, 5, 6, 7};
  const Stream shuffle(random(0).bits(block));
  for (uint64_t i = kOrdersPerBlock - 1; i > 0; --i)
    std::swap(lines[i], lines[static_cast<size_t>(shuffle.between(i, 0, static_cast<int64_t>(i)))]);

  uint64_t row = block * kLinesPerBlock;
  for (uint64_t i = 0; i < kOrdersPerBlock; row += lines[i++]) {
    if (row + lines[i] <= begin || row >= end) continue;
    const uint64_t order = block * kOrdersPerBlock + i;
    // As in TPC-H, 8 of every 32 keys are used.
    const auto order_key = static_cast<int64_t>(order / 8 * 32 + order % 8 + 1);
    const int64_t customer = random(1).between(order, 1, static_cast<int64_t>(customers));
    const int64_t order_day = random(2).between(order, 0, kOrderDays - 1);
    const std::string_view priority = pick(kPriorities, random(3), order);
    std::array<Line, kOrdersPerBlock> content;
    int64_t total = 0;
    for (uint64_t n = 0; n < lines[i]; ++n) {
      Line& line = content[n];
      const uint64_t at = row + n;
      line.part = random(4).between(at, 1, static_cast<int64_t>(parts));
      line.supplier = random(5).between(at, 1, static_cast<int64_t>(suppliers));
      line.quantity = random(6).between(at, 1, 50);
      line.price = line.quantity * ssb_part_price(line.part);
      line.discount = random(7).between(at, 0, 10);
      line.tax = random(8).between(at, 0, 8);
      line.commit_day = order_day + random(9).between(at, 30, 90);
      total += line.charge();
    }
    for (uint64_t n = 0; n < lines[i]; ++n) {
      const uint64_t at = row + n;
      if (at < begin || at >= end) continue;
      const Line& line = content[n];
      out.number(order_key)
          .integer(static_cast<int64_t>(n) + 1)
          .integer(customer)
          .integer(line.part)
          .integer(line.supplier)
          .integer(date_keys()[static_cast<size_t>(order_day)])
          .text(priority)
          .text("0")
          .integer(line.quantity)
          .integer(line.price)
          .integer(total)
          .integer(line.discount)
          .integer(line.revenue())
          .integer(ssb_part_price(line.part) * 6 / 10)
          .integer(line.tax)
          .integer(date_keys()[static_cast<size_t>(line.commit_day)])
          .text(pick(kShipModes, random(10), at))
          .end_row();
    }
  }
}

uint64_t scaled(double base, double scale) {
  return std::max<uint64_t>(1, static_cast<uint64_t>(std::llround(base * scale)));
}

}  // namespace

const char* to_string(SsbTable table) {
  switch (table) {
    case SsbTable::kLineorder: return "lineorder";
    case SsbTable::kCustomer: return "customer";
    case SsbTable::kSupplier: return "supplier";
    case SsbTable::kPart: return "part";
    case SsbTable::kDate: return "date";
  }
  return "?";
}

const std::vector<SsbTable>& ssb_tables() {
  static const std::vector<SsbTable> all = {SsbTable::kLineorder, SsbTable::kCustomer, SsbTable::kSupplier,
                                            SsbTable::kPart, SsbTable::kDate};
  return all;
}

std::vector<std::string> ssb_sort_columns(SsbTable table) {
  if (table == SsbTable::kLineorder) return {"lo_orderdate", "lo_discount", "lo_quantity"};
  return {ssb_schema(table).fields[0].name};
}

Schema ssb_schema(SsbTable table) {
  const auto integer = [](const char* name) { return column_of(name, TypeKind::kInt32); };
  const auto text = [](const char* name) { return column_of(name, TypeKind::kUtf8); };
  const auto flag = [](const char* name) { return column_of(name, TypeKind::kBool); };
  Schema schema;
  switch (table) {
    case SsbTable::kLineorder:
      // The key needs 64 bits beyond scale 357.
      schema.fields = {column_of("lo_orderkey", TypeKind::kInt64),
                       integer("lo_linenumber"),
                       integer("lo_custkey"),
                       integer("lo_partkey"),
                       integer("lo_suppkey"),
                       integer("lo_orderdate"),
                       text("lo_orderpriority"),
                       text("lo_shippriority"),
                       integer("lo_quantity"),
                       integer("lo_extendedprice"),
                       integer("lo_ordtotalprice"),
                       integer("lo_discount"),
                       integer("lo_revenue"),
                       integer("lo_supplycost"),
                       integer("lo_tax"),
                       integer("lo_commitdate"),
                       text("lo_shipmode")};
      break;
    case SsbTable::kCustomer:
      schema.fields = {integer("c_custkey"), text("c_name"),   text("c_address"), text("c_city"),
                       text("c_nation"),     text("c_region"), text("c_phone"),   text("c_mktsegment")};
      break;
    case SsbTable::kSupplier:
      schema.fields = {integer("s_suppkey"), text("s_name"),   text("s_address"), text("s_city"),
                       text("s_nation"),     text("s_region"), text("s_phone")};
      break;
    case SsbTable::kPart:
      schema.fields = {integer("p_partkey"), text("p_name"), text("p_mfgr"),    text("p_category"), text("p_brand1"),
                       text("p_color"),      text("p_type"), integer("p_size"), text("p_container")};
      break;
    case SsbTable::kDate:
      schema.fields = {integer("d_datekey"),        text("d_date"),
                       text("d_dayofweek"),         text("d_month"),
                       integer("d_year"),           integer("d_yearmonthnum"),
                       text("d_yearmonth"),         integer("d_daynuminweek"),
                       integer("d_daynuminmonth"),  integer("d_daynuminyear"),
                       integer("d_monthnuminyear"), integer("d_weeknuminyear"),
                       text("d_sellingseason"),     flag("d_lastdayinweekfl"),
                       flag("d_lastdayinmonthfl"),  flag("d_holidayfl"),
                       flag("d_weekdayfl")};
      break;
  }
  number_fields(schema);
  return schema;
}

int64_t ssb_part_price(int64_t part_key) { return 90000 + part_key / 10 % 20001 + 100 * (part_key % 1000); }

SsbGenerator::SsbGenerator(double scale) {
  if (!(scale > 0 && scale <= 10000))
    throw Error(ErrorCode::kInvalidArgument, "the scale must lie above 0 and not above 10,000");
  order_blocks_ = scaled(1'500'000.0 / kOrdersPerBlock, scale);
  customers_ = scaled(30'000, scale);
  suppliers_ = scaled(2'000, scale);
  parts_ = scale < 1 ? scaled(200'000, scale) : scaled(200'000, 1 + std::floor(std::log2(scale)));
}

uint64_t SsbGenerator::rows(SsbTable table) const {
  switch (table) {
    case SsbTable::kLineorder: return order_blocks_ * kLinesPerBlock;
    case SsbTable::kCustomer: return customers_;
    case SsbTable::kSupplier: return suppliers_;
    case SsbTable::kPart: return parts_;
    case SsbTable::kDate: return kDays;
  }
  return 0;
}

Table SsbGenerator::generate(SsbTable table, uint64_t begin, uint64_t end) const {
  end = std::min(end, rows(table));
  RowWriter out(ssb_schema(table));
  if (table == SsbTable::kLineorder) {
    for (uint64_t block = begin / kLinesPerBlock; block * kLinesPerBlock < end; ++block)
      add_block(out, block, begin, end, customers_, suppliers_, parts_);
    return out.finish();
  }
  for (uint64_t row = begin; row < end; ++row) {
    switch (table) {
      case SsbTable::kCustomer: add_customer(out, row); break;
      case SsbTable::kSupplier: add_supplier(out, row); break;
      case SsbTable::kPart: add_part(out, row); break;
      default: add_date(out, row);
    }
  }
  return out.finish();
}

}  // namespace basalt
