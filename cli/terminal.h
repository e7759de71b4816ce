// How the program speaks to people and pipes: numbers in readable units, aligned tables, colours on terminals only, and
// buffered output that notices a reader who has gone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/human.h"

namespace basalt::cli {

bool is_terminal(int descriptor);
// True if `descriptor` is a terminal and NO_COLOR is not set.
bool wants_color(int descriptor);
uint32_t terminal_width();  // of stderr or stdout, whichever is a terminal; 0 if neither is

std::string human_rate(double per_second);                  // 12.3 M
std::string human_seconds(double seconds);                  // 340 ms, 12.4 s, 3:07
std::string human_ratio(uint64_t plain, uint64_t encoded);  // 4.21×
std::string escape_json(std::string_view text);             // with quotes; control characters as numbers

// As a terminal may get it, see escape_controls(): names, and texts of several lines with names in them.
std::string printable(std::string_view text);
std::string printable_lines(std::string_view text);
// Both make the text printable first.
std::string bold(const std::string& text, int descriptor);
std::string dim(const std::string& text, int descriptor);

// Columns aligned by their widest cell, two spaces apart; a header in bold on terminals.
class TextTable {
 public:
  enum class Align { kLeft, kRight };
  explicit TextTable(std::vector<std::pair<std::string, Align>> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells);  // made printable
  void add_rule() { rows_.emplace_back(); }
  std::string render(int descriptor) const;

 private:
  std::vector<std::pair<std::string, Align>> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Thrown when the reader of our standard output has closed it: not an error, there is just nothing left to do.
struct BrokenPipe {};

// Standard output, buffered. Throws BrokenPipe or Error(kIo).
class Output {
 public:
  ~Output();
  void write(std::string_view text);
  void flush();

 private:
  std::string buffer_;
};
// Sentences for people who watch, on stderr, each behind "notice: ".
void print_notices(const std::vector<std::string>& notices);

// For one short text.
void print(std::string_view text);
// Whether standard output is a pipe that nobody reads any more.
bool stdout_is_broken();

}  // namespace basalt::cli
