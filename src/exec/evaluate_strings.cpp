// Tests and functions of strings, tile by tile. Parts of strings point into them; strings that are made lie in the
// step.
#include <algorithm>
#include <optional>

#include "basalt/core/error.h"
#include "codec/strings/regexp.h"
#include "core/case_mapping.h"
#include "core/utf8.h"
#include "exec/evaluate_calls.h"
#include "exec/string_tests.h"
#include "exec/text_functions.h"

namespace basalt::exec {

Vector run_pattern(Step& step, TileInput& input) {
  const uint32_t rows = input.rows();
  uint8_t* out = room<uint8_t>(step.data);
  const uint8_t* valid = nullptr;
  if (test_in_place(step, input, out, valid)) return masked(step, valid, rows);
  const Value& pattern = step.expr->args[1].literal;
  if (pattern.null) {
    std::fill_n(out, rows, uint8_t{0});
    return {Lane::kBool, out, kAllNull.data()};
  }
  const Vector a = in_lane(step.args[0], input, Lane::kBytes);
  const auto* texts = a.as<std::string_view>();
  if (step.automaton != nullptr) {
    for (uint32_t i = 0; i < rows; ++i) out[i] = step.automaton->matches(texts[i]) ? 1 : 0;
  } else {
    const LikePattern direct(pattern.bytes);
    for (uint32_t i = 0; i < rows; ++i) out[i] = direct.matches(texts[i]) ? 1 : 0;
  }
  return masked(step, a.valid, rows);
}

Vector run_length(Step& step, TileInput& input) {
  const Expr& text = *step.args[0].expr;
  if (step.expr->op == ExprOp::kByteLength && text.op == ExprOp::kColumn) {
    if (const std::optional<Vector> stored = input.byte_lengths(text.column)) return *stored;
  }
  const Vector a = in_lane(step.args[0], input, Lane::kBytes);
  const auto* texts = a.as<std::string_view>();
  auto* out = room<int32_t>(step.data);
  const bool in_bytes = step.expr->op == ExprOp::kByteLength;
  for (uint32_t i = 0; i < input.rows(); ++i) {
    out[i] = static_cast<int32_t>(in_bytes ? texts[i].size() : count_code_points(texts[i]));
  }
  return {Lane::kI32, out, a.valid};
}

namespace {

// The strings that a step makes, one after the other. They move while more are added, so that views are taken last.
class MadeTexts {
 public:
  explicit MadeTexts(Step& step) : bytes_(step.texts), views_(room<std::string_view>(step.data)) { bytes_.resize(0); }

  void add(std::string_view part) { bytes_.append(part.data(), part.size()); }
  void end_row() {
    const size_t end = bytes_.size();
    if (end - begin_ > INT32_MAX) throw Error(ErrorCode::kOutOfRange, "a string of more than 2 GiB");
    views_[rows_++] = std::string_view(nullptr, end - begin_);  // its length, for now
    begin_ = end;
  }
  Vector finish(const uint8_t* valid) {
    const char* at = bytes_.as<char>();
    for (uint32_t i = 0; i < rows_; ++i) {
      views_[i] = std::string_view(at, views_[i].size());
      at += views_[i].size();
    }
    return {Lane::kBytes, views_, valid};
  }

 private:
  Buffer& bytes_;
  std::string_view* views_;
  uint32_t rows_ = 0;
  size_t begin_ = 0;
};

// All arguments of a function of strings, and the rows in which none is NULL.
struct Texts {
  std::vector<const std::string_view*> args;
  const uint8_t* valid = nullptr;
  bool known(uint32_t row) const { return valid == nullptr || valid[row] != 0; }
};
Texts texts_of(Step& step, TileInput& input) {
  Texts out;
  for (Step& arg : step.args) {
    const Vector vector = in_lane(arg, input, Lane::kBytes);
    out.args.push_back(vector.as<std::string_view>());
    out.valid = meet(out.valid, vector.valid, step.valid, input.rows());
  }
  return out;
}

Vector run_concat(Step& step, TileInput& input) {
  const Texts texts = texts_of(step, input);
  MadeTexts made(step);
  for (uint32_t i = 0; i < input.rows(); ++i) {
    for (size_t arg = 0; arg < texts.args.size() && texts.known(i); ++arg) made.add(texts.args[arg][i]);
    made.end_row();
  }
  return made.finish(texts.valid);
}

Vector run_case_change(Step& step, TileInput& input) {
  const Texts texts = texts_of(step, input);
  const LetterCase wanted = step.expr->op == ExprOp::kUpper ? LetterCase::kUpper : LetterCase::kLower;
  MadeTexts made(step);
  std::string changed;
  for (uint32_t i = 0; i < input.rows(); ++i) {
    changed.clear();
    if (texts.known(i)) append_in_case(texts.args[0][i], wanted, changed);
    made.add(changed);
    made.end_row();
  }
  return made.finish(texts.valid);
}

Vector run_replace(Step& step, TileInput& input) {
  const Texts texts = texts_of(step, input);
  MadeTexts made(step);
  for (uint32_t i = 0; i < input.rows(); ++i) {
    if (texts.known(i)) {
      std::string_view rest = texts.args[0][i];
      const std::string_view wanted = texts.args[1][i];
      size_t at = wanted.empty() ? std::string_view::npos : rest.find(wanted);
      for (; at != std::string_view::npos; at = rest.find(wanted)) {
        made.add(rest.substr(0, at));
        made.add(texts.args[2][i]);
        rest.remove_prefix(at + wanted.size());
      }
      made.add(rest);
    }
    made.end_row();
  }
  return made.finish(texts.valid);
}

Vector run_regexp_replace(Step& step, TileInput& input) {
  const Vector a = in_lane(step.args[0], input, Lane::kBytes);
  const auto* texts = a.as<std::string_view>();
  const std::vector<Expr>& args = step.expr->args;
  const strings::Regexp regexp(args[1].literal.bytes, strings::Regexp::For::kMatches);
  const std::string& replacement = args[2].literal.bytes;
  const bool all = args[3].literal.integer != 0;
  MadeTexts made(step);
  std::string replaced;
  for (uint32_t i = 0; i < input.rows(); ++i) {
    replaced.clear();
    if (a.valid == nullptr || a.valid[i] != 0) strings::append_replaced(regexp, texts[i], replacement, all, replaced);
    made.add(replaced);
    made.end_row();
  }
  return made.finish(a.valid);
}

Vector run_position(Step& step, TileInput& input) {
  const Texts texts = texts_of(step, input);
  auto* out = room<int32_t>(step.data);
  for (uint32_t i = 0; i < input.rows(); ++i) {
    const size_t at = texts.known(i) ? texts.args[0][i].find(texts.args[1][i]) : std::string_view::npos;
    const bool found = at != std::string_view::npos;
    out[i] = found ? static_cast<int32_t>(count_code_points(texts.args[0][i].substr(0, at)) + 1) : 0;
  }
  return {Lane::kI32, out, texts.valid};
}

TextBytes bytes_of(std::string_view text) { return {reinterpret_cast<const unsigned char*>(text.data()), text.size()}; }
std::string_view view_of(const TextBytes& text) { return {reinterpret_cast<const char*>(text.data), text.size}; }

// Takes what the functions that both backends share put out.
struct MadeSink {
  MadeTexts& made;
  void put(const TextBytes& bytes) { made.add(view_of(bytes)); }
};

// Fills strings up, or repeats them.
Vector run_longer(Step& step, TileInput& input) {
  const Vector a = in_lane(step.args[0], input, Lane::kBytes);
  const auto* texts = a.as<std::string_view>();
  const Expr& expr = *step.expr;
  const auto count = static_cast<uint64_t>(expr.args[1].literal.integer);
  MadeTexts made(step);
  MadeSink sink{made};
  for (uint32_t i = 0; i < input.rows(); ++i) {
    const bool known = a.valid == nullptr || a.valid[i] != 0;
    if (known && expr.op == ExprOp::kRepeat) {
      for (uint64_t time = 0; time < count; ++time) made.add(texts[i]);
    } else if (known) {
      put_padded(bytes_of(texts[i]), count, bytes_of(expr.args[2].literal.bytes), expr.op == ExprOp::kLeftPad, sink);
    }
    made.end_row();
  }
  return made.finish(a.valid);
}

Vector run_split_part(Step& step, TileInput& input) {
  const Vector a = in_lane(step.args[0], input, Lane::kBytes);
  const auto* texts = a.as<std::string_view>();
  const TextBytes separator = bytes_of(step.expr->args[1].literal.bytes);
  const auto number = static_cast<int64_t>(step.expr->args[2].literal.integer);
  auto* out = room<std::string_view>(step.data);
  for (uint32_t i = 0; i < input.rows(); ++i) out[i] = view_of(split_part_of(bytes_of(texts[i]), separator, number));
  return {Lane::kBytes, out, a.valid};
}

Vector run_code_point(Step& step, TileInput& input) {
  const Vector a = in_lane(step.args[0], input, Lane::kBytes);
  const auto* texts = a.as<std::string_view>();
  auto* out = room<int32_t>(step.data);
  for (uint32_t i = 0; i < input.rows(); ++i) out[i] = static_cast<int32_t>(first_code_point(bytes_of(texts[i])));
  return {Lane::kI32, out, a.valid};
}

Vector run_chr(Step& step, TileInput& input) {
  const Vector a = in_lane(step.args[0], input, Lane::kI64);
  const auto* points = a.as<int64_t>();
  const uint8_t* live = input.live();
  MadeTexts made(step);
  std::string text;
  for (uint32_t i = 0; i < input.rows(); ++i) {
    text.clear();
    if (a.valid == nullptr || a.valid[i] != 0) {
      if (is_code_point(points[i])) {
        append_code_point(static_cast<uint32_t>(points[i]), text);
      } else if (live == nullptr || live[i] != 0) {
        throw_failed(*step.expr, FailedValue::of(points[i]));
      }
    }
    made.add(text);
    made.end_row();
  }
  return made.finish(a.valid);
}

// The code points of a text, which is UTF-8.
std::vector<std::string_view> code_points(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t end = code_points_end(text, 1);
    out.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return out;
}

std::string_view trimmed(std::string_view text, const std::vector<std::string_view>& set, bool front, bool back) {
  const auto drop = [&](bool at_front) {
    return std::any_of(set.begin(), set.end(), [&](std::string_view point) {
      if (at_front ? !text.starts_with(point) : !text.ends_with(point)) return false;
      if (at_front) {
        text.remove_prefix(point.size());
      } else {
        text.remove_suffix(point.size());
      }
      return true;
    });
  };
  while (front && drop(true)) continue;
  while (back && drop(false)) continue;
  return text;
}

Vector run_trim(Step& step, TileInput& input) {
  const Vector a = in_lane(step.args[0], input, Lane::kBytes);
  const auto* texts = a.as<std::string_view>();
  const std::vector<std::string_view> set = code_points(step.expr->args[1].literal.bytes);
  const int128_t sides = step.expr->args[2].literal.integer;
  auto* out = room<std::string_view>(step.data);
  for (uint32_t i = 0; i < input.rows(); ++i) {
    out[i] = trimmed(texts[i], set, (sides & 1) != 0, (sides & 2) != 0);
  }
  return {Lane::kBytes, out, a.valid};
}

std::string_view last_code_points(std::string_view text, uint64_t count) {
  size_t at = text.size();
  while (at > 0 && count > 0) {
    --at;
    if (!is_continuation(static_cast<uint8_t>(text[at]))) --count;
  }
  return text.substr(at);
}

}  // namespace

Vector run_part(Step& step, TileInput& input) {
  const Vector a = in_lane(step.args[0], input, Lane::kBytes);
  const auto* texts = a.as<std::string_view>();
  auto* out = room<std::string_view>(step.data);
  if (step.expr->op == ExprOp::kSuffix) {
    const auto count = static_cast<uint64_t>(step.expr->args[1].literal.integer);
    for (uint32_t i = 0; i < input.rows(); ++i) out[i] = last_code_points(texts[i], count);
    return {Lane::kBytes, out, a.valid};
  }
  if (step.expr->op == ExprOp::kDropSuffix) {
    const auto count = static_cast<uint64_t>(step.expr->args[1].literal.integer);
    for (uint32_t i = 0; i < input.rows(); ++i) out[i] = view_of(without_suffix(bytes_of(texts[i]), count));
    return {Lane::kBytes, out, a.valid};
  }
  const StringTest::Part part = part_of(*step.expr);
  for (uint32_t i = 0; i < input.rows(); ++i) {
    const std::string_view behind = texts[i].substr(code_points_end(texts[i], part.skip));
    out[i] = behind.substr(0, code_points_end(behind, part.count));
  }
  return {Lane::kBytes, out, a.valid};
}

Vector run_text_function(Step& step, TileInput& input) {
  switch (step.expr->op) {
    case ExprOp::kUpper:
    case ExprOp::kLower: return run_case_change(step, input);
    case ExprOp::kConcat: return run_concat(step, input);
    case ExprOp::kReplace: return run_replace(step, input);
    case ExprOp::kRegexpReplace: return run_regexp_replace(step, input);
    case ExprOp::kTrim: return run_trim(step, input);
    case ExprOp::kLeftPad:
    case ExprOp::kRightPad:
    case ExprOp::kRepeat: return run_longer(step, input);
    case ExprOp::kSplitPart: return run_split_part(step, input);
    case ExprOp::kCodePoint: return run_code_point(step, input);
    case ExprOp::kChr: return run_chr(step, input);
    default: return run_position(step, input);
  }
}

}  // namespace basalt::exec
