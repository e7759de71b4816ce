// See rows.h. What a scale means, and how streams of random numbers are moved to a row, follows DuckDB's dbgen.cpp.
#include "gen/tpch/rows.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <string_view>
#include <vector>

#include "basalt/core/error.h"
#include "gen/row_writer.h"
// The generator's macros have short names: last.
#include "dbgen/dbgen_gunk.hpp"
#include "dbgen/dss.h"
#include "dbgen/dsstypes.h"

namespace basalt {

struct TpchRows::Context {
  DBGenContext dbgen;
};

namespace {

using gen::RowWriter;

constexpr long kTextBytes = 10 * 1024 * 1024;

struct TpchColumn {
  const char* name;
  DataType type;
};

const DataType kMoney = DataType::decimal(15, 2);
const DataType kKey = DataType::bigint();
const DataType kNumber = DataType::integer();
const DataType kText = DataType::varchar();
const DataType kDay = DataType::date();

struct TpchTable {
  const char* name;
  int number;  // the generator's: which streams a row takes from
  std::vector<TpchColumn> columns;
};

const std::vector<TpchTable>& tpch_tables() {
  static const std::vector<TpchTable> tables = {
      {"region", REGION, {{"r_regionkey", kNumber}, {"r_name", kText}, {"r_comment", kText}}},
      {"nation", NATION, {{"n_nationkey", kNumber}, {"n_name", kText}, {"n_regionkey", kNumber}, {"n_comment", kText}}},
      {"supplier",
       SUPP,
       {{"s_suppkey", kKey},
        {"s_name", kText},
        {"s_address", kText},
        {"s_nationkey", kNumber},
        {"s_phone", kText},
        {"s_acctbal", kMoney},
        {"s_comment", kText}}},
      {"customer",
       CUST,
       {{"c_custkey", kKey},
        {"c_name", kText},
        {"c_address", kText},
        {"c_nationkey", kNumber},
        {"c_phone", kText},
        {"c_acctbal", kMoney},
        {"c_mktsegment", kText},
        {"c_comment", kText}}},
      {"part",
       PART_PSUPP,
       {{"p_partkey", kKey},
        {"p_name", kText},
        {"p_mfgr", kText},
        {"p_brand", kText},
        {"p_type", kText},
        {"p_size", kNumber},
        {"p_container", kText},
        {"p_retailprice", kMoney},
        {"p_comment", kText}}},
      {"partsupp",
       PART_PSUPP,
       {{"ps_partkey", kKey},
        {"ps_suppkey", kKey},
        {"ps_availqty", kKey},
        {"ps_supplycost", kMoney},
        {"ps_comment", kText}}},
      {"orders",
       ORDER_LINE,
       {{"o_orderkey", kKey},
        {"o_custkey", kKey},
        {"o_orderstatus", kText},
        {"o_totalprice", kMoney},
        {"o_orderdate", kDay},
        {"o_orderpriority", kText},
        {"o_clerk", kText},
        {"o_shippriority", kNumber},
        {"o_comment", kText}}},
      {"lineitem",
       ORDER_LINE,
       {{"l_orderkey", kKey},
        {"l_partkey", kKey},
        {"l_suppkey", kKey},
        {"l_linenumber", kKey},
        {"l_quantity", kMoney},
        {"l_extendedprice", kMoney},
        {"l_discount", kMoney},
        {"l_tax", kMoney},
        {"l_returnflag", kText},
        {"l_linestatus", kText},
        {"l_shipdate", kDay},
        {"l_commitdate", kDay},
        {"l_receiptdate", kDay},
        {"l_shipinstruct", kText},
        {"l_shipmode", kText},
        {"l_comment", kText}}},
  };
  return tables;
}

const TpchTable& table_of(const std::string& name) {
  for (const TpchTable& one : tpch_tables()) {
    if (name == one.name) return one;
  }
  throw Error(ErrorCode::kInvalidArgument, "TPC-H has no table " + name);
}

// "1996-01-02" as days since 1970.
int32_t day_of(const char* text) {
  int parts[3] = {};
  for (int& part : parts) {
    text = std::from_chars(text, text + std::strcspn(text, "-"), part).ptr;
    if (*text == '-') ++text;
  }
  using namespace std::chrono;
  const sys_days date = year{parts[0]} / month{static_cast<unsigned>(parts[1])} / day{static_cast<unsigned>(parts[2])};
  return static_cast<int32_t>(date.time_since_epoch().count());
}

int64_t wide(DSS_HUGE value) { return static_cast<int64_t>(value); }
int32_t narrow(DSS_HUGE value) { return static_cast<int32_t>(value); }

void add(RowWriter& out, const code_t& row, bool nation) {
  out.number(narrow(row.code)).text(row.text);
  if (nation) out.number(narrow(row.join));
  out.text(row.comment).end_row();
}

void add(RowWriter& out, const supplier_t& row) {
  out.number(wide(row.suppkey)).text(row.name).text(row.address).number(narrow(row.nation_code)).text(row.phone);
  out.number(wide(row.acctbal)).text(row.comment).end_row();
}

void add(RowWriter& out, const customer_t& row) {
  out.number(wide(row.custkey)).text(row.name).text(row.address).number(narrow(row.nation_code)).text(row.phone);
  out.number(wide(row.acctbal)).text(row.mktsegment).text(row.comment).end_row();
}

void add(RowWriter& out, const part_t& row) {
  out.number(wide(row.partkey)).text(row.name).text(row.mfgr).text(row.brand).text(row.type).number(narrow(row.size));
  out.text(row.container).number(wide(row.retailprice)).text(row.comment).end_row();
}

void add_suppliers(RowWriter& out, part_t& row) {
  std::sort(std::begin(row.s), std::end(row.s),
            [](const partsupp_t& a, const partsupp_t& b) { return a.suppkey < b.suppkey; });
  for (const partsupp_t& one : row.s) {
    out.number(wide(one.partkey)).number(wide(one.suppkey)).number(wide(one.qty)).number(wide(one.scost));
    out.text(one.comment).end_row();
  }
}

void add(RowWriter& out, const order_t& row) {
  out.number(wide(row.okey)).number(wide(row.custkey)).text({&row.orderstatus, 1}).number(wide(row.totalprice));
  out.number(day_of(row.odate)).text(row.opriority).text(row.clerk).number(narrow(row.spriority));
  out.text(row.comment).end_row();
}

void add_lines(RowWriter& out, const order_t& row) {
  for (DSS_HUGE i = 0; i < row.lines; ++i) {
    const line_t& one = row.l[i];
    out.number(wide(one.okey)).number(wide(one.partkey)).number(wide(one.suppkey)).number(wide(one.lcnt));
    out.number(wide(one.quantity)).number(wide(one.eprice)).number(wide(one.discount)).number(wide(one.tax));
    out.text({one.rflag, 1}).text({one.lstatus, 1});
    out.number(day_of(one.sdate)).number(day_of(one.cdate)).number(day_of(one.rdate));
    out.text(one.shipinstruct).text(one.shipmode).text(one.comment).end_row();
  }
}

// The streams of a table as they are before row `count`, counted from 0.
void skip_rows(int number, DSS_HUGE count, DBGenContext& context) {
  constexpr int kNotFirstChild = 2;
  switch (number) {
    case CUST: sd_cust(kNotFirstChild, count, &context); break;
    case SUPP: sd_supp(kNotFirstChild, count, &context); break;
    case NATION: sd_nation(kNotFirstChild, count, &context); break;
    case REGION: sd_region(kNotFirstChild, count, &context); break;
    case ORDER_LINE:
      sd_line(kNotFirstChild, count, &context);
      sd_order(kNotFirstChild, count, &context);
      break;
    case PART_PSUPP:
      sd_part(kNotFirstChild, count, &context);
      sd_psupp(kNotFirstChild, count, &context);
      break;
  }
}

}  // namespace

Schema tpch_schema(const std::string& name) {
  Schema schema;
  for (const TpchColumn& column : table_of(name).columns) {
    Field field;
    field.name = column.name;
    field.type = column.type;
    schema.fields.push_back(std::move(field));
  }
  return schema;
}

TpchRows::TpchRows(double scale) : base_(std::make_unique<Context>()) {
  DBGenContext& context = base_->dbgen;
  load_dists(kTextBytes, &context);
  tdef* tables = context.tdefs;
  tables[SUPP].base = 10'000;
  tables[CUST].base = 150'000;
  tables[ORDER_LINE].base = 150'000 * ORDERS_PER_CUST;
  tables[PART_PSUPP].base = 200'000;
  // The generator's own functions ask for these, too.
  tables[PART].base = tables[PSUPP].base = tables[PART_PSUPP].base;
  tables[ORDER].base = tables[LINE].base = tables[ORDER_LINE].base;
  context.scale_factor = scale < MIN_SCALE ? 1 : static_cast<long>(scale);
  if (scale < MIN_SCALE) {
    const auto thousandths = static_cast<DSS_HUGE>(1000 * scale);
    for (int i = PART; i < REGION; ++i) {
      tables[i].base = std::max<DSS_HUGE>(1, thousandths * tables[i].base / 1000);
    }
  }
  tables[NATION].base = nations.count;
  tables[REGION].base = regions.count;
}

TpchRows::~TpchRows() { cleanup_dists(); }

uint64_t TpchRows::units(const std::string& name) const {
  const int number = table_of(name).number;
  const auto base = static_cast<uint64_t>(base_->dbgen.tdefs[number].base);
  return number < NATION ? base * static_cast<uint64_t>(base_->dbgen.scale_factor) : base;
}

Table TpchRows::make(const std::string& name, uint64_t begin, uint64_t end) const {
  const int number = table_of(name).number;
  RowWriter out(tpch_schema(name));
  DBGenContext context = base_->dbgen;
  skip_rows(number, static_cast<DSS_HUGE>(begin), context);
  end = std::min(end, units(name));
  order_t order;
  part_t part;
  customer_t customer;
  supplier_t supplier;
  code_t code;
  for (auto row = static_cast<DSS_HUGE>(begin) + 1; row <= static_cast<DSS_HUGE>(end); ++row) {
    row_start(number, &context);
    switch (number) {
      case ORDER_LINE:
        mk_order(row, &order, &context, 0);
        name == "orders" ? add(out, order) : add_lines(out, order);
        break;
      case PART_PSUPP:
        mk_part(row, &part, &context);
        name == "part" ? add(out, part) : add_suppliers(out, part);
        break;
      case SUPP:
        mk_supp(row, &supplier, &context);
        add(out, supplier);
        break;
      case CUST:
        mk_cust(row, &customer, &context);
        add(out, customer);
        break;
      case NATION:
        mk_nation(row, &code, &context);
        add(out, code, true);
        break;
      case REGION:
        mk_region(row, &code, &context);
        add(out, code, false);
        break;
    }
    row_stop_h(number, &context);
  }
  return out.finish();
}

}  // namespace basalt
