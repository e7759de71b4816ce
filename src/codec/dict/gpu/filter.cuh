// The filter of a dictionary's strings on the device: the host tested the entries, so a code is one bit of its answer.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/dict/filter_table.h"
#include "codec/dict/layout.h"
#include "core/device/answer.h"
#include "core/device/batch.h"
#include "core/device/warp.h"

namespace basalt::device {

template <typename Codes>
struct DictFilter {
  static constexpr uint32_t kCodesWord = 1;
  static constexpr uint32_t kDescriptorWords = kCodesWord + Codes::kDescriptorWords;  // then the entries'
  static constexpr uint32_t kScratchBytes = Codes::kScratchBytes;

  // The lane's rows among `alive` that pass.
  __device__ __forceinline__ static TileAnswer filter(const uint64_t* descriptor, uint32_t tile, void* scratch,
                                                      const void* table, uint32_t alive) {
    const auto* head = static_cast<const dict::CodeTableHead*>(table);
    const auto* bits = reinterpret_cast<const uint32_t*>(head + 1);
    const uint32_t entries = load(&head->entries);
    Codes codes;
    codes.open(descriptor + kCodesWord, tile, scratch);
    const uint32_t exist = rows_mask(rows_of_tile(row_count(descriptor), tile), lane_id());
    TileAnswer answer{0, kByRows, 0};
    uint32_t beyond = 0;
    codes.visit([&](auto&& view) {
      for_each_row(view, [&](uint32_t k, uint32_t code) {
        const bool known = code < entries;
        beyond |= static_cast<uint32_t>(!known) << k;
        answer.mask |= (load(bits + (known ? code / 32 : 0)) >> code % 32 & 1) << k;
      });
    });
    answer.mask &= alive;
    answer.bad = static_cast<uint32_t>((beyond & exist) != 0 || codes.bad);
    return answer;
  }
};

}  // namespace basalt::device
