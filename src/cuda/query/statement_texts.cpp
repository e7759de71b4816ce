#include "cuda/query/statement_texts.h"

#include <algorithm>
#include <optional>

#include "cuda/codec/gather_strings.h"
#include "cuda/query/chunk_texts.h"
#include "cuda/query/decode_column.h"
#include "cuda/query/number_rows.h"
#include "cuda/query/text_functions_run.h"
#include "cuda/query/text_lengths.h"
#include "cuda/query/timed_work.h"
#include "exec/device/generate/texts.h"

namespace basalt::cuda {

namespace {

constexpr uint64_t kLeastBatch = 64ull << 20;
// Of fewer rows all are numbered, without asking the filter first.
constexpr uint64_t kFewRowsToNumber = 1 << 16;
// For which a function of several columns is evaluated together.
constexpr uint64_t kRowsAtATime = 1 << 23;

bool has_nulls(const Pipeline& pipeline, uint32_t field_id) {
  return std::ranges::any_of(pipeline.files, [&](const auto& file) {
    const std::vector<ColumnChunkInfo>& chunks = file->column(field_id).chunks;
    return std::ranges::any_of(chunks, [](const ColumnChunkInfo& info) { return info.nodes[0].codec->holds_nulls(); });
  });
}

}  // namespace

TextsRun::TextsRun(CudaBackend& backend, const device::DevicePipeline& device, const Pipeline& given,
                   const RunOptions& options, RunReport& report, const DeviceTable* input)
    : backend_(backend),
      device_(device),
      pipeline_(device.pipeline),
      given_(given),
      options_(options),
      report_(report),
      input_(input),
      stream_(backend.compute_),
      pool_(backend.compute_) {}

// Whether statistics leave some row of the chunk.
bool TextsRun::may_match(const File& file, uint32_t chunk, exec::ZoneFilter& filter) const {
  if (!options_.prune || !pipeline_.has_filter) return true;
  std::vector<const ColumnChunkInfo*> infos;
  for (size_t i = 0; i < pipeline_.columns.size(); ++i) {
    infos.push_back(device_.arrays[i] ? nullptr : &file.column(pipeline_.columns[i].field_id).chunks.at(chunk));
  }
  return std::ranges::any_of(filter.decide_zones(infos, file.chunks()[chunk].rows),
                             [](Decision zone) { return zone != Decision::kNone; });
}

void TextsRun::place_chunks() {
  if (input_ != nullptr) rows_ = input_->rows;
  exec::ZoneFilter filter(pipeline_.has_filter ? &pipeline_.filter : nullptr);
  for (const auto& file : pipeline_.files) {
    for (uint32_t chunk = 0; chunk < file->chunks().size(); ++chunk) {
      const uint64_t rows = file->chunks()[chunk].rows;
      const bool read = !options_.tiles.within(rows_ / kTileRows, tile_count(rows)).empty();
      if (read && may_match(*file, chunk, filter)) places_.push_back({file, chunk, rows_});
      rows_ += uint64_t{tile_count(rows)} * kTileRows;
    }
  }
}

// Which rows pass the filter, where that needs no numbers of strings: only their strings are looked at. Telling strings
// apart and putting them in order costs more than asking the filter twice.
void TextsRun::find_wanted() {
  if (!given_.has_filter || rows_ < kFewRowsToNumber || places_.empty()) return;
  Pipeline rows;
  rows.files = given_.files;
  rows.columns = given_.columns;
  rows.has_filter = true;
  rows.filter = given_.filter;
  rows.sink = Sink::kRows;
  const std::shared_ptr<const device::DevicePipeline> stage = backend_.stages_.get(rows);
  if (!stage->reason.empty() || !stage->texts.empty()) return;
  device::DevicePipeline numbers = *stage;
  numbers.sources->late = true;  // nothing but numbers
  RunReport report;
  uint64_t count = 0;
  const DeviceBuffer passed = StatementRun(backend_, numbers, options_, report).run_row_numbers(count);
  wanted_ = mark_rows(passed.as<uint64_t>(), count, rows_, stream_);
  out_.passes.values = reinterpret_cast<uint64_t>(wanted_.data());
  for (const Place& place : places_) out_.asked.emplace(place.file.get(), place.chunk);
  out_.tiles = report.tiles;
  report_.bytes_transferred += report.bytes_transferred;
  report_.encoded_bytes_read += report.encoded_bytes_read;
  report_.kernel_ms += report.kernel_ms;
}

// The chunks of a column on the device.
std::vector<TextChunk> TextsRun::load(const std::vector<Place>& places, uint32_t field_id) {
  std::vector<exec::ChunkToLoad> chunks;
  for (const Place& place : places) chunks.push_back({place.file, field_id, place.chunk});
  return backend_.load_chunks(chunks, run_, limit_, options_, report_);
}

// Of rows that pass the filter, the texts that are these rows or that they name.
DeviceBuffer TextsRun::mark_wanted(const std::vector<Place>& places, const DecodedTexts& decoded,
                                   const std::vector<uint64_t>& firsts, std::vector<TextPool::List>& lists) const {
  if (wanted_.data() == nullptr) return {};
  DeviceBuffer marks = cleared(firsts.empty() ? 0 : firsts.back() + lists.back().count, stream_);
  std::vector<RowsToMark> named;
  for (size_t i = 0; i < places.size(); ++i) {
    const TextRows& chunk = decoded.chunks[i];
    TextPool::List& list = lists[chunk.texts];
    const uint8_t* wanted = wanted_.as<uint8_t>() + places[i].first_row;
    if (chunk.codes == nullptr) {
      list.wanted = wanted;
    } else {
      uint8_t* own = marks.as<uint8_t>() + firsts[chunk.texts];
      list.wanted = own;
      named.push_back({chunk, own, list.count, wanted});
    }
  }
  mark_texts(named, stream_);
  return marks;
}

void TextsRun::number_batch(const std::vector<Place>& places, Numbered& column) {
  const std::vector<TextChunk> chunks = load(places, column.field_id);
  const TimedWork timed(report_, stream_);
  const DecodedTexts decoded = decode_texts(chunks, backend_.modules_, stream_);
  std::vector<TextPool::List> lists;
  std::vector<uint64_t> firsts;
  uint64_t texts = 0;
  for (const DecodedTexts::List& list : decoded.texts) {
    lists.push_back({list.at, list.count});
    firsts.push_back(texts);
    texts += list.count;
  }
  const DeviceBuffer marks = mark_wanted(places, decoded, firsts, lists);
  const DeviceBuffer numbers = pool_.intern(lists);
  std::vector<RowsToNumber> rows;
  for (size_t i = 0; i < places.size(); ++i) {
    const TextRows& chunk = decoded.chunks[i];
    rows.push_back(
        {chunk, numbers.as<uint32_t>() + firsts[chunk.texts], lists[chunk.texts].count, places[i].first_row});
  }
  number_rows(rows, column.numbers.as<uint32_t>(), column.validity.as<uint8_t>(), decoded.fault.as<uint32_t>(),
              stream_);
  // Texts of damaged values are anything, but lie inside their memory: it is enough to look now.
  if (fetch(decoded.fault.as<uint32_t>(), stream_) == 0) return;
  const Error damage(ErrorCode::kCorrupt, "its values break the rules of their encoding");
  throw damage.within(places[0].file->name() + ": column " + places[0].file->column(column.field_id).path);
}

void TextsRun::for_each_batch(uint32_t field_id, const std::function<void(const std::vector<Place>&)>& f) {
  std::vector<uint64_t> bytes;
  for (const Place& place : places_) {
    bytes.push_back(exec::bytes_to_decode(place.file->column(field_id).chunks.at(place.chunk)));
  }
  auto next = places_.begin();
  for (const size_t end : exec::batch_ends(bytes, std::max(kLeastBatch, limit_ / 8))) {
    if (options_.cancel != nullptr) options_.cancel->check();
    const auto last = places_.begin() + static_cast<ptrdiff_t>(end);
    f({next, last});
    next = last;
  }
}

// Lengths that lie beside the strings, of a column whose strings nobody needs.
bool TextsRun::is_stored_length(const device::TextArray& array) const {
  const Expr& function = array.function;
  if (input_ != nullptr || function.op != ExprOp::kByteLength || function.args[0].op != ExprOp::kColumn) return false;
  const bool alone = std::ranges::none_of(device_.texts.arrays, [&](const auto& other) {
    return other && other->field_id == array.field_id && other->function.op != ExprOp::kByteLength;
  });
  return alone && std::ranges::all_of(places_, [&](const Place& place) {
           return stores_lengths(place.file->column(array.field_id).chunks.at(place.chunk));
         });
}

ArrayAddresses TextsRun::measured(uint32_t field_id) {
  DeviceBuffer lengths(rows_ * sizeof(int64_t), stream_);
  DeviceBuffer validity(has_nulls(pipeline_, field_id) ? rows_ : 0, stream_);
  for_each_batch(field_id, [&](const std::vector<Place>& batch) {
    std::vector<TextChunk> chunks = load(batch, field_id);
    std::vector<ChunkToMeasure> placed;
    for (size_t i = 0; i < batch.size(); ++i) placed.push_back({std::move(chunks[i]), batch[i].first_row});
    measure_texts(placed, lengths.as<int64_t>(), validity.as<uint8_t>(), backend_.modules_, stream_);
  });
  const ArrayAddresses out{reinterpret_cast<uint64_t>(lengths.data()), reinterpret_cast<uint64_t>(validity.data())};
  out_.memory.push_back(std::move(lengths));
  out_.memory.push_back(std::move(validity));
  return out;
}

// Whether a column of the pipeline is made of the numbers of strings.
bool TextsRun::has_numbers(const std::optional<device::TextArray>& array) const {
  return array && !array->is_decoded() && !is_stored_length(*array);
}

// The values of a column as they are, and which of them there are.
ArrayAddresses TextsRun::decoded(uint32_t field_id, Physical type) {
  const bool nullable = has_nulls(pipeline_, field_id);
  const uint64_t bytes = rows_ * (width_of(type) + (nullable ? 1 : 0));
  if (bytes > limit_ / 2) {
    throw Error(ErrorCode::kOutOfMemory, "a column that is decoded before needs " + std::to_string(bytes >> 20) +
                                             " MiB on the device, more than half of the limit of " +
                                             std::to_string(limit_ >> 20) + " MiB");
  }
  limit_ -= bytes;
  backend_.cache_.make_room(0, limit_, run_);
  DeviceBuffer values(rows_ * width_of(type), stream_);
  DeviceBuffer validity(nullable ? rows_ : 0, stream_);
  if (validity.data() != nullptr) check(cudaMemsetAsync(validity.data(), 1, rows_, stream_), "marking rows");
  for_each_batch(field_id, [&](const std::vector<Place>& batch) {
    const std::vector<TextChunk> chunks = load(batch, field_id);
    const TimedWork timed(report_, stream_);
    std::vector<ChunkToDecode> placed;
    for (size_t i = 0; i < batch.size(); ++i) placed.push_back({chunks[i].info, &chunks[i].chunk, batch[i].first_row});
    try {
      decode_column(placed, type, values, validity, backend_.modules_, stream_);
    } catch (const Error& error) {
      throw error.within(batch[0].file->name() + ": column " + batch[0].file->path(field_id));
    }
  });
  const ArrayAddresses out{reinterpret_cast<uint64_t>(values.data()), reinterpret_cast<uint64_t>(validity.data())};
  out_.memory.push_back(std::move(values));
  out_.memory.push_back(std::move(validity));
  return out;
}

const TextsRun::Numbered* TextsRun::find_numbered(uint32_t field_id) const {
  const auto found = std::ranges::find(columns_, field_id, &Numbered::field_id);
  return found == columns_.end() ? nullptr : &*found;
}

const TextsRun::Numbered& TextsRun::numbered(uint32_t field_id) {
  if (const Numbered* known = find_numbered(field_id)) return *known;
  Numbered column;
  column.field_id = field_id;
  input_ != nullptr ? number_input(column) : number_files(column);
  columns_.push_back(std::move(column));
  return columns_.back();
}

void TextsRun::number_files(Numbered& column) {
  // Rows of chunks that statistics rule out, and behind the end of chunks, have a number that no string has.
  column.numbers = DeviceBuffer(rows_ * sizeof(uint32_t), stream_);
  if (rows_ > 0) {
    check(cudaMemsetAsync(column.numbers.data(), 0xFF, rows_ * sizeof(uint32_t), stream_), "clearing numbers");
  }
  if (has_nulls(pipeline_, column.field_id)) column.validity = DeviceBuffer(rows_, stream_);
  for_each_batch(column.field_id, [&](const std::vector<Place>& batch) { number_batch(batch, column); });
}

// Strings that lie in a list, some of them perhaps twice: those that rows have get numbers.
void TextsRun::number_input(Numbered& column) {
  const TimedWork timed(report_, stream_);
  const DeviceColumn& input = input_->columns.at(column.field_id);
  const TextList list = list_of(input, stream_);
  const auto* places = input.values.as<uint32_t>();
  const DeviceBuffer used = mark_used(places, rows_, list.count, stream_);
  const DeviceBuffer numbers = pool_.intern({{list.at, list.count, used.as<uint8_t>()}});
  column.numbers = by_row<uint32_t>(places, numbers, list.count);
  column.validity = input.validity;
}

// Results of functions for each distinct string. Those that are strings become part of the pool, too.
void TextsRun::evaluate_functions() {
  const std::vector<std::optional<device::TextArray>>& arrays = device_.texts.arrays;
  distinct_ = pool_.count();
  results_.resize(arrays.size());
  result_validity_.resize(arrays.size());
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (!has_numbers(arrays[i]) || arrays[i]->function.op == ExprOp::kColumn) continue;
    if (arrays[i]->by_row) {
      evaluate_by_row(i);
      continue;
    }
    // Strings of other columns are none of its business: the device may not know what it does with them.
    const auto* numbers = numbered(arrays[i]->field_id).numbers.as<uint32_t>();
    const DeviceBuffer used = mark_used(numbers, rows_, distinct_, stream_);
    TextItems items{pool_.texts(), distinct_, distinct_, used.as<uint8_t>(), {}};
    items.columns.resize(1);
    TextResults results = evaluate_texts(arrays[i]->function, items, stream_);
    if (arrays[i]->function.type == Physical::kBytes) {
      const DeviceStrings& made = results.strings;
      results_[i] = pool_.intern({{{made.bytes.as<uint64_t>(), made.offsets.as<int64_t>(), 0}, made.count}});
    } else {
      results_[i] = std::move(results.values);
    }
  }
}

// A function of several columns, for each row that is wanted and has all that it needs.
void TextsRun::evaluate_by_row(size_t place) {
  const device::TextArray& array = *device_.texts.arrays[place];
  std::vector<const Numbered*> columns{find_numbered(array.field_id)};
  for (const uint32_t field : array.others) columns.push_back(find_numbered(field));
  DeviceBuffer& validity = result_validity_[place];
  for (uint32_t i = 0; i < columns.size(); ++i) {
    const auto* valid = columns[i]->validity.as<uint8_t>();
    if (valid == nullptr || !device::is_null_with(array.function, i)) continue;
    validity = marked_by_both(validity.as<uint8_t>(), valid, rows_, stream_);
  }
  const DeviceBuffer used = marked_by_both(wanted_.as<uint8_t>(), validity.as<uint8_t>(), rows_, stream_);
  const bool text = array.function.type == Physical::kBytes;
  const uint64_t width = text ? sizeof(uint32_t) : width_of(array.function.type);
  results_[place] = DeviceBuffer(rows_ * width, stream_);
  for (uint64_t first = 0; first < rows_; first += kRowsAtATime) {
    if (options_.cancel != nullptr) options_.cancel->check();
    TextItems items{pool_.texts(), distinct_, std::min(kRowsAtATime, rows_ - first), used.as<uint8_t>() + first, {}};
    for (const Numbered* column : columns) {
      const auto* valid = column->validity.as<uint8_t>();
      items.columns.push_back({column->numbers.as<uint32_t>() + first, valid == nullptr ? nullptr : valid + first});
    }
    TextResults made = evaluate_texts(array.function, items, stream_);
    if (text) {
      const strings::Texts list{made.strings.bytes.as<uint64_t>(), made.strings.offsets.as<int64_t>(), 0};
      made.values = pool_.intern({{list, items.count, items.used}});
    }
    check(cudaMemcpyAsync(results_[place].as<std::byte>() + first * width, made.values.data(), items.count * width,
                          cudaMemcpyDeviceToDevice, stream_),
          "keeping results");
  }
}

// The pool as it leaves, in the order of its strings where that is asked for: then numbers become ranks.
void TextsRun::finish_pool() {
  out_.numbers.count = pool_.count();
  for (uint32_t i = 0; i < device_.texts.literals.size(); ++i) out_.numbers.literals.push_back(i);
  if (!device_.texts.ordered) {
    out_.texts = as_device_texts(pool_.take());
    return;
  }
  TextOrder order = order_texts(pool_.texts(), pool_.count(), stream_);
  out_.texts = as_device_texts(gather_strings(pool_.texts(), order.numbers.as<uint32_t>(), pool_.count(), stream_));
  ranks_ = std::move(order.ranks);
  const Buffer of_literals = download(ranks_, out_.numbers.literals.size() * sizeof(uint32_t), stream_);
  std::ranges::copy(of_literals.span<uint32_t>(), out_.numbers.literals.begin());
}

// values[number] of each row.
template <typename T>
DeviceBuffer TextsRun::by_row(const uint32_t* numbers, const DeviceBuffer& values, uint64_t count) const {
  DeviceBuffer to(rows_ * sizeof(T), stream_);
  look_up(numbers, rows_, values.as<T>(), count, to.as<T>(), stream_);
  return to;
}

// Numbers or results by row; nothing: the numbers that the column has.
DeviceBuffer TextsRun::array_of(size_t place) {
  const device::TextArray& array = *device_.texts.arrays[place];
  const Physical type = array.function.type;
  const auto* numbers = find_numbered(array.field_id)->numbers.as<uint32_t>();
  if (type != Physical::kBytes && array.by_row) return std::move(results_[place]);
  if (type == Physical::kU8) return by_row<uint8_t>(numbers, results_[place], distinct_);
  if (type != Physical::kBytes) return by_row<int64_t>(numbers, results_[place], distinct_);
  DeviceBuffer own;
  if (array.by_row) {
    own = std::move(results_[place]);
  } else if (array.function.op != ExprOp::kColumn) {
    own = by_row<uint32_t>(numbers, results_[place], distinct_);
  }
  if (ranks_.data() == nullptr) return own;
  return by_row<uint32_t>(own.data() == nullptr ? numbers : own.as<uint32_t>(), ranks_, out_.numbers.count);
}

// Of every column of the pipeline that asks for numbers or results; lengths come later.
void TextsRun::finish_arrays() {
  const TimedWork timed(report_, stream_);
  evaluate_functions();
  finish_pool();
  out_.arrays.resize(device_.texts.arrays.size());
  for (size_t i = 0; i < out_.arrays.size(); ++i) {
    const std::optional<device::TextArray>& array = device_.texts.arrays[i];
    if (!has_numbers(array)) continue;
    const Numbered& column = *find_numbered(array->field_id);
    DeviceBuffer values = array_of(i);
    const void* data = values.data() == nullptr ? column.numbers.data() : values.data();
    const DeviceBuffer& validity = array->by_row ? result_validity_[i] : column.validity;
    out_.arrays[i] = {reinterpret_cast<uint64_t>(data), reinterpret_cast<uint64_t>(validity.data())};
    out_.memory.push_back(std::move(values));
    out_.memory.push_back(std::move(result_validity_[i]));
  }
}

uint64_t StatementTexts::bytes() const {
  uint64_t sum = 0;
  for (const DeviceBuffer& buffer : memory) sum += buffer.bytes();
  if (texts != nullptr) sum += texts->offsets.bytes() + texts->bytes.bytes();
  return sum;
}

StatementTexts TextsRun::run() {
  run_ = ++backend_.runs_;
  backend_.read_free_memory();
  limit_ = backend_.memory_limit(options_);
  place_chunks();
  pool_.add_literals(device_.texts.literals);
  if (std::ranges::any_of(device_.texts.arrays, [&](const auto& array) { return has_numbers(array); })) find_wanted();
  for (const std::optional<device::TextArray>& array : device_.texts.arrays) {
    if (!has_numbers(array)) continue;
    numbered(array->field_id);
    for (const uint32_t field : array->others) numbered(field);
  }
  finish_arrays();
  for (size_t i = 0; i < out_.arrays.size(); ++i) {
    const std::optional<device::TextArray>& array = device_.texts.arrays[i];
    if (!array || has_numbers(array)) continue;
    out_.arrays[i] = array->is_decoded() ? decoded(array->field_id, array->function.type) : measured(array->field_id);
  }
  for (Numbered& column : columns_) {
    out_.memory.push_back(std::move(column.numbers));
    out_.memory.push_back(std::move(column.validity));
  }
  out_.memory.push_back(std::move(wanted_));
  return std::move(out_);
}

namespace {

// The pipeline once its filter was asked: its kernel reads flags instead of asking again. False if it would need arrays
// that were not made.
bool ask_flags(const Pipeline& pipeline, NumberedPipeline& numbered) {
  Pipeline rest = pipeline;
  rest.has_filter = false;
  auto device = std::make_shared<device::DevicePipeline>(device::to_device(rest, &numbered.texts.numbers));
  const uint32_t flags = device::filter_by_flags(*device);
  const std::vector<std::optional<device::TextArray>>& made = numbered.device->texts.arrays;
  std::vector<ArrayAddresses> arrays(device->pipeline.columns.size());
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (!device->texts.is_made(i)) continue;
    const auto found = std::ranges::find_if(
        made, [&](const auto& array) { return array && device::is_same(*array, *device->texts.arrays[i]); });
    if (found == made.end()) return false;
    arrays[i] = numbered.texts.arrays[static_cast<size_t>(found - made.begin())];
  }
  arrays[flags] = numbered.texts.passes;
  numbered.texts.arrays = std::move(arrays);
  numbered.device = std::move(device);
  return true;
}

}  // namespace

NumberedPipeline number_texts(CudaBackend& backend, std::shared_ptr<const device::DevicePipeline> stage,
                              const Pipeline& pipeline, const RunOptions& options, RunReport& report) {
  NumberedPipeline out;
  out.device = std::move(stage);
  if (!out.device->reason.empty()) throw Error(ErrorCode::kUnsupported, out.device->reason);
  if (out.device->texts.empty()) return out;
  out.texts = TextsRun(backend, *out.device, pipeline, options, report).run();
  if (out.texts.passes.values != 0 && ask_flags(pipeline, out)) return out;
  out.texts.tiles.reset();
  out.texts.asked.clear();
  out.device = std::make_shared<const device::DevicePipeline>(device::to_device(pipeline, &out.texts.numbers));
  return out;
}

StringRows fetch_texts(const DeviceTexts& texts, const std::vector<uint32_t>& numbers, cudaStream_t stream) {
  StringRows out;
  if (numbers.empty()) return out;
  if (*std::ranges::max_element(numbers) >= texts.count) {
    throw Error(ErrorCode::kInternal, "a number that no string has");
  }
  const DeviceBuffer wanted = upload(numbers.data(), numbers.size() * sizeof(uint32_t), stream);
  const strings::Texts list{texts.bytes.as<uint64_t>(), texts.offsets.as<int64_t>(), 0};
  const DeviceStrings found = gather_strings(list, wanted.as<uint32_t>(), numbers.size(), stream);
  out.bytes = download(found.bytes, found.byte_count, stream);
  const Buffer offsets = download(found.offsets, (numbers.size() + 1) * sizeof(int64_t), stream);
  out.offsets.assign(offsets.as<int64_t>(), offsets.as<int64_t>() + numbers.size() + 1);
  return out;
}

Value text_of(const NumberedPipeline& pipeline, const Expr& expr, const Value& number, cudaStream_t stream) {
  if (number.null) return Value::of_null(Physical::kBytes);
  const auto place = static_cast<uint32_t>(number.integer);
  const exec::TextCodes* listed = expr.op == ExprOp::kColumn ? pipeline.device->codes[expr.column].get() : nullptr;
  if (listed != nullptr) return Value::of_bytes(std::string(listed->entries.at(place)));
  return Value::of_bytes(std::string(fetch_texts(*pipeline.texts.texts, {place}, stream).at(0)));
}

}  // namespace basalt::cuda
