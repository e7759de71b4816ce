// Tests of a column of strings inside generated kernels: the encodings' own filters, put to a tile with the table that
// the host made of the statement's test for the tile's chunk.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/dict/gpu/filter.cuh"
#include "core/device/answer.h"
#include "core/device/warp.h"
#include "exec/device/scan.cuh"
#include "exec/device/tile_tests.cuh"

namespace basalt::device {

template <typename Filter>
struct ShapeTextTest {
  __device__ __forceinline__ static TileAnswer run(const uint64_t* descriptor, uint32_t tile, void* scratch,
                                                   const void* table, uint32_t alive) {
    return Filter::filter(descriptor, tile, scratch, table, alive);
  }
};

// Entries that pass often lie side by side: then codes are compared as numbers are. That every code has an entry is
// checked when a chunk is loaded (cuda/query/staging.cpp).
template <typename Codes>
struct ShapeTextTest<DictFilter<Codes>> {
  using Filter = DictFilter<Codes>;
  __device__ __forceinline__ static TileAnswer run(const uint64_t* descriptor, uint32_t tile, void* scratch,
                                                   const void* table, uint32_t alive) {
    const auto* head = static_cast<const dict::CodeTableHead*>(table);
    if (load(&head->is_range) == 0) return Filter::filter(descriptor, tile, scratch, table, alive);
    TileAnswer answer{0, kByBounds, 0};
    CodeRange range;
    answer.mask = alive & ShapeTest<uint32_t, Test::kBetween, Codes>::run(descriptor + Filter::kCodesWord, tile,
                                                                          scratch, answer.bad, answer.how, NoPrefetch(),
                                                                          range, load(&head->first), load(&head->last));
    return answer;
  }
};

// One copy for all tests of a kernel that are put to columns of these encodings.
template <typename Filter, typename... Others>
__device__ __noinline__ TileAnswer text_answer(uint32_t shape, const uint64_t* descriptor, uint32_t tile, void* scratch,
                                               const void* table, uint32_t alive) {
  if constexpr (sizeof...(Others) > 0) {
    if (shape > 0) return text_answer<Others...>(shape - 1, descriptor, tile, scratch, table, alive);
  }
  return ShapeTextTest<Filter>::run(descriptor, tile, scratch, table, alive);
}

// A column of strings. kAt: where its words begin in a chunk's slot.
template <uint32_t kAt, uint32_t kWords, typename... Filters>
struct Texts {
  static constexpr uint32_t largest(uint32_t a) { return a; }
  template <typename... More>
  static constexpr uint32_t largest(uint32_t a, uint32_t b, More... more) {
    return largest(larger(a, b), more...);
  }
  static constexpr uint32_t kScratchBytes = round_to_16(largest(Filters::kScratchBytes...));
  static_assert(largest(Filters::kDescriptorWords...) <= kWords,
                "host and device disagree on the size of a descriptor");

  // The lane's rows among `alive` that pass the test whose table's address is word kTableAt of the slot. `how` rises to
  // what it took.
  template <uint32_t kTableAt>
  __device__ __forceinline__ static uint32_t test(const uint64_t* slot, uint32_t tile, uint32_t alive, void* scratch,
                                                  uint32_t& bad, uint32_t& how) {
    const uint32_t shape = sizeof...(Filters) > 1 ? static_cast<uint32_t>(load(slot + kAt)) : 0;
    const TileAnswer answer = text_answer<Filters...>(shape, slot + kAt + 1, tile, scratch,
                                                      reinterpret_cast<const void*>(load(slot + kTableAt)), alive);
    bad |= answer.bad;
    raise_to(how, answer.how);
    sync_warp();
    return answer.mask;
  }
};

}  // namespace basalt::device
