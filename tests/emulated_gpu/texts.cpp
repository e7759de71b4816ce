// Numbers of strings, which the device finds with code that needs its warps: here by a map.
#include <map>
#include <string>

#include "basalt/core/error.h"
#include "cuda/query/number_rows.h"
#include "cuda/query/text_pool.h"

namespace basalt::cuda {

namespace {

std::string text_at(const strings::Texts& texts, uint64_t place) {
  const auto* bytes = reinterpret_cast<const char*>(texts.bytes(place));
  return {bytes, static_cast<size_t>(texts.offsets[place + 1] - texts.offsets[place])};
}

}  // namespace

TextPool::TextPool(cudaStream_t stream) : stream_(stream) {}

DeviceBuffer TextPool::intern(const std::vector<List>& lists) {
  uint64_t all = 0;
  for (const List& list : lists) all += list.count;
  DeviceBuffer numbers(all * sizeof(uint32_t), stream_);
  std::map<std::string, uint32_t> known;
  std::vector<int64_t> offsets{0};
  std::string bytes;
  uint64_t at = 0;
  for (const List& list : lists) {
    for (uint64_t i = 0; i < list.count; ++i, ++at) {
      numbers.as<uint32_t>()[at] = 0;
      if (list.wanted != nullptr && list.wanted[i] == 0) continue;
      const std::string text = text_at(list.at, i);
      const auto [place, added] = known.try_emplace(text, static_cast<uint32_t>(known.size()));
      numbers.as<uint32_t>()[at] = place->second;
      if (!added) continue;
      bytes += text;
      offsets.push_back(static_cast<int64_t>(bytes.size()));
    }
  }
  texts_.count = known.size();
  texts_.byte_count = bytes.size();
  texts_.offsets = upload(offsets.data(), offsets.size() * sizeof(int64_t), stream_);
  texts_.bytes = upload(bytes.data(), bytes.size(), stream_);
  return numbers;
}

TextOrder order_texts(const strings::Texts& texts, uint64_t count, cudaStream_t stream) {
  std::map<std::string, uint32_t> sorted;
  for (uint64_t i = 0; i < count; ++i) sorted.emplace(text_at(texts, i), static_cast<uint32_t>(i));
  TextOrder out{DeviceBuffer(count * sizeof(uint32_t), stream), DeviceBuffer(count * sizeof(uint32_t), stream)};
  uint32_t rank = 0;
  for (const auto& [text, number] : sorted) {
    out.numbers.as<uint32_t>()[rank] = number;
    out.ranks.as<uint32_t>()[number] = rank++;
  }
  return out;
}

template <typename T>
void look_up(const uint32_t* numbers, uint64_t rows, const T* values, uint64_t count, T* to, cudaStream_t) {
  for (uint64_t i = 0; i < rows; ++i) to[i] = numbers[i] < count ? values[numbers[i]] : T{};
}
template void look_up(const uint32_t*, uint64_t, const uint32_t*, uint64_t, uint32_t*, cudaStream_t);

DeviceBuffer mark_used(const uint32_t* numbers, uint64_t rows, uint64_t count, cudaStream_t stream) {
  DeviceBuffer used = cleared(count, stream);
  for (uint64_t i = 0; i < rows; ++i) {
    if (numbers[i] < count) used.as<uint8_t>()[numbers[i]] = 1;
  }
  return used;
}

}  // namespace basalt::cuda
