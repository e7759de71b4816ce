// Lines from the keyboard: libedit with a history file where it is built in, plain input elsewhere.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace basalt::cli {

class LineEditor {
 public:
  LineEditor();
  ~LineEditor();

  enum class Outcome { kLine, kEnd, kInterrupted };
  // Reads one line, without its line break. kInterrupted: Ctrl-C at the prompt.
  Outcome read(const std::string& prompt, std::string& line);
  // What Tab offers for the word before the cursor.
  using Complete = std::function<std::vector<std::string>(const std::string& word)>;
  void complete_with(Complete complete);
  // Remembers a whole statement.
  void remember(const std::string& statement);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace basalt::cli
