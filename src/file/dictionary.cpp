// Gathering and sorting of file-wide dictionaries.
#include "file/dictionary.h"

#include <utility>

#include "core/dispatch.h"
#include "file/format.h"

namespace basalt::format_v1 {

namespace {

// More than these are not gathered from several chunks: to find each in a table takes longer than to encode it, and to
// hash rows is as good as to map codes of 17 bits. The format allows more.
constexpr uint64_t kMostGathered = 1 << 16;

std::string_view entry_at(const DictionaryEntries& entries, uint32_t width, uint64_t i) {
  if (width == 0) return entries.strings.at(i);
  return {entries.values.as<char>() + i * width, width};
}

uint64_t bytes_of(const DictionaryEntries& entries) { return entries.values.size() + entries.strings.bytes.size(); }

}  // namespace

void DictionaryUnion::give_up() {
  alive_ = false;
  memory_ = 0;
  first_.reset();
  ids_ = {};
  entries_ = {};
  chunks_ = {};
}

bool DictionaryUnion::add(const EncodedColumn& chunk) {
  if (!alive_) return false;
  if (chunk.entries && bytes_of(*chunk.entries) <= kMaxDictionaryBytes) {
    if (!first_ && chunks_.empty()) {
      first_ = *chunk.entries;
      memory_ = bytes_of(*first_) + first_->strings.offsets.size() * sizeof(int64_t);
      return true;
    }
    if (!first_ || insert(*std::exchange(first_, std::nullopt))) {
      if (insert(*chunk.entries)) return true;
    }
  }
  give_up();
  return false;
}

bool DictionaryUnion::insert(const DictionaryEntries& entries) {
  if (entries.count > kMostGathered) return false;
  const uint32_t width = width_of(type_);
  std::vector<uint32_t>& ids = chunks_.emplace_back();
  ids.reserve(entries.count);
  for (uint64_t i = 0; i < entries.count; ++i) {
    const std::string_view text = entry_at(entries, width, i);
    const uint32_t id = ids_.number_of(TextKey(text, text.data() + text.size()), [&](uint32_t known) {
      return text.size() <= TextKey::kWhole || entries_.at(known) == text;
    });
    if (id == entries_.size()) {
      entries_.bytes.append(text.data(), text.size());
      entries_.offsets.push_back(static_cast<int64_t>(entries_.bytes.size()));
      if (entries_.size() > kMostGathered) return false;
    }
    ids.push_back(id);
  }
  id_count_ += ids.size();
  memory_ =
      entries_.bytes.size() + entries_.offsets.size() * sizeof(int64_t) + ids_.memory() + id_count_ * sizeof(uint32_t);
  return entries_.bytes.size() <= kMaxDictionaryBytes;
}

Values DictionaryUnion::values() const {
  Values values;
  values.type = type_;
  values.count = entries_.size();
  values.data = entries_.bytes.data();
  values.offsets = entries_.offsets.data();
  values.bytes = entries_.bytes.as<char>();
  return values;
}

DictionaryUnion::Result DictionaryUnion::finish() {
  Result result;
  if (first_) {
    result.entries = first_->count;
    result.whole_chunk = 0;
    result.maps.emplace_back();
    return result;
  }
  result.entries = entries_.size();
  for (uint32_t chunk = 0; chunk < chunks_.size() && !result.whole_chunk; ++chunk) {
    if (chunks_[chunk].size() == result.entries) result.whole_chunk = chunk;
  }
  // Codes of values that all differ are their ranks.
  const auto take = [&](const std::vector<uint32_t>& ranks) {
    for (const std::vector<uint32_t>& ids : chunks_) {
      std::vector<uint32_t>& map = result.maps.emplace_back();
      if (ids.size() == result.entries) continue;
      map.reserve(ids.size());
      for (const uint32_t id : ids) map.push_back(ranks[id]);
    }
  };
  result.values.count = result.entries;
  if (type_ == Physical::kBytes) {
    const auto sorted = distinct_strings(values());
    take(sorted->codes);
    for (const std::string_view text : sorted->entries) {
      result.values.strings.bytes.append(text.data(), text.size());
      result.values.strings.offsets.push_back(static_cast<int64_t>(result.values.strings.bytes.size()));
    }
  } else {
    dispatch_width(width_of(type_), [&](auto tag) {
      const auto sorted = distinct_fixed<decltype(tag)>(values());
      take(sorted->codes);
      result.values.values.append(sorted->entries.data(), sorted->entries.size() * sizeof(tag));
    });
  }
  return result;
}

}  // namespace basalt::format_v1
