// Results as text: DuckDB's box table, CSV and JSON.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "duckdb/common/box_renderer.hpp"
#include "duckdb/common/vector_operations/vector_operations.hpp"
#include "duckdb/main/materialized_query_result.hpp"
#include "sql/result.h"

namespace basalt {

using duckdb::LogicalType;
using duckdb::LogicalTypeId;

std::string QueryResult::to_box(const RenderOptions& options) {
  return sql::translated(state_->log.get(), [&] { return state_->to_box(options); });
}

std::string QueryResult::State::to_box(const RenderOptions& options) {
  auto& rows = materialize();
  duckdb::BoxRendererConfig config;
  constexpr duckdb::idx_t kNoLimit = duckdb::idx_t{1} << 40;
  config.max_width = options.max_width == 0 ? kNoLimit : options.max_width;
  config.max_rows = options.max_rows == 0 ? kNoLimit : options.max_rows;
  config.null_value = options.null_text;
  duckdb::BoxRenderer renderer(config);
  return renderer.ToString(*connection->context, rows.names, rows.Collection());
}

namespace {

constexpr size_t kMostDigits = 40;  // of 128 bits, with a sign

// Gives where they end.
char* write_digits(char* to, uint128_t size) {
  constexpr uint64_t kLow = 10'000'000'000'000'000'000u;  // 19 digits
  constexpr size_t kLowDigits = 19;
  if (size >> 64 == 0) return std::to_chars(to, to + kMostDigits, static_cast<uint64_t>(size)).ptr;
  to = std::to_chars(to, to + kMostDigits, static_cast<uint64_t>(size / kLow)).ptr;
  auto low = static_cast<uint64_t>(size % kLow);
  for (size_t i = kLowDigits; i-- > 0; low /= 10) to[i] = static_cast<char>('0' + low % 10);
  return to + kLowDigits;
}

// An integer, or the digits of a decimal that has so many behind its point; without a zero before the point where its
// type has no room for one.
size_t write_number(char* to, int128_t value, uint8_t scale, bool zero) {
  char* const begin = to;
  if (value < 0) *to++ = '-';
  char digits[kMostDigits];
  const uint128_t size = value < 0 ? ~static_cast<uint128_t>(value) + 1 : static_cast<uint128_t>(value);
  const auto count = static_cast<size_t>(write_digits(digits, size) - digits);
  if (scale == 0) return static_cast<size_t>(std::copy_n(digits, count, to) - begin);
  const size_t whole = count > scale ? count - scale : 0;
  to = std::copy_n(digits, whole, to);
  if (whole == 0 && zero) *to++ = '0';
  *to++ = '.';
  to = std::fill_n(to, scale - (count - whole), '0');
  to = std::copy(digits + whole, digits + count, to);
  return static_cast<size_t>(to - begin);
}

// Text of one chunk, as SQL prints it: numbers when they are asked for, all others column by column.
class ChunkText {
 public:
  ChunkText(duckdb::ClientContext& context, duckdb::DataChunk& chunk) {
    for (auto& vector : chunk.data) {
      Column& column = columns_.emplace_back(column_of(vector.GetType()));
      duckdb::Vector* text = &vector;
      if (column.number == Number::kNone && vector.GetType().id() != LogicalTypeId::VARCHAR) {
        text = &texts_.emplace_back(LogicalType::VARCHAR, chunk.size());
        duckdb::VectorOperations::Cast(context, vector, *text, chunk.size());
      }
      text->ToUnifiedFormat(chunk.size(), column.format);
    }
  }
  bool is_null(size_t column, size_t row) const {
    const auto& format = columns_[column].format;
    return !format.validity.RowIsValid(format.sel->get_index(row));
  }
  // Good until the next call.
  std::string_view at(size_t column, size_t row) {
    const Column& own = columns_[column];
    const auto place = own.format.sel->get_index(row);
    switch (own.number) {
      case Number::kNone: {
        const duckdb::string_t& text = duckdb::UnifiedVectorFormat::GetData<duckdb::string_t>(own.format)[place];
        return {text.GetData(), text.GetSize()};
      }
      case Number::k8: return number<int8_t>(own, place);
      case Number::k16: return number<int16_t>(own, place);
      case Number::k32: return number<int32_t>(own, place);
      case Number::k64: return number<int64_t>(own, place);
      case Number::k128: break;
    }
    const duckdb::hugeint_t& value = duckdb::UnifiedVectorFormat::GetData<duckdb::hugeint_t>(own.format)[place];
    return number(own, static_cast<int128_t>(static_cast<uint128_t>(value.upper) << 64 | value.lower));
  }

 private:
  enum class Number : uint8_t { kNone, k8, k16, k32, k64, k128 };
  struct Column {
    Number number = Number::kNone;
    uint8_t scale = 0;
    bool zero = true;  // before the point
    duckdb::UnifiedVectorFormat format{};
  };
  static Column column_of(const LogicalType& type) {
    Column out;
    const bool decimal = type.id() == LogicalTypeId::DECIMAL;
    const bool integer = type.id() == LogicalTypeId::TINYINT || type.id() == LogicalTypeId::SMALLINT ||
                         type.id() == LogicalTypeId::INTEGER || type.id() == LogicalTypeId::BIGINT ||
                         type.id() == LogicalTypeId::HUGEINT;
    if (!decimal && !integer) return out;
    if (decimal) {
      out.scale = duckdb::DecimalType::GetScale(type);
      out.zero = duckdb::DecimalType::GetWidth(type) > out.scale;
    }
    switch (type.InternalType()) {
      case duckdb::PhysicalType::INT8: out.number = Number::k8; break;
      case duckdb::PhysicalType::INT16: out.number = Number::k16; break;
      case duckdb::PhysicalType::INT32: out.number = Number::k32; break;
      case duckdb::PhysicalType::INT64: out.number = Number::k64; break;
      case duckdb::PhysicalType::INT128: out.number = Number::k128; break;
      default: break;
    }
    return out;
  }
  std::string_view number(const Column& column, int128_t value) {
    return {number_, write_number(number_, value, column.scale, column.zero)};
  }
  template <typename T>
  std::string_view number(const Column& column, duckdb::idx_t place) {
    return number(column, int128_t{duckdb::UnifiedVectorFormat::GetData<T>(column.format)[place]});
  }

  std::vector<duckdb::Vector> texts_;
  std::vector<Column> columns_;
  char number_[2 * kMostDigits];
};

void append_csv(std::string& line, std::string_view text, char delimiter) {
  const bool plain = !text.empty() && text.find_first_of(std::string{delimiter, '"', '\n', '\r'}) == text.npos;
  if (plain) {
    line += text;
    return;
  }
  line += '"';
  for (const char c : text) {
    if (c == '"') line += '"';
    line += c;
  }
  line += '"';
}

void append_json_escape(std::string& out, char c) {
  static constexpr char kHex[] = "0123456789abcdef";
  switch (c) {
    case '"': out += "\\\""; break;
    case '\\': out += "\\\\"; break;
    case '\n': out += "\\n"; break;
    case '\r': out += "\\r"; break;
    case '\t': out += "\\t"; break;
    default:
      out += "\\u00";
      out += kHex[c >> 4];
      out += kHex[c & 15];
  }
}

// What needs no escape is copied in one piece.
void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  size_t done = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\') continue;
    out.append(text, done, i - done);
    append_json_escape(out, c);
    done = i + 1;
  }
  out.append(text, done);
  out += '"';
}

enum class JsonForm { kString, kBare, kNumber, kNested };

JsonForm json_form(const LogicalType& type) {
  if (type.IsJSONType()) return JsonForm::kBare;
  switch (type.id()) {
    case LogicalTypeId::FLOAT:
    case LogicalTypeId::DOUBLE: return JsonForm::kNumber;
    case LogicalTypeId::LIST:
    case LogicalTypeId::ARRAY:
    case LogicalTypeId::STRUCT:
    case LogicalTypeId::MAP: return JsonForm::kNested;
    default: return type.IsNumeric() || type.id() == LogicalTypeId::BOOLEAN ? JsonForm::kBare : JsonForm::kString;
  }
}

void append_json(std::string& out, const duckdb::Value& value);

void append_json_text(std::string& out, std::string_view text, JsonForm form) {
  // JSON has no words for these.
  const bool word = form == JsonForm::kNumber && text.find_first_of("nN") != text.npos;
  if (form == JsonForm::kString || word) {
    append_json_string(out, text);
    return;
  }
  // SQL writes decimals below one without the zero that JSON wants.
  const bool negative = text.starts_with('-');
  if (text.substr(negative ? 1 : 0).starts_with('.')) {
    out += negative ? "-0" : "0";
    text.remove_prefix(negative ? 1 : 0);
  }
  out += text;
}

template <typename Items, typename Each>
void append_sequence(std::string& out, char open, char close, const Items& items, const Each& each) {
  out += open;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ',';
    each(i);
  }
  out += close;
}

void append_json(std::string& out, const duckdb::Value& value) {
  if (value.IsNull()) {
    out += "null";
    return;
  }
  const LogicalType& type = value.type();
  switch (type.id()) {
    case LogicalTypeId::LIST:
    case LogicalTypeId::ARRAY: {
      const auto& items = type.id() == LogicalTypeId::LIST ? duckdb::ListValue::GetChildren(value)
                                                           : duckdb::ArrayValue::GetChildren(value);
      append_sequence(out, '[', ']', items, [&](size_t i) { append_json(out, items[i]); });
      return;
    }
    case LogicalTypeId::STRUCT: {
      const auto& items = duckdb::StructValue::GetChildren(value);
      const auto& names = duckdb::StructType::GetChildTypes(type);
      append_sequence(out, '{', '}', items, [&](size_t i) {
        append_json_string(out, names[i].first);
        out += ':';
        append_json(out, items[i]);
      });
      return;
    }
    case LogicalTypeId::MAP: {
      const auto& items = duckdb::MapValue::GetChildren(value);
      append_sequence(out, '{', '}', items, [&](size_t i) {
        const auto& entry = duckdb::StructValue::GetChildren(items[i]);
        append_json_string(out, entry[0].ToString());
        out += ':';
        append_json(out, entry[1]);
      });
      return;
    }
    default: append_json_text(out, value.ToString(), json_form(type));
  }
}

// A cell of a table: bars would begin another one, and line ends another row.
void append_markdown(std::string& out, std::string_view cell) {
  for (const char c : cell) {
    if (c == '|') {
      out += "\\|";
    } else if (c == '\n') {
      out += "<br>";
    } else if (c != '\r') {
      out += c;
    }
  }
}

// A row's text is put behind that of the rows before; a chunk's is handed on at once.
template <typename AppendRow>
void write_rows(QueryResult::State& state, const TextSink& sink, AppendRow&& append_row) {
  std::string text;
  while (auto chunk = state.fetch()) {
    text.clear();
    sql::translated(state.log.get(), [&] {
      ChunkText cells(*state.connection->context, *chunk);
      for (size_t row = 0; row < chunk->size(); ++row) append_row(text, *chunk, cells, row);
    });
    sink(text);
  }
}

}  // namespace

void QueryResult::write_csv(const TextSink& sink, bool header, char delimiter, const std::string& null_text) {
  if (header) {
    std::string text;
    for (size_t i = 0; i < state_->columns.size(); ++i) {
      if (i > 0) text += delimiter;
      append_csv(text, state_->columns[i].name, delimiter);
    }
    sink(text + '\n');
  }
  write_rows(*state_, sink, [&](std::string& text, duckdb::DataChunk&, ChunkText& cells, size_t row) {
    for (size_t i = 0; i < state_->columns.size(); ++i) {
      if (i > 0) text += delimiter;
      cells.is_null(i, row) ? void(text += null_text) : append_csv(text, cells.at(i, row), delimiter);
    }
    text += '\n';
  });
}

void QueryResult::write_markdown(const TextSink& sink, const std::string& null_text) {
  const auto append_cell = [](std::string& text, std::string_view cell) {
    text += ' ';
    append_markdown(text, cell);
    text += " |";
  };
  std::string head = "|";
  for (const ResultColumn& column : state_->columns) append_cell(head, column.name);
  head += "\n|";
  for (const LogicalType& type : state_->result->types) head += type.IsNumeric() ? "---:|" : "---|";
  sink(head + '\n');
  write_rows(*state_, sink, [&](std::string& text, duckdb::DataChunk&, ChunkText& cells, size_t row) {
    text += '|';
    for (size_t i = 0; i < state_->columns.size(); ++i) {
      append_cell(text, cells.is_null(i, row) ? null_text : cells.at(i, row));
    }
    text += '\n';
  });
}

void QueryResult::write_lines(const TextSink& sink, const std::string& null_text) {
  size_t widest = 0;
  for (const ResultColumn& column : state_->columns) widest = std::max(widest, column.name.size());
  bool first = true;
  write_rows(*state_, sink, [&](std::string& text, duckdb::DataChunk&, ChunkText& cells, size_t row) {
    if (!std::exchange(first, false)) text += '\n';
    for (size_t i = 0; i < state_->columns.size(); ++i) {
      const std::string& name = state_->columns[i].name;
      text.append(widest - name.size(), ' ');
      text += name + " = ";
      text += cells.is_null(i, row) ? std::string_view(null_text) : cells.at(i, row);
      text += '\n';
    }
  });
}

void QueryResult::write_json(const TextSink& sink, bool lines) {
  std::vector<std::string> names;
  std::vector<JsonForm> forms;
  for (size_t i = 0; i < state_->columns.size(); ++i) {
    append_json_string(names.emplace_back(), state_->columns[i].name);
    names.back() += ':';
    forms.push_back(json_form(state_->result->types[i]));
  }
  bool first = true;
  if (!lines) sink("[");
  write_rows(*state_, sink, [&](std::string& text, duckdb::DataChunk& chunk, ChunkText& cells, size_t row) {
    if (!lines) text += first ? "\n" : ",\n";
    first = false;
    append_sequence(text, '{', '}', names, [&](size_t i) {
      text += names[i];
      if (cells.is_null(i, row)) {
        text += "null";
      } else if (forms[i] == JsonForm::kNested) {
        append_json(text, chunk.GetValue(i, row));
      } else {
        append_json_text(text, cells.at(i, row), forms[i]);
      }
    });
    if (lines) text += '\n';
  });
  if (!lines) sink(first ? "]\n" : "\n]\n");
}

}  // namespace basalt
