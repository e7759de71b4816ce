// Gathering and sorting of file-wide dictionaries.
#include "file/dictionary.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/dispatch.h"
#include "file/format.h"

namespace basalt::format_v1 {

namespace {

// What one entry costs in the union besides its bytes: the node of the table, the string, the bucket.
constexpr uint64_t kEntryOverhead = 80;

// The order of dictionary entries: the type's own; floats by the order of their sign-adjusted bits.
template <typename T>
bool entry_less(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    constexpr Bits kSign = Bits{1} << (sizeof(T) * 8 - 1);
    const auto key = [](T value) {
      const Bits bits = std::bit_cast<Bits>(value);
      return (bits & kSign) != 0 ? static_cast<Bits>(~bits) : static_cast<Bits>(bits | kSign);
    };
    return key(a) < key(b);
  } else {
    return a < b;
  }
}

std::string entry_key(const DictionaryEntries& entries, uint32_t width, uint64_t i) {
  if (width == 0) return std::string(entries.strings.at(i));
  return {entries.values.as<char>() + i * width, width};
}

}  // namespace

void DictionaryUnion::give_up() {
  alive_ = false;
  memory_ = 0;
  ids_ = {};
  chunks_ = {};
}

bool DictionaryUnion::add(const EncodedColumn& chunk) {
  if (!alive_) return false;
  if (!chunk.entries) {
    give_up();
    return false;
  }
  const uint32_t width = width_of(type_);
  std::vector<uint32_t>& ids = chunks_.emplace_back();
  ids.reserve(chunk.entries->count);
  for (uint64_t i = 0; i < chunk.entries->count; ++i) {
    const auto [entry, fresh] =
        ids_.try_emplace(entry_key(*chunk.entries, width, i), static_cast<uint32_t>(ids_.size()));
    if (fresh) entry_bytes_ += entry->first.size();
    ids.push_back(entry->second);
    if (ids_.size() > kMaxDictionaryEntries || entry_bytes_ > kMaxDictionaryBytes) {
      give_up();
      return false;
    }
  }
  id_count_ += ids.size();
  memory_ = entry_bytes_ + ids_.size() * kEntryOverhead + id_count_ * sizeof(uint32_t);
  return true;
}

DictionaryUnion::Result DictionaryUnion::finish() {
  Result result;
  result.entries = ids_.size();
  std::vector<const std::pair<const std::string, uint32_t>*> sorted;
  sorted.reserve(ids_.size());
  for (const auto& entry : ids_) sorted.push_back(&entry);
  const auto order = [&](const auto* a, const auto* b) {
    if (type_ == Physical::kBytes) return a->first < b->first;
    return dispatch_typed(type_, [&](auto tag) {
      using T = decltype(tag);
      T left;
      T right;
      std::memcpy(&left, a->first.data(), sizeof(T));
      std::memcpy(&right, b->first.data(), sizeof(T));
      return entry_less(left, right);
    });
  };
  std::sort(sorted.begin(), sorted.end(), order);

  std::vector<uint32_t> rank(ids_.size());
  for (uint32_t i = 0; i < sorted.size(); ++i) rank[sorted[i]->second] = i;
  for (uint32_t chunk = 0; chunk < chunks_.size(); ++chunk) {
    std::vector<uint32_t>& map = result.maps.emplace_back();
    if (chunks_[chunk].size() == ids_.size()) {
      if (!result.whole_chunk) result.whole_chunk = chunk;
      continue;
    }
    map.reserve(chunks_[chunk].size());
    for (const uint32_t id : chunks_[chunk]) map.push_back(rank[id]);
  }
  if (result.whole_chunk) return result;
  result.values.count = sorted.size();
  for (const auto* entry : sorted) {
    if (type_ == Physical::kBytes) {
      result.values.strings.bytes.append(entry->first.data(), entry->first.size());
      result.values.strings.offsets.push_back(static_cast<int64_t>(result.values.strings.bytes.size()));
    } else {
      result.values.values.append(entry->first.data(), entry->first.size());
    }
  }
  return result;
}

}  // namespace basalt::format_v1
