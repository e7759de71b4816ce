// The shell of `basalt sql`: statements over several lines until a semicolon, and a few commands that begin with a dot.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>

#include "basalt/core/error.h"
#include "cli/command.h"
#include "cli/line_editor.h"
#include "cli/progress.h"
#include "cli/statement.h"
#include "cli/terminal.h"

namespace basalt::cli {
namespace {

constexpr const char* kHelp =
    ".tables               tables and views of this session\n"
    ".schema [NAME|FILE]   columns of a table, a view or a file\n"
    ".timer on|off         show compile, transfer and kernel times\n"
    ".device [NAME]        show or choose where queries run: auto, cpu, cuda\n"
    ".mode FORMAT          how results look: table, csv, json, ndjson\n"
    ".read FILE            run the statements of a file\n"
    ".help                 this text\n"
    ".quit                 leave (also Ctrl-D)\n"
    "\n"
    "Statements end with a semicolon. Files are tables: select * from 'lineitem.basalt' limit 5;\n"
    "Ctrl-C stops the running query, or clears the line.\n";

class Shell {
 public:
  Shell(Session& session, ShowOptions options) : session_(session), options_(std::move(options)) {}

  int run() {
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
    for (const std::string& statement : statements) run_statement(session_, statement, options_);
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
    } else if (name == ".read") {
      read_file(argument);
    } else {
      throw Error(ErrorCode::kInvalidArgument, name + " is not a command; .help lists them");
    }
  }

  void show_tables() {
    const std::vector<TableInfo> tables = session_.tables();
    if (tables.empty()) return print("no tables; files can be queried by name: select * from 'x.basalt';\n");
    for (const TableInfo& table : tables)
      print(fmt::format("{} ({}, {} columns)\n", printable(table.name), table.kind, table.columns.size()));
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
    if (argument != "table" && argument != "csv" && argument != "json" && argument != "ndjson")
      throw Error(ErrorCode::kInvalidArgument, "modes are table, csv, json and ndjson");
    options_.format = argument;
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
  bool done_ = false;
};

}  // namespace

int run_shell(Session& session, ShowOptions options) { return Shell(session, std::move(options)).run(); }

}  // namespace basalt::cli
