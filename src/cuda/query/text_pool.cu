// Strings get their numbers in these steps: all are hashed and put to a table made for as many; one of each kind finds
// a free slot; those are counted, numbered and copied behind the pool's strings. Only their count and size come back to
// the host.
#include "cuda/query/text_pool.h"

#include <algorithm>
#include <bit>
#include <cub/device/device_memcpy.cuh>
#include <cub/device/device_scan.cuh>

#include "cuda/codec/encode_texts.cuh"
#include "cuda/query/text_table.cuh"

namespace basalt::cuda {

namespace {

struct PlacedList {
  strings::Texts at;
  uint64_t count;
  const uint8_t* wanted;
  uint64_t first;  // among all strings that are asked for
};

constexpr uint64_t kMostNumbers = 0xFFFFFFF0u;
constexpr uint32_t kNoNumber = 0xFFFFFFFFu;  // of strings that nobody wants

// A row of blocks for each list.
__global__ __launch_bounds__(kThreads) void hash_kernel(const PlacedList* lists, TextPlace* places, uint64_t* hashes) {
  const PlacedList list = lists[blockIdx.y];
  const uint64_t blocks_of_list = (list.count + kThreads - 1) / kThreads;
  for (uint64_t block = blockIdx.x; block < blocks_of_list; block += gridDim.x) {
    const uint64_t i = block * kThreads + threadIdx.x;
    const bool active = i < list.count && (list.wanted == nullptr || list.wanted[i] != 0);
    const strings::Text text = active ? list.at.at(i) : strings::no_text();
    const uint64_t hash = strings::hash_text(text);
    if (i >= list.count) continue;
    places[list.first + i] = active ? TextPlace{reinterpret_cast<uint64_t>(list.at.bytes(i)), text.length}
                                    : TextPlace{0, TextPlace::kNoText};
    hashes[list.first + i] = hash;
  }
}

__global__ __launch_bounds__(kThreads) void insert_kernel(TextTable table, NumberedTexts texts, const uint64_t* hashes,
                                                          uint64_t asked, uint32_t* found) {
  const uint64_t i = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  const bool active = i < asked && texts.added[i].length != TextPlace::kNoText;
  const uint32_t number = static_cast<uint32_t>(texts.pool_count + i);
  const uint32_t same = find_or_add(table, texts, active ? hashes[i] : 0, number, active);
  if (i < asked) found[i] = active ? same : kNoNumber;
}

// The first strings of their kind: how many of them lie before each string, and how many bytes they have.
struct Before {
  uint32_t texts;
  uint64_t bytes;
};
struct AddBefore {
  __host__ __device__ Before operator()(const Before& a, const Before& b) const {
    return {a.texts + b.texts, a.bytes + b.bytes};
  }
};

struct Asked {
  DeviceBuffer places;  // TextPlace
  DeviceBuffer hashes;  // uint64
  DeviceBuffer found;   // uint32: the number of the first string of its kind
  uint64_t count = 0;
};

// Copies the first string of each kind behind the texts, and gives the numbers that all of them have there.
DeviceBuffer append(const Asked& strings, DeviceStrings& texts, DeviceBuffer& text_hashes, cudaStream_t stream) {
  const uint64_t known = texts.count;
  const uint64_t asked = strings.count;
  const auto* number = strings.found.as<uint32_t>();
  const auto* place = strings.places.as<TextPlace>();
  const auto* hash = strings.hashes.as<uint64_t>();
  const DeviceBuffer sums(asked * sizeof(Before), stream);
  auto* before = sums.as<Before>();
  each_row(asked, stream, [=] __device__(uint64_t i) {
    const bool first = number[i] == known + i;
    before[i] = {first ? 1u : 0u, first ? place[i].length : 0};
  });
  with_temporary(stream, [&](void* temporary, size_t& bytes) {
    return cub::DeviceScan::InclusiveScan(temporary, bytes, before, before, AddBefore{}, static_cast<int64_t>(asked),
                                          stream);
  });
  const Before total = fetch(before + asked - 1, stream);
  if (total.texts > 0) {
    DeviceStrings grown;
    grown.count = known + total.texts;
    grown.byte_count = texts.byte_count + total.bytes;
    grown.offsets = DeviceBuffer((grown.count + 1) * sizeof(int64_t), stream);
    grown.bytes = DeviceBuffer(grown.byte_count, stream);
    DeviceBuffer grown_hashes(grown.count * sizeof(uint64_t), stream);
    const auto copy = [&](const DeviceBuffer& to, const DeviceBuffer& from, uint64_t bytes) {
      if (bytes == 0) return;
      check(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, stream), "growing a pool");
    };
    copy(grown.offsets, texts.offsets, (known + 1) * sizeof(int64_t));
    copy(grown.bytes, texts.bytes, texts.byte_count);
    copy(grown_hashes, text_hashes, known * sizeof(uint64_t));
    const DeviceBuffer sources(total.texts * sizeof(void*), stream);
    const DeviceBuffer targets(total.texts * sizeof(void*), stream);
    const DeviceBuffer lengths(total.texts * sizeof(uint64_t), stream);
    auto** source = sources.as<const char*>();
    auto** target = targets.as<char*>();
    auto* length = lengths.as<uint64_t>();
    auto* offsets = grown.offsets.as<int64_t>();
    auto* new_hash = grown_hashes.as<uint64_t>();
    char* behind = grown.bytes.as<char>() + texts.byte_count;
    const auto end = static_cast<int64_t>(texts.byte_count);
    each_row(asked, stream, [=] __device__(uint64_t i) {
      if (number[i] != known + i) return;
      const uint64_t own = before[i].texts - 1;
      source[own] = reinterpret_cast<const char*>(place[i].address);
      target[own] = behind + (before[i].bytes - place[i].length);
      length[own] = place[i].length;
      offsets[known + own + 1] = end + static_cast<int64_t>(before[i].bytes);
      new_hash[known + own] = hash[i];
    });
    with_temporary(stream, [&](void* temporary, size_t& bytes) {
      return cub::DeviceMemcpy::Batched(temporary, bytes, source, target, length, static_cast<int64_t>(total.texts),
                                        stream);
    });
    texts = std::move(grown);
    text_hashes = std::move(grown_hashes);
  }
  DeviceBuffer numbers(asked * sizeof(uint32_t), stream);
  auto* renumbered = numbers.as<uint32_t>();
  each_row(asked, stream, [=] __device__(uint64_t i) {
    const uint32_t same = number[i];
    if (same == kNoNumber) {
      renumbered[i] = 0;
    } else {
      renumbered[i] = same < known ? same : static_cast<uint32_t>(known + before[same - known].texts - 1);
    }
  });
  return numbers;
}

}  // namespace

TextPool::TextPool(cudaStream_t stream) : stream_(stream) { texts_.offsets = cleared(sizeof(int64_t), stream); }

void TextPool::add_literals(const std::vector<std::string>& literals) {
  std::string bytes;
  std::vector<int64_t> offsets{0};
  for (const std::string& literal : literals) {
    bytes += literal;
    offsets.push_back(static_cast<int64_t>(bytes.size()));
  }
  const DeviceBuffer text = upload(bytes.data(), bytes.size(), stream_);
  const DeviceBuffer places = upload(offsets.data(), offsets.size() * sizeof(int64_t), stream_);
  intern({{{text.as<uint64_t>(), places.as<int64_t>(), 0}, literals.size()}});
}

DeviceBuffer TextPool::intern(const std::vector<List>& lists) {
  std::vector<PlacedList> placed;
  uint64_t asked = 0;
  uint64_t longest = 0;
  for (const List& list : lists) {
    placed.push_back({list.at, list.count, list.wanted, asked});
    asked += list.count;
    longest = std::max(longest, list.count);
  }
  if (asked == 0) return {};
  if (asked + count() > kMostNumbers) {
    throw Error(ErrorCode::kOutOfMemory, "strings that the device would have to tell apart: more than 2^32");
  }
  const DeviceBuffer on_device = upload(placed.data(), placed.size() * sizeof(PlacedList), stream_);
  Asked strings;
  strings.count = asked;
  strings.places = DeviceBuffer(asked * sizeof(TextPlace), stream_);
  strings.hashes = DeviceBuffer(asked * sizeof(uint64_t), stream_);
  strings.found = DeviceBuffer(asked * sizeof(uint32_t), stream_);
  auto* places = strings.places.as<TextPlace>();
  auto* hashes = strings.hashes.as<uint64_t>();
  constexpr uint32_t kMostLists = 65535;  // of a grid
  for (size_t first = 0; first < placed.size(); first += kMostLists) {
    const auto rows = static_cast<uint32_t>(std::min<size_t>(kMostLists, placed.size() - first));
    hash_kernel<<<dim3(blocks_for(longest), rows), kThreads, 0, stream_>>>(on_device.as<PlacedList>() + first, places,
                                                                           hashes);
    check(cudaGetLastError(), "hashing strings");
  }

  const uint64_t slots = std::bit_ceil(2 * (asked + count()));
  const DeviceBuffer slot_words = cleared(slots * sizeof(uint64_t), stream_);
  const TextTable table{slot_words.as<uint64_t>(), slots - 1};
  if (count() > 0) {
    const auto* known = hashes_.as<uint64_t>();
    each_row(count(), stream_, [=] __device__(uint64_t i) { add_distinct(table, known[i], static_cast<uint32_t>(i)); });
  }
  const NumberedTexts all{texts(), count(), places};
  insert_kernel<<<blocks_for(asked), kThreads, 0, stream_>>>(table, all, hashes, asked, strings.found.as<uint32_t>());
  check(cudaGetLastError(), "looking for equal strings");
  return append(strings, texts_, hashes_, stream_);
}

}  // namespace basalt::cuda
