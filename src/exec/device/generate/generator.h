// The generator's state: what it has planned of a statement (generate.cpp) and the text it has written (write.cpp).
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "exec/device/generate/emit.h"
#include "exec/device/generate/generate.h"

namespace basalt::device {

// Runs of states with more words are put together in a loop, not in straight code of several rows, by fewer warps.
constexpr uint32_t kFewRunWords = 4;
constexpr size_t kFewColumns = 5;  // up to here a statement has time to compile for more widths

// Conjuncts of the form `column <op> literal`, merged per column: compared in the packed domain. Of floats the keys.
struct RangeTest {
  uint32_t column = 0;
  bool has_low = false;
  bool has_high = false;
  bool not_equal = false;
  int128_t low = 0;
  int128_t high = 0;
};

// A conjunct that tests strings, or NOT of one.
struct TextTest {
  Expr predicate;
  bool negate = false;
};

struct Needs {
  std::set<uint32_t> values;
  std::set<uint32_t> validity;     // columns with NULLs
  std::vector<const Expr*> texts;  // tests of strings, in the order written

  bool within(const Needs& other) const {
    return std::includes(other.values.begin(), other.values.end(), values.begin(), values.end());
  }
};

struct AggregateStep {
  Needs needs;
  std::vector<size_t> aggregates;
};

class Generator {
 public:
  Generator(const Pipeline& pipeline, uint64_t rows, const std::vector<int32_t>& magnitudes, uint64_t array_bytes)
      : pipeline_(pipeline), row_count_(rows), magnitudes_(magnitudes), array_bytes_(array_bytes) {}
  KernelPlan generate(const std::vector<ColumnShapes>& columns);

 private:
  void plan_columns(const std::vector<ColumnShapes>& columns);
  void name_columns();
  void plan_filter(const Expr& expr);
  std::optional<RangeTest> as_range_test(const Expr& expr) const;
  std::tuple<int, int128_t, uint32_t> order_of(const RangeTest& test) const;
  const Expr& before_widening(const Expr& expr) const;
  void plan_aggregates();
  void collect(const Expr& expr, Needs& needs) const;

  // How generated text names a test: the kind of it, its ends, and the whole in words.
  struct RangeText {
    std::string kind;
    std::string first;
    std::string last;
    std::string words;
  };
  RangeText range_text(const RangeTest& test);
  void write_range_test(const RangeTest& test, bool by_groups);
  // Whether the first test is all that its column is for, and of a column whose tiles can be taken in groups.
  bool filters_tile_groups() const;
  std::string tile_group_filter_type() const;
  void write_text_test(const TextTest& test);
  uint32_t plan_text(const Expr& predicate);
  std::string text_call(uint32_t text) const;
  KnownPredicates write_texts(const Needs& needs, std::string& out);
  void write_filter_step(const Expr& expr);
  std::string condition_loops(const Needs& needs, const std::string& row_text, const std::string& condition);
  // Columns that a filter and the last step read, whose tiles are staged in shared memory: staged once for both.
  void plan_kept();
  bool is_kept(uint32_t column) const { return kept_.contains(column); }
  bool is_staged(uint32_t column) const {
    return std::ranges::all_of(plan_.columns[column].shapes.values,
                               [](const DeviceReader& reader) { return reader.rows_in_shared; });
  }
  void write_aggregate_step(const AggregateStep& step);
  // What a step's aggregates do before its rows, with each of them, and behind them.
  struct StepText {
    RowEmitter rows;
    std::string before;
    std::string after;
  };
  void write_aggregate(size_t index, StepText& text);
  void write_extreme(size_t index, const Emitted& arg, RowEmitter& rows);
  void write_float_sum(size_t index, const Emitted& arg, StepText& text);
  // `range`: of the argument.
  void write_integer_sum(size_t index, const Emitted& arg, const exec::IntegerRange& range, StepText& text);
  std::string row_loops(const Needs& needs, const std::string& row_text, bool few = false);
  // The one column that is filtered and summed as its codec stores it, if the statement asks for nothing else.
  std::optional<uint32_t> filter_sum_column() const;
  void write_filter_sum(uint32_t column);
  // Groups (groups.cpp): what they are kept in, and the step that adds rows to them.
  void plan_groups();
  bool takes(GroupRung rung, std::optional<uint64_t> slots) const;
  // About how many groups there are, if each is a run of neighbouring rows.
  std::optional<uint64_t> runs() const;
  void choose_rung();
  void write_groups();
  std::string group_rows(RowEmitter& rows, const Needs& needs, const std::vector<std::string>& updates);
  std::string run_rows(RowEmitter& rows, const Needs& needs, const std::vector<std::string>& updates);
  void write_updates(RowEmitter& rows, const std::vector<std::string>& updates) const;
  std::string key_text(RowEmitter& rows);
  // A key's code, and of one of 128 bits the upper half.
  struct KeyCode {
    std::string code;
    std::string upper;
    std::string valid;  // empty: never NULL
  };
  KeyCode key_code(const exec::KeyPart& part, const Emitted& key);
  static void put_code(const exec::KeyPart& part, const KeyCode& key, std::vector<std::string>& words);
  // What a row gives to an aggregate, and when.
  struct GroupArgument {
    Emitted value;
    std::string condition;  // empty: always
    exec::IntegerRange range;
  };
  GroupArgument group_argument(const Aggregate& aggregate, RowEmitter& rows);
  std::vector<GroupArgument> group_arguments(RowEmitter& rows);
  // DISTINCT arguments: rows take part under the condition `distinct_0`, which write_distinct() declares.
  struct DistinctArgument {
    const Expr* expr = nullptr;
    Emitted value;
    std::string condition;
  };
  void take_distinct(const Aggregate& aggregate, GroupArgument& arg);
  void write_distinct(RowEmitter& rows);
  // Gives an aggregate its words; those that count or add the same share them. Lines that bring a row into them go to
  // `updates`.
  void plan_words(size_t index, const std::vector<GroupArgument>& args, std::vector<std::string>& updates);
  uint32_t count_word(size_t index, const std::vector<GroupArgument>& args, std::vector<std::string>& updates);
  std::string sum_text(GroupResult& result, const Aggregate& aggregate, const GroupArgument& arg);
  std::string extreme_text(GroupResult& result, const Aggregate& aggregate, const GroupArgument& arg);
  std::string variance_text(GroupResult& result, const Aggregate& aggregate, const GroupArgument& arg);
  std::string place_text(GroupResult& result, const Aggregate& aggregate, const GroupArgument& arg);
  int32_t exponent_of(const Aggregate& aggregate) const;
  uint32_t add_words(const std::vector<const char*>& kinds);
  std::string groups_types() const;
  // Rows (rows.cpp): the words they are ordered by, the step that leaves the first of them, and the one that writes.
  void plan_rows();
  void plan_order();
  bool is_in_word(uint32_t key, uint32_t word) const;
  std::string order_word(uint32_t word, RowEmitter& rows);
  std::string order_part(const OrderPart& part, RowEmitter& rows);
  void write_first_rows();
  void write_rows();
  void write_steps();
  std::string open_columns(const Needs& needs, const std::string& indent);
  std::string ask_text(uint32_t column, const std::string& indent) const;
  // All columns' tiles are asked for before the first test. What the answers take of the registers must be little.
  bool asks_early() const { return names_.size() <= kFewColumns; }
  // Rows in the order of the table that a filter leaves: counted by one launch, written by another.
  bool counts_rows_first() const { return plan_.rows && !plan_.rows->first_only && !filter_text_.empty(); }
  // Pieces of text by which a loop over rows reads them: a call up to its last argument, and what belongs to row j.
  struct RowsText {
    std::string read;
    std::string live;
    std::string k;
  };
  std::string rows_head(const Needs& needs, uint32_t count, const RowsText& rows, const std::string& indent);
  std::string slice_head(const Needs& needs, uint32_t slice, const std::string& indent);
  std::string pick_head(const Needs& needs, const std::string& indent);
  // `count` rows of every lane at a time; `present`: a mask whose rows are there.
  std::string step_head(const Needs& needs, uint32_t count, const std::string& present, const std::string& indent);
  bool takes_unrolled(const Needs& needs, size_t lines);
  uint32_t slice_size(const Needs& needs) const;
  std::string valid_name(uint32_t column) const;  // says whether a row's value is valid; empty: it always is
  std::vector<ColumnNames> row_names() const;
  std::string function_headers() const;  // #include lines
  std::string whole_source() const;
  std::string column_types() const;
  std::string tile_steps() const;
  std::string texts_type(uint32_t column) const;
  bool is_tested(uint32_t column) const;
  uint32_t resident_warps() const;
  std::string scratch_text(const Needs& needs) const;
  void note_scratch(const Needs& needs);
  uint32_t scratch_of(const Needs& needs) const;  // bytes of shared memory, for each warp
  uint32_t scratch_of(uint32_t column) const;     // the same of a column's values

  bool nullable(uint32_t column) const { return plan_.columns[column].nullable(); }
  bool is_filtered_by_groups(uint32_t column) const {
    return tile_group_filter_ && tile_group_filter_->column == column;
  }
  bool has_texts(uint32_t column) const { return physical_of(pipeline_.columns[column].type) == Physical::kBytes; }

  const Pipeline& pipeline_;
  uint64_t row_count_;  // at most so many are read
  const std::vector<int32_t>& magnitudes_;
  uint64_t array_bytes_;  // that an array of groups may take
  KernelPlan plan_;
  exec::StatisticsList list_;
  std::vector<exec::Lane> lanes_;
  std::vector<std::string> names_;
  LiteralTable literals_;
  std::vector<RangeTest> range_tests_;
  std::vector<TextTest> text_tests_;
  std::vector<Expr> general_tests_;
  std::vector<AggregateStep> steps_;
  std::optional<uint32_t> filter_sum_of_;  // filter_sum_column()
  struct GroupFilter {
    uint32_t column = 0;
    RangeText text;
  };
  std::optional<GroupFilter> tile_group_filter_;  // the test that takes tiles in groups
  std::vector<DistinctArgument> distinct_;
  std::set<uint32_t> kept_;  // plan_kept()
  std::vector<std::string> scratch_sizes_;
  size_t unrolled_ = 0;       // what takes_unrolled() has granted so far
  uint32_t tests_ = 0;        // range tests written
  uint32_t picks_ = 4;        // live rows that are read at a time
  std::string declarations_;  // lane states
  std::string filter_text_;
  std::string aggregate_text_;
  std::string record_text_;
};

// The narrowest integers in which a lane's 32 values of a tile, all in this range, add up.
exec::Lane tile_sum_lane(const exec::IntegerRange& range);

// Asks the tiles of these columns whether their rows break the rules of their encoding.
std::string bad_text(const std::set<uint32_t>& columns, const std::vector<std::string>& names,
                     const std::string& indent);
// A value as an integer; " over a, b" for comments.
std::string integer_text(const Emitted& arg);
std::string column_list(const Needs& needs, const std::vector<std::string>& names);

// Why the aggregates and keys of groups cannot run on the device; empty: they can.
std::string why_no_groups(const Pipeline& pipeline, const exec::StatisticsList& stats, uint64_t rows);

// NOT IN with a NULL in the list holds for no row, which NOT of a test does not say.
bool has_null_in_list(const Expr& predicate);

// All chunks have one encoding, whose rows are read from the file's bytes: no staging, no look-up, no nesting.
bool reads_directly(const ColumnShapes& shapes);

}  // namespace basalt::device
