// A map of limited size that forgets what was used least recently.
#pragma once

#include <cstddef>
#include <list>
#include <string>
#include <unordered_map>
#include <utility>

namespace basalt::sql {

template <typename T>
class RecentMap {
 public:
  explicit RecentMap(size_t most) : most_(most) {}

  // nullptr if it is not here. Counts as use.
  T* find(const std::string& key) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) return nullptr;
    recent_.splice(recent_.begin(), recent_, found->second.recent);
    return &found->second.value;
  }

  // In place of what has the same key.
  T& put(const std::string& key, T value) {
    erase(key);
    recent_.push_front(key);
    T& placed = entries_.emplace(key, Entry{std::move(value), recent_.begin()}).first->second.value;
    if (entries_.size() > most_) erase(std::string(recent_.back()));
    return placed;
  }

  void erase(const std::string& key) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) return;
    recent_.erase(found->second.recent);
    entries_.erase(found);
  }

  void clear() {
    entries_.clear();
    recent_.clear();
  }

 private:
  struct Entry {
    T value;
    std::list<std::string>::iterator recent;
  };
  size_t most_;
  std::unordered_map<std::string, Entry> entries_;
  std::list<std::string> recent_;  // most recent first
};

}  // namespace basalt::sql
