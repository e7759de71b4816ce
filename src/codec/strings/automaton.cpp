// From tests to automata: the states of a test are explored from the start, equal ones are merged, and bytes that no
// state tells apart are put into one class.
#include <algorithm>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>

#include "basalt/codec/string_test.h"
#include "basalt/core/error.h"
#include "codec/strings/automaton_states.h"

namespace basalt {

namespace {

using strings::kMostExplored;
using strings::Knowledge;

// Merging can make a few of many: `%a____` is explored with more states than it keeps. Beyond this it is given up, and
// so it is where states know so much that looking at them takes longer, 10 ms or so, than it is worth. A step that
// knows nothing costs as much as one that knows so much more.
constexpr size_t kMostLookedAt = 1 << 19;
constexpr size_t kLookedAtByStep = 4;

[[noreturn]] void refuse_states() {
  throw Error(ErrorCode::kUnsupported,
              "its automaton has more than " + std::to_string(Automaton::kMostStates) + " states");
}

// A deterministic automaton over intervals of bytes; state 0 is the start.
struct Explored {
  std::vector<uint8_t> firsts;              // of the intervals
  std::vector<std::vector<uint32_t>> next;  // per state and interval
  std::vector<uint8_t> accepts;
};

// An error if there are too many of them.
template <typename States>
Explored explore(const States& states) {
  size_t looked_at = 0;
  Explored out;
  out.firsts = states.cuts.list();
  std::map<Knowledge, uint32_t> numbers{{states.first(), 0}};
  std::vector<Knowledge> known{states.first()};
  for (size_t state = 0; state < known.size(); ++state) {
    looked_at += (known[state].size() + kLookedAtByStep) * out.firsts.size();
    if (known.size() > kMostExplored || looked_at > kMostLookedAt) {
      throw Error(ErrorCode::kUnsupported, "its automaton has too many states to be built");
    }
    out.accepts.push_back(states.accepts(known[state]) ? 1 : 0);
    std::vector<uint32_t>& row = out.next.emplace_back();
    for (const uint8_t byte : out.firsts) {
      Knowledge after = states.step(known[state], byte);
      const auto [found, added] = numbers.try_emplace(after, static_cast<uint32_t>(known.size()));
      if (added) known.push_back(std::move(after));
      row.push_back(found->second);
    }
  }
  return out;
}

// How many bytes each state needs at least to be accepted; those that never are have one more than all others.
std::vector<uint8_t> least_bytes_left(const Explored& from) {
  const auto states = static_cast<uint32_t>(from.next.size());
  std::vector<std::vector<uint32_t>> before(states);
  for (uint32_t state = 0; state < states; ++state) {
    for (const uint32_t next : from.next[state]) before[next].push_back(state);
  }
  std::vector<std::optional<uint8_t>> found(states);
  std::vector<uint32_t> reached;
  for (uint32_t state = 0; state < states; ++state) {
    if (from.accepts[state] != 0) reached.push_back(state);
  }
  uint8_t bytes = 0;
  for (; !reached.empty(); ++bytes) {
    if (bytes == Automaton::kMostStates) refuse_states();
    std::vector<uint32_t> earlier;
    for (const uint32_t state : reached) {
      if (found[state]) continue;
      found[state] = bytes;
      earlier.insert(earlier.end(), before[state].begin(), before[state].end());
    }
    reached = std::move(earlier);
  }
  std::vector<uint8_t> out;
  for (const auto& least : found) out.push_back(least.value_or(bytes));
  return out;
}

// Merges states that no text tells apart: groups are split until all members of each lead into the same groups. They
// are never merged again, so that there are too many states as soon as there are too many groups. Groups of equally
// many bytes to go are all there is to find of a word, and save a round for each of its letters.
Explored minimal(const Explored& from) {
  const size_t states = from.next.size();
  std::vector<uint8_t> group = least_bytes_left(from);
  size_t groups = std::set<uint8_t>(group.begin(), group.end()).size();
  std::string leads;  // a byte for each group
  while (true) {
    std::unordered_map<std::string, uint8_t> numbers;
    std::vector<uint8_t> finer(states);
    for (size_t state = 0; state < states; ++state) {
      leads.assign(1, static_cast<char>(group[state]));
      for (const uint32_t next : from.next[state]) leads.push_back(static_cast<char>(group[next]));
      finer[state] = numbers.try_emplace(leads, static_cast<uint8_t>(numbers.size())).first->second;
      if (numbers.size() > Automaton::kMostStates) refuse_states();
    }
    group = std::move(finer);
    if (numbers.size() == groups) break;
    groups = numbers.size();
  }
  Explored out;
  out.firsts = from.firsts;
  for (size_t state = 0; state < states; ++state) {
    if (group[state] != out.next.size()) continue;
    std::vector<uint32_t>& row = out.next.emplace_back();
    for (const uint32_t next : from.next[state]) row.push_back(group[next]);
    out.accepts.push_back(from.accepts[state]);
  }
  return out;
}

bool is_settled(const Explored& from, uint32_t state) {
  const std::vector<uint32_t>& row = from.next[state];
  return std::all_of(row.begin(), row.end(), [&](uint32_t next) { return next == state; });
}

template <typename States>
Explored explore_part(const States& states, const std::optional<StringTest::Part>& part) {
  return part ? explore(strings::PartStates<States>(states, *part)) : explore(states);
}

Explored explore_test(const StringTest& test) {
  switch (test.kind) {
    case StringTest::Kind::kIn: return explore_part(strings::InStates(test.values), test.part);
    case StringTest::Kind::kRange: return explore_part(strings::RangeStates(test), test.part);
    case StringTest::Kind::kLike: return explore_part(strings::LikeStates(test.pattern), test.part);
    case StringTest::Kind::kRegexp: return explore_part(strings::RegexpStates(test.pattern), test.part);
    case StringTest::Kind::kLength: return explore_part(strings::LengthStates(test), test.part);
  }
  throw Error(ErrorCode::kInternal, "an unknown test of strings");
}

}  // namespace

struct AutomatonBuilder {
  static std::shared_ptr<const Automaton> build(const Explored& from, bool negate) {
    const auto states = static_cast<uint32_t>(from.next.size());
    std::vector<uint32_t> order;
    for (uint32_t state = 0; state < states; ++state) {
      if (!is_settled(from, state)) order.push_back(state);
    }
    auto out = std::make_shared<Automaton>();
    out->first_settled_ = static_cast<uint8_t>(order.size());
    for (uint32_t state = 0; state < states; ++state) {
      if (is_settled(from, state)) order.push_back(state);
    }
    std::vector<uint8_t> number(states);
    for (uint32_t i = 0; i < states; ++i) number[order[i]] = static_cast<uint8_t>(i);
    out->start_ = number[0];
    out->next_.resize(size_t{states} * 256);
    out->accepts_.resize(states);
    for (uint32_t i = 0; i < states; ++i) {
      out->accepts_[i] = from.accepts[order[i]] ^ (negate ? 1 : 0);
      size_t interval = 0;
      for (uint32_t byte = 0; byte < 256; ++byte) {
        if (interval + 1 < from.firsts.size() && from.firsts[interval + 1] == byte) ++interval;
        out->next_[i << 8 | byte] = number[from.next[order[i]][interval]];
      }
    }
    return out;
  }
};

void Automaton::match_rows(const char* bytes, std::span<const uint32_t> lengths, uint8_t* out) const {
  // Every transition waits for the one before it: rows side by side wait at the same time.
  constexpr size_t kSide = 4;
  constexpr ptrdiff_t kAtOnce = 8;  // until the next look whether a row is decided
  struct Row {
    const uint8_t* at;
    const uint8_t* end;
    uint32_t state;
    size_t number;
  };
  Row rows[kSide];
  size_t taken = 0;
  const auto* next_byte = reinterpret_cast<const uint8_t*>(bytes);
  const auto take = [&](Row& row) {
    if (taken == lengths.size()) return false;
    row = {next_byte, next_byte + lengths[taken], start_, taken};
    next_byte = row.end;
    ++taken;
    return true;
  };
  const auto finish = [&](Row& row) {
    while (row.at < row.end && !settled(static_cast<uint8_t>(row.state))) row.state = next_[row.state << 8 | *row.at++];
    out[row.number] = accepts_[row.state];
  };
  size_t open = 0;
  while (open < kSide && take(rows[open])) ++open;
  while (open == kSide) {
    ptrdiff_t steps = kAtOnce;
    for (const Row& row : rows) steps = std::min(steps, row.end - row.at);
    for (ptrdiff_t i = 0; i < steps; ++i) {
      for (Row& row : rows) row.state = next_[row.state << 8 | *row.at++];
    }
    for (size_t i = 0; i < open;) {
      Row& row = rows[i];
      if (row.at < row.end && !settled(static_cast<uint8_t>(row.state))) {
        ++i;
        continue;
      }
      out[row.number] = accepts_[row.state];
      if (take(row)) {
        ++i;
      } else {
        row = rows[--open];
      }
    }
  }
  for (size_t i = 0; i < open; ++i) finish(rows[i]);
}

namespace {

// Patterns of more bytes are not looked at.
constexpr size_t kMostPatternBytes = 1 << 16;

// Why a test must have too many states, by its size alone: each byte of the longest text that it names has one.
std::string refusal_by_size(const StringTest& test) {
  const auto refusal = [](const char* what, size_t bytes) {
    return std::string(what) + " of " + std::to_string(bytes) + " bytes needs more than " +
           std::to_string(Automaton::kMostStates) + " states";
  };
  for (const std::string& value : test.values) {
    if (value.size() + 2 > Automaton::kMostStates) return refusal("a value", value.size());
  }
  for (const auto* bound : {&test.low, &test.high}) {
    if (*bound && (*bound)->size() + 1 > Automaton::kMostStates) return refusal("a bound", (*bound)->size());
  }
  if (test.pattern.size() > kMostPatternBytes) {
    return "a pattern of " + std::to_string(test.pattern.size()) + " bytes is too long";
  }
  if (test.kind == StringTest::Kind::kLike) {
    const LikePattern pattern(test.pattern);
    const auto any = std::count(pattern.elements().begin(), pattern.elements().end(),
                                LikePattern::Element{LikePattern::Kind::kAny, 0});
    const size_t least = pattern.elements().size() - static_cast<size_t>(any);
    if (least + 1 > Automaton::kMostStates) return refusal("a pattern that asks for a text", least);
  }
  return {};
}

// The same test with each value of its list once, in order; nothing if there are more of them than states are explored.
std::optional<StringTest> with_distinct_values(const StringTest& test) {
  std::set<std::string_view> values;
  for (const std::string& value : test.values) {
    values.insert(value);
    if (values.size() > kMostExplored) return std::nullopt;
  }
  StringTest out = StringTest::in({values.begin(), values.end()});
  out.negate = test.negate;
  out.part = test.part;
  return out;
}

AutomatonOrReason build_automaton(const StringTest& test) {
  try {
    return {AutomatonBuilder::build(minimal(explore_test(test)), test.negate), {}};
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnsupported) throw;
    return {nullptr, error.what()};
  }
}

// The last tests and what became of them: those who plan a statement, check it, and run it in many threads ask for the
// same ones.
class RecentAutomata {
 public:
  AutomatonOrReason get(const StringTest& test) {
    if (const auto known = find(test)) return *known;
    // Without the lock: who asks for another one does not wait for this one.
    AutomatonOrReason built = build_automaton(test);
    std::lock_guard lock(mutex_);
    if (const auto known = find_locked(test)) return *known;  // who built the same was faster
    recent_.emplace_front(test, std::move(built));
    if (recent_.size() > kMost) recent_.pop_back();
    return recent_.front().second;
  }

 private:
  static constexpr size_t kMost = 64;
  std::optional<AutomatonOrReason> find(const StringTest& test) {
    std::lock_guard lock(mutex_);
    return find_locked(test);
  }
  std::optional<AutomatonOrReason> find_locked(const StringTest& test) {
    const auto found = std::find_if(recent_.begin(), recent_.end(), [&](const auto& one) { return one.first == test; });
    if (found == recent_.end()) return std::nullopt;
    recent_.splice(recent_.begin(), recent_, found);
    return found->second;
  }

  std::mutex mutex_;
  std::list<std::pair<StringTest, AutomatonOrReason>> recent_;  // last used first
};

}  // namespace

AutomatonOrReason make_automaton(const StringTest& test) {
  // What is refused by its size is not kept: it can be large, and is soon refused again.
  if (std::string reason = refusal_by_size(test); !reason.empty()) return {nullptr, std::move(reason)};
  static RecentAutomata recent;
  if (test.kind != StringTest::Kind::kIn) return recent.get(test);
  const std::optional<StringTest> distinct = with_distinct_values(test);
  if (distinct) return recent.get(*distinct);
  return {nullptr, "a list of more than " + std::to_string(kMostExplored) + " values needs too many states"};
}

StringTest StringTest::in(std::vector<std::string> values) {
  StringTest test;
  test.values = std::move(values);
  return test;
}

StringTest StringTest::between(std::optional<std::string> low, bool low_inclusive, std::optional<std::string> high,
                               bool high_inclusive) {
  StringTest test;
  test.kind = Kind::kRange;
  test.low = std::move(low);
  test.high = std::move(high);
  test.low_inclusive = low_inclusive;
  test.high_inclusive = high_inclusive;
  return test;
}

StringTest StringTest::like(std::string pattern) {
  StringTest test;
  test.kind = Kind::kLike;
  test.pattern = std::move(pattern);
  return test;
}

StringTest StringTest::regexp(std::string pattern) {
  StringTest test;
  test.kind = Kind::kRegexp;
  test.pattern = std::move(pattern);
  return test;
}

StringTest StringTest::length(bool in_bytes, uint64_t least, uint64_t most) {
  StringTest test;
  test.kind = Kind::kLength;
  test.in_bytes = in_bytes;
  test.least = least;
  test.most = most;
  return test;
}

}  // namespace basalt
