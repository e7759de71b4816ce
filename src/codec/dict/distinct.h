// Distinct values of an array in ascending order, with the rank of every row: what `dict` stores and what estimates of
// it count. Integers from a small range are counted in place; everything else goes through a hash table.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "basalt/codec/codec.h"
#include "core/dispatch.h"

namespace basalt {

// Order-preserving unsigned images of values' bits.
template <typename T>
class OrderKeys {
 public:
  explicit OrderKeys(Physical type)
      : positive_(is_float(type) || is_signed(type) ? kTop : T{0}),
        negative_(is_float(type) ? static_cast<T>(~T{0}) : positive_) {}

  T key(T bits) const { return static_cast<T>(bits ^ ((bits & kTop) != 0 ? negative_ : positive_)); }

 private:
  static constexpr T kTop = static_cast<T>(T{1} << (sizeof(T) * 8 - 1));
  T positive_;
  T negative_;
};

template <typename T>
auto order_key(T bits, Physical type) {
  return OrderKeys<T>(type).key(bits);
}

template <typename Key>
struct Distinct {
  std::vector<Key> entries;     // ascending
  std::vector<uint32_t> codes;  // rank of each row's value
};

// No limit on the number of distinct values.
constexpr uint64_t kAnyNumber = ~uint64_t{0};

// Open addressing from a key to the number it was given at first sight. Slots hold the key itself: a look-up touches
// one place in memory.
template <typename Key>
class NumberTable {
 public:
  // `same` decides where keys are equal but what they stand for may differ.
  template <typename Same>
  uint32_t number_of(const Key& key, const Same& same) {
    size_t at = key.hash() & (slots_.size() - 1);
    for (; slots_[at].number != kEmpty; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].key == key && same(slots_[at].number)) return slots_[at].number;
    }
    const uint32_t number = size_++;
    slots_[at] = {key, number};
    if (size_ * 2 > slots_.size()) grow();
    return number;
  }
  // The same without giving it one.
  template <typename Same>
  std::optional<uint32_t> find(const Key& key, const Same& same) const {
    size_t at = key.hash() & (slots_.size() - 1);
    for (; slots_[at].number != kEmpty; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].key == key && same(slots_[at].number)) return slots_[at].number;
    }
    return std::nullopt;
  }
  uint32_t size() const { return size_; }
  uint64_t memory() const { return slots_.size() * sizeof(Slot); }

 private:
  static constexpr uint32_t kEmpty = ~0u;
  struct Slot {
    Key key{};
    uint32_t number = kEmpty;
  };
  void grow() {
    std::vector<Slot> old(slots_.size() * 4);
    std::swap(old, slots_);
    for (const Slot& slot : old) {
      if (slot.number == kEmpty) continue;
      size_t at = slot.key.hash() & (slots_.size() - 1);
      while (slots_[at].number != kEmpty) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
    }
  }
  std::vector<Slot> slots_ = std::vector<Slot>(1024);
  uint32_t size_ = 0;
};

inline size_t mix_bits(uint64_t bits) {
  bits = (bits ^ (bits >> 32)) * 0xD6E8FEB86659FD93ull;
  return static_cast<size_t>(bits ^ (bits >> 32));
}

template <typename T>
struct ValueKey {
  T bits{};
  bool operator==(const ValueKey&) const = default;
  size_t hash() const {
    if constexpr (sizeof(T) == 16) {
      return mix_bits(static_cast<uint64_t>(bits) ^ static_cast<uint64_t>(bits >> 64) * 0x9E3779B97F4A7C15ull);
    } else {
      return mix_bits(static_cast<uint64_t>(bits));
    }
  }
};

// A text of up to 16 bytes is its first and last 8 bytes and its length; of a longer one the hash stands for the end.
struct TextKey {
  uint64_t front = 0;
  uint64_t back = 0;
  uint64_t length = 0;

  static constexpr size_t kWhole = 16;

  // `end` is the end of the bytes around the text: what lies before it can be read.
  TextKey() = default;
  TextKey(std::string_view text, const char* end) : length(text.size()) {
    if (length >= sizeof(front)) {
      std::memcpy(&front, text.data(), sizeof(front));
      if (length <= kWhole) {
        std::memcpy(&back, text.data() + length - sizeof(back), sizeof(back));
      } else {
        back = XXH3_64bits(text.data(), text.size());
      }
    } else if (length > 0 && text.data() + sizeof(front) <= end && std::endian::native == std::endian::little) {
      std::memcpy(&front, text.data(), sizeof(front));
      front &= ~uint64_t{0} >> (64 - 8 * length);
    } else if (length > 0) {
      std::memcpy(&front, text.data(), length);
    }
  }
  bool operator==(const TextKey&) const = default;
  size_t hash() const {
    return mix_bits((front + length * 0xC2B2AE3D27D4EB4Full) * 0x9E3779B97F4A7C15ull ^ std::rotl(back, 31));
  }
};

// Gives rows with first-sight numbers their ranks. `ordered` holds a sortable key and the number of each value.
template <typename Sortable>
void sort_ranks(std::vector<Sortable>& ordered, std::vector<uint32_t>& numbers) {
  std::sort(ordered.begin(), ordered.end());
  std::vector<uint32_t> rank_of(ordered.size());
  for (uint32_t i = 0; i < ordered.size(); ++i) rank_of[ordered[i].number] = i;
  for (uint32_t& number : numbers) number = rank_of[number];
}

template <typename T>
std::optional<Distinct<T>> distinct_by_hash(const Values& values, uint64_t most) {
  NumberTable<ValueKey<T>> table;
  std::vector<T> keys;
  Distinct<T> out;
  out.codes.resize(values.count);
  const T* from = values.as<T>();
  for (uint64_t i = 0; i < values.count; ++i) {
    if (i > 0 && from[i] == from[i - 1]) {
      out.codes[i] = out.codes[i - 1];
      continue;
    }
    out.codes[i] = table.number_of({from[i]}, [](uint32_t) { return true; });
    if (table.size() == keys.size()) continue;
    keys.push_back(from[i]);
    if (keys.size() > most) return std::nullopt;
  }
  struct Sortable {
    T key;
    uint32_t number;
    bool operator<(const Sortable& other) const { return key < other.key; }
  };
  const OrderKeys<T> order(values.type);
  std::vector<Sortable> ordered;
  ordered.reserve(keys.size());
  for (uint32_t i = 0; i < keys.size(); ++i) ordered.push_back({order.key(keys[i]), i});
  sort_ranks(ordered, out.codes);
  out.entries.reserve(keys.size());
  for (const Sortable& entry : ordered) out.entries.push_back(keys[entry.number]);
  return out;
}

// One place per possible value of [low, high] in the order of the type.
template <typename T>
std::optional<Distinct<T>> distinct_by_place(const Values& values, T low, T high, uint64_t most) {
  const T* from = values.as<T>();
  std::vector<uint32_t> places(size_t{static_cast<T>(high - low)} + 1);
  for (uint64_t i = 0; i < values.count; ++i) places[static_cast<T>(from[i] - low)] = 1;
  Distinct<T> out;
  for (size_t place = 0; place < places.size(); ++place) {
    if (places[place] == 0) continue;
    places[place] = static_cast<uint32_t>(out.entries.size());
    out.entries.push_back(static_cast<T>(low + place));
  }
  if (out.entries.size() > most) return std::nullopt;
  out.codes.resize(values.count);
  for (uint64_t i = 0; i < values.count; ++i) out.codes[i] = places[static_cast<T>(from[i] - low)];
  return out;
}

// T: the unsigned type of the values' width. Nothing if there are more than `most`.
template <typename T>
std::optional<Distinct<T>> distinct_fixed(const Values& values, uint64_t most = kAnyNumber) {
  if constexpr (sizeof(T) <= 8) {
    if (!is_float(values.type) && values.count > 0) {
      const auto range = [&](auto tag) {
        using Ordered = decltype(tag);
        const auto* from = values.as<Ordered>();
        Ordered low = from[0];
        Ordered high = from[0];
        for (uint64_t i = 1; i < values.count; ++i) {
          low = std::min(low, from[i]);
          high = std::max(high, from[i]);
        }
        return std::pair{static_cast<T>(low), static_cast<T>(high)};
      };
      const auto [low, high] = is_signed(values.type) ? range(std::make_signed_t<T>{}) : range(T{});
      // Larger ranges would cost more to clear than to hash.
      if (static_cast<T>(high - low) < 2 * values.count + 256) return distinct_by_place<T>(values, low, high, most);
    }
  }
  return distinct_by_hash<T>(values, most);
}

inline std::optional<Distinct<std::string_view>> distinct_strings(const Values& values, uint64_t most = kAnyNumber) {
  NumberTable<TextKey> table;
  std::vector<std::string_view> keys;
  Distinct<std::string_view> out;
  out.codes.resize(values.count);
  const char* end = values.count == 0 ? nullptr : values.bytes + values.offsets[values.count];
  for (uint64_t i = 0; i < values.count; ++i) {
    const std::string_view text = values.string(i);
    out.codes[i] = table.number_of(
        TextKey(text, end), [&](uint32_t number) { return text.size() <= TextKey::kWhole || keys[number] == text; });
    if (table.size() == keys.size()) continue;
    keys.push_back(text);
    if (keys.size() > most) return std::nullopt;
  }
  struct Sortable {
    std::string_view text;
    uint32_t number;
    bool operator<(const Sortable& other) const { return text < other.text; }
  };
  std::vector<Sortable> ordered;
  ordered.reserve(keys.size());
  for (uint32_t i = 0; i < keys.size(); ++i) ordered.push_back({keys[i], i});
  sort_ranks(ordered, out.codes);
  out.entries.reserve(keys.size());
  for (const Sortable& entry : ordered) out.entries.push_back(entry.text);
  return out;
}

}  // namespace basalt
