// Parts of variable length say how long they are, so that no two pipelines are the same bytes.
#include "exec/pipeline_key.h"

#include <string_view>
#include <type_traits>

namespace basalt::exec {

namespace {

class KeyText {
 public:
  template <typename T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, int128_t>) void add(const T& number) {
    text_.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }
  void add(std::string_view text) {
    add(text.size());
    text_ += text;
  }
  void add(const Value& value) {
    add(value.type);
    add(value.null);
    add(value.integer);
    add(value.real);
    add(std::string_view(value.bytes));
  }
  void add(const Expr& expr) {
    add(expr.op);
    add(expr.type);
    add(expr.column);
    add(expr.literal);
    add(expr.limit);
    add(expr.power_of_ten);
    add(expr.from_scale);
    add(expr.factor);
    add(expr.args);
  }
  void add(const Aggregate& aggregate) {
    add(aggregate.op);
    add(aggregate.arg);
    add(aggregate.avg_scale);
    add(aggregate.distinct);
    add(aggregate.filter.has_value());
    if (aggregate.filter) add(*aggregate.filter);
  }
  void add(const PipelineColumn& column) {
    add(column.field_id);
    add(std::string_view(column.name));
    add(std::string_view(to_string(column.type)));
    add(column.as_codes);
  }
  void add(const SortKey& key) {
    add(key.column);
    add(key.descending);
    add(key.nulls_first);
  }
  void add(const Field& field) {
    add(std::string_view(field.name));
    add(std::string_view(to_string(field.type)));
  }
  template <typename T>
  void add(const std::vector<T>& list) {
    add(list.size());
    for (const T& one : list) add(one);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace

std::string pipeline_key(const Pipeline& pipeline) {
  KeyText key;
  key.add(pipeline.columns);
  key.add(pipeline.has_filter);
  if (pipeline.has_filter) key.add(pipeline.filter);
  key.add(pipeline.sink);
  key.add(pipeline.keys);
  key.add(pipeline.aggregates);
  key.add(pipeline.first.by.has_value());
  if (pipeline.first.by) key.add(*pipeline.first.by);
  key.add(pipeline.first.ties);
  key.add(pipeline.first.count);
  key.add(pipeline.rows);
  key.add(pipeline.order);
  key.add(pipeline.limit);
  key.add(pipeline.offset);
  key.add(pipeline.output);
  return key.take();
}

std::string statistics_key(const Statistics& stats) {
  KeyText key;
  key.add(stats.rows);
  key.add(stats.null_count);
  key.add(stats.min);
  key.add(stats.max);
  for (const bool fact : {stats.min_exact, stats.max_exact, stats.has_nan, stats.ascending, stats.descending,
                          stats.strict, stats.constant, stats.dense}) {
    key.add(fact);
  }
  key.add(stats.distinct);
  return key.take();
}

}  // namespace basalt::exec
