#include "cuda/query/windows/window_run.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

#include "basalt/exec/expressions.h"
#include "cuda/query/common_texts.h"
#include "cuda/query/joins/places.h"
#include "cuda/query/number_rows.h"
#include "cuda/query/row_arrays.h"
#include "cuda/query/text_pool.h"
#include "cuda/query/windows/window_rows.h"

namespace basalt::cuda {

namespace {

constexpr uint32_t kSumBits = 126;  // of 128-bit sums of all rows, beside the sign

bool is_extreme(const WindowFunction& function) {
  return function.aggregate.op == AggregateOp::kMin || function.aggregate.op == AggregateOp::kMax;
}

class WindowColumn {
 public:
  WindowColumn(const WindowFunction& function, const Field& field, const DeviceTable& rows, const SortRows& sorted,
               cudaStream_t stream)
      : function_(function), field_(field), rows_(rows), stream_(stream) {
    std::vector<SortKey> keys;
    for (const uint32_t column : function.partition) keys.push_back({column, false, false});
    keys.insert(keys.end(), function.order.begin(), function.order.end());
    DeviceBuffer places = keys.empty() ? counting(rows.rows, stream) : sorted(rows, keys);
    std::vector<uint32_t> order;
    for (const SortKey& key : function.order) order.push_back(key.column);
    const Keys partition_keys = keys_of(function.partition);
    const Keys order_keys = keys_of(order);
    order_ = window_order(std::move(places), rows.rows, partition_keys.reader, partition_keys.words, order_keys.reader,
                          order_keys.words, stream);
  }

  DeviceColumn run() const {
    switch (function_.op) {
      case WindowOp::kLag: return shifted(-1);
      case WindowOp::kLead: return shifted(1);
      case WindowOp::kFirstValue: return of_frame(false);
      case WindowOp::kLastValue: return of_frame(true);
      case WindowOp::kAggregate: return aggregate();
      default: return with_values(window_numbers(function_.op, order_, stream_));
    }
  }

 private:
  // How kernels tell rows apart; the columns must live until they have.
  struct Keys {
    std::vector<DeviceColumn> columns;
    device::JoinKeyReader reader{};
    uint32_t words = 0;
  };

  Keys keys_of(const std::vector<uint32_t>& columns) const {
    Keys out;
    std::vector<JoinKey> keys;
    for (const uint32_t number : columns) {
      DeviceColumn column = rows_.columns.at(number);
      const Physical type = physical_of(column.field.type);
      if (type == Physical::kBytes && column.texts != nullptr) {  // a list that may hold a string twice
        column.values = number_together({{&column, rows_.rows}}, stream_).numbers.front();
      }
      const Expr any = column_reference(0, type);
      keys.push_back({any, any, true});
      out.columns.push_back(std::move(column));
    }
    KeySide side;
    side.rows = rows_.rows;
    for (const DeviceColumn& column : out.columns) side.columns.push_back(&column);
    const exec::KeyLayout layout = layout_of(keys, side);
    out.reader = reader_of(keys, layout, side, side);
    out.words = layout.words();
    return out;
  }

  DeviceColumn with_values(DeviceBuffer values) const {
    DeviceColumn out;
    out.field = field_;
    out.values = std::move(values);
    return out;
  }
  DeviceColumn taken_from(const DeviceColumn& column, const DeviceBuffer& from) const {
    DeviceColumn out = column_at(column, from.as<uint32_t>(), rows_.rows, true, stream_);
    out.field = field_;
    return out;
  }
  const DeviceColumn& argument(size_t place) const { return rows_.columns.at(function_.arguments.at(place)); }

  DeviceColumn shifted(int64_t direction) const {
    const DeviceColumn& distance = argument(1);
    device::JoinKeyPart part{};
    part.values = distance.values.data();
    part.validity = distance.validity.as<uint8_t>();
    part.width = width_of(physical_of(distance.field.type));
    part.is_signed = is_signed(physical_of(distance.field.type));
    DeviceBuffer beyond;
    const DeviceBuffer from = shifted_rows(order_, part, direction, beyond, stream_);
    DeviceColumn values = argument(0);
    DeviceColumn instead = argument(2);
    if (physical_of(field_.type) == Physical::kBytes) {
      CommonTexts common = number_together({{&values, rows_.rows}, {&instead, rows_.rows}}, stream_);
      values.values = std::move(common.numbers[0]);
      instead.values = std::move(common.numbers[1]);
      values.texts = std::move(common.texts);
      values.listed = nullptr;
    }
    DeviceColumn out = taken_from(values, from);
    replace_rows(out, instead, beyond.as<uint8_t>(), rows_.rows, stream_);
    out.range.reset();
    return out;
  }

  DeviceColumn of_frame(bool last) const {
    return taken_from(argument(0), frame_rows(order_, function_, rows_, last, stream_));
  }

  // Strings as numbers in their order.
  DeviceColumn in_order(const DeviceColumn& column) const {
    DeviceColumn out = column;
    if (physical_of(column.field.type) != Physical::kBytes || column.texts == nullptr) return out;
    const CommonTexts common = number_together({{&column, rows_.rows}}, stream_);
    const strings::Texts texts{common.texts->bytes.as<uint64_t>(), common.texts->offsets.as<int64_t>(), 0};
    const TextOrder order = order_texts(texts, common.texts->count, stream_);
    out.values = DeviceBuffer(rows_.rows * sizeof(uint32_t), stream_);
    look_up(common.numbers.front().as<uint32_t>(), rows_.rows, order.ranks.as<uint32_t>(), common.texts->count,
            out.values.as<uint32_t>(), stream_);
    return out;
  }

  DeviceColumn aggregate() const {
    const Aggregate& aggregate = function_.aggregate;
    WindowArgument argument;
    if (aggregate.op != AggregateOp::kCountStar) argument.values = &rows_.columns.at(aggregate.arg.column);
    if (aggregate.filter) argument.filter = &rows_.columns.at(aggregate.filter->column);
    if (is_extreme(function_)) {
      const DeviceColumn ordered = in_order(*argument.values);
      const WindowArgument compared{&ordered, argument.filter};
      return taken_from(*argument.values, frame_extremes(order_, function_, rows_, compared, stream_));
    }
    const DeviceBuffer counts = frame_counts(order_, function_, rows_, argument, stream_);
    if (aggregate.op == AggregateOp::kCountStar || aggregate.op == AggregateOp::kCount) return with_values(counts);
    DeviceBuffer sums = frame_sums(order_, function_, rows_, argument, stream_);
    if (aggregate.op == AggregateOp::kAvg) {
      const bool real = is_float(aggregate.arg.type);
      sums = frame_averages(sums, real, counts, real ? 1 : std::pow(10.0, aggregate.avg_scale), rows_.rows, stream_);
    }
    DeviceColumn out = with_values(std::move(sums));
    out.validity = counted_flags(counts, rows_.rows, stream_);
    return out;
  }

  const WindowFunction& function_;
  const Field& field_;
  const DeviceTable& rows_;
  cudaStream_t stream_;
  WindowOrder order_;
};

}  // namespace

std::string why_no_window(const WindowFunction& function, const DeviceTable& rows, cudaStream_t stream) {
  const AggregateOp op = function.aggregate.op;
  const bool adds = function.op == WindowOp::kAggregate && (op == AggregateOp::kSum || op == AggregateOp::kAvg);
  if (!adds) return {};
  const DeviceColumn& values = rows.columns.at(function.aggregate.arg.column);
  if (physical_of(values.field.type) != Physical::kI128) return {};
  if (values.range && exec::sum_fits(*values.range, rows.rows, kSumBits)) return {};
  // What no statistics bound, the values themselves may.
  const auto row_bits = static_cast<uint32_t>(std::bit_width(rows.rows));
  return count_longer(values, rows.rows, kSumBits - row_bits, stream) == 0 ? "" : "a window's sum may leave 128 bits";
}

void add_windows(const Pipeline& stage, DeviceTable& rows, const SortRows& sorted, cudaStream_t stream) {
  std::vector<DeviceColumn> added;
  for (size_t i = 0; i < stage.windows.size(); ++i) {
    const Field& field = stage.output.at(stage.rows.size() + i);
    added.push_back(WindowColumn(stage.windows[i], field, rows, sorted, stream).run());
  }
  std::ranges::move(added, std::back_inserter(rows.columns));
}

}  // namespace basalt::cuda
