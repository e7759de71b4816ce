// `basalt info`: schema, sizes, encodings and statistics of a file, as tables or JSON. Reads metadata only, never rows.
#include <fmt/format.h>
#include <unistd.h>

#include <map>

#include "basalt/core/error.h"
#include "basalt/file/reader.h"
#include "cli/command.h"
#include "cli/terminal.h"

namespace basalt::cli {
namespace {

using Align = TextTable::Align;
constexpr size_t kMaxValue = 24;

struct InfoOptions {
  std::string file;
  bool json = false;
  std::string column;
  bool chunks = false;
};

std::string show(const Value& value, const DataType& type) { return value.null ? "" : format_value(value, type); }

// For tables: long strings are cut on a character border, line breaks hidden.
std::string shorten(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  if (text.size() <= kMaxValue) return text;
  size_t end = kMaxValue;
  while (end > 0 && (text[end] & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

// Of a column or a chunk of one, without those of other columns by which it is encoded.
template <typename Info>
uint64_t own_bytes(const Info& info) {
  return info.encoded_bytes - info.shared_bytes;
}

std::string tree_text(const ColumnInfo& column) {
  if (column.shapes.empty()) return "-";
  std::map<uint32_t, size_t> uses;
  for (const ColumnChunkInfo& chunk : column.chunks) ++uses[chunk.shape];
  uint32_t most = 0;
  for (const auto& [shape, count] : uses)
    if (count > uses[most]) most = shape;
  std::string text = most < column.shapes.size() ? column.encodings[most] : "-";
  if (uses.size() > 1) text += fmt::format(" (+{} more)", uses.size() - 1);
  return text;
}

std::string share_of(uint64_t part, uint64_t whole) {
  return whole == 0 ? "-" : fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string flags_of(const Statistics& stats) {
  std::string out;
  const auto add = [&](bool set, const char* name) {
    if (set) out += (out.empty() ? "" : ", ") + std::string(name);
  };
  add(stats.constant, "constant");
  add(stats.dense, "dense");
  add(stats.ascending, stats.strict ? "strictly ascending" : "ascending");
  add(stats.descending, stats.strict ? "strictly descending" : "descending");
  add(stats.has_nan, "has NaN");
  return out;
}

// All fields, or one column with what lies under it.
std::vector<uint32_t> chosen_fields(const File& file, const std::string& column) {
  std::vector<uint32_t> ids;
  const auto add = [&](const auto& self, const Field& field) -> void {
    ids.push_back(field.id);
    for (const Field& child : field.children) self(self, child);
  };
  if (column.empty()) {
    for (const Field& field : file.schema().fields) add(add, field);
  } else {
    add(add, file.schema().fields[file.find_column(column)]);
  }
  return ids;
}

std::string overview(const File& file) {
  std::string text = bold(printable(file.name()), STDOUT_FILENO) + "\n";
  const auto counted = [](uint64_t count, const char* what) {
    return fmt::format("{} {}{}", human_count(count), what, count == 1 ? "" : "s");
  };
  text += fmt::format("{} · {} · {} · {} · format {} · written by {}\n", counted(file.rows(), "row"),
                      counted(file.schema().fields.size(), "column"), counted(file.chunks().size(), "chunk"),
                      human_bytes(file.bytes()), file.format_version(), printable(file.created_by()));
  if (!file.sort_columns().empty())
    text += fmt::format("sorted by {}\n", printable(fmt::format("{}", fmt::join(file.sort_columns(), ", "))));
  return text + "\n";
}

std::string column_table(const File& file, const std::vector<uint32_t>& ids) {
  TextTable table({{"column", Align::kLeft},
                   {"type", Align::kLeft},
                   {"encoding", Align::kLeft},
                   {"nulls", Align::kRight},
                   {"min", Align::kLeft},
                   {"max", Align::kLeft},
                   {"bytes", Align::kRight},
                   {"ratio", Align::kRight},
                   {"share", Align::kRight}});
  for (const uint32_t id : ids) {
    const ColumnInfo& column = file.column(id);
    const Field& field = *file.fields()[id];
    table.add({column.path, field.meaning == Meaning::kStored ? to_string(field.type) : to_string(field),
               tree_text(column), human_count(column.stats.null_count), shorten(show(column.stats.min, field.type)),
               shorten(show(column.stats.max, field.type)), human_bytes(own_bytes(column)),
               human_ratio(column.plain_bytes, own_bytes(column)), share_of(own_bytes(column), file.source().size())});
  }
  return table.render(STDOUT_FILENO);
}

std::string column_details(const File& file, uint32_t id) {
  const ColumnInfo& column = file.column(id);
  const Statistics& stats = column.stats;
  std::string text = fmt::format("\n{}\n", bold(printable(column.path), STDOUT_FILENO));
  std::map<uint32_t, size_t> uses;
  for (const ColumnChunkInfo& chunk : column.chunks) ++uses[chunk.shape];
  for (const auto& [shape, count] : uses)
    if (shape < column.shapes.size())
      text += fmt::format("  {} × {}\n", human_count(count), printable(column.encodings[shape]));
  if (const std::string flags = flags_of(stats); !flags.empty()) text += "  " + flags + "\n";
  if (stats.distinct > 0) text += fmt::format("  about {} distinct values\n", human_count(stats.distinct));
  if (column.has_dictionary) text += "  one sorted dictionary for the whole file\n";
  std::string widths;
  for (size_t width = 0; width < column.width_tiles.size(); ++width)
    if (column.width_tiles[width] > 0)
      widths +=
          fmt::format("{}{} × {} bits", widths.empty() ? "" : ", ", human_count(column.width_tiles[width]), width);
  if (!widths.empty()) text += "  packed tiles: " + widths + "\n";
  return text;
}

std::string chunk_table(const File& file, const std::vector<uint32_t>& ids) {
  TextTable table({{"column", Align::kLeft},
                   {"chunk", Align::kRight},
                   {"first row", Align::kRight},
                   {"rows", Align::kRight},
                   {"encoding", Align::kLeft},
                   {"nulls", Align::kRight},
                   {"min", Align::kLeft},
                   {"max", Align::kLeft},
                   {"offset", Align::kRight},
                   {"bytes", Align::kRight},
                   {"ratio", Align::kRight},
                   {"notes", Align::kLeft}});
  for (const uint32_t id : ids) {
    const ColumnInfo& column = file.column(id);
    const DataType& type = file.fields()[id]->type;
    for (size_t i = 0; i < column.chunks.size(); ++i) {
      const ColumnChunkInfo& chunk = column.chunks[i];
      table.add(
          {column.path, std::to_string(i), i < file.chunks().size() ? human_count(file.chunks()[i].first_row) : "",
           human_count(chunk.rows), chunk.shape < column.shapes.size() ? column.encodings[chunk.shape] : "-",
           human_count(chunk.stats.null_count), shorten(show(chunk.stats.min, type)),
           shorten(show(chunk.stats.max, type)), std::to_string(chunk.region.offset), human_bytes(own_bytes(chunk)),
           human_ratio(chunk.plain_bytes, own_bytes(chunk)), flags_of(chunk.stats)});
    }
  }
  return "\n" + table.render(STDOUT_FILENO);
}

std::string json_value(const Value& value, const DataType& type) {
  return value.null ? "null" : escape_json(format_value(value, type));
}

std::string json_statistics(const Statistics& stats, const DataType& type) {
  return fmt::format(
      R"("nulls":{},"min":{},"max":{},"min_exact":{},"max_exact":{},"has_nan":{},"ascending":{},"descending":{},"strict":{},)"
      R"("constant":{},"dense":{},"distinct":{})",
      stats.null_count, json_value(stats.min, type), json_value(stats.max, type), stats.min_exact, stats.max_exact,
      stats.has_nan, stats.ascending, stats.descending, stats.strict, stats.constant, stats.dense, stats.distinct);
}

std::string json_column(const File& file, uint32_t id, bool chunks) {
  const ColumnInfo& column = file.column(id);
  const Field& field = *file.fields()[id];
  std::vector<std::string> shapes;
  for (const std::string& text : column.encodings) shapes.push_back(escape_json(text));
  std::string out = fmt::format(
      R"({{"name":{},"id":{},"type":{},"nullable":{},"encodings":[{}],{},"plain_bytes":{},"encoded_bytes":{},"shared_bytes":{})",
      escape_json(column.path), id, escape_json(to_string(field)), field.nullable, fmt::join(shapes, ","),
      json_statistics(column.stats, field.type), column.plain_bytes, own_bytes(column), column.shared_bytes);
  if (chunks) {
    std::vector<std::string> parts;
    for (const ColumnChunkInfo& chunk : column.chunks)
      parts.push_back(fmt::format(R"({{"rows":{},"encoding":{},{},"offset":{},"plain_bytes":{},"encoded_bytes":{}}})",
                                  chunk.rows, chunk.shape < shapes.size() ? shapes[chunk.shape] : "null",
                                  json_statistics(chunk.stats, field.type), chunk.region.offset, chunk.plain_bytes,
                                  own_bytes(chunk)));
    out += fmt::format(R"(,"chunks":[{}])", fmt::join(parts, ","));
  }
  return out + "}";
}

std::string json_text(const File& file, const std::vector<uint32_t>& ids, bool chunks) {
  std::vector<std::string> columns, sort_columns, chunk_list;
  for (const uint32_t id : ids) columns.push_back(json_column(file, id, chunks));
  for (const std::string& name : file.sort_columns()) sort_columns.push_back(escape_json(name));
  for (const ChunkInfo& chunk : file.chunks())
    chunk_list.push_back(fmt::format(R"({{"first_row":{},"rows":{}}})", chunk.first_row, chunk.rows));
  return fmt::format(
      R"({{"file":{},"bytes":{},"format_version":{},"created_by":{},"rows":{},"sort_columns":[{}],"chunks":[{}],"columns":[{}]}})"
      "\n",
      escape_json(file.name()), file.bytes(), file.format_version(), escape_json(file.created_by()), file.rows(),
      fmt::join(sort_columns, ","), fmt::join(chunk_list, ","), fmt::join(columns, ","));
}

int run_info(const InfoOptions& options) {
  const auto file = File::open(options.file);
  const std::vector<uint32_t> ids = chosen_fields(*file, options.column);
  if (options.json) {
    print(json_text(*file, ids, options.chunks));
    return kSuccess;
  }
  std::string text = overview(*file) + column_table(*file, ids);
  if (!options.column.empty())
    for (const uint32_t id : ids) text += column_details(*file, id);
  if (options.chunks) text += chunk_table(*file, ids);
  print(text);
  return kSuccess;
}

}  // namespace

void add_info(Program& program) {
  auto options = std::make_shared<InfoOptions>();
  CLI::App* command = add_command(program, "info", "Show schema, sizes, encodings and statistics of a .basalt file",
                                  "  basalt info lineitem.basalt\n"
                                  "  basalt info lineitem.basalt --column l_shipdate --chunks\n"
                                  "  basalt info lineitem.basalt --json | jq '.columns[].encodings'");
  command->add_option("FILE", options->file, "The .basalt file")->required()->check(local_files());
  command->add_flag("--json", options->json, "Machine-readable, with exact numbers");
  command->add_option("--column", options->column, "Only this column, in more detail")->type_name("C");
  command->add_flag("--chunks", options->chunks, "One line per chunk of each column");
  command->callback([&program, options] { program.run = [options] { return run_info(*options); }; });
}

}  // namespace basalt::cli
