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

}  // namespace

std::optional<Value> plain_text_function(const Expr& expr, const std::vector<Value>& args) {
  switch (expr.op) {
    case ExprOp::kSuffix: {
      std::vector<std::string> points = points_of(args[0].bytes);
      while (static_cast<int128_t>(points.size()) > args[1].integer) points.erase(points.begin());
      return Value::of_bytes(joined(points));
    }
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
