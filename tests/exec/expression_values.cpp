#include "exec/expression_values.h"

#include <string_view>

#include "exec/evaluate.h"
#include "exec/random_expr.h"

namespace basalt::test {

namespace {

using exec::Lane;
using exec::Vector;

class ColumnsInput : public exec::TileInput {
 public:
  ColumnsInput(const std::vector<const Column*>& columns, const std::vector<uint8_t>& live)
      : columns_(columns), live_(live) {
    live_.resize(kTileRows, 1);
    for (const Column* column : columns) {
      valid_.emplace_back(kTileRows, uint8_t{1});
      strings_.emplace_back(kTileRows);
      for (uint64_t row = 0; row < column->length; ++row) valid_.back()[row] = column->is_valid(row) ? 1 : 0;
    }
  }

  uint32_t rows() const override { return columns_.empty() ? 1 : static_cast<uint32_t>(columns_[0]->length); }
  const uint8_t* live() const override { return live_.data(); }
  const uint8_t* valid(uint32_t index) override {
    return columns_[index]->null_count > 0 ? valid_[index].data() : nullptr;
  }
  Vector column(uint32_t index, Lane lane) override {
    Buffer& buffer = buffers_.emplace_back();
    buffer.resize(kTileRows * exec::width_of(lane));
    for (uint32_t row = 0; row < rows(); ++row) {
      const Value value = value_at(*columns_[index], row);
      switch (lane) {
        case Lane::kI32: buffer.as<int32_t>()[row] = static_cast<int32_t>(value.integer); break;
        case Lane::kI64: buffer.as<int64_t>()[row] = static_cast<int64_t>(value.integer); break;
        case Lane::kI128: buffer.as<int128_t>()[row] = value.integer; break;
        case Lane::kF32: buffer.as<float>()[row] = static_cast<float>(value.real); break;
        case Lane::kF64: buffer.as<double>()[row] = value.real; break;
        default:
          strings_[index][row] = value.bytes;
          buffer.as<std::string_view>()[row] = strings_[index][row];
          break;
      }
    }
    return {lane, buffer.data(), valid(index)};
  }

 private:
  const std::vector<const Column*>& columns_;
  std::vector<uint8_t> live_;
  std::vector<std::vector<uint8_t>> valid_;
  std::vector<std::vector<std::string>> strings_;
  std::vector<Buffer> buffers_;
};

Statistics statistics_of(const Column& column) {
  Statistics out;
  out.rows = column.length;
  out.null_count = column.null_count;
  out.min = out.max = Value::of_null(physical_of(column.type));
  for (uint64_t row = 0; row < column.length; ++row) {
    const Value value = value_at(column, row);
    if (value.null) continue;
    if (is_float(value.type) && value.real != value.real) {
      out.has_nan = true;
      continue;
    }
    if (out.min.null || compare(value, out.min) < 0) out.min = value;
    if (out.max.null || compare(value, out.max) > 0) out.max = value;
  }
  return out;
}

Value value_in(const Vector& vector, Physical type, uint32_t row) {
  if (vector.valid != nullptr && vector.valid[row] == 0) return Value::of_null(type);
  switch (vector.lane) {
    case Lane::kI32: return Value::of_integer(type, vector.as<int32_t>()[row]);
    case Lane::kI64: return Value::of_integer(type, vector.as<int64_t>()[row]);
    case Lane::kI128: return Value::of_integer(type, vector.as<int128_t>()[row]);
    case Lane::kBool: return Value::of_integer(type, vector.as<uint8_t>()[row]);
    case Lane::kF32: return Value::of_real(type, vector.as<float>()[row]);
    case Lane::kF64: return Value::of_real(type, vector.as<double>()[row]);
    case Lane::kBytes: return Value::of_bytes(std::string(vector.as<std::string_view>()[row]));
  }
  return Value::of_null(type);
}

}  // namespace

std::vector<Value> values_of(const Expr& expr, const std::vector<const Column*>& columns, bool statistics,
                             const std::vector<uint8_t>& live) {
  std::vector<PipelineColumn> described;
  for (const Column* column : columns) described.push_back({0, "c", column->type});
  exec::check_expression(expr, described);
  std::vector<Statistics> known;
  for (const Column* column : columns) known.push_back(statistics_of(*column));
  exec::StatisticsList list;
  for (const Statistics& s : known) list.push_back(statistics ? &s : nullptr);
  ColumnsInput input(columns, live);
  exec::Step step = exec::prepare(expr, list);
  const Vector vector = exec::evaluate(step, input);
  const exec::Bounds bounds = exec::bounds_of(expr, list);
  std::vector<Value> out;
  for (uint32_t row = 0; row < input.rows(); ++row) {
    const bool counts = live.empty() || live[row] != 0;
    out.push_back(counts ? value_in(vector, expr.type, row) : Value::of_null(expr.type));
    if (!counts) continue;
    // Bounds must hold for every value that comes out.
    const Value& value = out.back();
    const bool below = !value.null && !bounds.low.null && compare(value, bounds.low) < 0;
    const bool above = !value.null && !bounds.high.null && compare(value, bounds.high) > 0;
    if ((value.null && !bounds.may_null) || (!value.null && !bounds.may_value) || below || above) {
      throw Error(ErrorCode::kInternal, "a value beyond its bounds");
    }
  }
  return out;
}

}  // namespace basalt::test
