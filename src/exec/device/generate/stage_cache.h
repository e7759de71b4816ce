// Stages that were planned for the device, from statement to statement: whoever asks whether a stage can run there has
// it planned, and its run finds the plan.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "exec/device/generate/generate.h"

namespace basalt::device {

class StageCache {
 public:
  // The stage with its plan, or with the reason why it has none. Thread-safe; planning itself holds no lock.
  std::shared_ptr<const DevicePipeline> get(const Pipeline& pipeline);
  uint64_t planned() const;  // how often a stage was not here

 private:
  struct Entry {
    std::shared_ptr<const DevicePipeline> stage;
    std::list<std::string>::iterator recent;
  };
  std::shared_ptr<const DevicePipeline> find(const std::string& key, const Pipeline& pipeline);
  void put(const std::string& key, std::shared_ptr<const DevicePipeline> stage);
  void drop_older_files(const Pipeline& pipeline);

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Entry> entries_;
  std::list<std::string> recent_;  // most recent first
  uint64_t planned_ = 0;
};

}  // namespace basalt::device
