// Finding, adding and forgetting cached columns.
#include "basalt/exec/column_cache.h"

#include "exec/chunk_tiles.h"

namespace basalt {

size_t ColumnCache::KeyHash::operator()(const Key& key) const {
  const auto file = reinterpret_cast<uintptr_t>(key.file);
  return static_cast<size_t>((file ^ (uint64_t{key.field} << 32 | key.chunk)) * 0x9E3779B97F4A7C15ull >> 16);
}

uint64_t ColumnCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

void ColumnCache::set_limit(uint64_t limit) {
  const std::lock_guard lock(mutex_);
  limit_ = limit;
  while (bytes_ > limit_) forget(std::prev(entries_.end()));
}

void ColumnCache::forget(std::list<Entry>::iterator entry) {
  bytes_ -= entry->bytes;
  places_.erase(entry->key);
  entries_.erase(entry);
}

void ColumnCache::forget_closed_files() {
  for (auto file = files_.begin(); file != files_.end();) {
    if (file->second.use_count() > 1) {
      ++file;
      continue;
    }
    for (auto entry = entries_.begin(); entry != entries_.end();) {
      const auto next = std::next(entry);
      if (entry->key.file == file->first) forget(entry);
      entry = next;
    }
    file = files_.erase(file);
  }
}

bool ColumnCache::make_room(uint64_t bytes, uint64_t use) {
  if (bytes > limit_) return false;
  while (bytes_ > limit_ - bytes) {
    const auto oldest = std::prev(entries_.end());
    if (oldest->use == use) return false;
    forget(oldest);
  }
  return true;
}

ColumnCache::Use::Use(ColumnCache& cache, const std::vector<std::shared_ptr<const File>>& files) : cache_(cache) {
  const std::lock_guard lock(cache_.mutex_);
  cache_.forget_closed_files();
  for (const auto& file : files) cache_.files_.try_emplace(file.get(), file);
  number_ = ++cache_.uses_;
}

void ColumnCache::Use::add(const std::shared_ptr<const File>& file) {
  const std::lock_guard lock(cache_.mutex_);
  cache_.files_.try_emplace(file.get(), file);
}

std::shared_ptr<const exec::LoadedColumn> ColumnCache::Use::find(const File& file, uint32_t field, uint32_t chunk) {
  const std::lock_guard lock(cache_.mutex_);
  const auto place = cache_.places_.find({&file, field, chunk});
  if (place == cache_.places_.end()) return nullptr;
  cache_.entries_.splice(cache_.entries_.begin(), cache_.entries_, place->second);
  place->second->use = number_;
  return place->second->column;
}

void ColumnCache::Use::put(const File& file, uint32_t field, uint32_t chunk,
                           std::shared_ptr<const exec::LoadedColumn> column) {
  const Key key{&file, field, chunk};
  const uint64_t bytes = column->bytes;
  const std::lock_guard lock(cache_.mutex_);
  if (cache_.places_.contains(key) || !cache_.make_room(bytes, number_)) return;
  cache_.entries_.push_front({key, std::move(column), bytes, number_});
  cache_.places_.emplace(key, cache_.entries_.begin());
  cache_.bytes_ += bytes;
}

}  // namespace basalt
