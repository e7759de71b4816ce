#include "cuda/query/fetch_texts.h"

#include <algorithm>

#include "basalt/core/error.h"
#include "cuda/query/chunk_texts.h"
#include "cuda/query/gather_texts.h"
#include "cuda/query/row_arrays.h"

namespace basalt::cuda {

using exec::WantedChunk;

TextFetch::TextFetch(CudaBackend& backend, uint64_t run, uint64_t limit, const RunOptions& options, RunReport& report)
    : backend_(backend), run_(run), limit_(limit), options_(options), report_(report), stream_(backend.compute_) {}

std::vector<DeviceColumn> TextFetch::fetch(const exec::FileList& files, const std::vector<uint32_t>& fields,
                                           const DeviceBuffer& numbers, uint64_t rows, bool ascend) {
  columns_.resize(fields.size());
  sorted_ = numbers;
  const DeviceBuffer places =
      ascend ? counting(rows, stream_) : ranks_of(numbers.as<uint64_t>(), rows, sorted_, stream_);
  std::vector<WantedChunk> wanted;
  if (rows > 0) {
    const std::vector<uint64_t> firsts = exec::first_rows_of(files);
    wanted = exec::wanted_chunks(files, fields, firsts, count_below(sorted_.as<uint64_t>(), rows, firsts, stream_));
  }
  std::vector<uint64_t> bytes;
  for (const WantedChunk& chunk : wanted) {
    const ColumnChunkInfo& info = chunk.at.info();
    bytes.push_back(exec::bytes_to_decode(info));
    DeviceBuffer& validity = columns_[chunk.column].validity;
    if (info.nodes[0].codec->holds_nulls() && validity.data() == nullptr) validity = DeviceBuffer(rows, stream_);
  }
  auto next = wanted.begin();
  for (const size_t end : exec::batch_ends(bytes, limit_ / 3)) {
    const auto last = wanted.begin() + static_cast<ptrdiff_t>(end);
    fetch_batch({next, last});
    next = last;
  }
  std::vector<DeviceColumn> out;
  for (Fetched& column : columns_) {
    DeviceColumn& made = out.emplace_back();
    made.values = places;
    made.texts = as_device_texts(join_texts(std::move(column.lists), stream_));
    made.validity = ascend ? column.validity : gather(column.validity, 1, places.as<uint32_t>(), rows, stream_);
  }
  return out;
}

void TextFetch::fetch_batch(const std::vector<WantedChunk>& batch) {
  if (options_.cancel != nullptr) options_.cancel->check();
  std::vector<exec::ChunkToLoad> places;
  uint64_t needed = taken_;
  for (const WantedChunk& chunk : batch) {
    places.push_back(chunk.at);
    needed += exec::bytes_to_decode(chunk.at.info());
  }
  // Chunks of others leave first. What these need themselves comes back if there is room for it at all.
  backend_.cache_.make_room(0, limit_ - std::min(limit_, needed), run_);
  const std::vector<TextChunk> chunks = backend_.load_chunks(places, run_, limit_, options_, report_);
  try {
    take_texts(batch, chunks);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kCorrupt) throw;
    if (batch.size() == 1) throw error.within(batch[0].at.name());
    // One by one, to say which it was.
    for (const WantedChunk& chunk : batch) fetch_batch({chunk});
    throw;
  }
}

void TextFetch::take_texts(const std::vector<WantedChunk>& batch, const std::vector<TextChunk>& chunks) {
  const DecodedTexts decoded = decode_texts(chunks, backend_.modules_, stream_);
  std::vector<WantedRows> rows;
  std::vector<size_t> columns;  // of lists
  std::vector<uint64_t> ends;
  uint64_t before = 0;
  for (size_t i = 0; i < batch.size(); ++i) {
    const WantedChunk& chunk = batch[i];
    if (columns.empty() || columns.back() != chunk.column) {
      columns.push_back(chunk.column);
      ends.push_back(before);
    }
    const DecodedTexts::List& texts = decoded.texts[decoded.chunks[i].texts];
    auto* valid = columns_[chunk.column].validity.as<uint8_t>();
    rows.push_back({decoded.chunks[i], texts.at, texts.count, sorted_.as<uint64_t>() + chunk.begin, chunk.first_row,
                    chunk.count, before, valid == nullptr ? nullptr : valid + chunk.begin});
    before += chunk.count;
    ends.back() = before;
  }
  const uint64_t left = limit_ - std::min(limit_, taken_);
  std::vector<DeviceStrings> lists = gather_texts(rows, ends, decoded.fault.as<uint32_t>(), left, stream_);
  for (size_t i = 0; i < lists.size(); ++i) {
    taken_ += lists[i].offsets.bytes() + lists[i].bytes.bytes();
    columns_[columns[i]].lists.push_back(std::move(lists[i]));
  }
}

}  // namespace basalt::cuda
