// The records that kernels leave behind, merged into a statement's values.
#include "core/device/answer.h"
#include "cuda/query/statement_run.h"
#include "exec/aggregate.h"

namespace basalt::cuda {

// The records of all launches, in order, into the states that both backends share.
std::vector<Value> StatementRun::merge(const std::vector<uint32_t>& chunk_ends, size_t launches) {
  const size_t aggregates = plan_->results.size();
  std::vector<exec::AggregateState> states(aggregates);
  const auto* words = reinterpret_cast<const uint64_t*>(backend_.results_.data());
  const size_t records = launches * static_cast<size_t>(kernel_->blocks);
  uint64_t flags = 0;
  uint64_t answered[] = {0, 0};  // tiles, by bounds and by models
  uint64_t texts = 0;
  for (size_t r = 0; r < records; ++r) {
    const uint64_t* record = words + r * record_words();
    flags |= record[device::kRecordFlags];
    for (size_t how = 0; how < 2; ++how) answered[how] += record[device::kRecordTiles + how];
    texts += record[device::kRecordTexts];
    for (size_t a = 0; a < aggregates; ++a) {
      const uint64_t* own = record + device::kRecordHead + device::kRecordAggregate * a;
      if (own[0] == 0) continue;
      const Aggregate& aggregate = pipeline_.aggregates[a];
      exec::AggregateState state;
      state.count = own[0];
      switch (plan_->results[a].kind) {
        case device::ResultKind::kCount:
        case device::ResultKind::kFloatSum: break;
        case device::ResultKind::kIntegerSum:
          state.sum.low = static_cast<uint128_t>(own[2]) << 64 | own[1];
          state.sum.high = static_cast<int64_t>(own[3]);
          break;
        case device::ResultKind::kIntegerExtreme:
          state.extreme = Value::of_integer(aggregate.arg.type,
                                            static_cast<int128_t>(static_cast<uint128_t>(own[2]) << 64 | own[1]));
          break;
        case device::ResultKind::kFloatExtreme:
          state.extreme = Value::of_real(aggregate.arg.type, exec::real_of_order_key(static_cast<int64_t>(own[1])));
          break;
      }
      exec::merge(aggregate, states[a], state);
    }
  }
  if ((flags & device::kFlagBad) != 0) {
    std::string names;
    for (const PipelineColumn& column : pipeline_.columns) names += (names.empty() ? "" : ", ") + column.name;
    throw Error(ErrorCode::kCorrupt, (pipeline_.files.empty() ? std::string("no file") : pipeline_.files[0]->name()) +
                                         ": a value of column " + names + " breaks the rules of its encoding");
  }
  if ((flags & device::kFlagOverflow) != 0) throw Error(ErrorCode::kOutOfRange, "a result left the range of its type");

  // What planning left open has been decided one way or another.
  TileCounts& tiles = report_.tiles;
  const uint64_t open = tiles.by_bounds + tiles.by_model + tiles.decoded;
  tiles.by_bounds = answered[device::kByBounds];
  tiles.by_model = answered[device::kByModel];
  tiles.decoded = open - tiles.by_bounds - tiles.by_model;
  tiles.texts_in_place = texts;

  // Float sums: a launch's arrays lie one after the other, each as long as the launch's work list; chunks never span
  // launches. With one launch the whole list is one array.
  const auto* sums = reinterpret_cast<const double*>(words + records * record_words());
  for (size_t a = 0; a < aggregates; ++a) {
    if (plan_->results[a].kind != device::ResultKind::kFloatSum) continue;
    size_t chunk = 0;
    uint32_t launch_first = 0;
    for (size_t launch = 0; launch < launches; ++launch) {
      const size_t last_chunk = launches == 1 ? chunk_ends.size() : batches_[launch].end;
      const uint32_t launch_end = last_chunk == 0 ? 0 : chunk_ends[last_chunk - 1];
      const double* own = sums + static_cast<size_t>(launch_first) * plan_->tile_sums +
                          static_cast<size_t>(plan_->results[a].tile_sum) * (launch_end - launch_first);
      for (uint32_t item = launch_first; chunk < last_chunk; ++chunk) {
        double chunk_sum = 0;
        for (; item < chunk_ends[chunk]; ++item) chunk_sum += own[item - launch_first];
        states[a].real_sum += chunk_sum;
      }
      launch_first = launch_end;
    }
  }
  std::vector<Value> values;
  for (size_t a = 0; a < aggregates; ++a) values.push_back(exec::finish(pipeline_.aggregates[a], states[a]));
  return values;
}

}  // namespace basalt::cuda
