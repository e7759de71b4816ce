#include "sql/function_table.h"

#include <algorithm>
#include <vector>

#include "sql/lower_aggregate.h"

namespace basalt::sql {

namespace {

constexpr const char* kArithmetic = "arithmetic";
constexpr const char* kRounding = "rounding, signs, extremes";
constexpr const char* kBits = "bits of integers";
constexpr const char* kMath = "roots, exponents, logarithms";
constexpr const char* kFinite = "what is infinite or no number";
constexpr const char* kParts = "parts of dates, timestamps and times";
constexpr const char* kDates = "dates and timestamps";
constexpr const char* kTests = "tests of strings";
constexpr const char* kTexts = "functions of strings";

constexpr SqlFunction kFunctions[] = {
    {"+", kArithmetic, "i + j"},
    {"add", kArithmetic, "add(i, j)"},
    {"-", kArithmetic, "i - j"},
    {"subtract", kArithmetic, "subtract(i, j)"},
    {"*", kArithmetic, "q * 3"},
    {"multiply", kArithmetic, "multiply(i, j)"},
    {"/", kArithmetic, "i / j"},
    {"//", kArithmetic, "i // j"},
    {"divide", kArithmetic, "divide(i, j)"},
    {"%", kArithmetic, "i % j"},
    {"mod", kArithmetic, "mod(i, j)"},
    {"abs", kRounding, "abs(i)"},
    {"@", kRounding, "@i"},
    {"sign", kRounding, "sign(x)"},
    {"round", kRounding, "round(x, 2)"},
    {"floor", kRounding, "floor(x)"},
    {"ceil", kRounding, "ceil(q)"},
    {"ceiling", kRounding, "ceiling(q)"},
    {"trunc", kRounding, "trunc(x)"},
    {"greatest", kRounding, "greatest(i, j)"},
    {"least", kRounding, "least(i, j)"},
    {"&", kBits, "i & j"},
    {"|", kBits, "i | j"},
    {"xor", kBits, "xor(i, j)"},
    {"~", kBits, "~i"},
    {"<<", kBits, "i << j"},
    {">>", kBits, "i >> j"},
    {"sqrt", kMath, "sqrt(x)"},
    {"exp", kMath, "exp(x)", OnDevice::kNo},
    {"ln", kMath, "ln(x)", OnDevice::kNo},
    {"log", kMath, "log(x)", OnDevice::kNo},
    {"log2", kMath, "log2(x)", OnDevice::kNo},
    {"log10", kMath, "log10(x)", OnDevice::kNo},
    {"pow", kMath, "pow(x, 1.5)", OnDevice::kNo},
    {"power", kMath, "power(x, 1.5)", OnDevice::kNo},
    {"**", kMath, "x ** 1.5", OnDevice::kNo},
    {"^", kMath, "x ^ 1.5", OnDevice::kNo},
    {"isnan", kFinite, "isnan(x)"},
    {"isinf", kFinite, "isinf(x)"},
    {"isfinite", kFinite, "isfinite(day)"},
    {"date_part", kParts, "date_part('month', day)"},
    {"datepart", kParts, "datepart('hour', tod)"},
    {"year", kParts, "year(day)"},
    {"month", kParts, "month(day)"},
    {"day", kParts, "day(day)"},
    {"dayofmonth", kParts, "dayofmonth(day)"},
    {"decade", kParts, "decade(ts)"},
    {"century", kParts, "century(ts)"},
    {"millennium", kParts, "millennium(ts)"},
    {"quarter", kParts, "quarter(ts)"},
    {"week", kParts, "week(ts)"},
    {"weekofyear", kParts, "weekofyear(ts)"},
    {"isoyear", kParts, "isoyear(ts)"},
    {"yearweek", kParts, "yearweek(ts)"},
    {"dayofweek", kParts, "dayofweek(ts)"},
    {"weekday", kParts, "weekday(ts)"},
    {"isodow", kParts, "isodow(ts)"},
    {"dayofyear", kParts, "dayofyear(ts)"},
    {"hour", kParts, "hour(tod)"},
    {"minute", kParts, "minute(tod)"},
    {"second", kParts, "second(ts)"},
    {"millisecond", kParts, "millisecond(ts)"},
    {"microsecond", kParts, "microsecond(ts)"},
    {"epoch", kParts, "epoch(ts)"},
    {"epoch_ms", kParts, "epoch_ms(ts)"},
    {"epoch_us", kParts, "epoch_us(ts)"},
    {"monthname", kParts, "monthname(day)"},
    {"dayname", kParts, "dayname(day)"},
    {"date_trunc", kDates, "date_trunc('month', ts)"},
    {"datetrunc", kDates, "datetrunc('hour', ts)"},
    {"date_diff", kDates, "date_diff('day', ts, TIMESTAMP '2020-01-01')"},
    {"datediff", kDates, "datediff('hour', tod, TIME '12:00:00')"},
    {"date_sub", kDates, "date_sub('month', ts, TIMESTAMP '2020-01-01')"},
    {"datesub", kDates, "datesub('minute', tod, TIME '12:00:00')"},
    {"last_day", kDates, "last_day(day)"},
    {"to_years", kDates, "day + to_years(j)"},
    {"to_quarters", kDates, "day + to_quarters(j)"},
    {"to_months", kDates, "ts - to_months(j)"},
    {"to_weeks", kDates, "ts + to_weeks(j)"},
    {"to_days", kDates, "day + to_days(i)"},
    {"to_hours", kDates, "ts + to_hours(i)"},
    {"to_minutes", kDates, "ts + to_minutes(i)"},
    {"to_seconds", kDates, "ts + to_seconds(x)"},
    {"to_milliseconds", kDates, "ts + to_milliseconds(x)"},
    {"to_microseconds", kDates, "ts + to_microseconds(i)"},
    {"make_date", kDates, "make_date(i, 2, 3)"},
    {"~~", kTests, "s LIKE 'a_b%c'"},
    {"!~~", kTests, "s NOT LIKE 'a_b%c'"},
    {"like_escape", kTests, "s LIKE 'a$%b' ESCAPE '$'"},
    {"not_like_escape", kTests, "s NOT LIKE 'a$%b' ESCAPE '$'"},
    {"~~*", kTests, "s ILIKE 'A_b%c'", OnDevice::kAsciiLetters},
    {"!~~*", kTests, "s NOT ILIKE 'A_b%c'", OnDevice::kAsciiLetters},
    {"prefix", kTests, "prefix(s, 'ab')"},
    {"starts_with", kTests, "starts_with(s, 'ab')"},
    {"^@", kTests, "s ^@ 'ab'"},
    {"suffix", kTests, "suffix(s, 'ab')"},
    {"ends_with", kTests, "ends_with(s, 'ab')"},
    {"contains", kTests, "contains(s, 'ab')"},
    {"regexp_matches", kTests, "regexp_matches(s, 'a+b')"},
    {"regexp_full_match", kTests, "regexp_full_match(s, 'a+b')"},
    {"length", kTexts, "length(s)"},
    {"len", kTexts, "len(s)"},
    {"char_length", kTexts, "char_length(s)"},
    {"character_length", kTexts, "character_length(s)"},
    {"strlen", kTexts, "strlen(s)"},
    {"bit_length", kTexts, "bit_length(s)"},
    {"substring", kTexts, "substring(s, 2, 3)"},
    {"substr", kTexts, "substr(s, 2)"},
    {"left", kTexts, "left(s, -2)"},
    {"right", kTexts, "right(s, 2)"},
    {"lpad", kTexts, "lpad(s, 9, '-')"},
    {"rpad", kTexts, "rpad(s, 9, '-')"},
    {"repeat", kTexts, "repeat(s, 3)"},
    {"split_part", kTexts, "split_part(s, ',', 2)"},
    {"trim", kTexts, "trim(s)"},
    {"ltrim", kTexts, "ltrim(s, 'ab')"},
    {"rtrim", kTexts, "rtrim(s, 'ab')"},
    {"strpos", kTexts, "strpos(s, 'ab')"},
    {"instr", kTexts, "instr(s, 'ab')"},
    {"position", kTexts, "position('ab' IN s)"},
    {"||", kTexts, "s || 'ab'"},
    {"concat", kTexts, "concat('ab', s)"},
    {"replace", kTexts, "replace(s, 'a', 'b')"},
    {"regexp_replace", kTexts, "regexp_replace(s, 'a+', 'b')"},
    {"ascii", kTexts, "ascii(s)"},
    {"unicode", kTexts, "unicode(s)"},
    {"ord", kTexts, "ord(s)"},
    {"upper", kTexts, "upper(s)", OnDevice::kAsciiLetters},
    {"ucase", kTexts, "ucase(s)", OnDevice::kAsciiLetters},
    {"lower", kTexts, "lower(s)", OnDevice::kAsciiLetters},
    {"lcase", kTexts, "lcase(s)", OnDevice::kAsciiLetters},
    {"chr", kTexts, "chr(i)", OnDevice::kNo},
};

const char* gpu_words(OnDevice device) {
  switch (device) {
    case OnDevice::kYes: return "yes";
    case OnDevice::kAsciiLetters: return "of ASCII letters";
    default: return "no";
  }
}

// A bar would end the cell.
std::string in_cell(std::string_view name) {
  std::string out = "`";
  for (const char c : name) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out + "`";
}

}  // namespace

std::span<const SqlFunction> sql_functions() { return kFunctions; }

bool is_known_function(std::string_view name) {
  return std::ranges::any_of(kFunctions, [&](const SqlFunction& function) { return function.name == name; });
}

std::string function_page() {
  struct Line {
    std::string kind;
    OnDevice device;
    std::string names;
  };
  std::vector<Line> lines{{"aggregates", OnDevice::kYes, {}}};
  for (const SqlAggregate& aggregate : sql_aggregates()) {
    if (aggregate.example == nullptr) continue;
    const bool counts_all = aggregate.op == AggregateOp::kCountStar;
    lines.front().names += (lines.front().names.empty() ? "" : " ") + in_cell(counts_all ? "count(*)" : aggregate.name);
  }
  for (const SqlFunction& function : kFunctions) {
    const auto found = std::ranges::find_if(
        lines, [&](const Line& line) { return line.kind == function.kind && line.device == function.device; });
    if (found == lines.end()) {
      lines.push_back({function.kind, function.device, in_cell(function.name)});
    } else {
      found->names += " " + in_cell(function.name);
    }
  }
  std::string page = "| functions | | CPU | GPU |\n|---|---|---|---|\n";
  for (const Line& line : lines) {
    page += "| " + line.kind + " | " + line.names + " | yes | " + gpu_words(line.device) + " |\n";
  }
  return page;
}

}  // namespace basalt::sql
