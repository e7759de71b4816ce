// Rows from the device to the host: all columns' arrays in pieces through pinned memory, from where threads bring them
// to their places while the next pieces arrive.
#include <algorithm>
#include <cstring>

#include "basalt/core/error.h"
#include "cuda/backend.h"
#include "cuda/codec/gather_strings.h"
#include "cuda/query/row_arrays.h"

namespace basalt::cuda {

namespace {

constexpr uint64_t kPieceBytes = 4ull << 20;  // as loads have them: slots need not grow
constexpr uint64_t kFewBytes = 1ull << 20;

struct Copy {
  const std::byte* from;
  std::byte* to;
  uint64_t bytes;
};

// What is to be copied, and the device memory that was made for it.
class Fetching {
 public:
  explicit Fetching(cudaStream_t stream) : stream_(stream) {}

  Column add(const DeviceColumn& from, uint64_t rows) {
    Column out;
    out.type = from.field.type;
    out.length = rows;
    if (from.validity.data() != nullptr) {
      DeviceBuffer bits = pack_validity(from.validity.as<uint8_t>(), rows, out.null_count, stream_);
      if (out.null_count > 0) add_array(std::move(bits), (rows + 7) / 8, out.validity);
    }
    const Physical type = physical_of(from.field.type);
    if (type == Physical::kBytes) {
      add_strings(from, rows, out);
    } else {
      add_array(from.values, rows * width_of(type), out.values);
    }
    return out;
  }

  // In pieces of the size at which copies are made.
  std::vector<Copy> pieces() const {
    std::vector<Copy> out;
    for (const Copy& copy : copies_) {
      for (uint64_t at = 0; at < copy.bytes; at += kPieceBytes) {
        out.push_back({copy.from + at, copy.to + at, std::min(kPieceBytes, copy.bytes - at)});
      }
    }
    return out;
  }

 private:
  void add_array(const DeviceBuffer& from, uint64_t bytes, Buffer& to) {
    to.resize(bytes);
    if (bytes > 0) copies_.push_back({from.as<std::byte>(), to.data(), bytes});
  }
  void add_array(DeviceBuffer&& from, uint64_t bytes, Buffer& to) {
    add_array(static_cast<const DeviceBuffer&>(from), bytes, to);
    made_.push_back(std::move(from));
  }

  void add_strings(const DeviceColumn& from, uint64_t rows, Column& out) {
    DeviceStrings strings = strings_of(from, rows, stream_);
    add_array(std::move(strings.offsets), (rows + 1) * sizeof(int64_t), out.offsets);
    add_array(std::move(strings.bytes), strings.byte_count, out.bytes);
  }

  cudaStream_t stream_;
  std::vector<Copy> copies_;
  std::vector<DeviceBuffer> made_;
};

}  // namespace

DeviceStrings strings_of(const DeviceColumn& column, uint64_t rows, cudaStream_t stream) {
  const TextList list = list_of(column, stream);
  if (list.count > 0) {
    return gather_strings(list.at, column.values.as<uint32_t>(), rows, stream, column.validity.as<uint8_t>());
  }
  DeviceStrings all_null;
  all_null.count = rows;
  all_null.offsets = cleared((rows + 1) * sizeof(int64_t), stream);
  return all_null;
}

Table CudaBackend::fetch_table(const DeviceTable& from, ThreadPool& threads) {
  Table table;
  table.rows = from.rows;
  Fetching fetching(compute_);
  for (const DeviceColumn& column : from.columns) {
    table.schema.fields.push_back(column.field);
    table.columns.push_back(fetching.add(column, from.rows));
  }
  const std::vector<Copy> pieces = fetching.pieces();
  uint64_t bytes = 0;
  for (const Copy& piece : pieces) bytes += piece.bytes;
  if (bytes <= kFewBytes) {
    for (const Copy& piece : pieces) {
      check(cudaMemcpyAsync(piece.to, piece.from, piece.bytes, cudaMemcpyDeviceToHost, compute_), "fetching rows");
    }
    compute_.synchronize();
    return table;
  }
  compute_.synchronize();
  threads.parallel_for(pieces.size(), [&](uint64_t i) {
    use_device();
    PinnedSlots::Slot* slot = slots_->acquire(pieces[i].bytes);
    struct Release {
      PinnedSlots& slots;
      PinnedSlots::Slot* slot;
      ~Release() { slots.release(slot); }
    } release{*slots_, slot};
    const Stream& stream = copies_[i % copies_.size()];
    check(cudaMemcpyAsync(slot->memory.data(), pieces[i].from, pieces[i].bytes, cudaMemcpyDeviceToHost, stream),
          "fetching rows");
    slot->copied.record(stream);
    check(cudaEventSynchronize(slot->copied), "waiting for rows");
    std::memcpy(pieces[i].to, slot->memory.data(), pieces[i].bytes);
  });
  return table;
}

}  // namespace basalt::cuda
