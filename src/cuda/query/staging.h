// The way of chunks from files to the device: worker threads read into pinned slots, verify there, and hand each slot
// to a copy stream; a slot is used again when its copy is done. Reading, checking and copying overlap.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "basalt/core/threads.h"
#include "cuda/query/chunk_cache.h"
#include "cuda/runtime/resources.h"

namespace basalt::cuda {

// An array that a kernel makes into another form once its streams are there.
struct FormToMake {
  NodeView stored;                // its bytes are gone when the chunk is loaded
  std::vector<uint64_t> streams;  // where they lie on the device
  uint64_t begin = 0;             // where the form's streams lie
  uint64_t end = 0;
};

// One column chunk to be loaded, and where it ended up.
struct ChunkLoad {
  const File* file = nullptr;
  uint32_t field_id = 0;
  uint32_t chunk = 0;
  ChunkKey key;
  // On the device: its region, then streams that it shares with other chunks, then entries that are placed.
  uint64_t bytes = 0;
  uint64_t offset = 0;  // in its group's block
  // Behind all that the group copies: what kernels make of its arrays (Codec::device_form).
  uint64_t made_bytes = 0;
  uint64_t made_offset = 0;  // behind the group's bytes
  std::vector<FormToMake> forms;
  std::vector<uint64_t> addresses;
  std::shared_ptr<const TextAlphabet> alphabet;  // as DeviceChunk has it
};
// Bytes that are copied to the device for this chunk, those that kernels then make of them, and both.
uint64_t load_bytes(const ColumnChunkInfo& info);
uint64_t made_bytes(const ColumnChunkInfo& info);
uint64_t device_bytes(const ColumnChunkInfo& info);

// One alphabet for all chunks that have the same dictionary, as long as one of them is on the device. Several threads
// may use it.
class SharedAlphabets {
 public:
  // The alphabet of a chunk whose arrays are `root`; nullptr if its values are no strings. Throws Error(kCorrupt).
  // Where all that are alive would take more than kMostBytes together, it is Error(kOverLimit).
  std::shared_ptr<const TextAlphabet> get(const ColumnChunkInfo& info, const NodeView& root);

  static constexpr uint64_t kMostBytes = uint64_t{8} << 30;
  static constexpr uint64_t kKeptBytes = kMostBytes / 2;  // between statements
  uint64_t live_bytes() const { return live_->load(); }

 private:
  std::shared_ptr<const TextAlphabet> make(const NodeView& root) const;

  // Outlives alphabets, which subtract what they took.
  std::shared_ptr<std::atomic<uint64_t>> live_ = std::make_shared<std::atomic<uint64_t>>(0);
  std::mutex mutex_;
  std::unordered_map<ChunkKey, std::weak_ptr<const TextAlphabet>, ChunkKeyHash> known_;
};

// Chunks that travel as one copy.
struct LoadGroup {
  std::vector<ChunkLoad> chunks;
  uint64_t bytes = 0;
  uint64_t made_bytes = 0;
  cudaStream_t stream = nullptr;  // that copies them
  std::shared_ptr<DeviceBlock> block;

  void allocate(cudaStream_t copies, cudaStream_t freed_in) {
    stream = copies;
    block = std::make_shared<DeviceBlock>(bytes + made_bytes, copies, freed_in);
  }
};

// Copies of a size that keeps `threads` busy.
std::vector<LoadGroup> group_loads(std::vector<ChunkLoad> loads, uint32_t threads);
// What was loaded becomes part of the cache.
void keep_loaded(const LoadGroup& group, ChunkCache& cache, uint64_t run);

class PinnedSlots {
 public:
  explicit PinnedSlots(uint32_t most) : most_(most) {}
  struct Slot {
    PinnedBuffer memory;
    Event copied{cudaEventDisableTiming | cudaEventBlockingSync};
  };
  // Waits for a slot whose last copy is done.
  Slot* acquire(uint64_t bytes);
  void release(Slot* slot);

 private:
  uint32_t most_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::deque<Slot*> free_;  // oldest copy first
};

// The loads of one batch, under way on a thread pool.
class BatchLoad {
 public:
  BatchLoad(ThreadPool& threads, PinnedSlots& slots, SharedAlphabets& alphabets, int device, const CancelToken* cancel,
            std::vector<LoadGroup>& groups);
  // Returns when every copy of the batch is in its stream; throws the first error.
  void wait();
  ~BatchLoad();

 private:
  using PlaceStream = std::function<uint64_t(ByteView)>;
  void load(LoadGroup& group);
  void place_streams(const NodeView& node, const PlaceStream& place, uint64_t made, ChunkLoad& load);
  void make_forms(LoadGroup& group);

  PinnedSlots& slots_;
  SharedAlphabets& alphabets_;
  int device_;
  const CancelToken* cancel_;
  std::mutex mutex_;
  std::condition_variable done_;
  size_t left_;
  std::exception_ptr error_;
};

}  // namespace basalt::cuda
