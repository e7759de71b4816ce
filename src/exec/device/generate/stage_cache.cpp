#include "exec/device/generate/stage_cache.h"

#include <algorithm>
#include <utility>

#include "exec/device/generate/group_settings.h"
#include "exec/device/generate/texts.h"
#include "exec/pipeline_key.h"
#include "exec/set_places.h"

namespace basalt::device {

namespace {

constexpr size_t kMostStages = 1024;

// Open files are the same object as long as they are the same file.
std::string key_of(const Pipeline& pipeline) {
  std::string key;
  for (const auto& file : pipeline.files) {
    const File* address = file.get();
    key.append(reinterpret_cast<const char*>(&address), sizeof(address));
  }
  return key + settings_key(group_settings()) + exec::pipeline_key(pipeline);
}

// Begins with an address that no file has.
std::string arrays_key(const std::vector<ArrayShape>& arrays, uint64_t rows) {
  std::string key(sizeof(const File*), '\0');
  key += std::to_string(rows);
  for (const ArrayShape& array : arrays) {
    key += array.nullable ? 'n' : '-';
    key += static_cast<char>(array.type);
    key += exec::statistics_key(array.stats);
  }
  return key + ' ';
}

// The stage with a plan that was made for sets that lie anywhere, and with its own places of them.
std::shared_ptr<const DevicePipeline> with_places(std::shared_ptr<const DevicePipeline> planned,
                                                  const std::vector<exec::SetPlace>& places) {
  auto out = std::make_shared<DevicePipeline>(*planned);
  exec::put_set_places(places, out->pipeline);
  return out;
}

// Whether a stage reads a file of this name that is not this one.
bool reads_another(const Pipeline& stage, const std::string& name, const File* file) {
  return std::ranges::any_of(stage.files,
                             [&](const auto& other) { return other.get() != file && other->name() == name; });
}

}  // namespace

template <typename Plan>
std::shared_ptr<const DevicePipeline> StageCache::find_or_plan(const std::string& key, const Pipeline& pipeline,
                                                               const Plan& plan) {
  if (auto known = find(key, pipeline)) return known;
  auto stage = std::make_shared<const DevicePipeline>(plan());
  put(key, stage);
  return stage;
}

std::shared_ptr<const DevicePipeline> StageCache::get(const Pipeline& pipeline) {
  const auto planned = [this](const Pipeline& stage) {
    return find_or_plan(key_of(stage), stage, [&] { return plan_stage(to_device(stage)); });
  };
  const std::vector<exec::SetPlace> places = exec::set_places(pipeline);
  if (places.empty()) return planned(pipeline);
  Pipeline anywhere = pipeline;
  exec::put_set_places(exec::places_anywhere(places.size()), anywhere);
  return with_places(planned(anywhere), places);
}

std::shared_ptr<const DevicePipeline> StageCache::get(const Pipeline& pipeline, const std::vector<ArrayShape>& arrays,
                                                      uint64_t rows) {
  const auto plan = [&] { return plan_stage(to_device(pipeline, arrays, rows)); };
  if (std::ranges::any_of(arrays, [](const ArrayShape& array) { return array.listed != nullptr; })) {
    return std::make_shared<const DevicePipeline>(plan());
  }
  return find_or_plan(arrays_key(arrays, rows) + key_of(pipeline), pipeline, plan);
}

std::string StageCache::why_not(const Pipeline& pipeline) {
  const auto stage = get(pipeline);
  if (const auto halves = stage->too_large ? halves_of(pipeline) : std::nullopt) {
    const std::string reason = why_not(halves->first);
    return reason.empty() ? why_not(halves->second) : reason;
  }
  if (!stage->reason.empty() || !stage->sources) return stage->reason;
  // Which may not be enough.
  if (stage->sources->cut_order) return rows_to_device(pipeline, {}, 0, nullptr, true).reason;
  for (const RowsSources::Source& source : stage->sources->columns) {
    if (source.row) continue;
    const PipelineColumn& column = pipeline.columns[*source.texts_of];
    for (const auto& file : pipeline.files) {
      for (const ColumnChunkInfo& chunk : file->column(column.field_id).chunks) {
        if (const std::string reason = why_not_decode_texts(chunk); !reason.empty()) {
          return "column " + column.name + ": " + reason;
        }
      }
    }
  }
  return {};
}

uint64_t StageCache::planned() const {
  const std::lock_guard lock(mutex_);
  return planned_;
}

std::shared_ptr<const DevicePipeline> StageCache::find(const std::string& key, const Pipeline& pipeline) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) {
    ++planned_;
    drop_older_files(pipeline);
    return nullptr;
  }
  recent_.splice(recent_.begin(), recent_, found->second.recent);
  return found->second.stage;
}

bool StageCache::is_newest(const File& file) const {
  const auto newest = newest_.find(file.name());
  return newest == newest_.end() || newest->second == &file;
}

// Stages hold their files open: those of a file that was replaced would keep its bytes on the disk.
void StageCache::drop_older_files(const Pipeline& pipeline) {
  constexpr size_t kMostNames = 64 * kMostStages;
  if (newest_.size() > kMostNames) {
    newest_.clear();
    for (const auto& [key, entry] : entries_) {
      for (const auto& file : entry.stage->pipeline.files) newest_[file->name()] = file.get();
    }
  }
  for (const auto& file : pipeline.files) {
    const File*& newest = newest_[file->name()];
    if (std::exchange(newest, file.get()) == file.get()) continue;
    std::erase_if(entries_, [&](const auto& entry) {
      if (!reads_another(entry.second.stage->pipeline, file->name(), file.get())) return false;
      recent_.erase(entry.second.recent);
      return true;
    });
  }
}

void StageCache::forget(const File& file) {
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [&](const auto& entry) {
    const auto& files = entry.second.stage->pipeline.files;
    if (std::ranges::none_of(files, [&](const auto& own) { return own.get() == &file; })) return false;
    recent_.erase(entry.second.recent);
    return true;
  });
  newest_.erase(file.name());
}

void StageCache::put(const std::string& key, std::shared_ptr<const DevicePipeline> stage) {
  const std::lock_guard lock(mutex_);
  if (!std::ranges::all_of(stage->pipeline.files, [&](const auto& file) { return is_newest(*file); })) return;
  const auto [place, added] = entries_.try_emplace(key);
  if (!added) return;  // another thread has planned it, too
  recent_.push_front(key);
  place->second = {std::move(stage), recent_.begin()};
  if (entries_.size() <= kMostStages) return;
  entries_.erase(recent_.back());
  recent_.pop_back();
}

}  // namespace basalt::device
