// The shell of `basalt sql`: statements over several lines until a semicolon, and a few commands that begin with a dot.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "basalt/core/error.h"
#include "cli/command.h"
#include "cli/line_editor.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/statement.h"
#include "cli/terminal.h"
#include "core/output_file.h"
#include "core/same_file.h"

namespace basalt::cli {
namespace {

constexpr const char* kHelp =
    ".tables               tables and views of this session\n"
    ".schema [NAME|FILE]   columns of a table, a view or a file\n"
    ".timer on|off         show compile, transfer and kernel times\n"
    ".device [NAME]        show or choose where queries run: auto, cpu, cuda\n"
    ".mode FORMAT          how results look: table, csv, tsv, markdown, line, json, ndjson\n"
    ".maxrows N            rows of a table that are shown, 0 for all (40 at first)\n"
    ".nullvalue TEXT       what stands for NULL\n"
    ".output [FILE]        write the rows of each statement that follows to a file, which holds the last one's;\n"
    "                      alone: to the screen again\n"
    ".open FILE            work in this DuckDB database\n"
    ".read FILE            run the statements of a file\n"
    ".help                 this text\n"
    ".quit                 leave (also Ctrl-D)\n"
    "\n"
    "Statements end with a semicolon. Files are tables: select * from 'lineitem.basalt' limit 5;\n"
    "Tab completes keywords, tables, columns and files. Ctrl-C stops the running query, or clears the line.\n";

class Shell {
 public:
  Shell(Session& session, ShowOptions options) : session_(session), options_(std::move(options)) {}

  int run() {
    editor_.complete_with([this](const std::string& word) {
      try {
        return completions(word);
      } catch (const std::exception&) {
        return std::vector<std::string>();
      }
    });
    print(fmt::format("basalt {} · .help for help\n", BASALT_VERSION));
    std::string line;
    while (!done_ && ending_signal() == 0) {
      switch (editor_.read(pending_.empty() ? "basalt> " : "   ...> ", line)) {
        case LineEditor::Outcome::kEnd: return finish();
        case LineEditor::Outcome::kInterrupted: pending_.clear(); break;
        case LineEditor::Outcome::kLine: take(line);
      }
    }
    return ending_signal() != 0 ? 128 + ending_signal() : kSuccess;
  }

 private:
  int finish() {
    print("\n");
    return kSuccess;
  }

  void take(const std::string& line) {
    const size_t start = line.find_first_not_of(" \t");
    if (pending_.empty() && start == std::string::npos) return;
    if (pending_.empty() && line[start] == '.') {
      editor_.remember(line);
      guarded([&] { command(line.substr(start)); });
      return;
    }
    pending_ += (pending_.empty() ? "" : "\n") + line;
    if (line.find(';') == std::string::npos) return;
    guarded([&] { run_complete_statements(); });
  }

  void run_complete_statements() {
    std::string rest;
    const std::vector<std::string> statements = session_.split(pending_, &rest);
    if (statements.empty()) return;
    editor_.remember(pending_);
    pending_ = rest.find_first_not_of(" \t\r\n") == std::string::npos ? "" : rest;
    for (const std::string& statement : statements) {
      const bool written = run_statement(session_, statement, options_) == ResultRows::kWritten;
      if (written && !options_.output.empty() && !is_written_through(options_.output)) say_what_was_replaced();
      note_columns(statement);
    }
  }

  // An error ends the statement, never the shell; a signal that asks the program to end does.
  template <typename Body>
  void guarded(Body body) {
    try {
      body();
    } catch (const BrokenPipe&) {
      throw;
    } catch (const Error& error) {
      if (ending_signal() != 0) throw;
      pending_.clear();
      complain(error.code() == ErrorCode::kCancelled ? "cancelled" : error.what());
    } catch (const std::exception& error) {
      pending_.clear();
      complain(error.what());
    }
  }

  static void complain(const char* message) { std::fputs((printable_lines(message) + "\n").c_str(), stderr); }

  void command(const std::string& text) {
    std::istringstream words(text);
    std::string name, argument;
    words >> name;
    std::getline(words >> std::ws, argument);
    while (!argument.empty() && (argument.back() == ' ' || argument.back() == ';')) argument.pop_back();
    if (name == ".quit" || name == ".exit" || name == ".q") {
      done_ = true;
    } else if (name == ".help") {
      print(kHelp);
    } else if (name == ".tables") {
      show_tables();
    } else if (name == ".schema") {
      show_schema(argument);
    } else if (name == ".timer") {
      set_timer(argument);
    } else if (name == ".device") {
      set_device(argument);
    } else if (name == ".mode") {
      set_mode(argument);
    } else if (name == ".maxrows") {
      set_max_rows(argument);
    } else if (name == ".nullvalue") {
      options_.null_text = unquoted(argument);
    } else if (name == ".output") {
      set_output(unquoted(argument));
    } else if (name == ".open") {
      open_database(unquoted(argument));
    } else if (name == ".read") {
      read_file(argument);
    } else {
      throw Error(ErrorCode::kInvalidArgument, name + " is not a command; .help lists them");
    }
  }

  void show_tables() {
    // As statements have to name them: those of other databases than the one that is used behind the database's name.
    QueryResult result = session_.execute(
        "select if(table_catalog in (current_database(), 'temp'), '', table_catalog || '.') || "
        "if(table_schema = 'main', '', table_schema || '.') || table_name, "
        "if(table_type like '%VIEW%', 'view', 'table'), count(*) "
        "from information_schema.tables join information_schema.columns using (table_catalog, table_schema, "
        "table_name) group by all order by 1");
    bool any = false;
    while (const std::unique_ptr<Table> rows = result.next()) {
      any = true;
      for (uint64_t row = 0; row < rows->rows; ++row)
        print(fmt::format("{} ({}, {} columns)\n", printable(rows->columns[0].string_at(row)),
                          rows->columns[1].string_at(row), rows->columns[2].values.as<int64_t>()[row]));
    }
    if (!any) print("no tables; files can be queried by name: select * from 'x.basalt';\n");
  }

  void show_schema(const std::string& name) {
    if (name.find('.') == std::string::npos) return print(printable_lines(session_.schema_sql(name)));
    std::string path = name;
    if (path.size() > 1 && path.front() == '\'' && path.back() == '\'') path = path.substr(1, path.size() - 2);
    TextTable table({{"column", TextTable::Align::kLeft}, {"type", TextTable::Align::kLeft}});
    for (const ResultColumn& column : session_.describe(query_for_file(path))) table.add({column.name, column.type});
    print(table.render(STDOUT_FILENO));
  }

  void set_timer(const std::string& argument) {
    if (argument != "on" && argument != "off")
      throw Error(ErrorCode::kInvalidArgument, "write .timer on or .timer off");
    options_.timing = argument == "on";
  }

  void set_device(const std::string& argument) {
    if (argument.empty()) return print(to_string(session_.device()) + "\n");
    if (argument != "auto" && argument != "cpu" && argument != "cuda")
      throw Error(ErrorCode::kInvalidArgument, "devices are auto, cpu and cuda");
    const Device device = argument == "cpu" ? Device::kCpu : argument == "cuda" ? Device::kCuda : Device::kAuto;
    require_device(device);
    session_.set_device(device);
  }

  void set_mode(const std::string& argument) {
    static const std::set<std::string> kModes = {"table", "csv", "tsv", "markdown", "line", "json", "ndjson"};
    if (!kModes.contains(argument))
      throw Error(ErrorCode::kInvalidArgument, "modes are table, csv, tsv, markdown, line, json and ndjson");
    options_.format = argument;
  }

  static std::string unquoted(const std::string& text) {
    const bool quoted = text.size() > 1 && text.front() == text.back() && (text.front() == '\'' || text.front() == '"');
    return quoted ? text.substr(1, text.size() - 2) : text;
  }

  void set_max_rows(const std::string& argument) {
    const bool is_number =
        !argument.empty() && argument.size() < 10 && argument.find_first_not_of("0123456789") == std::string::npos;
    if (!is_number) throw Error(ErrorCode::kInvalidArgument, "write .maxrows and a number; 0 shows all rows");
    options_.max_rows = std::stoul(argument);
  }

  void say_what_was_replaced() {
    if (output_is_written_)
      complain((options_.output + " holds these rows; those of the statement before are gone").c_str());
    output_is_written_ = true;
  }

  // Statements follow each other into the file: each one's rows take the place of the ones before.
  void set_output(const std::string& path) {
    output_is_written_ = false;
    if (path.empty()) {
      options_.output.clear();
      if (!screen_format_.empty()) options_.format = screen_format_;
      screen_format_.clear();
      return;
    }
    const std::string format = format_by_name(path);
    if (screen_format_.empty()) screen_format_ = options_.format;
    options_.format = format.empty() ? screen_format_ : format;
    options_.output = path;
  }

  void open_database(const std::string& path) {
    if (path.empty()) throw Error(ErrorCode::kInvalidArgument, "write .open and the name of a database file");
    std::string name = name_of_open(path);
    if (name.empty()) {
      name = "database_" + std::to_string(++databases_);
      session_.execute("attach " + quote_literal(path) + " as " + name);
    }
    session_.execute("use " + quote_identifier(name));
  }

  // What the database of a file is called where it is open already; else nothing.
  std::string name_of_open(const std::string& path) {
    const auto file = identify_file(path);
    std::string name;
    QueryResult result = session_.execute("select database_name, path from duckdb_databases() where path is not null");
    while (const std::unique_ptr<Table> rows = result.next()) {
      for (uint64_t row = 0; row < rows->rows; ++row)
        if (file && identify_file(std::string(rows->columns[1].string_at(row))) == file)
          name = rows->columns[0].string_at(row);
    }
    return name;
  }

  // What the word before the cursor may become.
  std::vector<std::string> completions(const std::string& word) {
    if (word.find_first_of("/'") != std::string::npos) return complete_path(word);
    static const std::vector<std::string> kKeywords = {
        "select", "from",   "where",  "group by", "order by", "having", "limit",    "offset",  "join",    "left join",
        "on",     "using",  "as",     "and",      "or",       "not",    "null",     "is",      "in",      "between",
        "like",   "case",   "when",   "then",     "else",     "end",    "with",     "union",   "all",     "distinct",
        "count",  "sum",    "avg",    "min",      "max",      "create", "table",    "view",    "insert",  "into",
        "values", "update", "delete", "drop",     "copy",     "to",     "describe", "explain", "analyze", "set"};
    static const std::vector<std::string> kCommands = {".tables", ".schema",  ".timer",     ".device",
                                                       ".mode",   ".maxrows", ".nullvalue", ".output",
                                                       ".open",   ".read",    ".help",      ".quit"};
    std::vector<std::string> found;
    const auto offer = [&](const std::string& text) {
      // Names come from files, and files from strangers.
      if (printable(text) != text) return;
      const bool begins =
          text.size() > word.size() && std::equal(word.begin(), word.end(), text.begin(), [](char a, char b) {
            return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
          });
      if (begins) found.push_back(text);
    };
    if (word.starts_with('.')) {
      for (const std::string& text : kCommands) offer(text);
      return found;
    }
    for (const std::string& text : kKeywords) offer(text);
    for (const TableInfo& table : session_.tables()) {
      offer(table.name);
      for (const ResultColumn& column : table.columns) offer(column.name);
    }
    for (const std::string& column : file_columns_) offer(column);
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }

  static std::vector<std::string> complete_path(const std::string& word) {
    const size_t quote = word.find('\'');
    const std::string before = quote == std::string::npos ? "" : word.substr(0, quote + 1);
    const std::string path = word.substr(before.size());
    const size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
    std::vector<std::string> found;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder.empty() ? "." : folder, ignored)) {
      const std::string name = folder + entry.path().filename().string();
      if (printable(name) != name || !name.starts_with(path) ||
          (entry.path().filename().string().starts_with('.') && folder == path))
        continue;
      const bool is_folder = entry.is_directory(ignored);
      found.push_back(before + name + (is_folder ? "/" : before.empty() ? "" : "'"));
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  // Columns of files are completed once a statement has named the file.
  void note_columns(const std::string& statement) {
    for (const std::string& path : quoted_texts(statement)) {
      std::error_code ignored;
      if (!std::filesystem::is_regular_file(path, ignored) || !noted_files_.insert(path).second) continue;
      try {
        for (const ResultColumn& column : session_.describe(query_for_file(path))) file_columns_.insert(column.name);
      } catch (const Error&) {  // it was no file
      }
    }
  }

  void read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw Error(ErrorCode::kIo, path + ": cannot open");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    for (const std::string& statement : session_.split(text)) run_statement(session_, statement, options_);
  }

  Session& session_;
  ShowOptions options_;
  LineEditor editor_;
  std::string pending_;
  std::string screen_format_;  // while results go to a file
  bool output_is_written_ = false;
  std::set<std::string> noted_files_;
  std::set<std::string> file_columns_;
  int databases_ = 0;
  bool done_ = false;
};

}  // namespace

int run_shell(Session& session, ShowOptions options) { return Shell(session, std::move(options)).run(); }

}  // namespace basalt::cli
