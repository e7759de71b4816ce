#include "cuda/query/joins/source_filter.h"

#include <algorithm>

#include "basalt/exec/expressions.h"
#include "cuda/query/row_arrays.h"
#include "exec/column_facts.h"
#include "exec/join_kind.h"

namespace basalt::cuda {

namespace {

// Whether rows that find nobody have no part in the result.
bool drops_alone(JoinKind kind) {
  switch (kind) {
    case JoinKind::kInner:
    case JoinKind::kSemi:
    case JoinKind::kRight:
    case JoinKind::kRightSemi:
    case JoinKind::kRightAnti: return true;
    default: return false;
  }
}

// Whether a later step may be asked before this one: not where rows that it would drop have still an effect here.
bool may_be_passed(const PipelineStep& step) {
  if (std::holds_alternative<FilterStep>(step)) return true;
  const JoinKind kind = std::get<Probe>(step).kind;
  return !exec::keeps_second(kind) && kind != JoinKind::kSingle;
}

// Whether a stage leaves less than all that its files hold: all keys of a table are not worth being asked for.
bool leaves_some(const Query& query, size_t place) {
  const Pipeline& stage = query.stages[place];
  if (stage.has_filter || stage.limit != kAllRows) return true;
  if (stage.files.empty() && stage.constants != nullptr) return true;
  for (const PipelineStep& step : stage.steps) {
    const auto* probe = std::get_if<Probe>(&step);
    if (probe == nullptr || probe->kind == JoinKind::kAnti) return true;
  }
  const std::vector<uint32_t> inputs = inputs_of(query, place);
  return std::ranges::any_of(inputs, [&](uint32_t input) { return leaves_some(query, input); });
}

}  // namespace

SourceFilter::SourceFilter(GraphRun& graph, const Query& query, const Pipeline& stage)
    : stage_(stage), answered_(stage.steps.size(), false) {
  if (stage.files.empty()) return;
  for (size_t i = 0; i < stage.steps.size(); ++i) {
    const auto* probe = std::get_if<Probe>(&stage.steps[i]);
    if (probe != nullptr && drops_alone(probe->kind) && leaves_some(query, probe->stage)) add(graph, *probe, i);
    if (!may_be_passed(stage.steps[i])) return;
  }
}

void SourceFilter::add(GraphRun& graph, const Probe& probe, size_t step) {
  const std::shared_ptr<const DeviceTable> rows = graph.on_device(probe.stage);
  size_t asked = 0;
  for (const JoinKey& key : probe.keys) {
    const bool of_files = key.probe.op == ExprOp::kColumn && key.probe.column < stage_.columns.size();
    if (!of_files || key.build.op != ExprOp::kColumn || key.nulls_equal) continue;
    std::optional<Members> members = members_of(rows->columns.at(key.build.column), rows->rows, graph.stream());
    if (!members) continue;
    Expr condition;
    condition.op = ExprOp::kMember;
    condition.type = Physical::kU8;
    condition.args = {key.probe, literal(members->least), literal(static_cast<int64_t>(members->count)),
                      literal(reinterpret_cast<int64_t>(members->bits.data()))};
    conditions_.push_back(std::move(condition));
    sets_.push_back(*std::move(members));
    ++asked;
  }
  if (probe.residual || asked != 1 || probe.keys.size() != 1) return;
  const bool only_asks = probe.kind == JoinKind::kInner && probe.fetched.empty();
  answered_[step] =
      probe.kind == JoinKind::kSemi || (only_asks && fetch(sets_.back().twice.as<uint32_t>(), graph.stream()) == 0);
}

void SourceFilter::add_to(Pipeline& stage) const {
  if (conditions_.empty()) return;
  std::vector<Expr> all = conditions_;
  if (stage.has_filter) all.insert(all.begin(), stage.filter);
  stage.filter = all_of(std::move(all));
  stage.has_filter = true;
}

bool SourceFilter::answers_all() const {
  return !answered_.empty() && std::ranges::all_of(answered_, [](bool answered) { return answered; });
}

std::string SourceFilter::text() const {
  if (sets_.empty()) return {};
  std::string out = "keys of joins asked where rows are read: bits of";
  for (const Members& set : sets_) out += (&set == sets_.data() ? " " : ", ") + std::to_string(set.count);
  return out + " numbers";
}

}  // namespace basalt::cuda
