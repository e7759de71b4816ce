// Keyboard input for the shell. The history lies in the XDG state folder.
#include "cli/line_editor.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>

#ifdef BASALT_HAVE_LIBEDIT
#include <histedit.h>
#endif

namespace basalt::cli {
namespace {

volatile sig_atomic_t interrupted = 0;
void note_interrupt(int) { interrupted = 1; }

// Ctrl-C at the prompt must end the pending read() and nothing else.
class PromptSignals {
 public:
  PromptSignals() {
    interrupted = 0;
    struct sigaction action {};
    action.sa_handler = note_interrupt;
    ::sigaction(SIGINT, &action, &previous_);
  }
  ~PromptSignals() { ::sigaction(SIGINT, &previous_, nullptr); }

 private:
  struct sigaction previous_ {};
};

}  // namespace

#ifdef BASALT_HAVE_LIBEDIT

namespace {

constexpr int kHistoryLines = 1000;

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

  static char* show_prompt(EditLine* editor) {
    void* self = nullptr;
    ::el_get(editor, EL_CLIENTDATA, &self);
    return static_cast<State*>(self)->prompt.data();
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
    editor = ::el_init("basalt", stdin, stdout, stderr);
    ::el_set(editor, EL_CLIENTDATA, this);
    ::el_set(editor, EL_PROMPT, &State::show_prompt);
    ::el_set(editor, EL_EDITOR, "emacs");
    ::el_set(editor, EL_HIST, ::history, history);
    ::el_set(editor, EL_BIND, "^R", "em-inc-search-prev", nullptr);
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
  const PromptSignals signals;
  state_->prompt = prompt;
  int count = 0;
  const char* text = ::el_gets(state_->editor, &count);
  if (interrupted) {
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

#else

struct LineEditor::State {};

LineEditor::Outcome LineEditor::read(const std::string& prompt, std::string& line) {
  const PromptSignals signals;
  std::fputs(prompt.c_str(), stdout);
  std::fflush(stdout);
  if (std::getline(std::cin, line)) return Outcome::kLine;
  if (!interrupted) return Outcome::kEnd;
  std::cin.clear();
  std::clearerr(stdin);
  std::fputs("\n", stdout);
  return Outcome::kInterrupted;
}

void LineEditor::remember(const std::string&) {}

#endif

LineEditor::LineEditor() : state_(std::make_unique<State>()) {}
LineEditor::~LineEditor() = default;

}  // namespace basalt::cli
