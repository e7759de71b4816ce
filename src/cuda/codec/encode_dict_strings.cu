// Distinct strings on the device, in order, with the code of every row: what `dict` is made of. codec/dict/
// gpu/encode_texts.cuh says how; here are the device-wide steps between. Only counts come back to the host.
#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>

#include "codec/dict/gpu/encode_texts.cuh"
#include "cuda/codec/encode_texts.cuh"
#include "cuda/codec/gather_strings.h"

namespace basalt::cuda {

namespace {

// Rows in some order; `group` numbers the strings along it, from 1, and one row stands for each group.
struct Groups {
  DeviceBuffer rows;    // uint32
  DeviceBuffer group;   // uint32, per place in the order
  DeviceBuffer firsts;  // uint32, the first row of each group
  uint64_t count = 0;
};

// Cuts rows that lie in order into groups of equal strings.
Groups cut_groups(const strings::Texts& texts, DeviceBuffer ordered, const uint64_t* hashes, uint64_t count,
                  cudaStream_t stream) {
  Groups out;
  out.rows = std::move(ordered);
  DeviceBuffer flags(count * sizeof(uint32_t), stream);
  out.group = DeviceBuffer(count * sizeof(uint32_t), stream);
  out.firsts = DeviceBuffer(count * sizeof(uint32_t), stream);
  DeviceBuffer found(sizeof(uint64_t), stream);
  const auto* rows = out.rows.as<uint32_t>();
  auto* fresh = flags.as<uint32_t>();
  const auto places = static_cast<int64_t>(count);
  each_row_of_warps(count, stream,
                    [=] __device__(uint64_t i) { dict::mark_fresh(texts, rows, hashes, count, i, fresh); });
  with_temporary(stream, [&](void* temporary, size_t& bytes) {
    return cub::DeviceScan::InclusiveSum(temporary, bytes, fresh, out.group.as<uint32_t>(), places, stream);
  });
  with_temporary(stream, [&](void* temporary, size_t& bytes) {
    return cub::DeviceSelect::Flagged(temporary, bytes, rows, fresh, out.firsts.as<uint32_t>(), found.as<uint64_t>(),
                                      places, stream);
  });
  out.count = fetch(found.as<uint64_t>(), stream);
  return out;
}

// Brings rows with equal strings together. Strings whose hashes are equal may lie mixed.
Groups group_by_hash(const strings::Texts& texts, uint64_t count, cudaStream_t stream) {
  DeviceBuffer hashes(count * sizeof(uint64_t), stream);
  DeviceBuffer rows(count * sizeof(uint32_t), stream);
  auto* hash = hashes.as<uint64_t>();
  auto* row = rows.as<uint32_t>();
  each_row_of_warps(count, stream, [=] __device__(uint64_t i) { dict::hash_row(texts, count, i, hash, row); });
  DeviceBuffer sorted_hashes(count * sizeof(uint64_t), stream);
  DeviceBuffer sorted_rows(count * sizeof(uint32_t), stream);
  with_temporary(stream, [&](void* temporary, size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(temporary, bytes, hash, sorted_hashes.as<uint64_t>(), row,
                                           sorted_rows.as<uint32_t>(), static_cast<int64_t>(count), 0, 64, stream);
  });
  return cut_groups(texts, std::move(sorted_rows), sorted_hashes.as<uint64_t>(), count, stream);
}

// Puts one row of each candidate in the order of strings and tells each candidate its rank.
Groups sort_candidates(const strings::Texts& texts, const Groups& candidates, uint32_t* rank_of, cudaStream_t stream) {
  const uint64_t count = candidates.count;
  const auto* firsts = candidates.firsts.as<uint32_t>();
  DeviceBuffer shared(sizeof(unsigned long long), stream);
  check(cudaMemsetAsync(shared.data(), 0xFF, sizeof(unsigned long long), stream), "preparing a minimum");
  auto* shared_words = shared.as<unsigned long long>();
  each_row_of_warps(count, stream,
                    [=] __device__(uint64_t i) { dict::share_words(texts, firsts, count, i, shared_words); });
  DeviceBuffer items(count * sizeof(dict::Candidate), stream);
  auto* item = items.as<dict::Candidate>();
  each_row(count, stream, [=] __device__(uint64_t i) {
    item[i] = dict::make_candidate(texts, firsts[i], static_cast<uint32_t>(i), *shared_words);
  });
  with_temporary(stream, [&](void* temporary, size_t& bytes) {
    return cub::DeviceMergeSort::SortKeys(temporary, bytes, item, static_cast<int64_t>(count),
                                          dict::CandidateOrder{texts, shared_words}, stream);
  });
  DeviceBuffer rows(count * sizeof(uint32_t), stream);
  auto* row = rows.as<uint32_t>();
  each_row(count, stream, [=] __device__(uint64_t i) { row[i] = item[i].row; });
  Groups out = cut_groups(texts, std::move(rows), nullptr, count, stream);
  const auto* group = out.group.as<uint32_t>();
  each_row(count, stream, [=] __device__(uint64_t i) { rank_of[item[i].number] = group[i] - 1; });
  return out;
}

}  // namespace

void find_distinct_strings(const strings::Texts& texts, uint64_t count, uint32_t* codes, DeviceValues& entries,
                           cudaStream_t stream) {
  const auto gather = [&](const uint32_t* rows, uint64_t distinct) {
    DeviceStrings strings = gather_strings(texts, rows, distinct, stream);
    entries.count = distinct;
    entries.offsets = std::move(strings.offsets);
    entries.data = std::move(strings.bytes);
    entries.end_byte = static_cast<int64_t>(strings.byte_count);
  };
  if (count == 0) return gather(nullptr, 0);
  const Groups candidates = group_by_hash(texts, count, stream);
  DeviceBuffer ranks(candidates.count * sizeof(uint32_t), stream);
  auto* rank_of = ranks.as<uint32_t>();
  const Groups distinct = sort_candidates(texts, candidates, rank_of, stream);
  const auto* rows = candidates.rows.as<uint32_t>();
  const auto* candidate = candidates.group.as<uint32_t>();
  each_row(count, stream, [=] __device__(uint64_t i) { codes[rows[i]] = rank_of[candidate[i] - 1]; });
  gather(distinct.firsts.as<uint32_t>(), distinct.count);
}

}  // namespace basalt::cuda
