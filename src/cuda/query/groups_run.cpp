// Groups on the device: memory for their states, hash tables that grow until everything fits, and what the states say
// as a table.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

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

double real_of_order_key(int64_t key) {
  if (key == std::numeric_limits<int64_t>::max()) return std::numeric_limits<double>::quiet_NaN();
  return std::bit_cast<double>(key ^ (key >> 63 & std::numeric_limits<int64_t>::max()));
}

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
      state.extreme = real ? Value::of_real(aggregate.arg.type, real_of_order_key(value))
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
    const uint64_t rows = exec::row_count(pipeline_);
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

Table StatementRun::finish_groups() {
  const device::GroupsPlan& groups = *plan_->groups;
  const bool hash = groups.rung == device::GroupRung::kHash;
  const cudaStream_t stream = backend_.compute_;
  if (hash && fetch(groups_memory_.full->as<uint32_t>(), stream) != 0) throw TableTooSmall();
  const uint32_t words = groups.words();
  const uint64_t slots = groups_memory_.slots + (hash ? 1 : 0);
  std::vector<uint64_t> places;
  Buffer states;
  uint64_t count = 0;
  if (slots <= kFewSlots) {
    states = download(groups_memory_.states->data(), slots * words * sizeof(uint64_t), stream);
    for (uint64_t slot = 0; slot < slots; ++slot) {
      if (states.as<uint64_t>()[slot * words] == 0 && !pipeline_.keys.empty()) continue;
      std::memmove(states.as<uint64_t>() + count++ * words, states.as<uint64_t>() + slot * words,
                   words * sizeof(uint64_t));
      places.push_back(slot);
    }
  } else {
    const CompactGroups compact = compact_groups(groups_memory_.states->as<uint64_t>(), slots, words, stream);
    count = compact.count;
    states = download(compact.states, count * words * sizeof(uint64_t), stream);
    const Buffer found = download(compact.places, count * sizeof(uint64_t), stream);
    places.assign(found.as<uint64_t>(), found.as<uint64_t>() + count);
  }
  Buffer keys;
  if (hash) keys = download(groups_memory_.keys->data(), groups_memory_.slots * sizeof(uint64_t), stream);
  return groups_table(places, states, count, hash ? keys.as<uint64_t>() : nullptr);
}

// The code of a key of the group in a slot.
uint64_t StatementRun::group_code(size_t key, uint64_t place, const uint64_t* keys, bool& null) const {
  const device::GroupsPlan& groups = *plan_->groups;
  const exec::KeyPart& part = groups.keys.parts()[key];
  uint64_t code = 0;
  if (keys != nullptr) {
    const uint64_t word = place < groups_memory_.slots ? keys[place] : ~uint64_t{0};
    code = word >> part.shift & part.mask();
    null = part.null_flag && (word >> part.null_shift & 1) != 0;
  } else {
    uint64_t behind = 1;
    for (size_t i = key + 1; i < groups.keys.parts().size(); ++i) behind *= groups.keys.parts()[i].codes;
    code = place / behind % part.codes;
    null = false;
  }
  null = null || (part.null_code && code == 0);
  return code;
}

Table StatementRun::groups_table(const std::vector<uint64_t>& places, const Buffer& states, uint64_t count,
                                 const uint64_t* keys) const {
  const device::GroupsPlan& groups = *plan_->groups;
  Table table;
  table.rows = count;
  table.schema.fields = pipeline_.output;
  for (size_t i = 0; i < pipeline_.output.size(); ++i) {
    exec::ColumnBuilder column(pipeline_.output[i]);
    column.reserve(count);
    for (uint64_t row = 0; row < count; ++row) {
      if (i >= pipeline_.keys.size()) {
        const size_t a = i - pipeline_.keys.size();
        column.add_value(
            finish_aggregate(pipeline_.aggregates[a], groups.results[a], states.as<uint64_t>() + row * groups.words()));
        continue;
      }
      bool null = false;
      const exec::KeyPart& part = groups.keys.parts()[i];
      const uint64_t code = group_code(i, places[row], keys, null);
      const Expr& key = pipeline_.keys[i];
      if (null) {
        column.add_null();
      } else if (key.op == ExprOp::kColumn && pipeline_.columns[key.column].as_codes) {
        const auto entry = static_cast<size_t>(exec::integer_of_code(part, code, 0));
        column.add_text(device_.codes[key.column]->entries.at(entry));
      } else if (part.kind == exec::KeyKind::kFloat) {
        column.add_real(exec::float_of_key(static_cast<int64_t>(code), part.type));
      } else {
        column.add_integer(exec::integer_of_code(part, code, 0));
      }
    }
    table.columns.push_back(column.take());
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
  const device::DevicePipeline device = device::to_device(pipeline);
  return StatementRun(*this, device, options, report).run_groups();
}

}  // namespace basalt::cuda
