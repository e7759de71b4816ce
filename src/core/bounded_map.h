// Values by text, as many as there may be: when there is one more, that which was put first goes.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <unordered_map>

namespace basalt {

template <typename T>
class BoundedMap {
 public:
  explicit BoundedMap(size_t most) : most_(most) {}

  // nullptr if there is none.
  T* find(const std::string& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? nullptr : found->second.get();
  }
  // Instead of what was there. The reference is good until another key is put.
  T& put(const std::string& key, std::unique_ptr<T> value) {
    if (!values_.contains(key)) order_.push_back(key);
    T& out = *(values_[key] = std::move(value));
    if (values_.size() > most_) erase(std::string(order_.front()));
    return out;
  }
  void erase(const std::string& key) {
    if (values_.erase(key) > 0) order_.remove(key);
  }
  void clear() {
    values_.clear();
    order_.clear();
  }
  size_t size() const { return values_.size(); }

 private:
  size_t most_;
  std::unordered_map<std::string, std::unique_ptr<T>> values_;
  std::list<std::string> order_;  // oldest first
};

}  // namespace basalt
