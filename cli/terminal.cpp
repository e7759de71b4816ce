// Readable numbers, aligned tables and buffered standard output.
#include "cli/terminal.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "basalt/core/error.h"
#include "core/utf8.h"

namespace basalt::cli {
namespace {

constexpr size_t kOutputBuffer = 64 << 10;

// The second byte of a C1 control character, behind 0xC2.
bool is_c1(char byte) { return static_cast<unsigned char>(byte) < 0xA0; }

// Characters on the screen: UTF-8 continuation bytes take no place.
size_t screen_width(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

bool is_terminal(int descriptor) { return ::isatty(descriptor) == 1; }

bool wants_color(int descriptor) {
  const char* off = std::getenv("NO_COLOR");
  const char* kind = std::getenv("TERM");
  return is_terminal(descriptor) && (off == nullptr || *off == 0) &&
         (kind == nullptr || std::string_view(kind) != "dumb");
}

uint32_t terminal_width() {
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
    winsize size{};
    if (is_terminal(descriptor) && ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  }
  return 0;
}

std::string human_rate(double per_second) {
  static constexpr std::array kUnits = {"", " K", " M", " G", " T"};
  size_t unit = 0;
  while (per_second >= 1000 && unit + 1 < kUnits.size()) {
    per_second /= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f}{}", per_second, per_second < 10 ? 2 : per_second < 100 ? 1 : 0, kUnits[unit]);
}

std::string human_seconds(double seconds) {
  if (seconds < 0.001) return fmt::format("{:.0f} µs", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.{}f} ms", seconds * 1e3, seconds < 0.1 ? 1 : 0);
  if (seconds < 60) return fmt::format("{:.{}f} s", seconds, seconds < 10 ? 2 : 1);
  const auto whole = static_cast<uint64_t>(seconds + 0.5);
  if (whole < 3600) return fmt::format("{}:{:02} min", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02} h", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string human_ratio(uint64_t plain, uint64_t encoded) {
  if (encoded == 0 || plain == 0) return "-";
  const double ratio = static_cast<double>(plain) / static_cast<double>(encoded);
  return fmt::format("{:.{}f}×", ratio, ratio < 10 ? 2 : ratio < 100 ? 1 : 0);
}

std::string escape_json(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        else if (c == '\xC2' && i + 1 < text.size() && is_c1(text[i + 1]))
          out += fmt::format("\\u{:04x}", static_cast<unsigned char>(text[++i]));
        else
          out += c;
    }
  }
  return out + "\"";
}

std::string printable(std::string_view text) { return escape_controls(text); }
std::string printable_lines(std::string_view text) { return escape_controls(text, true); }

std::string bold(const std::string& text, int descriptor) {
  const std::string shown = printable_lines(text);
  return wants_color(descriptor) ? "\033[1m" + shown + "\033[0m" : shown;
}
std::string dim(const std::string& text, int descriptor) {
  const std::string shown = printable_lines(text);
  return wants_color(descriptor) ? "\033[2m" + shown + "\033[0m" : shown;
}

void TextTable::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

std::string TextTable::render(int descriptor) const {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t width = screen_width(columns_[i].first);
    for (const auto& row : rows_)
      if (i < row.size()) width = std::max(width, screen_width(row[i]));
    widths.push_back(width);
  }
  const auto line = [&](const auto& cell) {
    std::string out;
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::string text = cell(i);
      const std::string fill(widths[i] - screen_width(text), ' ');
      if (i > 0) out += "  ";
      out += columns_[i].second == Align::kRight ? fill + text : text + fill;
    }
    out.erase(out.find_last_not_of(' ') + 1);
    return out;
  };
  size_t total = 2 * (columns_.size() - 1);
  for (const size_t width : widths) total += width;
  std::string out = bold(line([&](size_t i) { return columns_[i].first; }), descriptor) + "\n";
  for (const auto& row : rows_) {
    if (row.empty()) {
      for (size_t i = 0; i < total; ++i) out += "─";
      out += "\n";
    } else {
      out += line([&](size_t i) { return i < row.size() ? row[i] : std::string(); }) + "\n";
    }
  }
  return out;
}

Output::~Output() {
  try {
    flush();
  } catch (...) {  // a destructor may not throw; whoever cares calls flush()
  }
}

void Output::write(std::string_view text) {
  buffer_ += text;
  if (buffer_.size() >= kOutputBuffer) flush();
}

void Output::flush() {
  const std::string text = std::exchange(buffer_, {});
  for (size_t done = 0; done < text.size();) {
    const ssize_t put = ::write(STDOUT_FILENO, text.data() + done, text.size() - done);
    if (put >= 0) {
      done += static_cast<size_t>(put);
    } else if (errno == EPIPE) {
      throw BrokenPipe{};
    } else if (errno != EINTR) {
      throw Error(ErrorCode::kIo, fmt::format("cannot write to standard output: {}", std::strerror(errno)));
    }
  }
}

void print_notices(const std::vector<std::string>& notices) {
  for (const std::string& notice : notices) std::fputs(("notice: " + printable(notice) + "\n").c_str(), stderr);
}

void print(std::string_view text) {
  Output output;
  output.write(text);
  output.flush();
}

bool stdout_is_broken() {
  pollfd entry{STDOUT_FILENO, POLLOUT, 0};
  return ::poll(&entry, 1, 0) > 0 && (entry.revents & POLLERR) != 0;
}

}  // namespace basalt::cli
