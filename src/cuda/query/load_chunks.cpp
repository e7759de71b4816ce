// Chunks on the device for work beside a statement's kernel, which reads its own in batches (run.cpp).
#include <algorithm>

#include "basalt/core/error.h"
#include "cuda/backend.h"
#include "cuda/query/chunk_texts.h"

namespace basalt::cuda {

std::vector<TextChunk> CudaBackend::load_chunks(const std::vector<exec::ChunkToLoad>& wanted, uint64_t run,
                                                uint64_t limit, const RunOptions& options, RunReport& report) {
  std::vector<TextChunk> out;
  std::vector<ChunkKey> keys;
  std::vector<ChunkLoad> loads;
  uint64_t bytes = 0;
  uint64_t made = 0;
  for (const exec::ChunkToLoad& chunk : wanted) {
    const ColumnChunkInfo& info = chunk.info();
    out.push_back({&info, {}});
    report.encoded_bytes_read += info.encoded_bytes;
    keys.push_back(chunk_keys(chunk.file, chunk.field_id)[chunk.chunk]);
    if (const DeviceChunk* found = cache_.find(keys.back(), run)) {
      out.back().chunk = *found;
      continue;
    }
    const bool asked = std::ranges::any_of(loads, [&](const ChunkLoad& load) { return load.key == keys.back(); });
    if (asked) continue;  // a file that is listed twice
    ChunkLoad load;
    load.file = chunk.file.get();
    load.field_id = chunk.field_id;
    load.chunk = chunk.chunk;
    load.key = keys.back();
    load.bytes = load_bytes(info);
    load.made_bytes = made_bytes(info);
    bytes += load.bytes;
    made += load.made_bytes;
    loads.push_back(std::move(load));
  }
  if (loads.empty()) return out;
  if (!cache_.make_room(bytes + made, limit, run)) {
    throw Error(ErrorCode::kOutOfMemory, "strings need " + std::to_string((bytes + made) >> 10) +
                                             " KiB on the device, more than the limit of " +
                                             std::to_string(limit >> 10) + " KiB");
  }
  ThreadPool& pool = threads(options.threads);
  std::vector<LoadGroup> groups = group_loads(std::move(loads), pool.size());
  for (size_t i = 0; i < groups.size(); ++i) {
    groups[i].allocate(copies_[i % copies_.size()], compute_);
  }
  report.bytes_transferred += bytes;
  try {
    BatchLoad(pool, *slots_, alphabets_, device_, options.cancel, groups).wait();
  } catch (...) {
    // Copies that are under way write to memory that is given back now.
    for (const Stream& copies : copies_) cudaStreamSynchronize(copies);
    throw;
  }
  for (const LoadGroup& group : groups) keep_loaded(group, cache_, run);
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i].chunk.block == nullptr) out[i].chunk = *cache_.find(keys[i], run);
  }
  for (const Stream& copies : copies_) {
    transfer_end_.record(copies);
    check(cudaStreamWaitEvent(compute_, transfer_end_, 0), "ordering streams");
  }
  return out;
}

}  // namespace basalt::cuda
