// The lengths of all rows are added up in one sum over all lists, which tells how long each is and where its strings
// go; then one call copies all strings.
#include "cuda/query/gather_texts.h"

#include <algorithm>
#include <cub/device/device_memcpy.cuh>
#include <cub/device/device_scan.cuh>

#include "basalt/core/error.h"
#include "cuda/runtime/each_row.cuh"

namespace basalt::cuda {

namespace {

// A list of strings to be filled.
struct ListToFill {
  uint64_t first;  // of all rows
  uint64_t count;
  uint64_t bytes_before;  // of all lists
  int64_t* offsets;
  char* bytes;
};

// body(list, i) for each of the `count` rows of each list.
template <typename List, typename Body>
void each_row_of(const std::vector<List>& lists, cudaStream_t stream, Body body) {
  uint64_t most = 0;
  for (const List& list : lists) most = std::max(most, list.count);
  const DeviceBuffer sent = upload(lists.data(), lists.size() * sizeof(List), stream);
  const auto* list_of = sent.as<List>();
  each_row(most * lists.size(), stream, [=] __device__(uint64_t item) {
    const List& list = list_of[item / most];
    if (item % most < list.count) body(list, item % most);
  });
}

// Where the texts of all rows lie, and how long they are.
void find_texts(const std::vector<WantedRows>& chunks, const char** sources, uint64_t* lengths, uint32_t* fault,
                cudaStream_t stream) {
  each_row_of(chunks, stream, [=] __device__(const WantedRows& chunk, uint64_t i) {
    const WantedText text = chunk.at(i);
    if (!text.sound) *fault = 1;
    sources[chunk.first + i] = reinterpret_cast<const char*>(text.bytes);
    lengths[chunk.first + i] = text.length;
    if (chunk.valid != nullptr) chunk.valid[i] = text.valid ? 1 : 0;
  });
}

// Offsets of the lists, and where the text of each row goes. `sums`: of lengths, each with the row's own.
void place_texts(const std::vector<ListToFill>& lists, const uint64_t* lengths, const uint64_t* sums, char** targets,
                 cudaStream_t stream) {
  each_row_of(lists, stream, [=] __device__(const ListToFill& list, uint64_t i) {
    const uint64_t end = sums[list.first + i] - list.bytes_before;
    if (i == 0) list.offsets[0] = 0;
    list.offsets[i + 1] = static_cast<int64_t>(end);
    targets[list.first + i] = list.bytes + (end - lengths[list.first + i]);
  });
}

}  // namespace

std::vector<DeviceStrings> gather_texts(const std::vector<WantedRows>& chunks, const std::vector<uint64_t>& ends,
                                        uint32_t* fault, uint64_t most_bytes, cudaStream_t stream) {
  std::vector<DeviceStrings> out(ends.size());
  const uint64_t rows = ends.empty() ? 0 : ends.back();
  if (rows == 0) return out;
  const DeviceBuffer sources(rows * sizeof(void*), stream);
  const DeviceBuffer lengths(rows * sizeof(uint64_t), stream);
  const DeviceBuffer sums(rows * sizeof(uint64_t), stream);
  auto** source = sources.as<const char*>();
  auto* length = lengths.as<uint64_t>();
  auto* sum = sums.as<uint64_t>();
  find_texts(chunks, source, length, fault, stream);
  with_temporary(stream, [&](void* temporary, size_t& bytes) {
    return cub::DeviceScan::InclusiveSum(temporary, bytes, length, sum, static_cast<int64_t>(rows), stream);
  });

  const DeviceBuffer sent_ends = upload(ends.data(), ends.size() * sizeof(uint64_t), stream);
  const DeviceBuffer sizes((ends.size() + 1) * sizeof(uint64_t), stream);
  const auto* end = sent_ends.as<uint64_t>();
  auto* size = sizes.as<uint64_t>();
  const uint64_t lists = ends.size();
  each_row(lists + 1, stream, [=] __device__(uint64_t i) { size[i] = i < lists ? sum[end[i] - 1] : *fault; });
  const Buffer found = download(sizes, (lists + 1) * sizeof(uint64_t), stream);
  const auto* bytes_until = found.as<uint64_t>();
  if (bytes_until[lists] != 0) throw_corrupt();
  const uint64_t needed = bytes_until[lists - 1] + 2 * rows * sizeof(uint64_t);
  if (needed > most_bytes) {
    throw Error(ErrorCode::kOutOfMemory, "strings of rows need " + std::to_string(needed >> 10) +
                                             " KiB on the device, where they may take " +
                                             std::to_string(most_bytes >> 10) + " KiB");
  }

  std::vector<ListToFill> to_fill;
  for (size_t i = 0; i < out.size(); ++i) {
    const uint64_t first = i == 0 ? 0 : ends[i - 1];
    const uint64_t bytes_before = i == 0 ? 0 : bytes_until[i - 1];
    out[i].count = ends[i] - first;
    out[i].byte_count = bytes_until[i] - bytes_before;
    out[i].offsets = DeviceBuffer((out[i].count + 1) * sizeof(int64_t), stream);
    out[i].bytes = DeviceBuffer(out[i].byte_count, stream);
    to_fill.push_back({first, out[i].count, bytes_before, out[i].offsets.as<int64_t>(), out[i].bytes.as<char>()});
  }
  const DeviceBuffer targets(rows * sizeof(void*), stream);
  auto** target = targets.as<char*>();
  place_texts(to_fill, length, sum, target, stream);
  with_temporary(stream, [&](void* temporary, size_t& bytes) {
    return cub::DeviceMemcpy::Batched(temporary, bytes, source, target, length, static_cast<int64_t>(rows), stream);
  });
  return out;
}

DeviceStrings join_texts(std::vector<DeviceStrings> lists, cudaStream_t stream) {
  if (lists.size() == 1) return std::move(lists.front());
  DeviceStrings out;
  for (const DeviceStrings& list : lists) {
    out.count += list.count;
    out.byte_count += list.byte_count;
  }
  out.offsets = cleared((out.count + 1) * sizeof(int64_t), stream);
  out.bytes = DeviceBuffer(out.byte_count, stream);
  uint64_t rows = 0;
  uint64_t at = 0;
  for (DeviceStrings& list : lists) {
    const auto* from = list.offsets.as<int64_t>();
    auto* to = out.offsets.as<int64_t>() + rows;
    const auto more = static_cast<int64_t>(at);
    each_row(list.count + 1, stream, [=] __device__(uint64_t i) { to[i] = from[i] + more; });
    if (list.byte_count > 0) {
      check(cudaMemcpyAsync(out.bytes.as<std::byte>() + at, list.bytes.data(), list.byte_count,
                            cudaMemcpyDeviceToDevice, stream),
            "putting strings together");
    }
    rows += list.count;
    at += list.byte_count;
    list = DeviceStrings();  // freed behind the copy
  }
  return out;
}

}  // namespace basalt::cuda
