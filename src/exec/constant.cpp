#include "exec/constant.h"

#include "basalt/core/error.h"
#include "exec/evaluate.h"

namespace basalt::exec {

namespace {

// A row without columns.
class OneRow : public TileInput {
 public:
  uint32_t rows() const override { return 1; }
  const uint8_t* live() const override { return nullptr; }
  Vector column(uint32_t, Lane) override { throw Error(ErrorCode::kInternal, "a constant that reads a column"); }
  const uint8_t* valid(uint32_t) override { throw Error(ErrorCode::kInternal, "a constant that reads a column"); }
};

}  // namespace

Value constant_value(const Expr& expr) {
  OneRow input;
  Step step = prepare(expr, {});
  const Vector result = evaluate(step, input);
  if (result.valid != nullptr && result.valid[0] == 0) return Value::of_null(expr.type);
  switch (result.lane) {
    case Lane::kI32: return Value::of_integer(expr.type, result.as<int32_t>()[0]);
    case Lane::kI64: return Value::of_integer(expr.type, result.as<int64_t>()[0]);
    case Lane::kI128: return Value::of_integer(expr.type, result.as<int128_t>()[0]);
    case Lane::kF32: return Value::of_real(expr.type, static_cast<double>(result.as<float>()[0]));
    case Lane::kF64: return Value::of_real(expr.type, result.as<double>()[0]);
    case Lane::kBool: return Value::of_integer(expr.type, result.as<uint8_t>()[0]);
    case Lane::kBytes: break;
  }
  return Value::of_bytes(std::string(result.as<std::string_view>()[0]));
}

}  // namespace basalt::exec
