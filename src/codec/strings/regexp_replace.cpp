// Replacing matches of regular expressions on the host. Most texts need few steps; one that does not is searched again
// by a search that remembers what failed, and never does the same twice.
#include "basalt/core/error.h"
#include "codec/strings/regexp.h"

namespace basalt::strings {

namespace {

class RememberingSearch {
 public:
  RememberingSearch(size_t nodes, size_t text) : places_(text + 1), failed_(nodes * (text + 1), false) {}

  void begin_search() { failed_.assign(failed_.size(), false); }
  void begin() { choices_.clear(); }
  bool gives_up() const { return false; }
  bool has_failed(uint32_t node, uint32_t at) {
    std::vector<bool>::reference known = failed_[node * places_ + at];
    const bool before = known;
    known = true;
    return before;
  }
  void push(const RegexpChoice& choice) { choices_.push_back(choice); }
  bool empty() const { return choices_.empty(); }
  RegexpChoice& top() { return choices_.back(); }
  void pop() { choices_.pop_back(); }

 private:
  size_t places_;
  std::vector<bool> failed_;
  std::vector<RegexpChoice> choices_;
};

struct StringSink {
  std::string& to;
  void put(const TextBytes& bytes) { to.append(reinterpret_cast<const char*>(bytes.data), bytes.size); }
  void put(unsigned char byte) { to += static_cast<char>(byte); }
};

TextBytes bytes_of(std::string_view text) { return {reinterpret_cast<const unsigned char*>(text.data()), text.size()}; }

}  // namespace

void append_replaced(const Regexp& regexp, std::string_view text, std::string_view replacement, bool all,
                     std::string& out) {
  const size_t begin = out.size();
  StringSink sink{out};
  BoundedSearch<64> quick;
  quick.most_steps = most_search_steps(text.size());
  if (replace_matches(regexp.view(), bytes_of(text), bytes_of(replacement), all, quick, sink)) return;
  out.resize(begin);
  constexpr uint64_t kMostPlaces = uint64_t{1} << 33;
  if (regexp.nodes().size() * (text.size() + 1) > kMostPlaces) {
    throw Error(ErrorCode::kOutOfRange,
                "a regular expression over a string of " + std::to_string(text.size()) + " bytes");
  }
  RememberingSearch search(regexp.nodes().size(), text.size());
  replace_matches(regexp.view(), bytes_of(text), bytes_of(replacement), all, search, sink);
}

}  // namespace basalt::strings
