// Strings for rows that are left, by their numbers: chunk by chunk decoded on the device, of which only those rows are
// kept.
#include <algorithm>

#include "basalt/core/error.h"
#include "codec/validity/layout.h"
#include "cuda/backend.h"
#include "cuda/codec/gather_strings.h"
#include "cuda/query/row_arrays.h"
#include "exec/cpu/fetch_rows.h"

namespace basalt::cuda {

namespace {

// A chunk that has rows of the result: sorted numbers [begin, begin + count).
struct WantedChunk {
  const File* file;
  uint32_t chunk;
  uint64_t first_row;
  uint64_t begin;
  uint64_t count;
};

std::vector<WantedChunk> wanted_chunks(const std::vector<std::shared_ptr<const File>>& files, const uint64_t* sorted,
                                       uint64_t rows, cudaStream_t stream) {
  const std::vector<uint64_t> firsts = exec::first_rows_of(files);
  const std::vector<uint64_t> begins = count_below(sorted, rows, firsts, stream);
  std::vector<WantedChunk> out;
  size_t place = 0;
  for (const auto& file : files) {
    for (uint32_t chunk = 0; chunk < file->chunks().size(); ++chunk, ++place) {
      const uint64_t count = begins[place + 1] - begins[place];
      if (count > 0) out.push_back({file.get(), chunk, firsts[place], begins[place], count});
    }
  }
  return out;
}

// All strings, one list after the other.
std::shared_ptr<const DeviceTexts> join_texts(std::vector<DeviceStrings> parts, cudaStream_t stream) {
  auto out = std::make_shared<DeviceTexts>();
  uint64_t bytes = 0;
  for (const DeviceStrings& part : parts) {
    out->count += part.count;
    bytes += part.byte_count;
  }
  out->offsets = cleared((out->count + 1) * sizeof(int64_t), stream);
  out->bytes = DeviceBuffer(bytes, stream);
  uint64_t rows = 0;
  int64_t at = 0;
  for (DeviceStrings& part : parts) {
    shift_offsets(part.offsets.as<int64_t>(), part.count + 1, at, out->offsets.as<int64_t>() + rows, stream);
    if (part.byte_count > 0) {
      check(cudaMemcpyAsync(out->bytes.as<std::byte>() + at, part.bytes.data(), part.byte_count,
                            cudaMemcpyDeviceToDevice, stream),
            "putting strings together");
    }
    rows += part.count;
    at += static_cast<int64_t>(part.byte_count);
    part = DeviceStrings();
  }
  return out;
}

}  // namespace

DeviceColumn CudaBackend::fetch_texts(const std::vector<std::shared_ptr<const File>>& files, uint32_t field_id,
                                      const DeviceBuffer& numbers, uint64_t rows, ThreadPool& threads) {
  const cudaStream_t stream = compute_;
  DeviceColumn column;
  DeviceBuffer sorted;
  column.values = ranks_of(numbers.as<uint64_t>(), rows, sorted, stream);
  const std::vector<WantedChunk> wanted = wanted_chunks(files, sorted.as<uint64_t>(), rows, stream);
  const StringsDecoder decoder([this](const NodeView& node) { return decode_fixed(node); }, stream);
  std::vector<DeviceStrings> parts;
  DeviceBuffer valid;  // in the order of the numbers
  std::vector<EncodedChunk> read(threads.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    // As many chunks at a time as there are threads to read and check them.
    if (i % read.size() == 0) {
      threads.parallel_for(std::min(read.size(), wanted.size() - i), [&](uint64_t j) {
        read[j] = wanted[i + j].file->read_chunk(field_id, wanted[i + j].chunk);
      });
    }
    const WantedChunk& chunk = wanted[i];
    const EncodedChunk& encoded = read[i % read.size()];
    const DeviceBuffer in_chunk =
        subtract_first(sorted.as<uint64_t>() + chunk.begin, chunk.count, chunk.first_row, stream);
    try {
      const NodeView* values = &encoded.root;
      if (values->codec->holds_nulls()) {
        const DeviceBuffer flags = decode_fixed(values->children[validity::kValid]);
        const DeviceBuffer own = gather(flags, 1, in_chunk.as<uint32_t>(), chunk.count, stream);
        if (valid.data() == nullptr) {
          valid = DeviceBuffer(rows, stream);
          check(cudaMemsetAsync(valid.data(), 1, rows, stream), "marking rows");
        }
        check(cudaMemcpyAsync(valid.as<std::byte>() + chunk.begin, own.data(), chunk.count, cudaMemcpyDeviceToDevice,
                              stream),
              "putting NULLs together");
        values = &values->children[validity::kValues];
      }
      const DeviceStrings all = decoder.decode(*values);
      parts.push_back(gather_strings({all.bytes.as<uint64_t>(), all.offsets.as<int64_t>(), 0}, in_chunk.as<uint32_t>(),
                                     chunk.count, stream));
    } catch (const Error& error) {
      throw error.within(chunk.file->name() + ": column " + chunk.file->path(field_id) + ": chunk " +
                         std::to_string(chunk.chunk));
    }
  }
  column.texts = join_texts(std::move(parts), stream);
  column.validity = gather(valid, 1, column.values.as<uint32_t>(), rows, stream);
  return column;
}

}  // namespace basalt::cuda
