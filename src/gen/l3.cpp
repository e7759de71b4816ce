// The list of sets, and tables from their sources.
#include "gen/l3.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "basalt/core/error.h"
#include "gen/l3_source.h"

namespace basalt {
namespace {

constexpr uint64_t kMillion = 1'000'000;
constexpr std::array<L3Set, 20> kSets = {{
    {"linear", TypeKind::kUInt32, 200 * kMillion, true, "evenly spaced from 0 to 2^32 - 1"},
    {"normal", TypeKind::kUInt32, 200 * kMillion, true, "normal quantiles scaled to 0 .. 2^32 - 1"},
    {"books", TypeKind::kUInt32, 200 * kMillion, true, "keys with log-normal gaps"},
    {"wiki", TypeKind::kUInt64, 200 * kMillion, true, "seconds of edits, a tenth in runs"},
    {"planet", TypeKind::kUInt64, 200 * kMillion, true, "map object ids, growing gaps, noisy zones"},
    {"libio", TypeKind::kUInt64, 200 * kMillion, true, "repository ids in runs of about 110"},
    {"ml", TypeKind::kUInt64, 14 * kMillion, true, "sample times, piecewise constant rate with jitter"},
    {"poisson", TypeKind::kUInt64, 87 * kMillion, true, "sensor events in bursts"},
    {"facebook", TypeKind::kUInt64, 200 * kMillion, true, "user ids in clumps, few huge gaps"},
    {"osm", TypeKind::kUInt64, 800 * kMillion, true, "Morton codes of clustered places, above 2^53"},
    {"movieid", TypeKind::kUInt32, 20 * kMillion, false, "film ids, ascending per user"},
    {"house", TypeKind::kUInt64, 2'200'000, true, "log-normal prices, rounded"},
    {"medicare", TypeKind::kUInt64, 1500 * kMillion, false, "random ids, windows of 38 bits per 256 rows"},
    {"cosmos", TypeKind::kInt32, 1 * kMillion, false, "two sines with noise"},
    {"polylog", TypeKind::kUInt64, 10 * kMillion, true, "polynomials and logarithms in turn, 500 rows each"},
    {"exp", TypeKind::kUInt64, 200 * kMillion, true, "exponential curves, new parameters per block"},
    {"poly", TypeKind::kUInt64, 200 * kMillion, false, "cubic curves, new parameters per block"},
    {"site", TypeKind::kUInt32, 250'000, true, "categories, 1/k shares"},
    {"weight", TypeKind::kUInt32, 25'000, true, "categories, normal"},
    {"adult", TypeKind::kUInt32, 30'000, true, "categories, log-normal"},
}};

std::unique_ptr<gen::L3Source> make_source(const L3Set& set, uint64_t rows) {
  for (const auto make : {gen::make_sorted_source, gen::make_event_source, gen::make_curve_source,
                          gen::make_category_source, gen::make_identifier_source}) {
    if (auto source = make(set.name, rows)) return source;
  }
  throw Error(ErrorCode::kInternal, std::string("no source for the set ") + set.name);
}

}  // namespace

std::span<const L3Set> l3_sets() { return kSets; }

const L3Set& find_l3_set(std::string_view name) {
  std::string names;
  for (const L3Set& set : kSets) {
    if (set.name == name) return set;
    names += std::string(names.empty() ? "" : ", ") + set.name;
  }
  throw Error(ErrorCode::kInvalidArgument, "there is no L3 set '" + std::string(name) + "', only " + names);
}

Schema l3_schema(const L3Set& set) {
  Field field;
  field.name = "value";
  field.type = DataType{set.type};
  field.nullable = false;
  Schema schema;
  schema.fields.push_back(std::move(field));
  return schema;
}

L3Generator::L3Generator(const L3Set& set, uint64_t rows) : set_(set), left_(rows) {
  if (rows > set.rows)
    throw Error(ErrorCode::kInvalidArgument, std::string("the L3 set ") + set.name + " has " +
                                                 std::to_string(set.rows) + " rows, not " + std::to_string(rows));
  source_ = make_source(set, rows);
}
L3Generator::~L3Generator() = default;

Table L3Generator::next(uint64_t rows) {
  rows = std::min(rows, left_);
  left_ -= rows;
  Table table;
  table.schema = l3_schema(set_);
  table.rows = rows;
  Column column = make_column(table.schema.fields[0]);
  column.length = rows;
  if (set_.type == TypeKind::kUInt64) {
    column.values.resize(rows * sizeof(uint64_t));
    source_->fill(column.values.as<uint64_t>(), rows);
  } else {
    std::vector<uint64_t> wide(rows);
    source_->fill(wide.data(), rows);
    column.values.resize(rows * sizeof(uint32_t));
    std::transform(wide.begin(), wide.end(), column.values.as<uint32_t>(),
                   [](uint64_t value) { return static_cast<uint32_t>(value); });
  }
  table.columns.push_back(std::move(column));
  return table;
}

}  // namespace basalt
