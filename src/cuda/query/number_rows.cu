#include "cuda/query/number_rows.h"

#include <algorithm>

#include "cuda/codec/encode_array.cuh"

namespace basalt::cuda {

namespace {

// A row of blocks for each chunk.
__global__ __launch_bounds__(kThreads) void number_kernel(const RowsToNumber* chunks, uint32_t* numbers,
                                                          uint8_t* validity, uint32_t* fault) {
  const RowsToNumber chunk = chunks[blockIdx.y];
  const uint64_t i = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= chunk.rows.rows) return;
  const uint64_t text = chunk.rows.codes != nullptr ? chunk.rows.codes[i] : i;
  const bool known = text < chunk.texts;
  if (!known) *fault = 1;
  numbers[chunk.first_row + i] = known ? chunk.numbers[text] : 0;
  if (validity == nullptr) return;
  validity[chunk.first_row + i] = chunk.rows.valid == nullptr || chunk.rows.valid[i] != 0 ? 1 : 0;
}

// A row of blocks for each chunk.
__global__ __launch_bounds__(kThreads) void mark_texts_kernel(const RowsToMark* chunks) {
  const RowsToMark chunk = chunks[blockIdx.y];
  const uint64_t i = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= chunk.rows.rows || chunk.wanted[i] == 0) return;
  const uint32_t text = chunk.rows.codes[i];
  if (text < chunk.texts) chunk.marks[text] = 1;
}

// launch(chunks, count) for as many chunks at a time as a grid has rows.
template <typename Chunk, typename Launch>
void for_each_grid(const std::vector<Chunk>& chunks, cudaStream_t stream, const Launch& launch) {
  const DeviceBuffer sent = upload(chunks.data(), chunks.size() * sizeof(Chunk), stream);
  constexpr size_t kMostChunks = 65535;
  for (size_t first = 0; first < chunks.size(); first += kMostChunks) {
    launch(sent.as<Chunk>() + first, static_cast<uint32_t>(std::min(kMostChunks, chunks.size() - first)));
    check(cudaGetLastError(), "numbering rows");
  }
}

}  // namespace

void mark_texts(const std::vector<RowsToMark>& chunks, cudaStream_t stream) {
  uint64_t most = 0;
  for (const RowsToMark& chunk : chunks) most = std::max(most, chunk.rows.rows);
  if (most == 0) return;
  for_each_grid(chunks, stream, [&](const RowsToMark* some, uint32_t count) {
    mark_texts_kernel<<<dim3(blocks_for(most), count), kThreads, 0, stream>>>(some);
  });
}

void number_rows(const std::vector<RowsToNumber>& chunks, uint32_t* numbers, uint8_t* validity, uint32_t* fault,
                 cudaStream_t stream) {
  uint64_t most = 0;
  for (const RowsToNumber& chunk : chunks) most = std::max(most, chunk.rows.rows);
  if (most == 0) return;
  for_each_grid(chunks, stream, [&](const RowsToNumber* some, uint32_t count) {
    number_kernel<<<dim3(blocks_for(most), count), kThreads, 0, stream>>>(some, numbers, validity, fault);
  });
}

template <typename T>
void look_up(const uint32_t* numbers, uint64_t rows, const T* values, uint64_t count, T* to, cudaStream_t stream) {
  each_row(rows, stream, [=] __device__(uint64_t i) { to[i] = numbers[i] < count ? values[numbers[i]] : T{0}; });
}

template void look_up(const uint32_t*, uint64_t, const uint8_t*, uint64_t, uint8_t*, cudaStream_t);
template void look_up(const uint32_t*, uint64_t, const uint32_t*, uint64_t, uint32_t*, cudaStream_t);
template void look_up(const uint32_t*, uint64_t, const int64_t*, uint64_t, int64_t*, cudaStream_t);

DeviceBuffer mark_rows(const uint64_t* numbers, uint64_t count, uint64_t rows, cudaStream_t stream) {
  DeviceBuffer out = cleared(rows, stream);
  auto* marks = out.as<uint8_t>();
  each_row(count, stream, [=] __device__(uint64_t i) {
    if (numbers[i] < rows) marks[numbers[i]] = 1;
  });
  return out;
}

DeviceBuffer marked_by_both(const uint8_t* a, const uint8_t* b, uint64_t count, cudaStream_t stream) {
  DeviceBuffer out(count, stream);
  auto* marks = out.as<uint8_t>();
  each_row(count, stream, [=] __device__(uint64_t i) {
    marks[i] = (a == nullptr || a[i] != 0) && (b == nullptr || b[i] != 0) ? 1 : 0;
  });
  return out;
}

DeviceBuffer mark_used(const uint32_t* numbers, uint64_t rows, uint64_t count, cudaStream_t stream) {
  DeviceBuffer out = cleared(count, stream);
  auto* used = out.as<uint8_t>();
  each_row(rows, stream, [=] __device__(uint64_t i) {
    const uint32_t number = numbers[i];
    if (number < count && used[number] == 0) used[number] = 1;
  });
  return out;
}

}  // namespace basalt::cuda
