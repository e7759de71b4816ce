// A kernel of one's own over an l3 column: nothing is decoded to memory. One warp adds up a tile that it rebuilds on
// the fly, and every lane looks up one row somewhere else in the column.
#include <basalt/core/error.h>
#include <basalt/file/reader.h>
#include <basalt/file/writer.h>
#include <codec/l3/gpu/kernels.cuh>

#include <cstdio>
#include <cstdlib>
#include <vector>

using namespace basalt;

__global__ void add_up(const uint64_t* column, uint64_t* tile_sums, uint64_t* rows) {
  extern __shared__ uint4 scratch[];
  device::L3<uint64_t> tile;
  tile.open(column, blockIdx.x, scratch);
  uint64_t sum = 0;
  for (uint32_t k = 0; k < kRowsPerLane; ++k) sum += tile.at(k);
  for (uint32_t distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(~0u, sum, distance);
  if (threadIdx.x == 0) tile_sums[blockIdx.x] = sum;
  const uint32_t row = (blockIdx.x * 32 + threadIdx.x) * 31;
  rows[blockIdx.x * 32 + threadIdx.x] = device::L3<uint64_t>::value(column, row);
}

int main() try {
  constexpr uint64_t kRows = 1 << 18, kTiles = kRows / kTileRows;
  std::vector<uint64_t> values(kRows);
  for (uint64_t i = 0; i < kRows; ++i) values[i] = 1'000'000 * i + i * i % 777;
  const Node node = encode_tree({Physical::kU64, kRows, values.data()}, {"l3", {}});

  // What readers take: the number of rows, then the streams' addresses on the device.
  std::vector<uint64_t> column = {kRows};
  const auto upload = [](const void* data, size_t bytes) {
    void* place = nullptr;
    if (cudaMalloc(&place, bytes + 16) != cudaSuccess ||
        cudaMemcpy(place, data, bytes, cudaMemcpyDefault) != cudaSuccess)
      throw Error(ErrorCode::kUnsupported, cudaGetErrorString(cudaGetLastError()));
    return reinterpret_cast<uint64_t>(place);
  };
  for (const Buffer& stream : node.streams) column.push_back(upload(stream.data(), stream.size()));
  const auto* descriptor = reinterpret_cast<const uint64_t*>(upload(column.data(), column.size() * 8));
  uint64_t *sums = nullptr, *rows = nullptr;
  cudaMallocManaged(&sums, kTiles * 8);
  cudaMallocManaged(&rows, kTiles * 32 * 8);
  add_up<<<kTiles, 32, device::L3<uint64_t>::kScratchBytes>>>(descriptor, sums, rows);
  if (cudaDeviceSynchronize() != cudaSuccess) throw Error(ErrorCode::kInternal, cudaGetErrorString(cudaGetLastError()));

  uint64_t total = 0, expected = 0, wrong = 0;
  for (uint64_t i = 0; i < kTiles; ++i) total += sums[i];
  for (const uint64_t value : values) expected += value;
  for (uint64_t i = 0; i < kTiles * 32; ++i) wrong += rows[i] != values[i * 31];
  std::printf("%.2f bits per value; sum %llu, expected %llu; %llu look-ups wrong\n", node.encoded_bytes() * 8.0 / kRows,
              (unsigned long long)total, (unsigned long long)expected, (unsigned long long)wrong);
  return total == expected && wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return EXIT_FAILURE;
}
