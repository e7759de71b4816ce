// Writing expressions as CUDA C++; see emit.h.
#include "exec/device/generate/emit.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "basalt/core/error.h"
#include "core/float_key.h"
#include "exec/expr_kind.h"
#include "exec/scalar.h"
#include "exec/set_places.h"

namespace basalt::device {

using exec::ExprKind;
using exec::Lane;
using exec::Step;

const char* lane_type(Lane lane) {
  switch (lane) {
    case Lane::kI32: return "int32_t";
    case Lane::kI64: return "int64_t";
    case Lane::kI128: return "int128_t";
    case Lane::kF32: return "float";
    case Lane::kF64: return "double";
    case Lane::kBool: return "bool";
    case Lane::kBytes: break;
  }
  throw Error(ErrorCode::kInternal, "strings have no place in a generated kernel");
}

const char* logical_type(Physical type) {
  switch (type) {
    case Physical::kU8: return "uint8_t";
    case Physical::kU16: return "uint16_t";
    case Physical::kU32: return "uint32_t";
    case Physical::kU64: return "uint64_t";
    case Physical::kI8: return "int8_t";
    case Physical::kI16: return "int16_t";
    case Physical::kI32: return "int32_t";
    case Physical::kI64: return "int64_t";
    case Physical::kI128: return "int128_t";
    case Physical::kF32: return "float";
    case Physical::kF64: return "double";
    case Physical::kNone:
    case Physical::kBytes: break;
  }
  throw Error(ErrorCode::kInternal, std::string("no device type for ") + to_string(type));
}

std::string constant_text(int128_t value) {
  char text[80];
  if (value > INT64_MIN && value <= INT64_MAX) {
    std::snprintf(text, sizeof(text), "%lldll", static_cast<long long>(value));
    return text;
  }
  const auto bits = static_cast<uint128_t>(value);
  std::snprintf(text, sizeof(text), "wide_constant(0x%llxull, 0x%llxull)", static_cast<unsigned long long>(bits >> 64),
                static_cast<unsigned long long>(bits));
  return text;
}

std::string real_text(double value) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.17g", value);
  return text;
}

namespace {

std::string literal_name(size_t literal) { return "literal_" + std::to_string(literal); }

}  // namespace

std::string LiteralTable::add(const Value& value, const std::string& type) {
  Literal bits{};
  if (type == "double") {
    std::memcpy(&bits.low, &value.real, sizeof(double));
  } else if (type == "float") {
    const auto real = static_cast<float>(value.real);
    std::memcpy(&bits.low, &real, sizeof(real));
  } else {
    bits.low = static_cast<uint64_t>(value.integer);
    bits.high = static_cast<uint64_t>(static_cast<uint128_t>(value.integer) >> 64);
  }
  if (values_.size() >= kMaxLiterals) throw Error(ErrorCode::kUnsupported, "the statement has too many literals");
  const std::string name = literal_name(values_.size());
  declarations_.push_back("const " + type + " " + name + " = literal<" + type + ">(p.literals[" +
                          std::to_string(values_.size()) + "]);");
  values_.push_back(bits);
  return name;
}

std::string LiteralTable::add_list(std::vector<int64_t> values) {
  const std::string name = add(Value::of_integer(Physical::kI64, 0), "LongList");
  lists_.push_back({static_cast<uint32_t>(values_.size() - 1), std::move(values)});
  return name;
}

std::array<std::string, 3> LiteralTable::add_set(uint32_t set, uint32_t bits) {
  std::array<std::string, 3> names;
  for (const SetLiteral& known : sets_) {
    if (known.set == set && known.bits == bits) names[known.part] = literal_name(known.literal);
  }
  if (!names[0].empty()) return names;
  constexpr uint32_t kAddress = 2;
  for (uint32_t part = 0; part < names.size(); ++part) {
    names[part] = add(Value::of_integer(Physical::kI64, 0), bits == 0 || part == kAddress ? "int64_t" : "uint32_t");
    sets_.push_back({static_cast<uint32_t>(values_.size() - 1), set, part, bits});
  }
  return names;
}

std::string RowEmitter::temporary(const std::string& type, const std::string& text) {
  const std::string name = "t" + std::to_string(next_++);
  line("const " + type + " " + name + " = " + text + ";");
  return name;
}

std::string RowEmitter::both_valid(const std::string& a, const std::string& b) {
  if (a.empty() || a == b) return b;
  if (b.empty()) return a;
  return temporary("bool", a + " && " + b);
}

std::string RowEmitter::in_lane(const Emitted& value, Lane lane) {
  if (value.lane == lane) return value.value;
  if (value.lane == Lane::kBool) return "(" + value.value + " ? 1 : 0)";
  return std::string("static_cast<") + lane_type(lane) + ">(" + value.value + ")";
}

Lane widest(Lane a, Lane b) {
  const Lane x = is_integer(a) ? a : Lane::kI32;
  const Lane y = is_integer(b) ? b : Lane::kI32;
  return std::max(x, y);
}

bool is_real(Lane lane) { return lane == Lane::kF32 || lane == Lane::kF64; }

// In 128 bits: operands of 64 bits cannot leave them, so only the range is tested.
Emitted RowEmitter::checked(const Step& step, const std::string& operation, const std::string& a, const std::string& b,
                            const std::string& valid) {
  const exec::IntegerRange allowed = exec::allowed_range(*step.expr);
  const exec::IntegerRange whole = exec::range_of(Physical::kI128);
  const std::string name = "t" + std::to_string(next_++);
  line("int128_t " + name + ";");
  std::string bad = operation + "_overflows(" + a + ", " + b + ", " + name + ")";
  if (allowed.low > whole.low) bad += " || " + name + " < " + constant_text(allowed.low);
  if (allowed.high < whole.high) bad += " || " + name + " > " + constant_text(allowed.high);
  const std::string left = temporary("bool", bad);
  line("if (" + live_ + (valid.empty() ? "" : " && " + valid) + " && " + left + ") overflow = 1;");
  return {name, valid, Lane::kI128};
}

Emitted RowEmitter::arithmetic(const Step& step) {
  const bool negate = step.expr->op == ExprOp::kNegate;
  if (negate && is_integer(step.expr->type) && !is_signed(step.expr->type)) return number_function(step);
  const Emitted a = value(step.args[0]);
  const Emitted b = negate ? a : value(step.args[1]);
  const std::string valid = negate ? a.valid : both_valid(a.valid, b.valid);
  const char* sign = step.expr->op == ExprOp::kAdd ? " + " : step.expr->op == ExprOp::kMultiply ? " * " : " - ";
  if (is_real(step.lane)) {
    const std::string text = negate ? "-" + a.value : a.value + sign + b.value;
    return {temporary(lane_type(step.lane), text), valid, step.lane};
  }
  if (step.may_throw) {
    const char* name = step.expr->op == ExprOp::kAdd        ? "add"
                       : step.expr->op == ExprOp::kMultiply ? "multiply"
                                                            : "subtract";
    const std::string left = negate ? "static_cast<int128_t>(0)" : in_lane(a, Lane::kI128);
    return checked(step, name, left, in_lane(b, Lane::kI128), valid);
  }
  const Lane lane = widest(step.lane, widest(a.lane, b.lane));
  const std::string left = negate ? "0" : in_lane(a, lane);
  return {temporary(lane_type(lane), left + sign + in_lane(b, lane)), valid, lane};
}

Emitted RowEmitter::comparison(const Step& step) {
  const Emitted a = value(step.args[0]);
  const Emitted b = value(step.args[1]);
  const std::string valid = both_valid(a.valid, b.valid);
  std::string text;
  if (is_real(a.lane)) {
    const std::string forward = "exec::sql_less(" + a.value + ", " + b.value + ")";
    const std::string backward = "exec::sql_less(" + b.value + ", " + a.value + ")";
    const std::string equal = "exec::sql_equal(" + a.value + ", " + b.value + ")";
    switch (step.expr->op) {
      case ExprOp::kEqual: text = equal; break;
      case ExprOp::kNotEqual: text = "!" + equal; break;
      case ExprOp::kLess: text = forward; break;
      case ExprOp::kLessEqual: text = "!" + backward; break;
      case ExprOp::kGreater: text = backward; break;
      default: text = "!" + forward; break;
    }
  } else {
    const Lane lane = widest(a.lane, b.lane);
    const char* sign = nullptr;
    switch (step.expr->op) {
      case ExprOp::kEqual: sign = " == "; break;
      case ExprOp::kNotEqual: sign = " != "; break;
      case ExprOp::kLess: sign = " < "; break;
      case ExprOp::kLessEqual: sign = " <= "; break;
      case ExprOp::kGreater: sign = " > "; break;
      default: sign = " >= "; break;
    }
    text = in_lane(a, lane) + sign + in_lane(b, lane);
  }
  if (!valid.empty()) text = valid + " && " + text;
  return {temporary("bool", text), valid, Lane::kBool};
}

// Floats by their keys, which are equal where SQL says so. What the list's integers cannot hold is compared one by one.
std::string RowEmitter::in_long_list(const Emitted& value, const std::vector<const Value*>& items) {
  std::vector<int64_t> list;
  std::string others;
  for (const Value* item : items) {
    if (value.lane == Lane::kF64) {
      list.push_back(float_key(item->real));
    } else if (value.lane == Lane::kF32) {
      list.push_back(float_key(static_cast<float>(item->real)));
    } else if (item->integer >= INT64_MIN && item->integer <= INT64_MAX) {
      list.push_back(static_cast<int64_t>(item->integer));
    } else if (value.lane == Lane::kI128) {
      others += " || " + value.value + " == " + literals_.add(*item, lane_type(Lane::kI128));
    }
  }
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  const std::string needle = is_real(value.lane) ? "float_key(" + value.value + ")" : value.value;
  return literals_.add_list(std::move(list)) + ".has(" + needle + ")" + others;
}

Emitted RowEmitter::in_list(const Step& step) {
  const Emitted a = value(step.args[0]);
  const bool real = is_real(a.lane);
  std::vector<const Value*> items;
  for (size_t i = 1; i < step.expr->args.size(); ++i) {
    if (!step.expr->args[i].literal.null) items.push_back(&step.expr->args[i].literal);
  }
  const bool null_in_list = items.size() + 1 < step.expr->args.size();
  const bool is_long = items.size() > kFewInList;
  std::string text = is_long ? in_long_list(a, items) : "";
  for (size_t i = 0; !is_long && i < items.size(); ++i) {
    const Value& item = *items[i];
    // A literal beyond the needle's lane is compared in its own.
    const Lane lane = real ? a.lane : widest(a.lane, exec::lane_for({item.integer, item.integer}));
    const std::string name = literals_.add(item, lane_type(lane));
    if (!text.empty()) text += " || ";
    text += real ? "exec::sql_equal(" + a.value + ", " + name + ")" : in_lane(a, lane) + " == " + name;
  }
  if (text.empty()) text = "false";
  if (!a.valid.empty()) text = a.valid + " && (" + text + ")";
  const std::string hit = temporary("bool", text);
  // Beside a NULL in the list only hits are known.
  return {hit, null_in_list ? hit : a.valid, Lane::kBool};
}

// The beginning of a call with the number that is asked for and the place of the set, which has so many bits for each:
// the least number, how many, and an address.
std::string RowEmitter::asked(const std::string& function, const std::string& type, const Emitted& number,
                              const Step& step, uint32_t bits) {
  const bool narrow = number.lane == Lane::kI32;
  std::string text =
      function + (narrow ? "_32" : "") + type + "(" + (narrow ? number.value : in_lane(number, Lane::kI64));
  for (const std::string& name :
       literals_.add_set(static_cast<uint32_t>(exec::set_of(*step.expr)), narrow ? bits : 0)) {
    text += ", " + name;
  }
  return text;
}

Emitted RowEmitter::member(const Step& step) {
  const Emitted a = value(step.args[0]);
  // Sets are memory: only rows that count ask.
  const std::string text =
      "live && " + (a.valid.empty() ? "" : a.valid + " && ") + asked("exec::is_member", "", a, step, 1) + ")";
  return {temporary("bool", text), a.valid, Lane::kBool};
}

Emitted RowEmitter::look_up(const Step& step) {
  const Emitted a = value(step.args[0]);
  const uint32_t bits = 8 * width_of(step.expr->type);
  const std::string stored = (is_signed(step.expr->type) ? "int" : "uint") + std::to_string(bits) + "_t";
  const std::string least = literals_.add(Value::of_integer(Physical::kI64, exec::least_looked_up(*step.expr)), stored);
  const std::string text =
      "live ? " + asked("exec::look_up", "<" + stored + ">", a, step, bits) + ", " + least + ") : " + least;
  return {temporary(lane_type(step.lane), std::string("static_cast<") + lane_type(step.lane) + ">(" + text + ")"),
          a.valid, step.lane};
}

Emitted RowEmitter::connective(const Step& step) {
  const bool conjunction = step.expr->op == ExprOp::kAnd;
  std::string text;
  std::string decided;    // AND: some argument is known and false
  std::string all_known;  // OR: no argument is NULL
  bool nulls = false;
  for (const Step& arg : step.args) {
    const Emitted a = predicate(arg);
    text += (text.empty() ? "" : conjunction ? " && " : " || ") + a.value;
    decided +=
        (decided.empty() ? "" : " || ") + (a.valid.empty() ? "!" + a.value : "(" + a.valid + " && !" + a.value + ")");
    if (!a.valid.empty()) all_known += (all_known.empty() ? "" : " && ") + a.valid;
    nulls = nulls || !a.valid.empty();
  }
  const std::string result = temporary("bool", text);
  if (!nulls) return {result, "", Lane::kBool};
  const std::string known = conjunction ? temporary("bool", result + " || " + decided)
                                        : temporary("bool", result + " || (" + all_known + ")");
  return {result, known, Lane::kBool};
}

Emitted RowEmitter::predicate(const Step& step) {
  const Emitted a = value(step);
  if (a.lane == Lane::kBool) return a;
  std::string text = a.value + " != 0";
  if (!a.valid.empty()) text = a.valid + " && " + text;
  return {temporary("bool", text), a.valid, Lane::kBool};
}

Emitted RowEmitter::value(const Step& step) {
  if (const auto found = known_.find(step.expr); found != known_.end()) return found->second;
  switch (exec::kind_of(step.expr->op)) {
    case ExprKind::kColumn: {
      const ColumnNames& names = columns_[step.expr->column];
      return {names.value, names.valid, names.lane};
    }
    case ExprKind::kLiteral:
      if (step.expr->literal.null)
        return {std::string("static_cast<") + lane_type(step.lane) + ">(0)", "false", step.lane};
      return {literals_.add(step.expr->literal, lane_type(step.lane)), "", step.lane};
    case ExprKind::kArithmetic: return arithmetic(step);
    case ExprKind::kDivision: return division(step);
    case ExprKind::kNumberFunction: return number_function(step);
    case ExprKind::kMathFunction: return square_root(step);  // others are refused before
    case ExprKind::kBitOperation: return bit_operation(step);
    case ExprKind::kCast: return cast(step);
    case ExprKind::kDateFunction: return date_function(step);
    case ExprKind::kComparison: return comparison(step);
    case ExprKind::kDistinct: return distinct(step);
    case ExprKind::kCase: return case_of(step);
    case ExprKind::kCoalesce: return coalesce(step);
    case ExprKind::kExtreme: return extreme(step);
    case ExprKind::kIn: return in_list(step);
    case ExprKind::kMember: return member(step);
    case ExprKind::kLookUp: return look_up(step);
    case ExprKind::kPattern:
    case ExprKind::kTextFunction: break;  // tests of strings are known, other uses of them refused before
    case ExprKind::kConnective: return connective(step);
    case ExprKind::kNot: {
      const Emitted a = predicate(step.args[0]);
      const std::string text = a.valid.empty() ? "!" + a.value : a.valid + " && !" + a.value;
      return {temporary("bool", text), a.valid, Lane::kBool};
    }
    case ExprKind::kNullTest: {
      const bool is_null = step.expr->op == ExprOp::kIsNull;
      std::string valid;
      if (step.args[0].expr->op == ExprOp::kColumn) {
        valid = columns_[step.args[0].expr->column].valid;
      } else {
        valid = value(step.args[0]).valid;
      }
      if (valid.empty()) return {is_null ? "false" : "true", "", Lane::kBool};
      return {temporary("bool", (is_null ? "!" : "") + valid), "", Lane::kBool};
    }
  }
  throw Error(ErrorCode::kInternal, "unknown expression");
}

}  // namespace basalt::device
