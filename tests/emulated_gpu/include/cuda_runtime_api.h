// The part of CUDA's runtime that the code of joins calls, on the host: memory is memory, and nothing runs later.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "emulated_gpu/memory.h"

using cudaError_t = int;
using cudaStream_t = void*;
using cudaEvent_t = void*;
using cudaLibrary_t = void*;
using cudaKernel_t = void*;
constexpr int cudaSuccess = 0;
constexpr int cudaErrorMemoryAllocation = 2;
constexpr unsigned cudaEventDefault = 0;
constexpr unsigned cudaStreamNonBlocking = 1;
constexpr unsigned cudaHostAllocDefault = 0;
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };

inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline const char* cudaGetErrorString(cudaError_t) { return "an emulated device has no errors but this"; }
inline cudaError_t cudaMallocAsync(void** to, size_t bytes, cudaStream_t) {
  basalt::testing::EmulatedMemory& memory = *basalt_emulated_memory();
  const uint64_t number = memory.allocations++;
  if (memory.grants && !memory.grants(number)) return cudaErrorMemoryAllocation;
  *to = std::malloc(bytes);
  if (*to == nullptr) return cudaErrorMemoryAllocation;
  ++memory.blocks;
  return cudaSuccess;
}
inline cudaError_t cudaFreeAsync(void* memory, cudaStream_t) {
  if (memory != nullptr) --basalt_emulated_memory()->blocks;
  std::free(memory);
  return cudaSuccess;
}
inline cudaError_t cudaHostAlloc(void** to, size_t bytes, unsigned) { return cudaMallocAsync(to, bytes, nullptr); }
inline cudaError_t cudaFreeHost(void* memory) { return cudaFreeAsync(memory, nullptr); }
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t) {
  std::memset(to, value, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t*, unsigned) { return cudaSuccess; }
inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t*, unsigned) { return cudaSuccess; }
inline cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t, cudaEvent_t) {
  *ms = 0;
  return cudaSuccess;
}
