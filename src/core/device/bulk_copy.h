// Hopper's asynchronous bulk copies between global and shared memory, and the barriers their arrival is waited on.
// Addresses and sizes are multiples of 16 bytes. One lane issues; the whole warp waits.
#pragma once

#include "basalt/core/host_device.h"

namespace basalt::device {

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define BASALT_HAS_BULK_COPY 1

__device__ __forceinline__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ void init_barrier(uint64_t* barrier) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier)) : "memory");
}

// Makes initialised barriers visible to the copy engine.
__device__ __forceinline__ void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Starts a copy into shared memory; the barrier's current phase completes when all `bytes` (possibly 0) have arrived.
__device__ __forceinline__ void bulk_load(void* to, const void* from, uint32_t bytes, uint64_t* barrier) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
  if (bytes != 0) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(to)),
                 "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_address(barrier))
                 : "memory");
  }
}

__device__ __forceinline__ void wait_barrier(uint64_t* barrier, uint32_t phase) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra ready;\n"
      "bra again;\n"
      "ready:\n"
      "}\n" ::"r"(shared_address(barrier)),
      "r"(phase)
      : "memory");
}

// Orders this lane's writes to shared memory before copies that start after the next warp barrier.
__device__ __forceinline__ void publish_shared_writes() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

__device__ __forceinline__ void bulk_store(void* to, const void* from, uint32_t bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)),
               "r"(shared_address(from)), "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Waits until all but the newest kPending stores of this lane have read their shared memory.
template <uint32_t kPending>
__device__ __forceinline__ void wait_stores_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}

__device__ __forceinline__ void wait_stores_done() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

#endif

}  // namespace basalt::device
