// A source that is far away: a request costs as much as some hundred kilobytes. Whoever knows what it is going to read
// tells so, and neighbours are fetched by one request, of which each read is then cut.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "basalt/file/source.h"

namespace basalt {

class RemoteSource : public Source {
 public:
  // `far` does the requests.
  explicit RemoteSource(std::shared_ptr<Source> far);
  ~RemoteSource() override;

  std::string name() const override { return far_->name(); }
  uint64_t size() const override { return far_->size(); }
  // From the fetch of a plan that holds all of the range, which happens now if it has not; else by a request of its
  // own.
  void read(Range range, std::byte* out) const override;

  // What is to be read soon, every range once. Nothing is fetched before the first read of it. What was fetched and is
  // not read is forgotten with the plan, or earlier where it becomes much.
  struct Plan;
  std::shared_ptr<const Plan> plan(std::vector<Range> ranges) const;

 private:
  struct Fetch;
  std::shared_ptr<Fetch> find(Range range) const;
  void fetch(const std::shared_ptr<Fetch>& wanted) const;
  void forget_oldest() const;

  std::shared_ptr<Source> far_;
  mutable std::mutex mutex_;  // of everything below, and of the maps of plans
  mutable std::vector<std::weak_ptr<const Plan>> plans_;
  mutable std::vector<std::weak_ptr<Fetch>> held_;  // those that have bytes, oldest first
};

}  // namespace basalt
