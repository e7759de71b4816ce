#include "exec/plain_texts.h"

#include <algorithm>
#include <string>

namespace basalt::test {

namespace {

std::vector<std::string> points_of(const std::string& text) {
  std::vector<std::string> out;
  for (const char c : text) {
    if (out.empty() || (static_cast<unsigned char>(c) & 0xC0) != 0x80) out.emplace_back();
    out.back() += c;
  }
  return out;
}

std::string joined(const std::vector<std::string>& points) {
  std::string out;
  for (const std::string& point : points) out += point;
  return out;
}

std::string trimmed(const std::string& text, const std::string& set, int64_t sides) {
  std::vector<std::string> points = points_of(text);
  const std::vector<std::string> dropped = points_of(set);
  const auto drops = [&](const std::string& point) {
    return std::find(dropped.begin(), dropped.end(), point) != dropped.end();
  };
  while ((sides & 1) != 0 && !points.empty() && drops(points.front())) points.erase(points.begin());
  while ((sides & 2) != 0 && !points.empty() && drops(points.back())) points.pop_back();
  return joined(points);
}

int64_t position(const std::string& text, const std::string& wanted) {
  const std::vector<std::string> points = points_of(text);
  for (size_t i = 0; i <= points.size(); ++i) {
    const std::string rest = joined({points.begin() + static_cast<std::ptrdiff_t>(i), points.end()});
    if (rest.compare(0, wanted.size(), wanted) == 0) return static_cast<int64_t>(i) + 1;
  }
  return 0;
}

std::string replaced(const std::string& text, const std::string& from, const std::string& to) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const bool hit = !from.empty() && text.compare(i, from.size(), from) == 0;
    out += hit ? to : std::string(1, text[i]);
    i += hit ? from.size() : 1;
  }
  return out;
}

std::string padded(const std::string& text, size_t length, const std::string& pad, bool left) {
  std::vector<std::string> points = points_of(text);
  points.resize(std::min(points.size(), length));
  const std::vector<std::string> filling = points_of(pad);
  std::string added;
  for (size_t i = 0; points.size() + i < length; ++i) added += filling[i % filling.size()];
  return left ? added + joined(points) : joined(points) + added;
}

std::string split_part(const std::string& text, const std::string& separator, int64_t number) {
  std::vector<std::string> pieces(1);
  for (size_t i = 0; i < text.size();) {
    const bool cut = text.compare(i, separator.size(), separator) == 0;
    if (cut) {
      pieces.emplace_back();
    } else {
      pieces.back() += text[i];
    }
    i += cut ? separator.size() : 1;
  }
  const auto count = static_cast<int64_t>(pieces.size());
  const int64_t place = number < 0 ? count + number : number - 1;
  return place < 0 || place >= count ? std::string() : pieces[static_cast<size_t>(place)];
}

int64_t first_point(const std::string& text) {
  if (text.empty()) return 0;
  const std::string first = points_of(text).front();
  const auto lead = static_cast<unsigned char>(first[0]);
  int64_t out = first.size() == 1 ? lead : lead & (0xFF >> (first.size() + 1));
  for (size_t i = 1; i < first.size(); ++i) out = out * 64 + (static_cast<unsigned char>(first[i]) & 0x3F);
  return out;
}

}  // namespace

std::optional<Value> plain_text_function(const Expr& expr, const std::vector<Value>& args) {
  switch (expr.op) {
    case ExprOp::kSuffix: {
      std::vector<std::string> points = points_of(args[0].bytes);
      while (static_cast<int128_t>(points.size()) > args[1].integer) points.erase(points.begin());
      return Value::of_bytes(joined(points));
    }
    case ExprOp::kDropSuffix: {
      std::vector<std::string> points = points_of(args[0].bytes);
      for (int128_t i = 0; i < args[1].integer && !points.empty(); ++i) points.pop_back();
      return Value::of_bytes(joined(points));
    }
    case ExprOp::kLeftPad:
    case ExprOp::kRightPad:
      return Value::of_bytes(
          padded(args[0].bytes, static_cast<size_t>(args[1].integer), args[2].bytes, expr.op == ExprOp::kLeftPad));
    case ExprOp::kRepeat: {
      std::string out;
      for (int128_t i = 0; i < args[1].integer; ++i) out += args[0].bytes;
      return Value::of_bytes(out);
    }
    case ExprOp::kSplitPart:
      return Value::of_bytes(split_part(args[0].bytes, args[1].bytes, static_cast<int64_t>(args[2].integer)));
    case ExprOp::kCodePoint: return Value::of_integer(expr.type, first_point(args[0].bytes));
    case ExprOp::kConcat: {
      std::string out;
      for (const Value& arg : args) out += arg.bytes;
      return Value::of_bytes(out);
    }
    case ExprOp::kTrim:
      return Value::of_bytes(trimmed(args[0].bytes, args[1].bytes, static_cast<int64_t>(args[2].integer)));
    case ExprOp::kPosition: return Value::of_integer(expr.type, position(args[0].bytes, args[1].bytes));
    case ExprOp::kReplace: return Value::of_bytes(replaced(args[0].bytes, args[1].bytes, args[2].bytes));
    default: return std::nullopt;
  }
}

}  // namespace basalt::test
