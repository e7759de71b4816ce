// Keyboard input for the shell. The history lies in the XDG state folder.
#include "cli/line_editor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <filesystem>
#include <iostream>

#include "basalt/core/error.h"

#ifdef BASALT_HAVE_LIBEDIT
#include <histedit.h>
#endif

namespace basalt::cli {
namespace {

int interrupt_pipe[2] = {-1, -1};

void note_interrupt(int) {
  const int kept = errno;
  [[maybe_unused]] const ssize_t put = ::write(interrupt_pipe[1], "c", 1);
  errno = kept;
}

// Ctrl-C at the prompt ends the wait for a key and nothing else. The signal may arrive at any moment and on any thread
// of the process, so it travels through a pipe that the prompt polls together with the keyboard: a flag beside a
// blocking read() would be lost between two keys.
class PromptSignals {
 public:
  PromptSignals() {
    if (interrupt_pipe[0] < 0 && ::pipe2(interrupt_pipe, O_CLOEXEC | O_NONBLOCK) != 0) {
      throw Error(ErrorCode::kIo, fmt::format("cannot open a pipe for the prompt: {}", std::strerror(errno)));
    }
    struct sigaction action {};
    action.sa_handler = note_interrupt;
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGINT, &action, &previous_);
  }
  ~PromptSignals() { ::sigaction(SIGINT, &previous_, nullptr); }

  // Waits until a key can be read (true) or Ctrl-C came (false).
  bool wait() {
    while (true) {
      pollfd sources[] = {{interrupt_pipe[0], POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
      if (::poll(sources, 2, -1) < 0) {
        if (errno == EINTR) continue;
        return true;  // read() will say what is wrong
      }
      if ((sources[0].revents & POLLIN) != 0) {
        char drained[16];
        while (::read(interrupt_pipe[0], drained, sizeof(drained)) > 0) {
        }
        interrupted_ = true;
        return false;
      }
      if (sources[1].revents != 0) return true;
    }
  }
  bool interrupted() const { return interrupted_; }

 private:
  struct sigaction previous_ {};
  bool interrupted_ = false;
};

// A line as the terminal itself edits it.
LineEditor::Outcome read_plain(const std::string& prompt, std::string& line) {
  PromptSignals signals;
  std::fputs(prompt.c_str(), stdout);
  std::fflush(stdout);
  if (std::cin.rdbuf()->in_avail() <= 0 && !signals.wait()) {
    std::fputs("\n", stdout);
    return LineEditor::Outcome::kInterrupted;
  }
  return std::getline(std::cin, line) ? LineEditor::Outcome::kLine : LineEditor::Outcome::kEnd;
}

}  // namespace

#ifdef BASALT_HAVE_LIBEDIT

namespace {

// Terminals that cannot move the cursor: libedit mixes its own reading of lines with the terminal's there and loses
// Ctrl-D after Ctrl-C.
bool is_dumb_terminal() {
  const char* kind = std::getenv("TERM");
  return kind == nullptr || *kind == 0 || std::strcmp(kind, "dumb") == 0;
}

constexpr int kHistoryLines = 1000;
constexpr size_t kMostOffers = 60;

std::filesystem::path history_path() {
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  if (state != nullptr && *state != 0) return std::filesystem::path(state) / "basalt" / "history";
  if (home != nullptr && *home != 0) return std::filesystem::path(home) / ".local" / "state" / "basalt" / "history";
  return {};
}

}  // namespace

struct LineEditor::State {
  EditLine* editor = nullptr;
  History* history = nullptr;
  std::filesystem::path path = history_path();
  std::string prompt;
  PromptSignals* signals = nullptr;
  LineEditor::Complete complete;

  static State& of(EditLine* editor) {
    void* self = nullptr;
    ::el_get(editor, EL_CLIENTDATA, &self);
    return *static_cast<State*>(self);
  }

  static char* show_prompt(EditLine* editor) { return of(editor).prompt.data(); }

  // One character of the keyboard in the locale's encoding: 1, 0 at the end of input, -1 after Ctrl-C.
  static int read_key(EditLine* editor, wchar_t* key) {
    PromptSignals& signals = *of(editor).signals;
    std::mbstate_t partial{};
    while (true) {
      if (!signals.wait()) return -1;
      char byte = 0;
      const ssize_t got = ::read(STDIN_FILENO, &byte, 1);
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (got <= 0) return 0;
      const size_t used = std::mbrtowc(key, &byte, 1, &partial);
      if (used == static_cast<size_t>(-2)) continue;  // a further byte follows
      if (used == static_cast<size_t>(-1)) {
        partial = std::mbstate_t{};
        continue;  // not text in this locale
      }
      return 1;
    }
  }

  // Puts in what all that is offered have in common; where that is nothing more, shows them.
  static unsigned char complete_word(EditLine* editor, int) {
    State& state = of(editor);
    const LineInfo* line = ::el_line(editor);
    const char* begin = line->cursor;
    while (begin > line->buffer && std::strchr(" \t(,;=<>", begin[-1]) == nullptr) --begin;
    const std::string word(begin, line->cursor);
    const std::vector<std::string> offers =
        state.complete && !word.empty() ? state.complete(word) : std::vector<std::string>();
    if (offers.empty()) return CC_REFRESH_BEEP;
    std::string common = offers[0];
    for (const std::string& offer : offers) {
      size_t same = 0;
      while (same < common.size() && same < offer.size() && common[same] == offer[same]) ++same;
      common.resize(same);
    }
    if (common.size() > word.size()) {
      ::el_deletestr(editor, static_cast<int>(word.size()));
      const bool whole = offers.size() == 1 && common.back() != '/' && common.back() != '\'';
      ::el_insertstr(editor, (common + (whole ? " " : "")).c_str());
      return CC_REFRESH;
    }
    std::string shown = "\n";
    for (size_t i = 0; i < offers.size() && i < kMostOffers; ++i) shown += offers[i] + "  ";
    if (offers.size() > kMostOffers) shown += fmt::format("and {} more", offers.size() - kMostOffers);
    std::fputs((shown + "\n").c_str(), stdout);
    return CC_REDISPLAY;
  }

  State() {
    HistEvent event;
    history = ::history_init();
    ::history(history, &event, H_SETSIZE, kHistoryLines);
    ::history(history, &event, H_SETUNIQUE, 1);
    if (!path.empty()) {
      std::error_code ignored;  // without a history file the shell works all the same
      std::filesystem::create_directories(path.parent_path(), ignored);
      ::history(history, &event, H_LOAD, path.c_str());
    }
    if (std::setlocale(LC_CTYPE, "") == nullptr || MB_CUR_MAX == 1) std::setlocale(LC_CTYPE, "C.UTF-8");
    editor = ::el_init("basalt", stdin, stdout, stderr);
    ::el_set(editor, EL_CLIENTDATA, this);
    ::el_set(editor, EL_PROMPT, &State::show_prompt);
    ::el_set(editor, EL_GETCFN, &State::read_key);
    ::el_set(editor, EL_EDITOR, "emacs");
    ::el_set(editor, EL_HIST, ::history, history);
    ::el_set(editor, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    ::el_set(editor, EL_ADDFN, "basalt-complete", "completes a word", &State::complete_word);
    ::el_set(editor, EL_BIND, "^I", "basalt-complete", nullptr);
    ::el_source(editor, nullptr);
  }
  ~State() {
    HistEvent event;
    if (!path.empty()) ::history(history, &event, H_SAVE, path.c_str());
    ::el_end(editor);
    ::history_end(history);
  }
};

LineEditor::Outcome LineEditor::read(const std::string& prompt, std::string& line) {
  if (is_dumb_terminal()) return read_plain(prompt, line);
  PromptSignals signals;
  state_->signals = &signals;
  state_->prompt = prompt;
  int count = 0;
  const char* text = ::el_gets(state_->editor, &count);
  if (signals.interrupted()) {
    ::el_reset(state_->editor);
    std::fputs("\n", stdout);
    return Outcome::kInterrupted;
  }
  if (text == nullptr || count <= 0) return Outcome::kEnd;
  line.assign(text, static_cast<size_t>(count));
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
  return Outcome::kLine;
}

void LineEditor::remember(const std::string& statement) {
  HistEvent event;
  ::history(state_->history, &event, H_ENTER, statement.c_str());
  if (!state_->path.empty()) ::history(state_->history, &event, H_SAVE, state_->path.c_str());
}

void LineEditor::complete_with(Complete complete) { state_->complete = std::move(complete); }

#else

struct LineEditor::State {};

void LineEditor::complete_with(Complete) {}

LineEditor::Outcome LineEditor::read(const std::string& prompt, std::string& line) { return read_plain(prompt, line); }

void LineEditor::remember(const std::string&) {}

#endif

LineEditor::LineEditor() : state_(std::make_unique<State>()) {}
LineEditor::~LineEditor() = default;

}  // namespace basalt::cli
