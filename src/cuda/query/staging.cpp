// Loading chunks through pinned memory; see staging.h.
#include "cuda/query/staging.h"

#include <algorithm>
#include <cstring>

#include "cuda/codec/decode_strings.h"
#include "cuda/codec/device_forms.h"
#include "cuda/query/entry_tables.h"
#include "exec/device/generate/generate.h"
#include "file/load_chunk.h"

namespace basalt::cuda {

namespace {

constexpr uint64_t kAlignment = 256;

uint64_t aligned(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

bool inside(const StreamPlace& stream, const StreamPlace& region) {
  return stream.offset >= region.offset && stream.length <= region.length &&
         stream.offset - region.offset <= region.length - stream.length;
}

Buffer decode_all(const NodeView& node) {
  const uint64_t tile_bytes = uint64_t{kTileRows} * width_of(node.type);
  Buffer out(tile_count(node.count) * tile_bytes);
  const std::unique_ptr<Reader> reader = node.codec->open(node);
  for (uint32_t tile = 0; tile < tile_count(node.count); ++tile) {
    reader->decode_tile(tile, out.data() + tile * tile_bytes);
  }
  if (reader->corrupt()) throw_corrupt();
  return out;
}

}  // namespace

uint64_t load_bytes(const ColumnChunkInfo& info) {
  uint64_t bytes = aligned(info.region.length);
  for (const NodePlace& node : info.nodes) {
    for (const StreamPlace& stream : node.streams) {
      if (!inside(stream, info.region)) bytes += aligned(stream.length);
    }
  }
  for (const uint64_t entries : device::sizes_of_placed_entries(info)) bytes += aligned(entries);
  return bytes == 0 ? kAlignment : bytes;
}

uint64_t made_bytes(const ColumnChunkInfo& info) {
  const uint64_t bytes = device::device_form_bytes(info);
  return bytes == 0 ? 0 : bytes + kAlignment;  // and a word that says whether they are damaged
}

uint64_t device_bytes(const ColumnChunkInfo& info) { return load_bytes(info) + made_bytes(info); }

std::vector<LoadGroup> group_loads(std::vector<ChunkLoad> loads, uint32_t threads) {
  constexpr uint64_t kLeastBytes = 1ull << 20;
  constexpr uint64_t kMostBytes = 4ull << 20;  // 75 µs on PCIe 5
  uint64_t bytes = 0;
  for (const ChunkLoad& load : loads) bytes += load.bytes;
  const uint64_t most = std::clamp<uint64_t>(bytes / (2ull * std::max(1u, threads)), kLeastBytes, kMostBytes);
  std::vector<LoadGroup> groups;
  for (ChunkLoad& load : loads) {
    if (groups.empty() || groups.back().bytes + load.bytes > most) groups.emplace_back();
    LoadGroup& group = groups.back();
    load.offset = group.bytes;
    group.bytes += load.bytes;
    load.made_offset = group.made_bytes;
    group.made_bytes += load.made_bytes;
    group.chunks.push_back(std::move(load));
  }
  return groups;
}

void keep_loaded(const LoadGroup& group, ChunkCache& cache, uint64_t run) {
  std::vector<std::pair<ChunkKey, DeviceChunk>> entries;
  for (const ChunkLoad& load : group.chunks) {
    entries.emplace_back(load.key, DeviceChunk{group.block, load.addresses, load.alphabet});
  }
  cache.put(group.block, std::move(entries), run);
}

std::shared_ptr<const TextAlphabet> SharedAlphabets::make(const NodeView& root) const {
  const NodeView& values = *device::readers_of(root).value_node;
  if (values.type != Physical::kBytes) return nullptr;
  const std::shared_ptr<const TextAlphabet> alphabet = values.codec->text_alphabet(values);
  const uint64_t bytes = alphabet->bytes();
  if (live_->fetch_add(bytes) + bytes > kMostBytes) {
    live_->fetch_sub(bytes);
    throw Error(ErrorCode::kOverLimit, "dictionaries of the statement's strings would take more than 8 GiB of memory");
  }
  return {alphabet.get(), [alphabet, live = live_, bytes](const TextAlphabet*) { live->fetch_sub(bytes); }};
}

std::shared_ptr<const TextAlphabet> SharedAlphabets::get(const ColumnChunkInfo& info, const NodeView& root) {
  const std::optional<ChunkKey> key = exec::dictionary_key(info);
  if (!key) return make(root);
  {
    std::lock_guard lock(mutex_);
    if (auto known = known_[*key].lock(); known != nullptr) return known;
  }
  std::shared_ptr<const TextAlphabet> made = make(root);
  std::lock_guard lock(mutex_);
  std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<const TextAlphabet>& known = known_[*key];
  if (auto first = known.lock(); first != nullptr) return first;  // made by another thread in between
  known = made;
  return made;
}

PinnedSlots::Slot* PinnedSlots::acquire(uint64_t bytes) {
  constexpr uint64_t kLeast = 1ull << 20;  // pinning takes time: most statements of a single run need little
  Slot* slot = nullptr;
  {
    std::unique_lock lock(mutex_);
    const bool oldest_done = !free_.empty() && cudaEventQuery(free_.front()->copied) == cudaSuccess;
    if (!oldest_done && slots_.size() < most_) {
      slots_.push_back(std::make_unique<Slot>());
      slot = slots_.back().get();
    } else {
      returned_.wait(lock, [&] { return !free_.empty(); });
      slot = free_.front();
      free_.pop_front();
    }
  }
  try {
    check(cudaEventSynchronize(slot->copied), "waiting for a transfer");
    slot->memory.ensure(bytes > kLeast ? bytes : kLeast);
  } catch (...) {
    release(slot);
    throw;
  }
  return slot;
}

void PinnedSlots::release(Slot* slot) {
  {
    std::lock_guard lock(mutex_);
    free_.push_back(slot);
  }
  returned_.notify_one();
}

BatchLoad::BatchLoad(ThreadPool& threads, PinnedSlots& slots, SharedAlphabets& alphabets, int device,
                     const CancelToken* cancel, std::vector<LoadGroup>& groups)
    : slots_(slots), alphabets_(alphabets), device_(device), cancel_(cancel), left_(groups.size()) {
  for (LoadGroup& group : groups) {
    threads.submit([this, &group] {
      std::exception_ptr failed;
      try {
        bool skip = false;
        {
          std::lock_guard lock(mutex_);
          skip = error_ != nullptr;
        }
        if (!skip) load(group);
      } catch (...) {
        failed = std::current_exception();
      }
      std::lock_guard lock(mutex_);
      if (failed != nullptr && error_ == nullptr) error_ = failed;
      if (--left_ == 0) done_.notify_all();
    });
  }
}

BatchLoad::~BatchLoad() {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return left_ == 0; });
}

void BatchLoad::wait() {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return left_ == 0; });
  if (error_ != nullptr) std::rethrow_exception(error_);
}

void BatchLoad::load(LoadGroup& group) {
  if (cancel_ != nullptr) cancel_->check();
  check(cudaSetDevice(device_), "choosing the device");
  PinnedSlots::Slot* slot = slots_.acquire(group.bytes);
  struct Release {
    PinnedSlots& slots;
    PinnedSlots::Slot* slot;
    ~Release() { slots.release(slot); }
  } release{slots_, slot};

  for (ChunkLoad& load : group.chunks) {
    const ColumnChunkInfo& info = load.file->column(load.field_id).chunks[load.chunk];
    std::byte* region = slot->memory.data() + load.offset;
    std::vector<Buffer> shared;
    NodeView root = load_chunk(*load.file, load.field_id, load.chunk, region, shared);
    if (root.count != info.rows) {
      throw Error(ErrorCode::kCorrupt, load.file->name() + ": column " + load.file->column(load.field_id).path +
                                           ": chunk " + std::to_string(load.chunk) +
                                           " does not hold as many rows as it says");
    }
    try {
      check_values(root);
      if (!tests_entries_on_device(load.file->column(load.field_id), load.chunk))
        load.alphabet = alphabets_.get(info, root);
      device::place_entries(root, [&](const NodeView& entries) {
        shared.push_back(decode_all(entries));
        return ByteView(shared.back().data(), entries.count * width_of(entries.type));
      });
    } catch (const Error& error) {
      throw error.within(load.file->name() + ": column " + load.file->column(load.field_id).path + ": chunk " +
                         std::to_string(load.chunk));
    }
    uint64_t end = aligned(info.region.length);
    const uint64_t base = group.block->address() + load.offset;
    const auto place = [&](ByteView stream) -> uint64_t {
      const std::byte* data = stream.data();
      if (data >= region && data + stream.size() <= region + info.region.length) {
        return base + static_cast<uint64_t>(data - region);
      }
      if (end + stream.size() > load.bytes)
        throw Error(ErrorCode::kInternal, "a shared stream has no room on the device");
      if (!stream.empty()) std::memcpy(region + end, data, stream.size());
      const uint64_t at = base + end;
      end += aligned(stream.size());
      return at;
    };
    place_streams(root, place, group.block->address() + group.bytes + load.made_offset, load);
  }
  check(cudaMemcpyAsync(group.block->data(), slot->memory.data(), group.bytes, cudaMemcpyHostToDevice, group.stream),
        "copying to the device");
  slot->copied.record(group.stream);
  make_forms(group);
}

// Streams in preorder, each where it lies; arrays that have another form on the device get room at `made`.
void BatchLoad::place_streams(const NodeView& node, const PlaceStream& place, uint64_t made, ChunkLoad& load) {
  const std::optional<NodeView> form = node.codec->device_form(node);
  if (!form) {
    for (const ByteView stream : node.streams) load.addresses.push_back(place(stream));
    for (const NodeView& child : node.children) place_streams(child, place, made, load);
    return;
  }
  std::vector<uint64_t> stored;
  for (const ByteView stream : node.streams) stored.push_back(place(stream));
  uint64_t at = load.forms.empty() ? made : load.forms.back().end;
  const uint64_t begin = at;
  for (const ByteView stream : form->streams) {
    load.addresses.push_back(at);
    at += aligned(stream.size());
  }
  load.forms.push_back({node, std::move(stored), begin, at});
  if (at - made + kAlignment > load.made_bytes) throw Error(ErrorCode::kInternal, "an array has no room on the device");
}

// What is damaged is known before anybody reads it: the chunk stays on the device for later statements.
void BatchLoad::make_forms(LoadGroup& group) {
  std::vector<const ChunkLoad*> loads;
  DeviceForms forms;
  for (const ChunkLoad& load : group.chunks) {
    if (load.forms.empty()) continue;
    auto* fault = reinterpret_cast<uint32_t*>(load.forms.back().end);
    check(cudaMemsetAsync(fault, 0, sizeof(uint32_t), group.stream), "clearing a flag");
    for (const FormToMake& form : load.forms) forms.add(form.stored, form.streams, form.begin, fault);
    loads.push_back(&load);
  }
  if (loads.empty()) return;
  forms.make(group.stream);
  std::vector<uint32_t> faults(loads.size());
  for (size_t i = 0; i < loads.size(); ++i) {
    check(cudaMemcpyAsync(&faults[i], reinterpret_cast<const void*>(loads[i]->forms.back().end), sizeof(uint32_t),
                          cudaMemcpyDeviceToHost, group.stream),
          "copying from the device");
  }
  check(cudaStreamSynchronize(group.stream), "decoding");
  for (size_t i = 0; i < loads.size(); ++i) {
    const ChunkLoad& load = *loads[i];
    if (faults[i] == 0) continue;
    throw Error(ErrorCode::kCorrupt, load.file->name() + ": column " + load.file->column(load.field_id).path +
                                         ": chunk " + std::to_string(load.chunk) + ": its values are damaged");
  }
}

}  // namespace basalt::cuda
