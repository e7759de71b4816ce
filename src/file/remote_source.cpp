#include "basalt/file/remote_source.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "basalt/core/error.h"

namespace basalt {

namespace {

// About what a link moves while a request waits for its first byte.
constexpr uint64_t kMostGap = 256 << 10;
// More at once gains little, and threads would wait for each other.
constexpr uint64_t kFetchBytes = 8 << 20;
// Fetched and not read yet, all plans together.
constexpr uint64_t kHeldBytes = 256 << 20;

}  // namespace

struct RemoteSource::Fetch {
  Range range;
  std::set<uint64_t> unread;  // where ranges begin that nobody has read; guarded by the source's mutex
  std::mutex mutex;           // of the bytes
  bool done = false;
  Buffer bytes;
};

struct RemoteSource::Plan {
  mutable std::map<uint64_t, std::shared_ptr<Fetch>> fetches;  // by where they begin; they do not overlap
};

RemoteSource::RemoteSource(std::shared_ptr<Source> far) : far_(std::move(far)) {}
RemoteSource::~RemoteSource() = default;

std::shared_ptr<const RemoteSource::Plan> RemoteSource::plan(std::vector<Range> ranges) const {
  // Places may come from a damaged file: whoever reads there is told.
  std::erase_if(ranges, [size = size()](const Range& range) {
    return range.length == 0 || range.length > size || range.offset > size - range.length;
  });
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.offset < b.offset; });
  auto plan = std::make_shared<Plan>();
  std::shared_ptr<Fetch> open;
  const auto close = [&] {
    // One range is a request of its own anyhow, and need not be copied.
    if (open != nullptr && open->unread.size() > 1) plan->fetches[open->range.offset] = open;
  };
  for (const Range& range : ranges) {
    const uint64_t end = open == nullptr ? 0 : open->range.offset + open->range.length;
    const bool joins = open != nullptr && range.offset <= end + kMostGap &&
                       std::max(end, range.offset + range.length) - open->range.offset <= kFetchBytes;
    if (!joins) {
      close();
      open = std::make_shared<Fetch>();
      open->range = range;
    }
    open->range.length = std::max(open->range.length, range.offset + range.length - open->range.offset);
    open->unread.insert(range.offset);
  }
  close();
  const std::lock_guard lock(mutex_);
  std::erase_if(plans_, [](const auto& old) { return old.expired(); });
  plans_.push_back(plan);
  return plan;
}

std::shared_ptr<RemoteSource::Fetch> RemoteSource::find(Range range) const {
  const std::lock_guard lock(mutex_);
  for (const auto& weak : plans_) {
    const auto plan = weak.lock();
    if (plan == nullptr) continue;
    auto found = plan->fetches.upper_bound(range.offset);
    if (found == plan->fetches.begin()) continue;
    --found;
    std::shared_ptr<Fetch> fetch = found->second;
    if (range.offset + range.length > fetch->range.offset + fetch->range.length) continue;
    fetch->unread.erase(range.offset);
    if (fetch->unread.empty()) plan->fetches.erase(found);  // this read is the last
    return fetch;
  }
  return nullptr;
}

void RemoteSource::read(Range range, std::byte* out) const {
  if (range.length == 0) return;
  const std::shared_ptr<Fetch> from = find(range);
  if (from == nullptr) return far_->read(range, out);
  fetch(from);
  std::memcpy(out, from->bytes.data() + (range.offset - from->range.offset), range.length);
}

// Others who want the same wait for it. If it fails, the next one tries again.
void RemoteSource::fetch(const std::shared_ptr<Fetch>& wanted) const {
  const std::lock_guard lock(wanted->mutex);
  if (wanted->done) return;
  Buffer bytes(static_cast<size_t>(wanted->range.length));
  far_->read(wanted->range, bytes.data());
  wanted->bytes = std::move(bytes);
  wanted->done = true;
  const std::lock_guard lock_all(mutex_);
  held_.push_back(wanted);
  forget_oldest();
}

// With the mutex held. Who is reading a fetch keeps it; later reads of its ranges are requests of their own.
void RemoteSource::forget_oldest() const {
  std::erase_if(held_, [](const auto& old) { return old.expired(); });
  uint64_t bytes = 0;
  for (const auto& weak : held_) {
    if (const auto fetch = weak.lock()) bytes += fetch->range.length;
  }
  for (auto oldest = held_.begin(); bytes > kHeldBytes && oldest + 1 < held_.end(); ++oldest) {
    const auto fetch = oldest->lock();
    if (fetch == nullptr) continue;
    bytes -= fetch->range.length;
    for (const auto& weak : plans_) {
      if (const auto plan = weak.lock()) std::erase_if(plan->fetches, [&](const auto& e) { return e.second == fetch; });
    }
  }
}

}  // namespace basalt
