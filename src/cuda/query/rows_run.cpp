// Rows on the device. In the order of the table: counted by one launch over a batch, written by the next to where they
// belong. The first of an order: a sample of the first batch tells how far these lie at most, one launch over each
// batch appends the rows within that, and what is more than wanted is sorted out before the next batch.
#include <algorithm>
#include <bit>

#include "basalt/core/error.h"
#include "cuda/query/fetch_texts.h"
#include "cuda/query/statement_texts.h"
#include "exec/column_facts.h"
#include "exec/cpu/fetch_rows.h"
#include "exec/cpu/sort.h"

namespace basalt::cuda {

using device::RowsMode;

namespace {

constexpr uint64_t kLeastCapacity = 1 << 20;
// Tiles of which a sample has one, at most: of keys that ascend with the rows, the sample's best may lie so far from
// the best of all.
constexpr uint32_t kMostStride = 1024;
// Of fewer tiles a sample costs more than it saves.
constexpr uint32_t kFewTiles = 256;

// The sample and the rows that its threshold lets through shall be about as many.
uint32_t sample_stride(uint32_t tiles, uint64_t wanted) {
  if (tiles < kFewTiles) return 1;
  const uint64_t ratio = uint64_t{tiles} * kTileRows / std::max<uint64_t>(wanted, 1);
  return std::clamp<uint32_t>(1u << std::bit_width(ratio) / 2, 1, kMostStride);
}

}  // namespace

// How many rows of the order, or of the table, lead to the last one that leaves.
uint64_t StatementRun::rows_wanted() const {
  return pipeline_.limit > kAllRows - pipeline_.offset ? kAllRows : pipeline_.limit + pipeline_.offset;
}

// How many of them are kept at most: of an order that was cut also some that are equal to the last one.
uint64_t StatementRun::rows_kept() const { return rows_wanted() + (device_.sources->cut_order ? device::kFewRows : 0); }

bool StatementRun::has_enough_rows() const {
  return plan_->rows && pipeline_.order.empty() && rows_.found >= rows_wanted();
}

bool StatementRun::keeps_numbers() const {
  const device::RowsSources& sources = *device_.sources;
  return sources.late || std::ranges::any_of(sources.columns, [](const auto& source) { return !source.row; });
}

uint64_t StatementRun::bytes_of_row() const {
  const device::RowsPlan& plan = *plan_->rows;
  uint64_t bytes = (plan.words() + (keeps_numbers() ? 1 : 0)) * sizeof(uint64_t);
  for (size_t i = 0; i < plan.nullable.size(); ++i) {
    bytes += width_of(physical_of(pipeline_.output[i].type)) + (plan.nullable[i] ? 1 : 0);
  }
  return bytes;
}

// Room for so many rows, of the memory that chunks may take.
RowArrays StatementRun::take_rows(uint64_t rows) {
  const uint64_t bytes = rows * bytes_of_row();
  if (rows_.taken + bytes > rows_.budget) {
    throw Error(ErrorCode::kOutOfMemory, "rows need " + std::to_string((rows_.taken + bytes) >> 10) +
                                             " KiB on the device, where they may take " +
                                             std::to_string(rows_.budget >> 10) + " KiB");
  }
  rows_.taken += bytes;
  limit_ -= bytes;
  backend_.cache_.make_room(0, limit_, run_);
  const device::RowsPlan& plan = *plan_->rows;
  const cudaStream_t stream = backend_.compute_;
  RowArrays out;
  out.rows = rows;
  if (keeps_numbers()) out.numbers = DeviceBuffer(rows * sizeof(uint64_t), stream);
  for (uint32_t i = 0; i < plan.words(); ++i) out.words.emplace_back(rows * sizeof(uint64_t), stream);
  for (size_t i = 0; i < plan.nullable.size(); ++i) {
    RowArray column;
    column.width = width_of(physical_of(pipeline_.output[i].type));
    column.values = DeviceBuffer(rows * column.width, stream);
    if (plan.nullable[i]) column.validity = DeviceBuffer(rows, stream);
    out.columns.push_back(std::move(column));
  }
  return out;
}

void StatementRun::give_rows_back(uint64_t rows) {
  rows_.taken -= rows * bytes_of_row();
  limit_ += rows * bytes_of_row();
}

// Their addresses, as kernels find them.
DeviceBuffer StatementRun::row_outputs(const RowArrays& arrays) const {
  const device::RowsPlan& plan = *plan_->rows;
  std::vector<uint64_t> addresses(plan.outputs(), 0);
  const auto put = [&](uint32_t output, const DeviceBuffer& buffer) {
    addresses[output] = reinterpret_cast<uint64_t>(buffer.data());
  };
  put(device::RowsPlan::kNumbers, arrays.numbers);
  for (uint32_t i = 0; i < arrays.words.size(); ++i) put(device::RowsPlan::word_output(i), arrays.words[i]);
  for (uint32_t i = 0; i < arrays.columns.size(); ++i) {
    put(plan.value_output(i), arrays.columns[i].values);
    put(plan.value_output(i) + 1, arrays.columns[i].validity);
  }
  return upload(addresses.data(), addresses.size() * sizeof(uint64_t), backend_.compute_);
}

// The launches over one work list. The record that the last one leaves holds for all.
void StatementRun::launch_rows(device::Parameters& parameters) {
  const size_t record_bytes = static_cast<size_t>(kernel_->blocks) * record_words() * sizeof(uint64_t);
  check(cudaMemsetAsync(parameters.partials, 0, record_bytes, backend_.compute_), "clearing results");
  parameters.rows.threshold = rows_.threshold;
  if (plan_->rows->first_only) {
    append_first_rows(parameters);
  } else {
    write_rows(parameters);
  }
}

void StatementRun::write_rows(device::Parameters& parameters) {
  const cudaStream_t stream = backend_.compute_;
  const uint32_t items = parameters.work_count;
  const DeviceBuffer counts = cleared(uint64_t{items} * sizeof(uint32_t), stream);
  const uint64_t mask_bytes = uint64_t{items} * kLanes * sizeof(uint32_t);
  const bool has_room = mask_bytes <= (rows_.budget - std::min(rows_.budget, rows_.taken)) / 4;
  const DeviceBuffer masks(pipeline_.has_filter && has_room ? mask_bytes : 0, stream);
  if (pipeline_.has_filter) {
    parameters.rows.mode = RowsMode::kCount;
    parameters.rows.counts = counts.as<uint32_t>();
    parameters.rows.masks = masks.as<uint32_t>();
    start_kernel(parameters);
  } else {
    count_tile_rows(parameters.work, items, parameters.slots, plan_->slot_words, counts.as<uint32_t>(), stream);
  }
  uint64_t total = 0;
  const DeviceBuffer starts = rows_before(counts.as<uint32_t>(), items, total, stream);
  uint64_t begin = 0;
  uint64_t end = total;
  if (pipeline_.order.empty()) {
    const uint64_t before = std::exchange(rows_.found, rows_.found + total);
    begin = std::min(total, pipeline_.offset > before ? pipeline_.offset - before : 0);
    end = std::min(total, rows_wanted() > before ? rows_wanted() - before : 0);
  }
  if (begin >= end) return;
  RowArrays part = take_rows(end - begin);
  const DeviceBuffer outputs = row_outputs(part);
  parameters.rows.mode = RowsMode::kWrite;
  parameters.rows.starts = starts.as<uint64_t>();
  parameters.rows.begin = begin;
  parameters.rows.end = end;
  parameters.rows.outputs = outputs.as<uint64_t>();
  start_kernel(parameters);
  rows_.parts.push_back(std::move(part));
}

// Appends behind the first `kept` rows; how many there are then, or would be.
uint64_t StatementRun::append_rows(device::Parameters& parameters, const RowArrays& arrays, uint64_t kept) {
  const cudaStream_t stream = backend_.compute_;
  const DeviceBuffer appended = upload(&kept, sizeof(kept), stream);
  const DeviceBuffer outputs = row_outputs(arrays);
  parameters.rows.mode = RowsMode::kAppend;
  parameters.rows.appended = appended.as<uint64_t>();
  parameters.rows.capacity = arrays.rows;
  parameters.rows.outputs = outputs.as<uint64_t>();
  start_kernel(parameters);
  return fetch(appended.as<uint64_t>(), stream);
}

// Enough rows of a sample have a first word that is not larger than this.
void StatementRun::find_threshold(const device::Parameters& parameters) {
  const cudaStream_t stream = backend_.compute_;
  const uint32_t stride = sample_stride(parameters.work_count, rows_wanted());
  if (stride == 1) return;
  const DeviceBuffer work = sample_work(parameters.work, parameters.work_count, stride, stream);
  device::Parameters sample = parameters;
  sample.work = work.as<uint32_t>();
  sample.work_count = (parameters.work_count + stride - 1) / stride;
  RowArrays words;
  words.rows = uint64_t{sample.work_count} * kTileRows;
  words.words.emplace_back(words.rows * sizeof(uint64_t), stream);
  const uint64_t found = append_rows(sample, words, 0);
  if (found < rows_wanted()) return;
  set_threshold(nth_smallest(words.words[0].as<uint64_t>(), found, rows_wanted(), stream));
}

// By the first word of a row behind which none is wanted.
void StatementRun::set_threshold(uint64_t word) {
  const uint64_t equal = device_.sources->cut_order ? plan_->rows->number_mask(0) : 0;
  rows_.threshold = word | equal;
}

void StatementRun::append_first_rows(device::Parameters& parameters) {
  if (rows_wanted() == 0) return;
  if (rows_.threshold == ~uint64_t{0}) find_threshold(parameters);
  parameters.rows.threshold = rows_.threshold;
  const uint64_t all = rows_.kept + uint64_t{parameters.work_count} * kTileRows;
  if (rows_.first.words.empty()) {
    const uint32_t stride = sample_stride(parameters.work_count, rows_wanted());
    const uint64_t expected = stride == 1 ? all : 2 * stride * rows_wanted();
    const uint64_t fitting = rows_.budget / (2 * bytes_of_row());
    rows_.first = take_rows(std::min({all, fitting, std::max(kLeastCapacity, expected)}));
  }
  for (;;) {
    const uint64_t found = append_rows(parameters, rows_.first, rows_.kept);
    if (found <= rows_.first.rows) {
      rows_.in_order = rows_.in_order && found == rows_.kept;
      rows_.kept = found;
      break;
    }
    // All of them again, with room: those that did not fit are lost.
    RowArrays larger = take_rows(found);
    copy_rows(rows_.first, rows_.kept, larger, backend_.compute_);
    give_rows_back(rows_.first.rows);
    rows_.first = std::move(larger);
  }
  if (rows_.kept <= rows_kept()) return;
  keep_first(rows_kept());
  set_threshold(fetch(rows_.first.words[0].as<uint64_t>() + rows_wanted() - 1, backend_.compute_));
}

// The first rows of those that are there, in order, in the room that there is.
void StatementRun::keep_first(uint64_t rows) {
  const cudaStream_t stream = backend_.compute_;
  const DeviceBuffer places = places_in_order(rows_.first.words, plan_->rows->word_bits, rows_.kept, stream);
  rows_.kept = std::min(rows, rows_.kept);
  const RowArrays best = gather_rows(rows_.first, places.as<uint32_t>(), rows_.kept, stream);
  copy_rows(best, rows_.kept, rows_.first, stream);
  rows_.in_order = true;
}

// What leaves.
RowArrays StatementRun::finish_rows() {
  const cudaStream_t stream = backend_.compute_;
  const device::RowsPlan& plan = *plan_->rows;
  RowArrays all;
  if (plan.first_only) {
    if (!rows_.in_order) keep_first(rows_kept());
    all = std::move(rows_.first);
    all.rows = rows_.kept;
  } else {
    all = concatenate(std::move(rows_.parts), stream);
  }
  if (pipeline_.order.empty() || all.rows == 0) return all;
  const DeviceBuffer places =
      plan.first_only ? counting(all.rows, stream) : places_in_order(all.words, plan.word_bits, all.rows, stream);
  all.words.clear();
  const uint64_t begin = std::min(pipeline_.offset, all.rows);
  return gather_rows(all, places.as<uint32_t>() + begin, std::min(pipeline_.limit, all.rows - begin), stream);
}

exec::StatisticsList StatementRun::column_statistics() const {
  exec::StatisticsList stats;
  for (const device::ColumnPlan& column : plan_->columns) stats.push_back(&column.shapes.stats);
  return stats;
}

DeviceColumn StatementRun::row_column(const Field& field, const device::RowsSources::Source& source,
                                      const RowArrays& rows, const DeviceTable* input) {
  DeviceColumn column;
  column.field = field;
  const RowArray& values = rows.columns.at(*source.row);
  column.values = values.values;
  column.validity = values.validity;
  const bool text = source.numbered || source.texts_of;
  if (!text) column.range = exec::value_range(pipeline_.rows[*source.row], column_statistics());
  column.listed = source.listed;
  if (source.numbered) column.texts = texts_;
  if (source.texts_of && input != nullptr) {
    column.texts = input->columns[*source.texts_of].texts;
    column.listed = input->columns[*source.texts_of].listed;
  }
  return column;
}

DeviceTable StatementRun::run_rows_to_device(const Pipeline& given, const DeviceTable* input) {
  run();
  RowArrays rows = finish_rows();
  DeviceTable table;
  table.rows = rows.rows;
  if (rows.columns.empty()) rows.columns.resize(pipeline_.output.size());  // no row passed
  std::vector<size_t> fetched;                                             // columns
  std::vector<uint32_t> fields;
  for (size_t i = 0; i < given.output.size(); ++i) {
    const device::RowsSources::Source& source = device_.sources->columns[i];
    if (source.row) {
      table.columns.push_back(row_column(given.output[i], source, rows, input));
      continue;
    }
    table.columns.emplace_back();
    fetched.push_back(i);
    fields.push_back(given.columns[*source.texts_of].field_id);
  }
  if (fetched.empty()) return table;
  TextFetch fetch(backend_, run_, limit_, options_, report_);
  std::vector<DeviceColumn> texts = fetch.fetch(given.files, fields, rows.numbers, rows.rows, pipeline_.order.empty());
  for (size_t i = 0; i < fetched.size(); ++i) {
    table.columns[fetched[i]] = std::move(texts[i]);
    table.columns[fetched[i]].field = given.output[fetched[i]];
  }
  return table;
}

DeviceBuffer StatementRun::run_row_numbers(uint64_t& rows) {
  run();
  RowArrays found = finish_rows();
  rows = found.rows;
  return std::move(found.numbers);
}

// Of an order that was cut: the numbers of the rows that lead to the last one wanted and of those that are equal to it,
// in order. Nothing if they are too many.
std::optional<std::vector<uint64_t>> StatementRun::numbers_with_ties() {
  const device::RowsPlan& plan = *plan_->rows;
  if (!rows_.in_order) keep_first(rows_kept());
  const uint64_t rows = rows_.kept;
  const auto fetched = [&](const DeviceBuffer& from) {
    return download(from, rows * sizeof(uint64_t), backend_.compute_);
  };
  std::vector<Buffer> words;
  for (const DeviceBuffer& word : rows_.first.words) words.push_back(fetched(word));
  const auto equal = [&](uint64_t a, uint64_t b) {
    for (uint32_t i = 0; i < plan.words(); ++i) {
      const auto* word = words[i].as<uint64_t>();
      if (((word[a] ^ word[b]) & ~plan.number_mask(i)) != 0) return false;
    }
    return true;
  };
  uint64_t end = std::min(rows, rows_wanted());
  while (end > 0 && end < rows && equal(end, rows_wanted() - 1)) ++end;
  if (end > device::kFewRows) return std::nullopt;  // also where some were left out
  const Buffer numbers = fetched(rows_.first.numbers);
  return std::vector<uint64_t>(numbers.as<uint64_t>(), numbers.as<uint64_t>() + end);
}

// The numbers of the rows that leave, or from which these are chosen.
std::optional<std::vector<uint64_t>> StatementRun::late_numbers() {
  if (!pipeline_.has_filter && pipeline_.order.empty() && options_.tiles.is_all()) {  // known
    report_.ran_on = Device::kCuda;
    std::vector<uint64_t> numbers = exec::row_numbers(pipeline_.files, pipeline_.offset, pipeline_.limit);
    report_.rows = numbers.size();
    return numbers;
  }
  run();
  if (device_.sources->cut_order) return numbers_with_ties();
  const RowArrays rows = finish_rows();
  const Buffer numbers = download(rows.numbers, rows.rows * sizeof(uint64_t), backend_.compute_);
  return std::vector<uint64_t>(numbers.as<uint64_t>(), numbers.as<uint64_t>() + rows.rows);
}

std::optional<Table> StatementRun::run_rows(const Pipeline& given) {
  ThreadPool& threads = backend_.threads(options_.threads);
  if (!device_.sources->late) return backend_.fetch_table(run_rows_to_device(given, nullptr), threads);
  const std::optional<std::vector<uint64_t>> numbers = late_numbers();
  if (!numbers) return std::nullopt;
  Table rows = exec::fetch_rows(given, *numbers, threads, options_);
  if (!device_.sources->cut_order) return rows;
  return exec::first_rows(std::move(rows), given.order, given.limit, given.offset, options_.cancel);
}

}  // namespace basalt::cuda
