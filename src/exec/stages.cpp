// What the parts of a stage and the stages of a query see of each other.
#include <algorithm>

#include "basalt/exec/pipeline.h"

namespace basalt {

std::vector<PipelineColumn> columns_behind(const Pipeline& pipeline, size_t steps) {
  std::vector<PipelineColumn> columns = pipeline.columns;
  for (size_t i = 0; i < steps; ++i) {
    const auto* probe = std::get_if<Probe>(&pipeline.steps[i]);
    if (probe == nullptr || probe->kind == JoinKind::kSemi || probe->kind == JoinKind::kAnti) continue;
    if (probe->kind == JoinKind::kMark) {
      columns.push_back({0, "mark", DataType{TypeKind::kBool}});
    } else {
      columns.insert(columns.end(), probe->fetched.begin(), probe->fetched.end());
    }
  }
  return columns;
}

bool is_chain(const Query& query) {
  for (size_t i = 0; i < query.stages.size(); ++i) {
    const Pipeline& stage = query.stages[i];
    const bool alone = stage.steps.empty() && stage.sources.empty() && stage.constants == nullptr &&
                       !stage.at_most_one && stage.windows.empty();
    if (!alone || (i == 0) == stage.files.empty()) return false;
  }
  return true;
}

std::vector<uint32_t> inputs_of(const Query& query, size_t place) {
  const Pipeline& stage = query.stages[place];
  std::vector<uint32_t> inputs = stage.sources;
  const bool reads_before = stage.sources.empty() && stage.files.empty() && stage.constants == nullptr;
  if (reads_before && place > 0) inputs.push_back(static_cast<uint32_t>(place - 1));
  for (const PipelineStep& step : stage.steps) {
    if (const auto* probe = std::get_if<Probe>(&step)) inputs.push_back(probe->stage);
  }
  std::ranges::sort(inputs);
  inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
  return inputs;
}

}  // namespace basalt
