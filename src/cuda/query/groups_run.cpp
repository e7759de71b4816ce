// Groups on the device: memory for their states, hash tables that grow until everything fits, and what the states say
// as a table.
#include <algorithm>
#include <bit>
#include <cstring>

#include "cuda/query/compact_groups.h"
#include "cuda/query/statement_run.h"
#include "exec/aggregate.h"
#include "exec/column_facts.h"
#include "exec/cpu/column_builder.h"
#include "exec/fixed_sum.h"

namespace basalt::cuda {

namespace {

constexpr uint64_t kLeastSlots = 1 << 12;
// As many states are brought to the host as they lie, without asking which groups have rows.
constexpr uint64_t kFewSlots = 1 << 12;

struct TableTooSmall {};

Value finish_aggregate(const Aggregate& aggregate, const device::GroupResult& result, const uint64_t* words) {
  exec::AggregateState state;
  state.count = words[result.count_word];
  const bool real = aggregate.op != AggregateOp::kCountStar && is_float(aggregate.arg.type);
  const uint64_t* own = words + result.word;
  switch (aggregate.op) {
    case AggregateOp::kSum:
    case AggregateOp::kAvg: {
      const int128_t sum = result.wide ? static_cast<int128_t>(static_cast<uint128_t>(own[1]) << 64 | own[0])
                                       : static_cast<int128_t>(static_cast<int64_t>(own[0]));
      if (real) {
        state.real_sum = exec::with_specials(exec::from_fixed(sum, result.fraction), static_cast<uint32_t>(own[2]));
      } else {
        state.sum.add(sum);
      }
      break;
    }
    case AggregateOp::kMin:
    case AggregateOp::kMax: {
      if (state.count == 0) break;
      const uint64_t bits = aggregate.op == AggregateOp::kMin ? ~own[0] : own[0];
      const auto value = static_cast<int64_t>(bits ^ (uint64_t{1} << 63));
      state.extreme = real ? Value::of_real(aggregate.arg.type, exec::real_of_order_key(value))
                           : Value::of_integer(aggregate.arg.type, value);
      break;
    }
    default: break;
  }
  return exec::finish(aggregate, state);
}

}  // namespace

// Hash tables have a place for the key that marks free ones, and one for rows that find none.
uint64_t StatementRun::group_bytes(uint64_t slots) const {
  const device::GroupsPlan& groups = *plan_->groups;
  const bool hash = groups.rung == device::GroupRung::kHash;
  return ((slots + (hash ? 2 : 0)) * groups.words() + (hash ? slots : 0)) * sizeof(uint64_t);
}

void StatementRun::take_group_memory() {
  if (!plan_->groups) return;
  const device::GroupsPlan& groups = *plan_->groups;
  const bool hash = groups.rung == device::GroupRung::kHash;
  if (!hash) {
    groups_memory_.slots = groups.slots;
  } else if (groups_memory_.slots == 0) {
    // Half full if a quarter of the rows were groups; more than that is tried when it turns out to be too small.
    const uint64_t rows = device_.rows;
    groups_memory_.slots = std::bit_ceil(std::clamp<uint64_t>(rows / 2, kLeastSlots, uint64_t{1} << 26));
  }
  const uint64_t bytes = group_bytes(groups_memory_.slots);
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
  groups_memory_.states = block((groups_memory_.slots + (hash ? 2 : 0)) * groups.words() * sizeof(uint64_t));
  if (!hash) return;
  groups_memory_.keys = block(groups_memory_.slots * sizeof(uint64_t));
  groups_memory_.full = block(sizeof(uint32_t));
}

void StatementRun::clear_groups() {
  if (groups_memory_.states == nullptr) return;
  const auto fill = [&](const DeviceBlock& block, int byte) {
    check(cudaMemsetAsync(block.data(), byte, block.bytes(), backend_.compute_), "clearing groups");
  };
  fill(*groups_memory_.states, 0);
  if (groups_memory_.keys != nullptr) fill(*groups_memory_.keys, 0xFF);
  if (groups_memory_.full != nullptr) fill(*groups_memory_.full, 0);
}

// Where the order of the groups that are wanted is read, if the device can compare it.
std::optional<GroupOrder> StatementRun::group_order() const {
  const FirstGroups& first = pipeline_.first;
  if (first.count == kAllRows) return std::nullopt;
  const device::GroupsPlan& groups = *plan_->groups;
  GroupOrder order;
  order.descending = first.by.descending;
  order.nulls_first = first.by.nulls_first;
  if (first.by.column < pipeline_.keys.size()) {
    const exec::KeyPart& part = groups.keys.parts()[first.by.column];
    if (part.kind != exec::KeyKind::kInteger || part.null_flag || part.two_words) return std::nullopt;
    order.from = GroupOrder::From::kKey;
    order.null_code = part.null_code;
    if (groups.rung == device::GroupRung::kHash) {
      order.shift = part.shift;
      order.mask = part.mask();
    } else {
      order.divisor = codes_behind(first.by.column);
      order.modulus = part.codes;
    }
    return order;
  }
  const size_t place = first.by.column - pipeline_.keys.size();
  const Aggregate& aggregate = pipeline_.aggregates[place];
  const device::GroupResult& result = groups.results[place];
  switch (aggregate.op) {
    case AggregateOp::kCountStar:
    case AggregateOp::kCount: order.word = result.count_word; return order;
    case AggregateOp::kSum:
      if (is_float(aggregate.arg.type)) return std::nullopt;
      order.from = result.wide ? GroupOrder::From::kWide : GroupOrder::From::kSigned;
      break;
    case AggregateOp::kMin: order.descending = !order.descending; break;  // minima lie as complements
    case AggregateOp::kMax: break;
    default: return std::nullopt;
  }
  order.word = result.word;
  order.count_word = result.count_word;
  return order;
}

Table StatementRun::finish_groups() {
  const device::GroupsPlan& plan = *plan_->groups;
  const bool hash = plan.rung == device::GroupRung::kHash;
  const cudaStream_t stream = backend_.compute_;
  if (hash && fetch(groups_memory_.full->as<uint32_t>(), stream) != 0) throw TableTooSmall();
  const uint32_t words = plan.words();
  FoundGroups found;
  GroupStates groups;
  groups.states = groups_memory_.states->as<uint64_t>();
  groups.keys = hash ? groups_memory_.keys->as<uint64_t>() : nullptr;
  groups.key_count = groups_memory_.slots;
  groups.slots = groups_memory_.slots + (hash ? 1 : 0);
  groups.words = words;
  if (!hash && groups.slots <= kFewSlots) {
    found.states = download(groups.states, groups.slots * words * sizeof(uint64_t), stream);
    auto* states = found.states.as<uint64_t>();
    for (uint64_t slot = 0; slot < groups.slots; ++slot) {
      if (states[slot * words] == 0 && !pipeline_.keys.empty()) continue;
      std::memmove(states + found.places.size() * words, states + slot * words, words * sizeof(uint64_t));
      found.places.push_back(slot);
    }
  } else {
    const std::optional<GroupOrder> order = group_order();
    const CompactGroups compact = compact_groups(groups, order ? &*order : nullptr, pipeline_.first.count, stream);
    found.states = download(compact.states, compact.count * words * sizeof(uint64_t), stream);
    // Of a hash table the keys say what the places of an array say.
    const Buffer places = download(hash ? compact.keys : compact.places, compact.count * sizeof(uint64_t), stream);
    found.places.assign(places.as<uint64_t>(), places.as<uint64_t>() + compact.count);
  }
  return groups_table(found);
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
  const bool hash = groups.rung == device::GroupRung::kHash;
  const exec::TextCodes* texts = key.op == ExprOp::kColumn ? device_.codes[key.column].get() : nullptr;
  const uint64_t behind = hash ? 1 : codes_behind(index);
  for (const uint64_t place : found.places) {
    const uint64_t code = hash ? place >> part.shift & part.mask() : place / behind % part.codes;
    const bool flagged = part.null_flag && (place >> part.null_shift & 1) != 0;
    if (flagged || (part.null_code && code == 0)) {
      column.add_null();
    } else if (texts != nullptr) {
      column.add_text(texts->entries.at(static_cast<size_t>(exec::integer_of_code(part, code, 0))));
    } else if (part.kind == exec::KeyKind::kFloat) {
      column.add_real(exec::float_of_key(static_cast<int64_t>(code), part.type));
    } else {
      column.add_integer(exec::integer_of_code(part, code, 0));
    }
  }
}

Table StatementRun::groups_table(const FoundGroups& found) {
  const device::GroupsPlan& groups = *plan_->groups;
  Table table;
  table.rows = found.places.size();
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
      for (uint64_t row = 0; row < table.rows; ++row, words += groups.words()) {
        column.add_value(finish_aggregate(pipeline_.aggregates[a], groups.results[a], words));
      }
    }
    table.columns[i] = column.take();
  };
  if (table.rows <= kFewSlots) {
    for (uint64_t i = 0; i < table.columns.size(); ++i) fill(i);
  } else {
    backend_.threads(options_.threads).parallel_for(table.columns.size(), fill);
  }
  return table;
}

Table StatementRun::run_groups() {
  for (;;) {
    try {
      run();
      return finish_groups();
    } catch (const TableTooSmall&) {
      // Everything again with a larger table: states were cleared before the first row of a run.
      const uint64_t slots = groups_memory_.slots * 8;
      groups_memory_ = {};
      groups_memory_.slots = slots;
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

Table CudaBackend::run_groups(const Pipeline& pipeline, const RunOptions& options, RunReport& report) {
  std::lock_guard lock(mutex_);
  use_device();
  report = RunReport();
  report.device_name = name_;
  const auto stage = stages_.get(pipeline);
  return StatementRun(*this, *stage, options, report).run_groups();
}

}  // namespace basalt::cuda
