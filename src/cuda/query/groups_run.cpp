// Groups on the device: what their states say as a table. Where the states lie: groups_memory.cpp.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "cuda/query/compact_groups.h"
#include "cuda/query/group_columns.h"
#include "cuda/query/statement_run.h"
#include "cuda/query/statement_texts.h"
#include "exec/aggregate.h"
#include "exec/column_facts.h"
#include "exec/cpu/column_builder.h"
#include "exec/fixed_sum.h"
#include "exec/variance.h"

namespace basalt::cuda {

namespace {

// As many states are brought to the host as they lie, without asking which groups have rows.
constexpr uint64_t kFewSlots = 1 << 12;

int128_t wide_integer(uint64_t high, uint64_t low) {
  return static_cast<int128_t>(static_cast<uint128_t>(high) << 64 | low);
}

// NULL where there are too few rows. What is no number is an error, which the interpreter words.
Value finish_variance(AggregateOp op, const device::GroupResult& result, const uint64_t* words) {
  const bool sample = op == AggregateOp::kVarSamp || op == AggregateOp::kStddevSamp;
  const bool root = op == AggregateOp::kStddevPop || op == AggregateOp::kStddevSamp;
  const uint64_t* own = words + result.word;
  const exec::SquareSums sums{words[result.count_word], wide_integer(own[1], own[0]), wide_integer(own[4], own[3]),
                              result.fraction, result.square_fraction};
  if (sums.rows <= (sample ? 1u : 0u)) return Value::of_null(Physical::kF64);
  if (sums.rows == 1) return Value::of_real(Physical::kF64, 0);
  const double variance = exec::variance(sums, sample ? 1 : 0);
  if (own[2] != 0 || !std::isfinite(variance)) throw Error(ErrorCode::kOutOfRange, "a variance is out of range");
  return Value::of_real(Physical::kF64, root ? std::sqrt(variance) : variance);
}

Value extreme_of(const Aggregate& aggregate, const device::GroupResult& result, const uint64_t* own) {
  const uint64_t flip = aggregate.op == AggregateOp::kMin ? ~uint64_t{0} : 0;
  constexpr uint64_t kSign = uint64_t{1} << 63;
  if (result.wide) {
    return Value::of_integer(aggregate.arg.type, wide_integer(own[1] ^ flip ^ kSign, own[2] ^ flip));
  }
  const auto value = static_cast<int64_t>(own[0] ^ flip ^ kSign);
  return is_float(aggregate.arg.type) ? Value::of_real(aggregate.arg.type, exec::real_of_order_key(value))
                                      : Value::of_integer(aggregate.arg.type, value);
}

// Of the row that first(), last() or any_value() kept, if there was one.
Value kept_value(const Aggregate& aggregate, const device::GroupResult& result, const uint64_t* own) {
  const Physical type = aggregate.arg.type;
  if ((own[1] & 1) == 0) return Value::of_null(type);
  if (is_float(type)) return Value::of_real(type, std::bit_cast<double>(own[2]));
  if (result.wide) return Value::of_integer(type, wide_integer(own[2], own[3]));
  return Value::of_integer(type, static_cast<int64_t>(own[2]));
}
bool is_text(const Field& field) { return physical_of(field.type) == Physical::kBytes; }

Value finish_aggregate(const Aggregate& aggregate, const device::GroupResult& result, const uint64_t* words) {
  exec::AggregateState state;
  state.count = words[result.count_word];
  const bool real = aggregate.op != AggregateOp::kCountStar && is_float(aggregate.arg.type);
  const uint64_t* own = words + result.word;
  switch (aggregate.op) {
    case AggregateOp::kSum:
    case AggregateOp::kAvg: {
      const int128_t sum =
          result.wide ? wide_integer(own[1], own[0]) : static_cast<int128_t>(static_cast<int64_t>(own[0]));
      if (real) {
        state.real_sum = exec::with_specials(exec::from_fixed(sum, result.fraction), static_cast<uint32_t>(own[2]));
      } else {
        state.sum.add(sum);
      }
      break;
    }
    case AggregateOp::kMin:
    case AggregateOp::kMax:
      if (state.count != 0) state.extreme = extreme_of(aggregate, result, own);
      break;
    case AggregateOp::kVarPop:
    case AggregateOp::kVarSamp:
    case AggregateOp::kStddevPop:
    case AggregateOp::kStddevSamp: return finish_variance(aggregate.op, result, words);
    case AggregateOp::kFirst:
    case AggregateOp::kLast:
    case AggregateOp::kAnyValue: return kept_value(aggregate, result, own);
    default: break;
  }
  return exec::finish(aggregate, state);
}

}  // namespace

// A pass before the groups', over the same rows: how large the floats are that will be added.
std::vector<int32_t> StatementRun::find_magnitudes() {
  const bool floats = std::ranges::any_of(pipeline_.aggregates, [](const Aggregate& aggregate) {
    return aggregate.op != AggregateOp::kCountStar && is_float(aggregate.arg.type);
  });
  if (pipeline_.sink != Sink::kGroups || !floats) return {};
  const std::vector<device::ColumnShapes> shapes = device::shapes_of(device_);
  exec::StatisticsList stats;
  for (const device::ColumnShapes& shape : shapes) stats.push_back(&shape.stats);
  const std::vector<size_t> open = device::unmeasured_sums(pipeline_, stats);
  if (open.empty()) return {};
  device::DevicePipeline measure = device_;
  measure.plan = nullptr;
  measure.pipeline.sink = Sink::kTotals;
  measure.pipeline.keys.clear();
  measure.pipeline.aggregates.clear();
  for (const size_t i : open) {
    Aggregate largest;
    largest.op = AggregateOp::kMax;
    largest.arg = device::finite_size(pipeline_.aggregates[i].arg);
    measure.pipeline.aggregates.push_back(std::move(largest));
  }
  RunReport beside;
  RunOptions quiet = options_;
  quiet.progress = nullptr;
  const std::vector<Value> sizes = StatementRun(backend_, measure, quiet, beside, arrays_).run();
  report_.kernel_ms += beside.kernel_ms;
  report_.bytes_transferred += beside.bytes_transferred;
  std::vector<int32_t> exponents(pipeline_.aggregates.size(), exec::kLeastExponent);
  for (size_t i = 0; i < open.size(); ++i) {
    if (!sizes[i].null) exponents[open[i]] = exec::exponent_above(sizes[i].real);
  }
  return exponents;
}

// Where the order of the groups that are wanted is read, if the device can compare it.
std::optional<GroupOrder> StatementRun::group_order() const {
  if (!pipeline_.first.by || pipeline_.first.count == kAllRows) return std::nullopt;
  const SortKey& by = *pipeline_.first.by;
  const device::GroupsPlan& groups = *plan_->groups;
  GroupOrder order;
  order.descending = by.descending;
  order.nulls_first = by.nulls_first;
  if (by.column < pipeline_.keys.size()) {
    const exec::KeyPart& part = groups.keys.parts()[by.column];
    if (part.kind != exec::KeyKind::kInteger || part.null_flag || part.two_words) return std::nullopt;
    order.from = GroupOrder::From::kKey;
    order.exact = !part.null_code || part.mask() != ~uint64_t{0};  // else NULL has the place of the last code
    order.null_code = part.null_code;
    if (groups.hashed()) {
      order.key_word = part.word;
      order.shift = part.shift;
      order.mask = part.mask();
    } else {
      order.divisor = codes_behind(by.column);
      order.modulus = part.codes;
    }
    return order;
  }
  const size_t place = by.column - pipeline_.keys.size();
  const Aggregate& aggregate = pipeline_.aggregates[place];
  const device::GroupResult& result = groups.results[place];
  switch (aggregate.op) {
    case AggregateOp::kCountStar:
    case AggregateOp::kCount:
      order.exact = true;
      order.word = result.count_word;
      return order;
    case AggregateOp::kSum:
      if (is_float(aggregate.arg.type)) return std::nullopt;
      order.from = result.wide ? GroupOrder::From::kWide : GroupOrder::From::kSigned;
      break;
    case AggregateOp::kMin:
    case AggregateOp::kMax:
      if (result.wide || is_float(aggregate.arg.type)) return std::nullopt;
      if (aggregate.op == AggregateOp::kMin) order.descending = !order.descending;  // minima lie as complements
      break;
    default: return std::nullopt;
  }
  order.word = result.word;
  order.count_word = result.count_word;
  return order;
}

// Of an array of few slots: all are brought to the host.
StatementRun::FoundGroups StatementRun::few_groups(const GroupStates& groups) const {
  FoundGroups found;
  const uint32_t words = groups.words;
  found.states = download(groups.states, groups.slots * words * sizeof(uint64_t), backend_.compute_);
  auto* states = found.states.as<uint64_t>();
  for (uint64_t slot = 0; slot < groups.slots; ++slot) {
    if (states[slot * words] == 0 && !pipeline_.keys.empty()) continue;
    std::memmove(states + found.count * words, states + slot * words, words * sizeof(uint64_t));
    found.keys.append(&slot, sizeof(slot));
    ++found.count;
  }
  return found;
}

// Of the run, or of its partition.
CompactGroups StatementRun::wanted_groups() {
  const std::optional<GroupOrder> order = group_order();
  check_cancelled();
  // Without an order that the device can compare, all of them may be among the first.
  const bool few = order || !pipeline_.first.by;
  return compact_groups(group_states(), order ? &*order : nullptr, few ? pipeline_.first.count : kAllRows,
                        pipeline_.first.ties, backend_.compute_);
}

void StatementRun::fetch_groups(const CompactGroups& compact, FoundGroups& found) const {
  const GroupStates groups = group_states();
  const auto fetch_words = [&](const DeviceBuffer& from, uint32_t words, Buffer& to) {
    const Buffer more = download(from, compact.count * words * sizeof(uint64_t), backend_.compute_);
    to.append(more.data(), more.size());
  };
  found.key_words = groups.key_words;
  fetch_words(compact.keys, groups.key_words, found.keys);
  fetch_words(compact.states, groups.words, found.states);
  found.count += compact.count;
}

bool StatementRun::stay_on_device(uint64_t groups, bool keep) const {
  // Divisors of averages fit 128 bits.
  const bool finishes =
      std::ranges::all_of(pipeline_.aggregates, [](const Aggregate& one) { return one.avg_scale <= 18; });
  return keep && finishes && groups > device::kFewRows;
}

StageRows StatementRun::finish_groups(bool keep) {
  check_tables();
  const GroupStates groups = group_states();
  if (groups.keys == nullptr && groups.slots <= (keep ? device::kFewRows : kFewSlots)) {
    return {groups_table(few_groups(groups)), {}};
  }
  const CompactGroups compact = wanted_groups();
  if (stay_on_device(compact.count, keep)) return {{}, groups_on_device(compact)};
  FoundGroups found;
  fetch_groups(compact, found);
  return {groups_table(found), {}};
}

// The groups of all partitions have waited on the host: the device's memory is what there was too little of.
StageRows StatementRun::finish_partitions(const FoundGroups& found, bool keep) {
  groups_memory_ = {};
  // Columns are made beside the words that they are made of.
  if (!stay_on_device(found.count, keep) || 2 * (found.keys.size() + found.states.size()) > groups_budget_) {
    return {groups_table(found), {}};
  }
  CompactGroups compact;
  compact.count = found.count;
  compact.keys = upload(found.keys.data(), found.keys.size(), backend_.compute_);
  compact.states = upload(found.states.data(), found.states.size(), backend_.compute_);
  return {{}, groups_on_device(compact)};
}

// How many combinations the codes of the keys behind one have.
uint64_t StatementRun::codes_behind(size_t key) const {
  const std::vector<exec::KeyPart>& parts = plan_->groups->keys.parts();
  uint64_t product = 1;
  for (size_t i = key + 1; i < parts.size(); ++i) product *= parts[i].codes;
  return product;
}

void StatementRun::put_keys(size_t index, const FoundGroups& found, exec::ColumnBuilder& column) const {
  const device::GroupsPlan& groups = *plan_->groups;
  const exec::KeyPart& part = groups.keys.parts()[index];
  const Expr& key = pipeline_.keys[index];
  const bool text = is_text(pipeline_.output[index]);
  std::vector<std::optional<uint32_t>> numbers;
  const uint64_t behind = groups.hashed() ? 1 : codes_behind(index);
  const uint64_t* words = found.keys.as<uint64_t>();
  for (uint64_t i = 0; i < found.count; ++i, words += found.key_words) {
    const uint64_t code = groups.hashed() ? part.code(words) : words[0] / behind % part.codes;
    const bool null = groups.hashed() ? part.is_null(words) : part.null_code && code == 0;
    if (text) {
      numbers.emplace_back();
      if (!null) numbers.back() = static_cast<uint32_t>(exec::integer_of_code(part, code, 0));
    } else if (null) {
      column.add_null();
    } else if (part.kind == exec::KeyKind::kFloat) {
      column.add_real(exec::float_of_key(static_cast<int64_t>(code), part.type));
    } else {
      column.add_integer(exec::integer_of_code(part, code, part.two_words ? words[part.word + 1] : 0));
    }
  }
  if (text) put_texts(key, numbers, column);
}

void StatementRun::put_texts(const Expr& expr, const std::vector<std::optional<uint32_t>>& numbers,
                             exec::ColumnBuilder& column) const {
  const exec::TextCodes* listed = expr.op == ExprOp::kColumn ? device_.codes[expr.column].get() : nullptr;
  std::vector<uint32_t> asked;
  for (const std::optional<uint32_t>& number : numbers) {
    if (number) asked.push_back(*number);
  }
  StringRows fetched;
  if (listed == nullptr && !asked.empty()) fetched = fetch_texts(*texts_, asked, backend_.compute_);
  size_t next = 0;
  for (const std::optional<uint32_t>& number : numbers) {
    if (!number) {
      column.add_null();
    } else {
      column.add_text(listed != nullptr ? listed->entries.at(*number) : fetched.at(next++));
    }
  }
}

DeviceTable StatementRun::groups_on_device(const CompactGroups& groups) {
  const device::GroupsPlan& plan = *plan_->groups;
  const cudaStream_t stream = backend_.compute_;
  const exec::StatisticsList stats = column_statistics();
  DeviceTable table;
  table.rows = groups.count;
  const WordRows keys{groups.keys.as<uint64_t>(), plan.hashed() ? plan.keys.words() : 1, groups.count};
  for (size_t i = 0; i < pipeline_.keys.size(); ++i) {
    const exec::KeyPart& part = plan.keys.parts()[i];
    KeySource source;
    source.type = part.type;
    source.real = part.kind == exec::KeyKind::kFloat;
    source.two_words = part.two_words;
    source.null_code = part.null_code;
    source.null_flag = part.null_flag;
    source.word = part.word;
    source.shift = part.shift;
    source.mask = part.mask();
    source.null_word = part.null_word;
    source.null_shift = part.null_shift;
    if (!plan.hashed()) {
      source.divisor = codes_behind(i);
      source.modulus = part.codes;
    }
    source.base_low = static_cast<uint64_t>(part.base);
    source.base_high = static_cast<uint64_t>(static_cast<uint128_t>(part.base) >> 64);
    table.columns.push_back(key_column(pipeline_.output[i], source, keys, stream));
    put_list(pipeline_.keys[i], table.columns.back());
    if (!is_text(pipeline_.output[i])) table.columns.back().range = exec::value_range(pipeline_.keys[i], stats);
  }
  const WordRows states{groups.states.as<uint64_t>(), plan.words(), groups.count};
  const DeviceBuffer bad = cleared(sizeof(uint32_t), stream);
  for (size_t i = 0; i < pipeline_.aggregates.size(); ++i) {
    const Aggregate& aggregate = pipeline_.aggregates[i];
    const device::GroupResult& result = plan.results[i];
    StateSource source;
    source.op = aggregate.op;
    source.real = aggregate.op != AggregateOp::kCountStar && is_float(aggregate.arg.type);
    source.narrow = width_of(aggregate.arg.type) <= 2;
    source.count_word = result.count_word;
    source.word = result.word;
    source.wide = result.wide;
    source.fraction = result.fraction;
    source.square_fraction = result.square_fraction;
    source.avg_scale = aggregate.avg_scale;
    const Field& field = pipeline_.output[pipeline_.keys.size() + i];
    table.columns.push_back(state_column(field, source, states, bad.as<uint32_t>(), stream));
    put_list(aggregate.arg, table.columns.back());
    if (!is_text(field)) table.columns.back().range = exec::result_range(aggregate, stats, planned_rows(device_.rows));
  }
  if (fetch(bad.as<uint32_t>(), stream) != 0) throw Error(ErrorCode::kOutOfRange, "a variance is out of range");
  return table;
}

// Where the numbers of a column of strings lead.
void StatementRun::put_list(const Expr& expr, DeviceColumn& column) const {
  if (!is_text(column.field)) return;
  if (expr.op == ExprOp::kColumn) column.listed = device_.codes[expr.column];
  if (column.listed == nullptr) column.texts = texts_;
}

Table StatementRun::groups_table(const FoundGroups& found) {
  const device::GroupsPlan& groups = *plan_->groups;
  Table table;
  table.rows = found.count;
  table.schema.fields = pipeline_.output;
  table.columns.resize(pipeline_.output.size());
  const auto fill = [&](uint64_t i) {
    exec::ColumnBuilder column(pipeline_.output[i]);
    column.reserve(table.rows);
    if (i < pipeline_.keys.size()) {
      put_keys(i, found, column);
    } else {
      const size_t a = i - pipeline_.keys.size();
      const uint64_t* words = found.states.as<uint64_t>();
      std::vector<std::optional<uint32_t>> numbers;
      for (uint64_t row = 0; row < table.rows; ++row, words += groups.words()) {
        const Value value = finish_aggregate(pipeline_.aggregates[a], groups.results[a], words);
        if (!is_text(pipeline_.output[i])) {
          column.add_value(value);
        } else {
          numbers.emplace_back();
          if (!value.null) numbers.back() = static_cast<uint32_t>(value.integer);
        }
      }
      if (is_text(pipeline_.output[i])) put_texts(pipeline_.aggregates[a].arg, numbers, column);
    }
    table.columns[i] = column.take();
  };
  // Strings come from the device, in its stream.
  std::vector<uint64_t> others;
  for (uint64_t i = 0; i < table.columns.size(); ++i) {
    if (is_text(pipeline_.output[i]) || table.rows <= kFewSlots) {
      fill(i);
    } else {
      others.push_back(i);
    }
  }
  backend_.threads(options_.threads).parallel_for(others.size(), [&](uint64_t i) { fill(others[i]); });
  return table;
}

StageRows StatementRun::run_partitions(bool keep) {
  FoundGroups found;
  for (partition_ = 0;; ++partition_) {
    if (partition_ > 0) forget_run();
    run();
    if (partitions_ == 1) return finish_groups(keep);
    check_tables();
    fetch_groups(wanted_groups(), found);
    if (partition_ + 1 == partitions_) break;
  }
  report_.rung += ", in " + std::to_string(partitions_) + " partitions of their hashes";
  return finish_partitions(found, keep);
}

// Before everything is run again: states are cleared before its first row.
void StatementRun::forget_run() {
  groups_memory_ = {};
  const TileCounts none;
  report_.tiles = none;
  report_.rows = 0;
  report_.encoded_bytes_read = 0;
  chunks_.clear();
  batches_.clear();
  chunk_ends_.clear();
  blocks_.clear();
  batch_inputs_.clear();
}

StageRows StatementRun::run_groups(bool keep) {
  for (bool again = false;; again = true) {
    try {
      StageRows rows = run_partitions(keep);
      if (again) keep_tables();
      return rows;
    } catch (const TableTooSmall& small) {
      enlarge_tables(small.tables);
      forget_run();
    }
  }
}

}  // namespace basalt::cuda
