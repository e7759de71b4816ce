// Where rows as text go: standard output, or a file that appears when it is complete.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "basalt/sql/session.h"
#include "cli/terminal.h"
#include "core/output_file.h"

namespace basalt::cli {

class TextTarget {
 public:
  explicit TextTarget(const std::string& path);  // empty: standard output
  void write(std::string_view text);
  void finish();

 private:
  std::optional<OutputFile> file_;
  Output output_;
};

// A file of lines that `make` hands to its sink, the last one ended as well; compressed where its name ends in .gz or
// .zst. `make` may run in another thread.
void write_lines_to(const std::string& path, const std::function<void(const TextSink&)>& make);

}  // namespace basalt::cli
