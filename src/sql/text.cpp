// Text helpers that need no database: quoting, splitting statements, and the query that reads a file.
#include <cctype>
#include <string>
#include <vector>

#include "basalt/core/error.h"
#include "basalt/file/ipc.h"
#include "sql/text.h"

namespace basalt {

std::string quote_literal(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') quoted += '\'';
    quoted += c;
  }
  return quoted + "'";
}

std::string quote_identifier(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

namespace sql {

namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || (c & 0x80) != 0; }

// Skips what starts at `at` if it is a string, a quoted name or a comment; else one character. Gives text.size() + 1
// for something that is not closed.
class Skipper {
 public:
  explicit Skipper(const std::string& text) : text_(text) {}

  size_t skip(size_t at) const {
    const char c = text_[at];
    const char next = at + 1 < text_.size() ? text_[at + 1] : '\0';
    if (c == '\'')
      return quoted(at, '\'', at > 0 && (text_[at - 1] | 0x20) == 'e' && (at < 2 || !is_word(text_[at - 2])));
    if (c == '"') return quoted(at, '"', false);
    if (c == '-' && next == '-') {
      const size_t end = text_.find('\n', at);
      return end == std::string::npos ? text_.size() : end + 1;
    }
    if (c == '/' && next == '*') {
      const size_t end = text_.find("*/", at + 2);
      return end == std::string::npos ? open() : end + 2;
    }
    if (c == '$' && (at == 0 || !is_word(text_[at - 1]))) return dollar(at);
    return at + 1;
  }

  size_t open() const { return text_.size() + 1; }

 private:
  // Doubled quotes need no care: they read as one string after the other.
  size_t quoted(size_t at, char quote, bool escapes) const {
    for (size_t i = at + 1; i < text_.size(); ++i) {
      if (escapes && text_[i] == '\\') {
        ++i;
      } else if (text_[i] == quote) {
        return i + 1;
      }
    }
    return open();
  }

  size_t dollar(size_t at) const {
    size_t end = at + 1;
    while (end < text_.size() && is_word(text_[end])) ++end;
    if (end >= text_.size() || text_[end] != '$') return at + 1;
    const std::string tag = text_.substr(at, end + 1 - at);
    const size_t close = text_.find(tag, end + 1);
    return close == std::string::npos ? open() : close + tag.size();
  }

  const std::string& text_;
};

bool only_space_and_comments(const std::string& text) {
  const Skipper skipper(text);
  for (size_t at = 0; at < text.size();) {
    const bool comment =
        at + 1 < text.size() && ((text[at] == '-' && text[at + 1] == '-') || (text[at] == '/' && text[at + 1] == '*'));
    if (!comment && std::isspace(static_cast<unsigned char>(text[at])) == 0 && text[at] != ';') return false;
    at = skipper.skip(at);
  }
  return true;
}

}  // namespace

std::vector<std::string> split_statements(const std::string& text, std::string* rest) {
  std::vector<std::string> statements;
  const Skipper skipper(text);
  size_t start = 0;
  size_t at = 0;
  while (at < text.size()) {
    if (text[at] != ';') {
      at = skipper.skip(at);
      continue;
    }
    std::string statement = text.substr(start, at + 1 - start);
    if (!only_space_and_comments(statement)) statements.push_back(std::move(statement));
    start = ++at;
  }
  std::string last = start < text.size() ? text.substr(start) : std::string();
  if (at <= text.size() && only_space_and_comments(last)) last.clear();
  if (rest != nullptr) {
    *rest = std::move(last);
  } else if (!last.empty()) {
    statements.push_back(std::move(last));
  }
  return statements;
}

std::string strip_semicolons(std::string query) {
  while (!query.empty() && (query.back() == ';' || std::isspace(static_cast<unsigned char>(query.back())) != 0)) {
    query.pop_back();
  }
  return query;
}

}  // namespace sql

std::string query_for_file(const std::string& path) {
  std::string name = path;
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto ends_with = [&](std::string_view ending) { return name.ends_with(ending); };
  for (const char* compressed : {".gz", ".zst"}) {
    if (ends_with(compressed)) name.resize(name.size() - std::string_view(compressed).size());
  }
  const std::string literal = quote_literal(path);
  if (is_ipc_name(path)) return "select * from read_arrow(" + literal + ")";
  if (ends_with(".basalt")) return "select * from read_basalt(" + literal + ")";
  if (ends_with(".parquet") || ends_with(".pq")) return "select * from read_parquet(" + literal + ")";
  if (ends_with(".csv") || ends_with(".txt")) return "select * from read_csv(" + literal + ")";
  if (ends_with(".tsv")) return "select * from read_csv(" + literal + ", delim = '\t')";
  if (ends_with(".tbl")) return "select * from read_csv(" + literal + ", delim = '|')";
  if (ends_with(".json")) return "select * from read_json(" + literal + ")";
  if (ends_with(".ndjson") || ends_with(".jsonl")) {
    return "select * from read_json(" + literal + ", format = 'newline_delimited')";
  }
  throw Error(ErrorCode::kInvalidArgument,
              path +
                  ": the format cannot be told from the name (known: .basalt, .parquet, .arrow, .csv, .tsv, .json, "
                  ".ndjson, .jsonl, and .gz or .zst of the text formats)");
}

}  // namespace basalt
