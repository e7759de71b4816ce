// Running a statement: chunks are pruned by statistics, loaded in batches that overlap with the kernels of earlier
// ones, and each launch leaves records that merge.
#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <unordered_set>

#include "cuda/query/entry_tables.h"
#include "cuda/query/statement_run.h"
#include "cuda/query/statement_texts.h"
#include "exec/set_places.h"

namespace basalt::cuda {

namespace {

using Clock = std::chrono::steady_clock;
double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

}  // namespace

std::vector<Value> StatementRun::run() {
  const auto start = Clock::now();
  run_ = ++backend_.runs_;
  report_.ran_on = Device::kCuda;
  check_cancelled();
  while (backend_.alphabets_.live_bytes() > SharedAlphabets::kKeptBytes && backend_.cache_.drop_oldest()) {
  }
  scan_key_ = scan_key();
  const std::string key = is_remembered() ? statement_key() : std::string();
  std::vector<std::shared_ptr<DeviceBlock>> blocks;
  Statement* statement = is_remembered() ? resident_statement(key, blocks) : nullptr;
  std::vector<Value> values = statement != nullptr ? run_resident(*statement) : run_cold(key);
  if (asked_tiles_) report_.tiles = *asked_tiles_;
  report_.kernel_source = plan_->source;
  report_.rung = device::rung_text(*plan_);
  report_.total_ms = ms_since(start);
  return values;
}

// Finds the batch's chunks on the device and starts loading the others. False if there is no room beside the batch that
// is still being loaded.
bool StatementRun::prepare(Batch& batch, bool must_fit) {
  if (resident_) {
    prepare_resident(batch);
    return true;
  }
  ThreadPool& threads = backend_.threads(options_.threads);
  const size_t columns = pipeline_.columns.size();
  batch.chunks.assign(batch.end - batch.first, std::vector<DeviceChunk>(columns));
  std::vector<ChunkLoad> loads;
  std::unordered_set<ChunkKey, ChunkKeyHash> asked;  // a file may be listed twice: loaded once by a batch
  uint64_t transferred = 0;
  uint64_t made = 0;
  uint64_t tables = 0;
  for (size_t i = batch.first; i < batch.end; ++i) {
    const WorkChunk& work = chunks_[i];
    tables += work.table_bytes;
    for (size_t column = 0; column < columns; ++column) {
      if (is_array(column)) continue;
      ChunkLoad load;
      load.field_id = pipeline_.columns[column].field_id;
      const ColumnChunkInfo& info = work.file->column(load.field_id).chunks[work.chunk];
      const DeviceChunk* found = backend_.cache_.find(work.keys[column], run_);
      if (found != nullptr) {
        batch.chunks[i - batch.first][column] = *found;
        continue;
      }
      if (!asked.insert(work.keys[column]).second) continue;
      load.file = work.file;
      load.chunk = work.chunk;
      load.key = work.keys[column];
      load.bytes = load_bytes(info);
      load.made_bytes = made_bytes(info);
      transferred += load.bytes;
      made += load.made_bytes;
      loads.push_back(std::move(load));
    }
  }
  const uint64_t need = transferred + made + tables;
  if (!must_fit && pending_ + need > limit_) return false;
  if (!backend_.cache_.make_room(need + pending_, limit_, run_)) {
    throw Error(ErrorCode::kOutOfMemory,
                "one batch of chunks needs " + std::to_string(need >> 10) + " KiB on the device" +
                    (tables > 0 ? ", of them " + std::to_string(tables >> 10) + " KiB for tests of strings" : "") +
                    ", more than the limit of " + std::to_string(limit_ >> 10) + " KiB");
  }
  batch.bytes = need;
  pending_ += need;
  if (loads.empty()) return true;
  batch.groups = group_loads(std::move(loads), threads.size());
  for (LoadGroup& group : batch.groups) {
    group.allocate(backend_.copies_[groups_++ % backend_.copies_.size()], backend_.compute_);
  }
  report_.bytes_transferred += transferred;
  batch.load = std::make_unique<BatchLoad>(threads, *backend_.slots_, backend_.alphabets_, backend_.device_,
                                           options_.cancel, batch.groups);
  return true;
}

void StatementRun::put_array(size_t column, const WorkChunk& chunk, uint64_t* words) const {
  const device::ColumnPlan& plan = plan_->columns[column];
  const ArrayAddresses& array = arrays_.at(column);
  const auto put = [&](uint64_t address, uint64_t width, uint32_t at) {
    const std::vector<uint64_t> descriptor = device::array_descriptor(chunk.rows, address + chunk.first_row * width);
    std::copy(descriptor.begin(), descriptor.end(), words + at + 1);
  };
  put(array.values, width_of(device_.arrays[column]->type), plan.value_at);
  if (!plan.nullable() || array.validity == 0) return;  // the shape 0 of NULLs: there are none
  words[plan.validity_at] = 1;
  put(array.validity, 1, plan.validity_at);
}

std::vector<uint64_t> StatementRun::slot_words(const WorkChunk& chunk, const std::vector<DeviceChunk>& columns) const {
  std::vector<uint64_t> words(plan_->slot_words, 0);
  words[0] = chunk.rows;
  if (plan_->first_row_at != 0) words[plan_->first_row_at] = chunk.first_row;
  for (size_t i = 0; i < columns.size(); ++i) {
    const device::ColumnPlan& plan = plan_->columns[i];
    if (is_array(i)) continue;
    const NodeView root = device::shape_of(chunk.file->column(pipeline_.columns[i].field_id).chunks[chunk.chunk]);
    const device::ChunkReaders readers = device::readers_of(root, pipeline_.columns[i].as_codes);
    const auto place = [&](const NodeView& node, const std::vector<DeviceReader>& list, const DeviceReader& reader,
                           uint32_t at, uint32_t room, uint64_t none, size_t& next) {
      std::vector<uint64_t> descriptor;
      device::append_descriptor(node, columns[i].addresses, next, descriptor);
      const auto found = std::find(list.begin(), list.end(), reader);
      if (found == list.end() || descriptor.size() > room) {
        throw Error(ErrorCode::kInternal, "a chunk has an encoding that its kernel does not know");
      }
      words[at] = static_cast<uint64_t>(found - list.begin()) + none;
      std::copy(descriptor.begin(), descriptor.end(), words.begin() + at + 1);
    };
    size_t next = 0;  // streams in preorder: validity comes before the values
    if (readers.validity_node != nullptr) {
      place(*readers.validity_node, plan.shapes.validity, readers.validity, plan.validity_at,
            plan.shapes.validity_words, 1, next);
    }
    place(*readers.value_node, plan.shapes.values, readers.values, plan.value_at, plan.shapes.value_words, 0, next);
  }
  return words;
}

// Makes the tables of the statement's tests of strings, each test for each alphabet of the batch, in one block of the
// cache. Gives their addresses, chunk after chunk.
std::vector<uint64_t> StatementRun::upload_tables(const Batch& batch) {
  if (plan_->texts.empty()) return {};
  struct Table {
    const TextAlphabet* alphabet;  // nullptr: the device makes it
    const Automaton* automaton;
    uint64_t at = 0;  // in the block
    Buffer bytes{};
  };
  std::vector<Table> tables;
  std::map<std::pair<const TextAlphabet*, const Automaton*>, size_t> numbers;
  std::vector<size_t> uses;
  std::vector<TextChunk> chunks;
  std::map<const ColumnChunkInfo*, size_t> places;       // among these
  std::vector<std::pair<size_t, EntryTable>> on_device;  // by table
  for (size_t i = 0; i < batch.chunks.size(); ++i) {
    const WorkChunk& planned = chunks_[batch.first + i];
    for (const device::TextPlan& text : plan_->texts) {
      const DeviceChunk& chunk = batch.chunks[i][text.column];
      size_t number = tables.size();
      if (chunk.alphabet == nullptr) {
        const ColumnChunkInfo& info =
            planned.file->column(pipeline_.columns[text.column].field_id).chunks[planned.chunk];
        const auto [place, added] = places.try_emplace(&info, chunks.size());
        if (added) chunks.push_back({&info, chunk});
        on_device.push_back({number, {place->second, text.automaton.get()}});
      } else {
        number = numbers.try_emplace({chunk.alphabet.get(), text.automaton.get()}, number).first->second;
      }
      if (number == tables.size()) tables.push_back({chunk.alphabet.get(), text.automaton.get()});
      uses.push_back(number);
    }
  }
  backend_.threads(options_.threads).parallel_for(tables.size(), [&](uint64_t i) {
    if (tables[i].alphabet != nullptr) tables[i].bytes = tables[i].alphabet->table(*tables[i].automaton);
  });
  Buffer all;
  for (Table& table : tables) {
    table.at = all.size();
    all.append(table.bytes.data(), table.bytes.size());
    all.resize(aligned_table(all.size()));
  }
  uint64_t end = all.size();
  for (const auto& [table, made] : on_device) {
    tables[table].at = end;
    end = aligned_table(end + entry_table_bytes(*chunks[made.chunk].info));
  }
  auto block = std::make_shared<DeviceBlock>(end, backend_.compute_, backend_.compute_);
  check(cudaMemcpyAsync(block->data(), all.data(), all.size(), cudaMemcpyHostToDevice, backend_.compute_),
        "copying tests of strings");
  std::vector<EntryTable> to_make;
  for (auto& [table, made] : on_device) {
    made.at = reinterpret_cast<std::byte*>(block->address() + tables[table].at);
    to_make.push_back(made);
  }
  make_entry_tables(chunks, std::move(to_make), limit_ / 8, backend_.modules_, backend_.compute_);
  std::vector<uint64_t> addresses;
  for (const size_t use : uses) addresses.push_back(block->address() + tables[use].at);
  blocks_.push_back(block);
  held_blocks_.push_back(block);  // rows may need the room that it has in the cache
  backend_.cache_.put(std::move(block), {}, run_);
  return addresses;
}

std::vector<uint64_t> StatementRun::upload_codes(const Batch& batch) {
  const size_t columns = pipeline_.columns.size();
  std::vector<uint64_t> addresses((batch.end - batch.first) * columns, 0);
  std::vector<uint32_t> all;
  std::vector<std::pair<size_t, size_t>> places;  // which address, at which word
  for (size_t i = batch.first; i < batch.end; ++i) {
    const auto file = std::find_if(pipeline_.files.begin(), pipeline_.files.end(),
                                   [&](const auto& one) { return one.get() == chunks_[i].file; });
    for (size_t column = 0; column < columns; ++column) {
      if (!pipeline_.columns[column].as_codes) continue;
      const std::vector<uint32_t>& codes =
          device_.codes[column]->chunks[static_cast<size_t>(file - pipeline_.files.begin())][chunks_[i].chunk];
      places.emplace_back((i - batch.first) * columns + column, all.size());
      all.push_back(static_cast<uint32_t>(codes.size()));
      all.insert(all.end(), codes.begin(), codes.end());
      if (codes.empty()) all.push_back(0);  // where codes that have no entry look
    }
  }
  if (places.empty()) return addresses;
  auto block = std::make_shared<DeviceBlock>(all.size() * sizeof(uint32_t), backend_.compute_, backend_.compute_);
  check(cudaMemcpyAsync(block->data(), all.data(), all.size() * sizeof(uint32_t), cudaMemcpyHostToDevice,
                        backend_.compute_),
        "copying codes of strings");
  for (const auto& [address, word] : places) addresses[address] = block->address() + word * sizeof(uint32_t);
  blocks_.push_back(block);
  held_blocks_.push_back(block);  // rows may need the room that it has in the cache
  backend_.cache_.put(std::move(block), {}, run_);
  return addresses;
}

Event& StatementRun::kernel_event(size_t index) {
  auto& events = backend_.kernel_events_;
  while (events.size() <= index) events.push_back(std::make_unique<Event>());
  return *events[index];
}

void StatementRun::launch_kernel(const DeviceBlock& slots, const DeviceBlock& work, uint32_t work_count,
                                 uint64_t* records, double* tile_sums, Event& begin, Event& end) {
  device::Parameters parameters{};
  parameters.work = work.as<uint32_t>();
  parameters.slots = slots.as<uint64_t>();
  parameters.partials = records;
  parameters.tile_sums = tile_sums;
  parameters.work_count = work_count;
  put_groups(parameters);
  std::copy(plan_->literals.begin(), plan_->literals.end(), parameters.literals);
  const std::vector<exec::SetPlace> places = exec::set_places(pipeline_);
  for (const device::SetLiteral& set : plan_->sets) {
    const exec::SetPlace& whole = places.at(set.set);
    const exec::SetPlace place = set.bits == 0 ? whole : exec::within_32_bits(whole, set.bits);
    const int64_t parts[] = {place.least, place.count, place.address};
    parameters.literals[set.literal] = {static_cast<uint64_t>(parts[set.part]), 0};
  }
  for (size_t i = 0; i < plan_->lists.size(); ++i) {
    const device::LiteralList& list = plan_->lists[i];
    if (lists_.size() == i) {
      lists_.push_back(upload(list.values.data(), list.values.size() * sizeof(int64_t), backend_.compute_));
    }
    parameters.literals[list.literal] = {reinterpret_cast<uint64_t>(lists_[i].data()), list.values.size()};
  }
  begin.record(backend_.compute_);
  if (plan_->rows) {
    launch_rows(parameters);
  } else {
    start_kernel(parameters);
  }
  end.record(backend_.compute_);
}

void StatementRun::start_kernel(const device::Parameters& parameters) {
  device::Parameters own = parameters;
  void* arguments[] = {&own};
  check(cudaLaunchKernel(kernel_->function(), dim3(static_cast<unsigned>(kernel_->blocks)),
                         dim3(static_cast<unsigned>(kernel_->threads)), arguments, 0, backend_.compute_),
        "launching a kernel");
}

// The first stream of copies waits for the others and says when all have ended so far.
void StatementRun::end_transfers() {
  for (size_t i = 1; i < backend_.copies_.size(); ++i) {
    backend_.transfer_end_.record(backend_.copies_[i]);
    check(cudaStreamWaitEvent(backend_.copies_[0], backend_.transfer_end_, 0), "ordering streams");
  }
  backend_.transfer_end_.record(backend_.copies_[0]);
}

// What was loaded for the batch is part of the cache from here on, and the kernel waits for the copies.
void StatementRun::finish_load(Batch& batch) {
  if (batch.load == nullptr) return;
  batch.load->wait();
  batch.load.reset();
  for (const LoadGroup& group : batch.groups) keep_loaded(group, backend_.cache_, run_);
  for (size_t i = 0; i < batch.chunks.size(); ++i) {
    for (size_t column = 0; column < batch.chunks[i].size(); ++column) {
      DeviceChunk& chunk = batch.chunks[i][column];
      if (chunk.block == nullptr && !is_array(column))
        chunk = *backend_.cache_.find(chunks_[batch.first + i].keys[column], run_);
    }
  }
  end_transfers();
  check(cudaStreamWaitEvent(backend_.compute_, backend_.transfer_end_, 0), "ordering streams");
}

// `chunk`: of the batch.
void StatementRun::put_slot(const Batch& batch, size_t chunk, uint64_t* words) {
  const WorkChunk& work = chunks_[batch.first + chunk];
  if (resident_) {
    const auto slot = slots_->slot(work.number);
    std::copy(slot.begin(), slot.end(), words);
  } else {
    const std::vector<DeviceChunk>& columns = batch.chunks[chunk];
    const std::vector<uint64_t> made = slot_words(work, columns);
    std::copy(made.begin(), made.end(), words);
    if (slots_ != nullptr) slots_->put(work.number, made);
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].block == nullptr) continue;
      blocks_.push_back(columns[i].block);
      if (slots_ != nullptr) slots_->add_memory(work.keys[i], columns[i].block);
    }
  }
  for (size_t i = 0; i < pipeline_.columns.size(); ++i) {
    if (is_array(i)) put_array(i, work, words);
  }
}

void StatementRun::take_pinned_inputs(uint64_t tiles) {
  backend_.inputs_.ensure(chunks_.size() * plan_->slot_words * sizeof(uint64_t) + tiles * sizeof(uint32_t));
}

std::unique_ptr<DeviceBlock> StatementRun::sent(const void* data, size_t bytes, const char* what) const {
  auto block = std::make_unique<DeviceBlock>(bytes, backend_.compute_, backend_.compute_);
  check(cudaMemcpyAsync(block->data(), data, bytes, cudaMemcpyHostToDevice, backend_.compute_), what);
  return block;
}

void StatementRun::launch(Batch& batch, size_t index) {
  finish_load(batch);
  const std::vector<uint64_t> tables = upload_tables(batch);
  const std::vector<uint64_t> codes = upload_codes(batch);
  pending_ -= batch.bytes;  // in the cache now, but for chunks that an earlier batch has brought there
  const size_t chunks = batch.end - batch.first;
  const size_t columns = pipeline_.columns.size();
  const uint32_t items_before = chunk_ends_.empty() ? 0 : chunk_ends_.back();
  uint64_t* const slots = pinned_slots() + batch.first * plan_->slot_words;
  uint32_t* const work = pinned_work() + items_before;
  uint32_t* work_end = work;
  for (size_t i = 0; i < chunks; ++i) {
    uint64_t* words = slots + i * plan_->slot_words;
    put_slot(batch, i, words);
    for (size_t t = 0; t < plan_->texts.size(); ++t) {
      words[plan_->texts[t].table_at] = tables[i * plan_->texts.size() + t];
    }
    for (size_t column = 0; column < columns; ++column) {
      const uint64_t address = codes[i * columns + column];
      if (address != 0) words[plan_->columns[column].codes_at] = address;
    }
    work_end = exec::write_work(chunks_[batch.first + i].runs, static_cast<uint32_t>(i), work_end);
    chunk_ends_.push_back(items_before + static_cast<uint32_t>(work_end - work));
  }
  const auto work_count = static_cast<uint32_t>(work_end - work);
  auto device_slots = sent(slots, chunks * plan_->slot_words * sizeof(uint64_t), "copying descriptors");
  auto device_work = sent(work, work_count * sizeof(uint32_t), "copying a work list");
  const size_t record_bytes = static_cast<size_t>(kernel_->blocks) * record_words();
  uint64_t* records = results_->as<uint64_t>() + index * record_bytes;
  double* tile_sums =
      results_->as<double>() + batches_.size() * record_bytes + static_cast<size_t>(items_before) * plan_->tile_sums;
  launch_kernel(*device_slots, *device_work, work_count, records, tile_sums, kernel_event(2 * index),
                kernel_event(2 * index + 1));
  batch_inputs_.push_back(std::move(device_slots));
  batch_inputs_.push_back(std::move(device_work));
  batch.chunks.clear();  // the launch is in its stream: whatever is freed now is freed behind it
  batch.groups.clear();
  held_blocks_.clear();
}

// Those from `first` on, of which some may be on their way.
void StatementRun::drop_batches(size_t first) {
  if (first >= batches_.size()) return;
  batches_.erase(batches_.begin() + static_cast<ptrdiff_t>(first), batches_.end());
  for (const Stream& copies : backend_.copies_) copies.synchronize();
}

void StatementRun::fetch_results(const DeviceBlock& results, size_t bytes) {
  backend_.results_.ensure(bytes);
  check(cudaMemcpyAsync(backend_.results_.data(), results.data(), bytes, cudaMemcpyDeviceToHost, backend_.compute_),
        "copying results");
  const auto start = Clock::now();
  backend_.compute_.synchronize();
  report_.wait_ms += ms_since(start);
  check_cancelled();
}

// Once for all partitions.
void StatementRun::plan_once() {
  if (own_plan_ != nullptr) return;
  report_.compile_ms = 0;
  const std::vector<int32_t> magnitudes = find_magnitudes();
  const bool planned = device_.plan != nullptr && magnitudes.empty() && array_fits(*device_.plan, limit_);
  own_plan_ = planned ? device_.plan
                      : std::make_shared<device::KernelPlan>(
                            device::plan_kernel(device_, magnitudes, std::min(device::kMostArrayBytes, limit_ / 2)));
}

void StatementRun::make_kernel() {
  plan_once();
  plan_ = own_plan_.get();
  const auto start = Clock::now();
  bool waited = false;
  kernel_ = &backend_.statement_kernel(plan_->source, waited);
  if (!waited) return;
  if (kernel_->compile_ms > 0) report_.compile_ms = ms_since(start);
  // Others may have run meanwhile.
  backend_.forget_free_memory();
  backend_.read_free_memory();
  read_limit();
}

// What chunks, tables and rows may take: at least half of the limit, however much strings hold.
void StatementRun::read_limit() {
  const uint64_t limit = backend_.memory_limit(options_);
  limit_ = limit - std::min(held_bytes_, limit / 2);
}

std::vector<Value> StatementRun::run_cold(const std::string& key) {
  backend_.read_free_memory();
  read_limit();
  make_kernel();
  take_group_memory();
  rows_.budget = limit_ / 2;
  plan_chunks();
  resident_ = find_resident_chunks();
  if (!resident_) plan_batches();
  size_t tiles = 0;
  for (const WorkChunk& chunk : chunks_) tiles += exec::tiles_of(chunk.runs);
  if (tiles > std::numeric_limits<uint32_t>::max()) throw Error(ErrorCode::kUnsupported, "more tiles than 2^32");

  size_t prepared = 0;
  const auto prepare_for = [&](size_t i) {
    if (prepared == i && i < batches_.size()) prepare(batches_[prepared++], true);
    // Two further batches, as far as memory allows, keep all threads busy while this one is finished.
    while (prepared < std::min(batches_.size(), i + 3) && prepare(batches_[prepared], false)) ++prepared;
  };
  try {
    backend_.transfer_begin_.record(backend_.copies_[0]);
    prepare_for(0);
    take_pinned_inputs(tiles);
    const size_t record_words_all = batches_.size() * static_cast<size_t>(kernel_->blocks) * record_words();
    const size_t bytes = (record_words_all + tiles * plan_->tile_sums) * sizeof(uint64_t);
    results_ = std::make_unique<DeviceBlock>(bytes, backend_.compute_, backend_.compute_);
    if (bytes > 0) check(cudaMemsetAsync(results_->data(), 0, bytes, backend_.compute_), "clearing results");
    clear_groups();
    for (size_t i = 0; i < batches_.size(); ++i) {
      check_cancelled();
      prepare_for(i);
      launch(batches_[i], i);
      if (options_.progress) options_.progress(static_cast<double>(i + 1) / static_cast<double>(batches_.size()));
      if (has_enough_rows()) drop_batches(i + 1);
    }
    end_transfers();
    fetch_results(*results_, bytes);
    check(cudaEventSynchronize(backend_.transfer_end_), "waiting for transfers");
  } catch (...) {
    batches_.clear();  // waits for loads that are under way
    for (const Stream& copies : backend_.copies_) cudaStreamSynchronize(copies);
    cudaStreamSynchronize(backend_.compute_);
    throw;
  }
  if (report_.bytes_transferred > 0) report_.transfer_ms = elapsed_ms(backend_.transfer_begin_, backend_.transfer_end_);
  for (size_t i = 0; i < batches_.size(); ++i)
    report_.kernel_ms += elapsed_ms(kernel_event(2 * i), kernel_event(2 * i + 1));
  std::vector<Value> values = merge(chunk_ends_, batches_.size());
  remember(key);
  return values;
}

std::vector<Value> CudaBackend::run(const Pipeline& pipeline, const RunOptions& options, RunReport& report) {
  try {
    std::lock_guard lock(mutex_);
    forget_free_memory();
    const CountedStatement counted(*this, options, report);
    const NumberedPipeline numbered = number_texts(*this, stages_.get(pipeline), pipeline, options, report);
    StatementRun statement(*this, *numbered.device, options, report, numbered.texts.arrays);
    statement.set_asked(numbered.texts.tiles, numbered.texts.asked);
    statement.set_held(numbered.texts.bytes());
    std::vector<Value> values = statement.run();
    for (size_t i = 0; i < values.size(); ++i) {
      const Aggregate& aggregate = pipeline.aggregates[i];
      const bool text = aggregate.op != AggregateOp::kCountStar && aggregate.op != AggregateOp::kCount &&
                        aggregate.arg.type == Physical::kBytes;
      if (text) values[i] = text_of(numbered, numbered.device->pipeline.aggregates[i].arg, values[i], compute_);
    }
    return values;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kOutOfRange) throw;
  }
  // Which row overflowed, and in what words SQL says so, is the interpreter's to find.
  RunOptions again = options;
  again.device = Device::kCpu;
  return run_pipeline(pipeline, again, &report);
}

}  // namespace basalt::cuda
