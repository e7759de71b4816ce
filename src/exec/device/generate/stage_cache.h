// Stages that were planned for the device, from statement to statement: whoever asks whether a stage can run there has
// it planned, and its run finds the plan.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "exec/device/generate/generate.h"

namespace basalt::device {

class StageCache {
 public:
  // The stage with its plan, or with the reason why it has none. Thread-safe; planning itself holds no lock.
  std::shared_ptr<const DevicePipeline> get(const Pipeline& pipeline);
  // The same for a stage that reads rows which lie on the device. Lists of strings belong to one run: stages that read
  // any are planned each time.
  std::shared_ptr<const DevicePipeline> get(const Pipeline& pipeline, const std::vector<ArrayShape>& arrays,
                                            uint64_t rows);
  // Why a stage over files cannot run on the device; empty: it can.
  std::string why_not(const Pipeline& pipeline);
  uint64_t planned() const;  // how often a stage was not here
  // Stages that read the file, which they hold open.
  void forget(const File& file);

 private:
  struct Entry {
    std::shared_ptr<const DevicePipeline> stage;
    std::list<std::string>::iterator recent;
  };
  template <typename Plan>
  std::shared_ptr<const DevicePipeline> find_or_plan(const std::string& key, const Pipeline& pipeline,
                                                     const Plan& plan);
  std::shared_ptr<const DevicePipeline> find(const std::string& key, const Pipeline& pipeline);
  void put(const std::string& key, std::shared_ptr<const DevicePipeline> stage);
  bool is_newest(const File& file) const;
  void drop_older_files(const Pipeline& pipeline);

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Entry> entries_;
  std::list<std::string> recent_;                        // most recent first
  std::unordered_map<std::string, const File*> newest_;  // by name; asked for their addresses only
  uint64_t planned_ = 0;
};

}  // namespace basalt::device
