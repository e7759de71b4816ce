#include "exec/cpu/group_sink.h"

#include <algorithm>

#include "basalt/core/error.h"
#include "exec/cpu/key_words.h"
#include "exec/cpu/table_tiles.h"
#include "exec/fixed_sum.h"

namespace basalt::exec {

namespace {

// Groups between two looks at whether the statement was cancelled.
constexpr uint32_t kGroupsPerCheck = 1 << 16;

constexpr uint32_t kUnknownEntry = ~0u;

bool takes_nulls(AggregateOp op) { return op == AggregateOp::kFirst || op == AggregateOp::kLast; }

bool needs_places(AggregateOp op) { return takes_nulls(op) || op == AggregateOp::kAnyValue; }

}  // namespace

GroupPlan::GroupPlan(const Pipeline& stage, const StatisticsList& stats, uint64_t rows,
                     const std::vector<int32_t>& magnitudes)
    : pipeline(stage) {
  for (const Expr& key : pipeline.keys) keys.add(key, stats);
  for (size_t i = 0; i < pipeline.aggregates.size(); ++i) {
    const Aggregate& aggregate = pipeline.aggregates[i];
    Part part;
    part.facts.rows = rows;
    if (aggregate.op != AggregateOp::kCountStar) {
      if (is_integer(aggregate.arg.type)) {
        const Bounds bounds = bounds_of(aggregate.arg, stats);
        part.facts.range = {bounds.low.integer, bounds.high.integer};
      }
      part.facts.fraction = fraction_bits(magnitudes[i], rows);
      if (aggregate.distinct) {
        part.distinct.add_number(32);
        part.distinct.add(aggregate.arg, stats);
      }
    }
    aggregates.push_back(std::move(part));
  }
}

GroupSink::GroupSink(const GroupPlan& plan)
    : plan_(plan), pipeline_(plan.pipeline), groups_(plan.keys.words(), plan.keys.bits()) {
  for (const Expr& key : pipeline_.keys) keys_.emplace_back().expr = &key;
  for (size_t i = 0; i < pipeline_.aggregates.size(); ++i) {
    const Aggregate& aggregate = pipeline_.aggregates[i];
    AggregateInput input;
    input.has_argument = aggregate.op != AggregateOp::kCountStar;
    input.has_filter = aggregate.filter.has_value();
    input.states = make_states(aggregate, plan.aggregates[i].facts);
    if (aggregate.distinct && input.has_argument) {
      const KeyLayout& layout = plan.aggregates[i].distinct;
      input.seen = std::make_unique<GroupTable>(layout.words(), 64);
      input.value.expr = &aggregate.arg;
    } else if (input.has_argument) {
      const auto shared = std::find_if(arguments_.begin(), arguments_.end(),
                                       [&](const Argument& a) { return same_expression(*a.expr, aggregate.arg); });
      input.argument = static_cast<size_t>(shared - arguments_.begin());
      if (shared == arguments_.end()) arguments_.emplace_back().expr = &aggregate.arg;
    }
    aggregates_.push_back(std::move(input));
  }
  if (pipeline_.keys.empty()) {  // one group, with or without rows
    groups_.number_of(nullptr);
    for (AggregateInput& input : aggregates_) input.states->resize(1);
  }
}

bool GroupSink::open(const PartBegin& part) {
  for (KeyInput& key : keys_) key.step = prepare(*key.expr, part.stats);
  for (Argument& argument : arguments_) argument.step = prepare(*argument.expr, part.stats);
  for (size_t i = 0; i < aggregates_.size(); ++i) {
    AggregateInput& input = aggregates_[i];
    if (input.has_filter) input.filter = prepare(*pipeline_.aggregates[i].filter, part.stats);
    if (input.seen != nullptr) input.value.step = prepare(*input.value.expr, part.stats);
    input.value.entries = nullptr;
  }
  for (KeyInput& key : keys_) key.entries = nullptr;
  return true;
}

void GroupSink::write_texts(KeyInput& key, const KeyPart& part, TileInput& input, const uint16_t* rows, uint32_t count,
                            uint64_t* words, uint32_t stride) {
  if (key.expr->op == ExprOp::kColumn) {
    key.codes.resize(kTileRows);
    const StringRows* entries = input.codes(key.expr->column, key.codes.data());
    if (entries != nullptr) {
      if (entries != key.entries) {
        key.entries = entries;
        key.entry_numbers.assign(entries->size(), kUnknownEntry);
      }
      return put_codes(part, input.valid(key.expr->column), rows, count, words, stride, [&](uint32_t row) {
        uint32_t& number = key.entry_numbers[key.codes[row]];
        if (number == kUnknownEntry) number = pool_.number_of(entries->at(key.codes[row]));
        return uint64_t{number};
      });
    }
  }
  const Vector vector = evaluate(key.step, input);
  const auto* texts = vector.as<std::string_view>();
  put_codes(part, vector.valid, rows, count, words, stride,
            [&](uint32_t row) { return uint64_t{pool_.number_of(texts[row])}; });
}

void GroupSink::write_words(KeyInput& key, const KeyPart& part, TileInput& input, const uint16_t* rows, uint32_t count,
                            uint64_t* words, uint32_t stride) {
  if (part.kind == KeyKind::kText) return write_texts(key, part, input, rows, count, words, stride);
  const Vector vector = evaluate(key.step, input);
  if (part.kind == KeyKind::kFloat) return put_floats(part, vector, rows, count, words, stride);
  put_integers(part, vector, rows, count, words, stride);
}

// Live rows of the tile and their groups.
void GroupSink::number_rows(TileInput& input) {
  rows_.clear();
  const uint8_t* live = input.live();
  for (uint32_t i = 0; i < input.rows(); ++i) {
    if (live == nullptr || live[i] != 0) rows_.push_back(static_cast<uint16_t>(i));
  }
  const auto count = static_cast<uint32_t>(rows_.size());
  numbers_.assign(count, 0);
  if (keys_.empty()) return;
  const uint32_t stride = groups_.words();
  words_.assign(size_t{count} * stride, 0);
  for (size_t i = 0; i < keys_.size(); ++i) {
    write_words(keys_[i], plan_.keys.parts()[i], input, rows_.data(), count, words_.data(), stride);
  }
  for (uint32_t i = 0; i < count; ++i) numbers_[i] = groups_.number_of(words_.data() + size_t{i} * stride);
}

void GroupSink::add(TileInput& input, uint64_t first_row) {
  number_rows(input);
  if (rows_.empty()) return;
  const bool places = std::any_of(pipeline_.aggregates.begin(), pipeline_.aggregates.end(),
                                  [](const Aggregate& a) { return needs_places(a.op); });
  if (places) {
    const uint16_t* numbers = input.row_numbers();
    places_.resize(kTileRows);
    for (uint32_t i = 0; i < input.rows(); ++i) places_[i] = first_row + (numbers == nullptr ? i : numbers[i]);
  }
  for (Argument& argument : arguments_) argument.vector = evaluate(argument.step, input);
  for (size_t i = 0; i < aggregates_.size(); ++i) add_aggregate(i, input);
}

void GroupSink::add_aggregate(size_t index, TileInput& input) {
  AggregateInput& aggregate = aggregates_[index];
  aggregate.states->resize(groups_.size());
  GroupedRows rows{rows_.data(), numbers_.data(), static_cast<uint32_t>(rows_.size()), places_.data()};
  Vector vector;
  if (aggregate.has_argument && aggregate.seen == nullptr) vector = arguments_[aggregate.argument].vector;
  const bool skip_nulls = vector.valid != nullptr && !takes_nulls(pipeline_.aggregates[index].op);
  if (aggregate.has_filter || skip_nulls) {
    const uint8_t* pass = nullptr;
    if (aggregate.has_filter) pass = evaluate_predicate(aggregate.filter, input).as<uint8_t>();
    some_rows_.clear();
    some_numbers_.clear();
    for (uint32_t i = 0; i < rows.count; ++i) {
      const uint16_t row = rows_[i];
      if ((pass != nullptr && pass[row] == 0) || (skip_nulls && vector.valid[row] == 0)) continue;
      some_rows_.push_back(row);
      some_numbers_.push_back(numbers_[i]);
    }
    rows.rows = some_rows_.data();
    rows.groups = some_numbers_.data();
    rows.count = static_cast<uint32_t>(some_rows_.size());
  }
  if (aggregate.seen != nullptr)
    return add_distinct(aggregate, plan_.aggregates[index].distinct.parts()[1], input, rows);
  aggregate.states->add(vector, rows);
}

void GroupSink::add_distinct(AggregateInput& aggregate, const KeyPart& part, TileInput& input,
                             const GroupedRows& rows) {
  const uint32_t stride = aggregate.seen->words();
  words_.assign(size_t{rows.count} * stride, 0);
  for (uint32_t i = 0; i < rows.count; ++i) words_[size_t{i} * stride] = rows.groups[i];
  write_words(aggregate.value, part, input, rows.rows, rows.count, words_.data(), stride);
  for (uint32_t i = 0; i < rows.count; ++i) aggregate.seen->number_of(words_.data() + size_t{i} * stride);
}

void GroupSink::translate(const KeyLayout& layout, const std::vector<uint32_t>& texts, uint64_t* words) const {
  for (const KeyPart& part : layout.parts()) {
    if (part.kind != KeyKind::kText) continue;
    const uint64_t code = words[part.word] >> part.shift & part.mask();
    if (code == 0) continue;  // NULL
    words[part.word] &= ~(part.mask() << part.shift);
    words[part.word] |= (uint64_t{texts[code - 1]} + 1) << part.shift;
  }
}

void GroupSink::merge(const GroupSink& other, const CancelToken* cancel) {
  std::vector<uint32_t> texts(other.pool_.size());
  for (uint32_t i = 0; i < texts.size(); ++i) texts[i] = pool_.number_of(other.pool_.at(i));
  std::vector<uint32_t> map(other.groups_.size());
  std::vector<uint64_t> words(other.groups_.words());
  for (uint32_t i = 0; i < map.size(); ++i) {
    if (cancel != nullptr && i % kGroupsPerCheck == 0) cancel->check();
    std::copy_n(other.groups_.key(i), words.size(), words.begin());
    translate(plan_.keys, texts, words.data());
    map[i] = groups_.number_of(words.data());
  }
  for (size_t i = 0; i < aggregates_.size(); ++i) {
    AggregateInput& aggregate = aggregates_[i];
    aggregate.states->resize(groups_.size());
    if (aggregate.seen == nullptr) {
      other.aggregates_[i].states->resize(map.size());
      aggregate.states->merge(*other.aggregates_[i].states, map.data(), map.size());
      continue;
    }
    const GroupTable& from = *other.aggregates_[i].seen;
    words.resize(from.words());
    for (uint32_t pair = 0; pair < from.size(); ++pair) {
      if (cancel != nullptr && pair % kGroupsPerCheck == 0) cancel->check();
      std::copy_n(from.key(pair), words.size(), words.begin());
      translate(plan_.aggregates[i].distinct, texts, words.data());
      const auto group = static_cast<uint32_t>(words[0]);
      words[0] = (words[0] & ~uint64_t{0xFFFFFFFF}) | map[group];
      aggregate.seen->number_of(words.data());
    }
    words.resize(other.groups_.words());
  }
}

// Puts the distinct values of every group to the aggregate, in batches.
void GroupSink::add_seen_values(size_t index) {
  AggregateInput& aggregate = aggregates_[index];
  const GroupTable& seen = *aggregate.seen;
  const KeyPart& part = plan_.aggregates[index].distinct.parts()[1];
  const Expr& arg = pipeline_.aggregates[index].arg;
  std::vector<int128_t> integers(kTileRows);
  std::vector<double> reals(kTileRows);
  std::vector<std::string_view> texts(kTileRows);
  std::vector<uint16_t> rows(kTileRows);
  std::vector<uint32_t> groups(kTileRows);
  std::vector<uint64_t> places(kTileRows);
  for (uint16_t i = 0; i < kTileRows; ++i) rows[i] = i;
  uint32_t count = 0;
  const auto flush = [&] {
    Vector vector{Lane::kI128, integers.data(), nullptr};
    if (part.kind == KeyKind::kFloat) vector = {Lane::kF64, reals.data(), nullptr};
    if (part.kind == KeyKind::kText) vector = {Lane::kBytes, texts.data(), nullptr};
    aggregate.states->add(vector, {rows.data(), groups.data(), count, places.data()});
    count = 0;
  };
  for (uint32_t i = 0; i < seen.size(); ++i) {
    const uint64_t* words = seen.key(i);
    if (part.is_null(words)) continue;
    const uint64_t code = part.code(words);
    groups[count] = static_cast<uint32_t>(words[0]);
    places[count] = i;
    if (part.kind == KeyKind::kText) {
      texts[count] = pool_.at(static_cast<uint32_t>(code - 1));
    } else if (part.kind == KeyKind::kFloat) {
      reals[count] = float_of_key(static_cast<int64_t>(code), arg.type);
    } else {
      integers[count] = integer_of_code(part, code, part.upper_code(words));
    }
    if (++count == kTileRows) flush();
  }
  if (count > 0) flush();
}

void GroupSink::put_keys(size_t key, ColumnBuilder& out) const {
  const KeyPart& part = plan_.keys.parts()[key];
  for (uint32_t i = 0; i < groups_.size(); ++i) {
    const uint64_t* words = groups_.key(i);
    const uint64_t code = part.code(words);
    if (part.is_null(words)) {
      out.add_null();
    } else if (part.kind == KeyKind::kText) {
      out.add_text(pool_.at(static_cast<uint32_t>(code - 1)));
    } else if (part.kind == KeyKind::kFloat) {
      out.add_real(float_of_key(static_cast<int64_t>(code), part.type));
    } else {
      out.add_integer(integer_of_code(part, code, part.upper_code(words)));
    }
  }
}

Table GroupSink::finish(const CancelToken* cancel) {
  Table table;
  table.rows = groups_.size();
  table.schema.fields = pipeline_.output;
  for (size_t i = 0; i < pipeline_.output.size(); ++i) {
    if (cancel != nullptr) cancel->check();
    ColumnBuilder column(pipeline_.output[i]);
    column.reserve(groups_.size());
    if (i < keys_.size()) {
      put_keys(i, column);
    } else {
      AggregateInput& aggregate = aggregates_[i - keys_.size()];
      aggregate.states->resize(groups_.size());
      if (aggregate.seen != nullptr) add_seen_values(i - keys_.size());
      aggregate.states->finish(groups_.size(), column);
    }
    table.columns.push_back(column.take());
  }
  return table;
}

}  // namespace basalt::exec
