// Lines from the keyboard: libedit with a history file where it is built in, plain input elsewhere.
#pragma once

#include <memory>
#include <string>

namespace basalt::cli {

class LineEditor {
 public:
  LineEditor();
  ~LineEditor();

  enum class Outcome { kLine, kEnd, kInterrupted };
  // Reads one line, without its line break. kInterrupted: Ctrl-C at the prompt.
  Outcome read(const std::string& prompt, std::string& line);
  // Remembers a whole statement.
  void remember(const std::string& statement);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace basalt::cli
