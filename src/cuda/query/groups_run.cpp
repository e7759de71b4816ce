// Groups on the device: memory for their states, hash tables that grow until everything fits, and what the states say
// as a table.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include "cuda/query/compact_groups.h"
#include "cuda/query/group_columns.h"
#include "cuda/query/statement_run.h"
#include "cuda/query/statement_texts.h"
#include "exec/aggregate.h"
#include "exec/column_facts.h"
#include "exec/cpu/column_builder.h"
#include "exec/device/generate/group_settings.h"
#include "exec/fixed_sum.h"
#include "exec/variance.h"

namespace basalt::cuda {

namespace {

constexpr uint64_t kLeastSlots = 1 << 12;
// As many states are brought to the host as they lie, without asking which groups have rows.
constexpr uint64_t kFewSlots = 1 << 12;

// Hash tables are never larger: numbers of their slots have 32 bits.
constexpr uint64_t kMostSlots = uint64_t{1} << 31;

// Which of the tables.
struct TableTooSmall {
  std::vector<bool> tables;
};

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

std::vector<uint64_t> StatementRun::first_table_slots() const {
  const device::GroupsPlan& groups = *plan_->groups;
  const device::GroupSettings settings = device::group_settings();
  // Half full if a quarter of the rows were keys; more than that is tried when it turns out to be too small.
  const uint64_t rows = device_.rows;
  const auto slots_for = [&](uint64_t most) {
    if (settings.slots != 0) return settings.slots;
    const uint64_t likely = std::min<uint64_t>(rows / 2, uint64_t{1} << 26);
    return std::bit_ceil(std::max<uint64_t>(most == 0 ? likely : std::min(likely, 2 * most), kLeastSlots));
  };
  std::vector<uint64_t> slots;
  if (groups.hashed()) slots.push_back(slots_for(0));
  for (const device::DistinctPlan& distinct : groups.distinct) slots.push_back(slots_for(distinct.most));
  return slots;
}

// Tables of single words have a slot more, for the key that marks free ones. Wide keys have their tag before them and
// their states, if they are those of groups, behind them, and one slot more for keys that find none.
std::vector<uint64_t> StatementRun::key_table_bytes() const {
  const device::GroupsPlan& groups = *plan_->groups;
  std::vector<uint64_t> bytes;
  const auto add = [&](uint32_t key_words, uint32_t state_words, bool wide) {
    const uint64_t words = wide ? 1 + key_words + state_words : 1;
    bytes.push_back((table_slots_[bytes.size()] + 1) * words * sizeof(uint64_t));
  };
  if (groups.hashed()) add(groups.keys.words(), groups.words(), groups.rung == device::GroupRung::kWide);
  for (const device::DistinctPlan& distinct : groups.distinct) add(distinct.keys.words(), 0, distinct.keys.words() > 1);
  return bytes;
}

void StatementRun::take_group_memory() {
  if (!plan_->groups) return;
  const device::GroupsPlan& groups = *plan_->groups;
  if (table_slots_.empty()) table_slots_ = first_table_slots();
  // Of hash tables of single words: one for the key that marks free places, one for rows that find none.
  const uint64_t state_slots = groups.rung == device::GroupRung::kWide   ? 0
                               : groups.rung == device::GroupRung::kHash ? table_slots_[0] + 2
                                                                         : groups.slots;
  const uint64_t state_bytes = state_slots * groups.words() * sizeof(uint64_t);
  const std::vector<uint64_t> tables = key_table_bytes();
  const uint64_t bytes = std::accumulate(tables.begin(), tables.end(), state_bytes);
  if (bytes > limit_ / 2) {
    throw Error(ErrorCode::kOutOfMemory, "groups need " + std::to_string(bytes >> 20) +
                                             " MiB on the device, more than half of the limit of " +
                                             std::to_string(limit_ >> 20) + " MiB");
  }
  limit_ -= bytes;
  if (!backend_.cache_.make_room(0, limit_, run_))
    throw Error(ErrorCode::kOutOfMemory, "no room for groups on the device");
  const auto block = [&](uint64_t size) {
    return std::make_unique<DeviceBlock>(size, backend_.compute_, backend_.compute_);
  };
  if (state_bytes > 0) groups_memory_.states = block(state_bytes);
  for (const uint64_t size : tables) groups_memory_.tables.push_back(block(size));
  if (!tables.empty()) groups_memory_.full = block(tables.size() * sizeof(uint32_t));
}

void StatementRun::clear_groups() {
  if (!plan_->groups) return;
  const device::GroupsPlan& groups = *plan_->groups;
  const auto fill = [&](const DeviceBlock& block, int byte) {
    check(cudaMemsetAsync(block.data(), byte, block.bytes(), backend_.compute_), "clearing groups");
  };
  if (groups_memory_.states != nullptr) fill(*groups_memory_.states, 0);
  if (groups_memory_.full != nullptr) fill(*groups_memory_.full, 0);
  const size_t first = groups.hashed() ? 1 : 0;  // of DISTINCT arguments
  for (size_t i = 0; i < groups_memory_.tables.size(); ++i) {
    const bool wide = i < first ? groups.rung == device::GroupRung::kWide : groups.distinct[i - first].keys.words() > 1;
    fill(*groups_memory_.tables[i], wide ? 0 : 0xFF);
  }
}

void StatementRun::put_groups(device::Parameters& parameters) const {
  if (!plan_->groups) return;
  const device::GroupsPlan& groups = *plan_->groups;
  if (groups_memory_.states != nullptr) parameters.groups = groups_memory_.states->as<uint64_t>();
  parameters.group_slots = groups.slots;
  const uint64_t hash_mask = device::group_settings().hash_mask();
  size_t next = 0;
  const auto table = [&] {
    const size_t i = next++;
    return device::KeyTable{groups_memory_.tables[i]->as<uint64_t>(), table_slots_[i] - 1, hash_mask,
                            groups_memory_.full->as<uint32_t>() + i};
  };
  if (groups.hashed()) parameters.group_keys = table();
  for (size_t i = 0; i < groups.distinct.size(); ++i) parameters.distinct[i] = table();
}

void StatementRun::check_tables() const {
  if (groups_memory_.full == nullptr) return;
  const size_t count = groups_memory_.tables.size();
  const Buffer flags = download(groups_memory_.full->as<uint32_t>(), count * sizeof(uint32_t), backend_.compute_);
  TableTooSmall small;
  bool any = false;
  for (size_t i = 0; i < count; ++i) {
    small.tables.push_back(flags.as<uint32_t>()[i] != 0);
    any = any || small.tables.back();
  }
  if (any) throw small;
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

GroupStates StatementRun::group_states() const {
  const device::GroupsPlan& plan = *plan_->groups;
  GroupStates groups;
  groups.words = plan.words();
  groups.stride = groups.words;
  groups.slots = plan.slots;
  if (groups_memory_.states != nullptr) groups.states = groups_memory_.states->as<uint64_t>();
  if (!plan.hashed()) return groups;
  groups.keys = groups_memory_.tables[0]->as<uint64_t>();
  groups.key_count = table_slots_[0];
  if (plan.rung == device::GroupRung::kHash) {
    groups.key_stride = 1;
    groups.slots = groups.key_count + 1;
    return groups;
  }
  groups.slots = groups.key_count;
  groups.key_words = plan.keys.words();
  groups.stride = groups.key_stride = 1 + groups.key_words + groups.words;
  groups.keys += 1;  // behind the tag
  groups.states = groups.keys + groups.key_words;
  return groups;
}

StageRows StatementRun::finish_groups(bool keep) {
  check_tables();
  const cudaStream_t stream = backend_.compute_;
  const GroupStates groups = group_states();
  const uint32_t words = groups.words;
  FoundGroups found;
  found.key_words = groups.key_words;
  if (groups.keys == nullptr && groups.slots <= (keep ? device::kFewRows : kFewSlots)) {
    found.states = download(groups.states, groups.slots * words * sizeof(uint64_t), stream);
    auto* states = found.states.as<uint64_t>();
    for (uint64_t slot = 0; slot < groups.slots; ++slot) {
      if (states[slot * words] == 0 && !pipeline_.keys.empty()) continue;
      std::memmove(states + found.count * words, states + slot * words, words * sizeof(uint64_t));
      found.keys.append(&slot, sizeof(slot));
      ++found.count;
    }
  } else {
    const std::optional<GroupOrder> order = group_order();
    check_cancelled();
    // Without an order that the device can compare, all of them may be among the first.
    const bool few = order || !pipeline_.first.by;
    const CompactGroups compact = compact_groups(groups, order ? &*order : nullptr,
                                                 few ? pipeline_.first.count : kAllRows, pipeline_.first.ties, stream);
    // Divisors of averages fit 128 bits.
    const bool finishes =
        std::ranges::all_of(pipeline_.aggregates, [](const Aggregate& one) { return one.avg_scale <= 18; });
    if (keep && finishes && compact.count > device::kFewRows) return {{}, groups_on_device(compact)};
    found.count = compact.count;
    found.states = download(compact.states, compact.count * words * sizeof(uint64_t), stream);
    found.keys = download(compact.keys, compact.count * groups.key_words * sizeof(uint64_t), stream);
  }
  return {groups_table(found), {}};
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

// Numbers of slots that are worth trying when a table was too small: twice as many as there are rows suffice.
std::vector<uint64_t> StatementRun::larger_tables(const std::vector<bool>& small) const {
  const uint64_t enough = std::bit_ceil(2 * device_.rows);
  std::vector<uint64_t> slots = table_slots_;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (!small[i]) continue;
    if (slots[i] >= kMostSlots) throw Error(ErrorCode::kOutOfMemory, "groups need more than 2^31 slots on the device");
    slots[i] = std::clamp(enough, 2 * slots[i], std::min(8 * slots[i], kMostSlots));
  }
  return slots;
}

StageRows StatementRun::run_groups(bool keep) {
  for (bool again = false;; again = true) {
    try {
      run();
      StageRows rows = finish_groups(keep);
      const auto kept = backend_.statements_.find(statement_key());
      if (again && kept != backend_.statements_.end()) kept->second->table_slots = table_slots_;
      return rows;
    } catch (const TableTooSmall& small) {
      // Everything again with larger tables: states were cleared before the first row of a run.
      table_slots_ = larger_tables(small.tables);
      groups_memory_ = {};
      const TileCounts none;
      report_.tiles = none;
      report_.rows = 0;
      report_.encoded_bytes_read = 0;
      chunks_.clear();
      batches_.clear();
      all_slots_.clear();
      all_work_.clear();
      chunk_ends_.clear();
      blocks_.clear();
      batch_inputs_.clear();
    }
  }
}

}  // namespace basalt::cuda
