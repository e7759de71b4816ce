// Memory for the states of groups on the device: hash tables that grow until everything fits, and partitions of the
// hashes, one run after the other, where a table of all groups would take too much.
#include <algorithm>
#include <bit>
#include <numeric>

#include "cuda/query/statement_run.h"
#include "exec/device/generate/group_settings.h"

namespace basalt::cuda {

namespace {

using device::GroupRung;

constexpr uint64_t kLeastSlots = 1 << 12;

// Hash tables are never larger: numbers of their slots have 32 bits.
constexpr uint64_t kMostSlots = uint64_t{1} << 31;

// States of hash tables of single words that are not those of their slots.
constexpr uint64_t kBesideTable = 2;

// One atomic for each window must not count, and neither what warps leave unused of their last ones.
constexpr uint64_t kLeastRunWindow = kLanes;
constexpr uint64_t kMostRunWindow = 512;

constexpr uint32_t kMorePartitions = 4;  // times as many, where a table was too small
constexpr uint32_t kMostPartitions = 1 << 12;

}  // namespace

std::vector<uint64_t> StatementRun::first_table_slots() const {
  const device::GroupsPlan& groups = *plan_->groups;
  const device::GroupSettings settings = device::group_settings();
  // Half full if a quarter of the rows were keys; more than that is tried when it turns out to be too small.
  const uint64_t rows = device_.rows / partitions_;
  const auto slots_for = [&](uint64_t most) {
    if (settings.slots != 0) return settings.slots;
    const uint64_t likely = std::min<uint64_t>(rows / 2, uint64_t{1} << 26);
    return std::bit_ceil(std::max<uint64_t>(most == 0 ? likely : std::min(likely, 2 * most), kLeastSlots));
  };
  std::vector<uint64_t> slots;
  if (groups.rung == GroupRung::kRuns) {
    // Two runs of each tile may go on in others: half full. Every warp may leave most of its last window unused.
    const uint64_t likely = std::min(device_.rows, groups.runs + groups.runs / 4) / partitions_;
    const uint64_t with_unused = likely + run_window(likely) * run_warps();
    slots.push_back(settings.slots != 0 ? settings.slots : std::bit_ceil(std::max(4 * tile_estimate(), kLeastSlots)));
    slots.push_back(settings.slots != 0 ? settings.slots : std::min(with_unused, kMostSlots));
  } else if (groups.hashed()) {
    slots.push_back(slots_for(0));
  }
  for (const device::DistinctPlan& distinct : groups.distinct) slots.push_back(slots_for(distinct.most));
  return slots;
}

uint64_t StatementRun::tile_estimate() const { return device_.rows / kTileRows + 1; }
uint64_t StatementRun::run_warps() const {
  return std::min(tile_estimate(), static_cast<uint64_t>(kernel_->blocks * kernel_->threads) / kLanes);
}
uint64_t StatementRun::run_window(uint64_t slots) const {
  return std::clamp(slots / (4 * run_warps()), kLeastRunWindow, kMostRunWindow);
}
// Groups that runs have room for: whole windows.
uint64_t StatementRun::run_capacity(const std::vector<uint64_t>& table_slots) const {
  const uint64_t window = run_window(table_slots[1]);
  return (table_slots[1] + window - 1) / window * window;
}

// Statements with the same kernel over as many rows. If others have it, too, their tables are larger than they must be.
size_t StatementRun::tables_key() const {
  return std::hash<std::string>()(plan_->source + device::settings_key(device::group_settings()) +
                                  std::to_string(device_.rows));
}

void StatementRun::keep_tables() {
  constexpr size_t kMostKept = 1024;
  if (backend_.group_tables_.size() >= kMostKept) backend_.group_tables_.clear();
  backend_.group_tables_[tables_key()] = {table_slots_, partitions_};
}

// Fewer than the rows suggest where these would take too much: there may be few groups.
void StatementRun::choose_tables() {
  if (partitions_ == 0) {
    partitions_ = plan_->groups->hashed() ? device::group_settings().partitions : 1;
    table_slots_ = first_table_slots();
    const auto kept = backend_.group_tables_.find(tables_key());
    if (kept != backend_.group_tables_.end() && kept->second.slots.size() == table_slots_.size()) {
      table_slots_ = kept->second.slots;
      partitions_ = kept->second.partitions;
    }
  }
  while (group_bytes(table_slots_) > groups_budget_) {
    const auto largest = std::ranges::max_element(table_slots_);
    if (largest == table_slots_.end() || *largest <= kLeastSlots) return;
    *largest /= 2;
  }
}

// Of hash tables of single words: one for the key that marks free places, one for rows that find none. Runs come behind
// the table of those that tiles share.
uint64_t StatementRun::state_slots(const std::vector<uint64_t>& table_slots) const {
  switch (plan_->groups->rung) {
    case GroupRung::kWide: return 0;
    case GroupRung::kHash: return table_slots[0] + kBesideTable;
    case GroupRung::kRuns:
      return table_slots[0] + kBesideTable + run_capacity(table_slots) + run_window(table_slots[1]);
    default: return plan_->groups->slots;
  }
}
uint64_t StatementRun::state_bytes(const std::vector<uint64_t>& table_slots) const {
  return state_slots(table_slots) * plan_->groups->words() * sizeof(uint64_t);
}

// Tables of single words have a slot more, for the key that marks free ones. Wide keys have their tag before them and
// their states, if they are those of groups, behind them, and one slot more for keys that find none.
std::vector<uint64_t> StatementRun::key_table_bytes(const std::vector<uint64_t>& table_slots) const {
  const device::GroupsPlan& groups = *plan_->groups;
  std::vector<uint64_t> bytes;
  const auto add = [&](uint32_t key_words, uint32_t state_words, bool wide) {
    const uint64_t words = wide ? 1 + key_words + state_words : 1;
    bytes.push_back((table_slots[bytes.size()] + 1) * words * sizeof(uint64_t));
  };
  if (groups.rung == GroupRung::kRuns) {
    bytes.push_back(state_slots(table_slots) * sizeof(uint64_t));
  } else if (groups.hashed()) {
    add(groups.keys.words(), groups.words(), groups.rung == GroupRung::kWide);
  }
  for (const device::DistinctPlan& distinct : groups.distinct) add(distinct.keys.words(), 0, distinct.keys.words() > 1);
  return bytes;
}

uint64_t StatementRun::group_bytes(const std::vector<uint64_t>& table_slots) const {
  const std::vector<uint64_t> tables = key_table_bytes(table_slots);
  return std::accumulate(tables.begin(), tables.end(), state_bytes(table_slots));
}

void StatementRun::take_group_memory() {
  if (!plan_->groups) return;
  groups_budget_ = limit_ / 2;
  choose_tables();
  const uint64_t bytes = group_bytes(table_slots_);
  if (bytes > groups_budget_) {
    throw Error(ErrorCode::kOutOfMemory, "groups need " + std::to_string(bytes >> 20) +
                                             " MiB on the device, more than half of the limit of " +
                                             std::to_string(limit_ >> 20) + " MiB");
  }
  limit_ -= bytes;
  if (!backend_.cache_.make_room(0, limit_, run_))
    throw Error(ErrorCode::kOutOfMemory, "no room for groups on the device");
  const auto block = [&](uint64_t size) {
    return std::make_unique<DeviceBlock>(size, backend_.compute_, backend_.compute_);
  };
  const uint64_t states = state_bytes(table_slots_);
  if (states > 0) groups_memory_.states = block(states);
  for (const uint64_t size : key_table_bytes(table_slots_)) groups_memory_.tables.push_back(block(size));
  if (!table_slots_.empty()) groups_memory_.full = block(table_slots_.size() * sizeof(uint32_t));
  if (plan_->groups->rung == GroupRung::kRuns) groups_memory_.taken = block(sizeof(uint64_t));
}

void StatementRun::clear_groups() {
  if (!plan_->groups) return;
  const device::GroupsPlan& groups = *plan_->groups;
  const auto fill_first = [&](const DeviceBlock& block, int byte, uint64_t bytes) {
    check(cudaMemsetAsync(block.data(), byte, bytes, backend_.compute_), "clearing groups");
  };
  const auto fill = [&](const DeviceBlock& block, int byte) { fill_first(block, byte, block.bytes()); };
  if (groups_memory_.full != nullptr) fill(*groups_memory_.full, 0);
  if (groups.rung == GroupRung::kRuns) {  // whoever takes room for runs fills it
    const uint64_t words = table_slots_[0] + kBesideTable;
    fill(*groups_memory_.taken, 0);
    fill_first(*groups_memory_.states, 0, words * groups.words() * sizeof(uint64_t));
    fill_first(*groups_memory_.tables[0], 0xFF, words * sizeof(uint64_t));
    return;
  }
  if (groups_memory_.states != nullptr) fill(*groups_memory_.states, 0);
  const size_t first = groups.hashed() ? 1 : 0;  // of DISTINCT arguments
  for (size_t i = 0; i < groups_memory_.tables.size(); ++i) {
    const bool wide = i < first ? groups.rung == GroupRung::kWide : groups.distinct[i - first].keys.words() > 1;
    fill(*groups_memory_.tables[i], wide ? 0 : 0xFF);
  }
}

void StatementRun::put_groups(device::Parameters& parameters) const {
  if (!plan_->groups) return;
  const device::GroupsPlan& groups = *plan_->groups;
  if (groups_memory_.states != nullptr) parameters.groups = groups_memory_.states->as<uint64_t>();
  parameters.group_slots = groups.slots;
  parameters.partition = partition_;
  parameters.partition_mask = partitions_ - 1;
  const uint64_t hash_mask = device::group_settings().hash_mask();
  size_t next = 0;
  const auto table = [&] {
    const size_t i = next++;
    return device::KeyTable{groups_memory_.tables[i]->as<uint64_t>(), table_slots_[i] - 1, hash_mask,
                            groups_memory_.full->as<uint32_t>() + i};
  };
  if (groups.hashed()) parameters.group_keys = table();
  if (groups.rung == GroupRung::kRuns) {
    const uint64_t first = table_slots_[0] + kBesideTable;
    parameters.runs = {parameters.group_keys.slots + first,  parameters.groups + first * groups.words(),
                       run_capacity(table_slots_),           static_cast<uint32_t>(run_window(table_slots_[1])),
                       groups_memory_.taken->as<uint64_t>(), groups_memory_.full->as<uint32_t>() + 1};
  }
  for (size_t i = 0; i < groups.distinct.size(); ++i) parameters.distinct[i] = table();
}

void StatementRun::check_tables() {
  if (groups_memory_.full == nullptr) return;
  if (groups_memory_.taken != nullptr) {
    runs_taken_ = std::min(fetch(groups_memory_.taken->as<uint64_t>(), backend_.compute_), run_capacity(table_slots_));
  }
  const size_t count = table_slots_.size();
  const Buffer flags = download(groups_memory_.full->as<uint32_t>(), count * sizeof(uint32_t), backend_.compute_);
  TableTooSmall small;
  bool any = false;
  for (size_t i = 0; i < count; ++i) {
    small.tables.push_back(flags.as<uint32_t>()[i] != 0);
    any = any || small.tables.back();
  }
  if (any) throw small;
}

GroupStates StatementRun::group_states() const {
  const device::GroupsPlan& plan = *plan_->groups;
  GroupStates groups;
  groups.words = plan.words();
  groups.stride = groups.words;
  groups.slots = plan.slots;
  if (groups_memory_.states != nullptr) groups.states = groups_memory_.states->as<uint64_t>();
  if (!plan.hashed()) return groups;
  groups.keys = groups_memory_.tables[0]->as<uint64_t>();
  groups.key_count = table_slots_[0];
  if (plan.rung == GroupRung::kRuns) {
    groups.key_stride = 1;
    groups.slots = groups.key_count = table_slots_[0] + kBesideTable + runs_taken_;
    return groups;
  }
  if (plan.rung == GroupRung::kHash) {
    groups.key_stride = 1;
    groups.slots = groups.key_count + 1;
    return groups;
  }
  groups.slots = groups.key_count;
  groups.key_words = plan.keys.words();
  groups.stride = groups.key_stride = 1 + groups.key_words + groups.words;
  groups.keys += 1;  // behind the tag
  groups.states = groups.keys + groups.key_words;
  return groups;
}

// What is worth trying when tables were too small: up to eight times as many slots, but twice as many as there are rows
// suffice. Where memory does not hold twice as many, keys are divided instead.
void StatementRun::enlarge_tables(const std::vector<bool>& small) {
  const uint64_t enough = std::bit_ceil(2 * device_.rows);
  for (const uint64_t times : {8, 4, 2}) {
    std::vector<uint64_t> slots = table_slots_;
    for (size_t i = 0; i < slots.size(); ++i) {
      if (small[i]) slots[i] = std::clamp(enough, 2 * slots[i], times * slots[i]);
    }
    if (std::ranges::max(slots) > kMostSlots || group_bytes(slots) > groups_budget_) continue;
    table_slots_ = std::move(slots);
    return;
  }
  if (!plan_->groups->hashed() || partitions_ >= kMostPartitions) {
    throw Error(ErrorCode::kOutOfMemory, "groups need more than " + std::to_string(group_bytes(table_slots_) >> 20) +
                                             " MiB on the device, in " + std::to_string(partitions_) +
                                             " partitions: half of the limit is " +
                                             std::to_string(groups_budget_ >> 20) + " MiB");
  }
  partitions_ *= kMorePartitions;
}

}  // namespace basalt::cuda
