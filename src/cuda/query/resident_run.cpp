// What is known of earlier statements. One that was run before, and whose data stayed on the device, is remembered: its
// next run is one launch. One that differs in literals finds the slots of its chunks and only plans which tiles it
// reads.
#include <algorithm>

#include "cuda/query/statement_run.h"

namespace basalt::cuda {

Statement* StatementRun::resident_statement(const std::string& key, std::vector<std::shared_ptr<DeviceBlock>>& blocks) {
  Statement* found = backend_.statements_.find(key);
  if (found == nullptr) return nullptr;
  bool usable = array_fits(*found->plan, backend_.memory_limit(options_));
  for (const auto& weak : found->blocks) {
    blocks.push_back(weak.lock());
    usable = usable && blocks.back() != nullptr;  // not evicted since
  }
  if (usable) return found;
  blocks.clear();
  backend_.statements_.erase(key);
  return nullptr;
}

// Marks what the slots point to as used by this run, and holds it. False if some of it has left.
bool StatementRun::hold_memory(const exec::SlotTable& slots) {
  for (const exec::SlotTable::Memory& memory : slots.memory()) {
    const DeviceChunk* chunk = backend_.cache_.find(memory.key, run_);
    if (chunk == nullptr || chunk->block != memory.block.lock()) {
      held_blocks_.clear();
      return false;
    }
    held_blocks_.push_back(chunk->block);
  }
  return true;
}

exec::SlotTable* StatementRun::slot_table() {
  if (pipeline_.files.empty()) return nullptr;
  std::string key = scan_key_;
  for (size_t i = 0; i < pipeline_.columns.size(); ++i) {
    key += is_array(i) ? 'a' : pipeline_.columns[i].as_codes ? 'c' : 'v';
  }
  key.append(reinterpret_cast<const char*>(&kernel_), sizeof(kernel_));
  exec::SlotTable* known = backend_.slot_tables_.find(key);
  if (known != nullptr && hold_memory(*known)) return known;
  return &backend_.slot_tables_.put(key, std::make_unique<exec::SlotTable>(next_number_, plan_->slot_words));
}

// Whether one batch of all chunks can be launched without loading any. Their memory cannot make room then.
bool StatementRun::find_resident_chunks() {
  held_blocks_.clear();
  slots_ = slot_table();
  if (slots_ == nullptr) return false;
  bool known = !chunks_.empty() && chunks_.size() < device::kMaxSlots && !may_end_early();
  uint64_t needed = backend_.cache_.bytes() + (plan_->rows ? rows_.budget : 0);
  for (const WorkChunk& chunk : chunks_) {
    known = known && slots_->has(chunk.number);
    needed += chunk.table_bytes;
  }
  if (!known || needed > limit_) {
    held_blocks_.clear();
    return false;
  }
  blocks_.insert(blocks_.end(), held_blocks_.begin(), held_blocks_.end());
  batches_.resize(1);
  batches_[0].end = chunks_.size();
  return true;
}

// Only tests of strings need more of chunks than their slots.
void StatementRun::prepare_resident(Batch& batch) {
  batch.chunks.assign(chunks_.size(), std::vector<DeviceChunk>(plan_->texts.empty() ? 0 : pipeline_.columns.size()));
  for (size_t i = 0; i < chunks_.size(); ++i) {
    batch.bytes += chunks_[i].table_bytes;
    for (const device::TextPlan& text : plan_->texts) {
      batch.chunks[i][text.column] = *backend_.cache_.find(chunks_[i].keys[text.column], run_);
    }
  }
  pending_ += batch.bytes;
}

// Keeps one work list and one table of slots for the whole statement, if all its chunks are still on the device.
void StatementRun::remember(const std::string& key) {
  if (chunks_.empty() || chunks_.size() >= device::kMaxSlots || !is_remembered()) return;
  auto statement = std::make_unique<Statement>();
  for (const auto& weak : blocks_) {
    if (weak.expired()) return;
  }
  std::sort(blocks_.begin(), blocks_.end(), [](const auto& a, const auto& b) { return a.owner_before(b); });
  blocks_.erase(std::unique(blocks_.begin(), blocks_.end(),
                            [](const auto& a, const auto& b) { return !a.owner_before(b) && !b.owner_before(a); }),
                blocks_.end());
  statement->blocks = blocks_;
  statement->work_count = chunk_ends_.back();
  if (batch_inputs_.size() == 2) {
    statement->slots = std::move(batch_inputs_[0]);
    statement->work = std::move(batch_inputs_[1]);
    statement->results = std::move(results_);
    batch_inputs_.clear();
  } else {
    // Slots of all batches lie one after the other, but each work list counts from its own batch.
    uint32_t* end = pinned_work();
    for (size_t i = 0; i < chunk_ends_.size(); ++i) {
      end = exec::write_work(chunks_[i].runs, static_cast<uint32_t>(i), end);
    }
    statement->slots =
        sent(pinned_slots(), chunk_ends_.size() * plan_->slot_words * sizeof(uint64_t), "copying descriptors");
    statement->work = sent(pinned_work(), statement->work_count * sizeof(uint32_t), "copying a work list");
    const size_t sums = static_cast<size_t>(statement->work_count) * plan_->tile_sums;
    const size_t words = static_cast<size_t>(kernel_->blocks) * record_words() + sums;
    statement->results = std::make_unique<DeviceBlock>(words * sizeof(uint64_t), backend_.compute_, backend_.compute_);
    backend_.compute_.synchronize();
  }
  statement->plan = own_plan_;
  statement->kernel = kernel_;
  statement->chunk_ends = chunk_ends_;
  statement->report.rows = report_.rows;
  statement->report.tiles = report_.tiles;
  statement->report.encoded_bytes_read = report_.encoded_bytes_read;
  backend_.statements_.put(key, std::move(statement));
}

std::vector<Value> StatementRun::run_resident(Statement& statement) {
  own_plan_ = statement.plan;
  plan_ = own_plan_.get();
  kernel_ = statement.kernel;
  report_.rows = statement.report.rows;
  report_.tiles = statement.report.tiles;
  report_.encoded_bytes_read = statement.report.encoded_bytes_read;
  check_cancelled();
  read_limit();
  take_group_memory();
  rows_.budget = limit_ / 2;
  clear_groups();
  const size_t record_words_all = static_cast<size_t>(kernel_->blocks) * record_words();
  const size_t sums = static_cast<size_t>(statement.work_count) * plan_->tile_sums;
  double* tile_sums = statement.results->as<double>() + record_words_all;
  if (sums > 0) {  // tiles without a live row write no sum
    check(cudaMemsetAsync(tile_sums, 0, sums * sizeof(double), backend_.compute_), "clearing results");
  }
  launch_kernel(*statement.slots, *statement.work, statement.work_count, statement.results->as<uint64_t>(), tile_sums,
                kernel_event(0), kernel_event(1));
  fetch_results(*statement.results, (record_words_all + sums) * sizeof(uint64_t));
  report_.kernel_ms += elapsed_ms(kernel_event(0), kernel_event(1));
  return merge(statement.chunk_ends, 1);
}

}  // namespace basalt::cuda
