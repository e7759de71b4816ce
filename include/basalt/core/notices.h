// Notices: what a way in or out of Basalt changes about a column without being asked, one sentence each, for people to
// read. Whoever maps types gathers them; the program prints them.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace basalt {

using Notices = std::vector<std::string>;

// "column a.b: what"; once, however often it is found. Without a list nobody wants to know.
inline void add_notice(Notices* notices, const std::string& column, const std::string& what) {
  if (notices == nullptr) return;
  std::string text = "column " + column + ": " + what;
  if (std::find(notices->begin(), notices->end(), text) == notices->end()) notices->push_back(std::move(text));
}

}  // namespace basalt
