// Entries that are the same text become one; the most used come first.
#include "codec/tokens/entries.h"

#include <algorithm>

namespace basalt::tokens {

Entries order_entries(const Words& words, const std::vector<Phrase>& phrases, const std::vector<uint64_t>& used) {
  struct Entry {
    std::string text;
    uint64_t count;
    uint32_t old;
  };
  std::vector<Entry> entries;
  for (uint32_t old = 0; old < used.size(); ++old) {
    if (used[old] == 0) continue;
    Entry entry{{}, used[old], old};
    if (old < phrases.size()) {
      for (uint32_t i = 0; i < phrases[old].length; ++i) entry.text += words.texts[phrases[old].words[i]];
    } else {
      entry.text = static_cast<char>(old - phrases.size());
    }
    entries.push_back(std::move(entry));
  }
  // A byte that is a word, too, can have two entries: they are one.
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.text < b.text; });
  std::vector<uint32_t> same(used.size());
  size_t kept = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    const bool again = kept > 0 && entries[kept - 1].text == entries[i].text;
    if (again) {
      entries[kept - 1].count += entries[i].count;
      same[entries[i].old] = entries[kept - 1].old;
    } else {
      same[entries[i].old] = entries[i].old;
      if (kept != i) entries[kept] = std::move(entries[i]);
      ++kept;
    }
  }
  entries.resize(kept);
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.count > b.count; });
  std::vector<uint32_t> place(used.size());
  Entries out;
  for (uint32_t i = 0; i < entries.size(); ++i) {
    place[entries[i].old] = i;
    out.bytes += entries[i].text;
    out.offsets.push_back(static_cast<int64_t>(out.bytes.size()));
  }
  for (const uint32_t old : same) out.numbers.push_back(place[old]);
  return out;
}

}  // namespace basalt::tokens
