// Learning a function chunk by chunk; see the header.
#include "codec/map/shared_entries.h"

#include <algorithm>

#include "basalt/core/error.h"
#include "codec/map/layout.h"
#include "core/dispatch.h"

namespace basalt {

namespace {

// Room on both sides of what the first chunk has, of its span and at least.
constexpr uint64_t kRoomShare = 16;
constexpr uint64_t kLeastRoom = 64;

// Of values that are not quite a function of their places: if one has more than half of a place's rows, it is that
// one's.
template <typename T>
std::vector<T> majority_of(const T* values, const std::vector<uint32_t>& places, size_t count) {
  std::vector<T> out(count, T{0});
  std::vector<uint32_t> lead(count, 0);
  for (size_t i = 0; i < places.size(); ++i) {
    const uint32_t place = places[i];
    if (lead[place] == 0) out[place] = values[i];
    lead[place] += out[place] == values[i] ? 1 : ~0u;
  }
  return out;
}

template <typename T>
void fill_gaps(T* values, const std::vector<uint8_t>& known) {
  size_t first = 0;
  while (first < known.size() && known[first] == 0) ++first;
  if (first == known.size()) return;
  std::fill(values, values + first, values[first]);
  for (size_t i = first + 1; i < known.size(); ++i) {
    if (known[i] == 0) values[i] = values[i - 1];
  }
}

[[noreturn]] void fail_far() { throw Error(ErrorCode::kUnsupported, "map: the source's values lie too far apart"); }

}  // namespace

void SharedEntries::make_room(std::span<const int64_t> source, Physical type) {
  const auto [least, most] = std::minmax_element(source.begin(), source.end());
  const uint64_t span = static_cast<uint64_t>(*most) - static_cast<uint64_t>(*least);
  if (span >= map::kMostEntries) fail_far();
  const uint64_t wanted = of_chunks_ ? span / kRoomShare + kLeastRoom : 0;
  const uint64_t room = std::min(wanted, (map::kMostEntries - 1 - span) / 2);
  base_ = static_cast<int64_t>(static_cast<uint64_t>(*least) - room);
  known_.resize(static_cast<size_t>(span + 1 + 2 * room));
  entries_.resize(known_.size() * width_of(type));
  std::fill(entries_.data(), entries_.data() + entries_.size(), std::byte{0});
  type_ = type;
}

void SharedEntries::learn(std::span<const int64_t> source, const Values& values) {
  if (source.empty()) return;
  if (known_.empty()) make_room(source, values.type);
  std::vector<uint32_t> places;
  places.reserve(source.size());
  for (const int64_t number : source) {
    const uint64_t place = place_of(number);
    if (place >= known_.size()) fail_far();
    places.push_back(static_cast<uint32_t>(place));
  }
  dispatch_width(width_of(type_), [&](auto tag) {
    using T = decltype(tag);
    const std::vector<T> found = majority_of(values.as<T>(), places, known_.size());
    for (const uint32_t place : places) {
      if (known_[place] == 0) entries_.as<T>()[place] = found[place];
    }
  });
  for (const uint32_t place : places) known_[place] = 1;
}

Buffer SharedEntries::entries_of(std::span<const int64_t> source) const {
  Buffer out(entries_.size());
  std::fill(out.data(), out.data() + out.size(), std::byte{0});
  dispatch_width(width_of(type_), [&](auto tag) {
    using T = decltype(tag);
    for (const int64_t number : source) out.as<T>()[place_of(number)] = entries_.as<T>()[place_of(number)];
  });
  return out;
}

Buffer SharedEntries::whole() const {
  Buffer out;
  out.append(entries_.data(), entries_.size());
  dispatch_width(width_of(type_), [&](auto tag) { fill_gaps(out.as<decltype(tag)>(), known_); });
  return out;
}

}  // namespace basalt
