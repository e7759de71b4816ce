#include "cuda/query/entry_tables.h"

#include <algorithm>
#include <map>

#include "codec/dict/filter_table.h"
#include "codec/dict/layout.h"
#include "codec/validity/layout.h"
#include "cuda/codec/decode_strings.h"
#include "cuda/codec/encode_array.cuh"
#include "exec/device/generate/generate.h"
#include "exec/device/generate/texts.h"

namespace basalt::cuda {

namespace {

using dict::CodeTableHead;

// Of fewer the host has tested all before the device has begun.
constexpr uint64_t kManyEntries = 4096;

const NodeView& values_below_nulls(const NodeView& root) {
  return root.codec->holds_nulls() ? root.children[validity::kValues] : root;
}

struct DeviceTest {
  const uint8_t* next;  // Automaton::table()
  uint32_t states;
  uint32_t start;
  uint32_t first_settled;

  __device__ bool matches(const strings::Text& text) const {
    uint32_t state = start;
    for (uint64_t at = 0; at < text.length && state < first_settled; at += 8) {
      uint64_t word = text.word(at / 8);
      const uint32_t bytes = static_cast<uint32_t>(strings::smaller(8, text.length - at));
      for (uint32_t i = 0; i < bytes; ++i, word >>= 8) state = next[state << 8 | (word & 0xFF)];
    }
    return next[(states << 8) + state] != 0;
  }
};

struct ListToTest {
  strings::Texts texts;
  uint32_t count;
  DeviceTest test;
  CodeTableHead* table;  // all zeros before
};

// A row of blocks for each list. `last` holds the last entry that passes + 1, `first` the complement of the first one
// and `is_range` how many pass, until finish_heads_kernel().
__global__ __launch_bounds__(kThreads) void test_entries_kernel(const ListToTest* lists) {
  const ListToTest list = lists[blockIdx.y];
  auto* bits = reinterpret_cast<uint32_t*>(list.table + 1);
  for (uint32_t first = blockIdx.x * kThreads; first < list.count; first += gridDim.x * kThreads) {
    const uint32_t i = first + threadIdx.x;
    const bool passes = i < list.count && list.test.matches(list.texts.at(i));
    const uint32_t word = __ballot_sync(~0u, passes);
    if (threadIdx.x % kLanes != 0 || word == 0) continue;
    bits[i / kLanes] = word;
    atomicMax(&list.table->first, ~(i + static_cast<uint32_t>(__ffs(static_cast<int>(word))) - 1));
    atomicMax(&list.table->last, i + kLanes - static_cast<uint32_t>(__clz(static_cast<int>(word))));
    atomicAdd(&list.table->is_range, static_cast<uint32_t>(__popc(word)));
  }
}

void finish_heads(const ListToTest* lists, uint64_t count, cudaStream_t stream) {
  each_row(count, stream, [=] __device__(uint64_t i) {
    CodeTableHead& head = *lists[i].table;
    const uint32_t passed = head.is_range;
    const uint32_t first = ~head.first;
    const uint32_t last = head.last - 1;
    head = passed == 0 ? CodeTableHead{lists[i].count, 1, 1, 0}
                       : CodeTableHead{lists[i].count, last - first + 1 == passed ? 1u : 0u, first, last};
  });
}

class Tests {
 public:
  explicit Tests(cudaStream_t stream) : stream_(stream) {}

  const DeviceTest& get(const Automaton* automaton) {
    const auto [found, added] = tests_.try_emplace(automaton);
    if (!added) return found->second;
    const std::vector<uint8_t> table = automaton->table();
    memory_.push_back(upload(table.data(), table.size(), stream_));
    found->second = {memory_.back().as<uint8_t>(), automaton->states(), automaton->start(), automaton->first_settled()};
    return found->second;
  }

 private:
  cudaStream_t stream_;
  std::map<const Automaton*, DeviceTest> tests_;
  std::vector<DeviceBuffer> memory_;
};

void test_lists(const std::vector<ListToTest>& lists, cudaStream_t stream) {
  uint32_t longest = 0;
  for (const ListToTest& list : lists) longest = std::max(longest, list.count);
  const DeviceBuffer sent = upload(lists.data(), lists.size() * sizeof(ListToTest), stream);
  constexpr size_t kMostLists = 65535;  // of a grid
  for (size_t first = 0; first < lists.size(); first += kMostLists) {
    const auto some = static_cast<uint32_t>(std::min(kMostLists, lists.size() - first));
    test_entries_kernel<<<dim3(blocks_for(longest), some), kThreads, 0, stream>>>(sent.as<ListToTest>() + first);
    check(cudaGetLastError(), "testing entries of dictionaries");
  }
  finish_heads(sent.as<ListToTest>(), lists.size(), stream);
}

}  // namespace

bool tests_entries_on_device(const ColumnInfo& column, uint32_t chunk) {
  if (column.has_dictionary) return false;  // chunks share what the host makes of it
  const ColumnChunkInfo& info = column.chunks[chunk];
  const NodeView root = device::shape_of(info);
  if (!device::is_known(root)) return false;
  const NodeView& values = values_below_nulls(root);
  return values.type == Physical::kBytes && values.codec->holds_entries() && values.children.size() == 2 &&
         values.children[dict::kEntries].count >= kManyEntries && device::why_not_decode_texts(info).empty();
}

uint64_t entry_table_bytes(const ColumnChunkInfo& info) {
  const NodeView root = device::shape_of(info);
  const NodeView& values = values_below_nulls(root);
  return values.codec->filter_table_bytes(values, 0);
}

void make_entry_tables(const std::vector<TextChunk>& chunks, std::vector<EntryTable> tables, uint64_t most_bytes,
                       Modules& modules, cudaStream_t stream) {
  std::ranges::stable_sort(tables, {}, &EntryTable::chunk);
  Tests tests(stream);
  for (size_t first = 0; first < tables.size();) {
    std::vector<TextChunk> some;
    uint64_t bytes = 0;
    size_t end = first;
    for (; end < tables.size(); ++end) {
      if (end > first && tables[end].chunk == tables[end - 1].chunk) continue;
      const TextChunk& chunk = chunks[tables[end].chunk];
      if (!some.empty() && bytes + chunk.info->plain_bytes > most_bytes) break;
      some.push_back(chunk);
      bytes += chunk.info->plain_bytes;
    }
    const DecodedTexts decoded = decode_entries(some, modules, stream);
    std::vector<ListToTest> lists;
    for (size_t i = first, chunk = 0; i < end; ++i) {
      if (i > first && tables[i].chunk != tables[i - 1].chunk) ++chunk;
      const DecodedTexts::List& list = decoded.texts[decoded.chunks[chunk].texts];
      check(cudaMemsetAsync(tables[i].at, 0, entry_table_bytes(*some[chunk].info), stream), "clearing a table");
      lists.push_back({list.at, static_cast<uint32_t>(list.count), tests.get(tables[i].test),
                       reinterpret_cast<CodeTableHead*>(tables[i].at)});
    }
    test_lists(lists, stream);
    if (fetch(decoded.fault.as<uint32_t>(), stream) != 0) throw_corrupt();
    first = end;
  }
}

}  // namespace basalt::cuda
