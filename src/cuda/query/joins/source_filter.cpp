#include "cuda/query/joins/source_filter.h"

#include <algorithm>

#include "basalt/exec/expressions.h"
#include "cuda/query/row_arrays.h"
#include "exec/expr_kind.h"
#include "exec/join_kind.h"
#include "exec/set_places.h"

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
  if (const auto* filter = std::get_if<FilterStep>(&step)) return !may_throw(filter->predicate);
  const Probe& probe = std::get<Probe>(step);
  if (exec::keeps_second(probe.kind) || probe.kind == JoinKind::kSingle) return false;
  const bool keys_throw = std::ranges::any_of(probe.keys, [](const JoinKey& key) { return may_throw(key.probe); });
  return !keys_throw && !(probe.residual && may_throw(*probe.residual));
}

// Which stages leave less than all that their files hold: all keys of a table are not worth being asked for.
std::vector<bool> stages_that_leave_some(const Query& query) {
  std::vector<bool> out;
  for (size_t i = 0; i < query.stages.size(); ++i) {
    const Pipeline& stage = query.stages[i];
    const bool drops = std::ranges::any_of(stage.steps, [](const PipelineStep& step) {
      const auto* probe = std::get_if<Probe>(&step);
      return probe == nullptr || probe->kind == JoinKind::kAnti;
    });
    const std::vector<uint32_t> inputs = inputs_of(query, i);
    out.push_back(stage.has_filter || stage.limit != kAllRows || stage.constants != nullptr || drops ||
                  std::ranges::any_of(inputs, [&](uint32_t input) { return out[input]; }));
  }
  return out;
}

// A key of a join that can be asked where rows are read.
struct AskedKey {
  size_t step;
  const Probe& probe;
  const JoinKey& key;
};

std::vector<AskedKey> asked_keys(const Query& query, const Pipeline& stage) {
  std::vector<AskedKey> out;
  if (stage.files.empty()) return out;
  const std::vector<bool> leaves_some = stages_that_leave_some(query);
  for (size_t i = 0; i < stage.steps.size(); ++i) {
    const auto* probe = std::get_if<Probe>(&stage.steps[i]);
    if (probe != nullptr && drops_alone(probe->kind) && leaves_some[probe->stage]) {
      for (const JoinKey& key : probe->keys) {
        const bool of_files = key.probe.op == ExprOp::kColumn && key.probe.column < stage.columns.size();
        const bool number = may_be_member(key.build.type);
        if (of_files && number && key.build.op == ExprOp::kColumn && !key.nulls_equal) out.push_back({i, *probe, key});
      }
    }
    if (!may_be_passed(stage.steps[i])) break;
  }
  return out;
}

// Whether a join asks no more than whether the only key of a row is in the set.
bool is_answered(const Probe& probe, const Members& set, cudaStream_t stream) {
  if (probe.residual || probe.keys.size() != 1) return false;
  if (probe.kind == JoinKind::kSemi) return true;
  const bool only_asks = probe.kind == JoinKind::kInner && probe.fetched.empty();
  return only_asks && fetch(set.twice.as<uint32_t>(), stream) == 0;
}

void add_conditions(const std::vector<Expr>& conditions, Pipeline& stage) {
  if (conditions.empty()) return;
  std::vector<Expr> all = conditions;
  if (stage.has_filter) all.insert(all.begin(), stage.filter);
  stage.filter = all_of(std::move(all));
  stage.has_filter = true;
}

}  // namespace

namespace {

// A cast to a type that holds every integer of the one before.
bool only_widens(const Expr& cast) {
  const Expr& from = cast.args[0];
  if (!is_integer(cast.type) || !is_integer(from.type) || cast.power_of_ten != 0 || cast.factor != 1) return false;
  const exec::IntegerRange wide = exec::range_of(cast.type);
  const exec::IntegerRange narrow = exec::range_of(from.type);
  return wide.low <= narrow.low && wide.high >= narrow.high;
}

}  // namespace

bool may_throw(const Expr& expr) {
  switch (exec::kind_of(expr.op)) {
    case exec::ExprKind::kCast: return !only_widens(expr) || may_throw(expr.args[0]);
    case exec::ExprKind::kColumn:
    case exec::ExprKind::kLiteral:
    case exec::ExprKind::kComparison:
    case exec::ExprKind::kDistinct:
    case exec::ExprKind::kIn:
    case exec::ExprKind::kMember:
    case exec::ExprKind::kLookUp:
    case exec::ExprKind::kPattern:
    case exec::ExprKind::kConnective:
    case exec::ExprKind::kNot:
    case exec::ExprKind::kNullTest: return std::ranges::any_of(expr.args, may_throw);
    default: return true;
  }
}

SourceFilter::SourceFilter(GraphRun& graph, const Query& query, const Pipeline& stage)
    : answered_(stage.steps.size(), false) {
  for (const AskedKey& asked : asked_keys(query, stage)) {
    const std::shared_ptr<const DeviceTable> rows = graph.on_device(asked.probe.stage);
    const JoinKey& key = asked.key;
    const DeviceColumn& keys = rows->columns.at(key.build.column);
    std::optional<Members> set = members_of(keys, rows->rows, graph.most_bytes() / 4, graph.stream());
    if (!set) continue;
    conditions_.push_back(exec::member_of(key.probe, static_cast<int64_t>(sets_.size()), set->place()));
    sets_.push_back(*std::move(set));
    answered_[asked.step] = is_answered(asked.probe, sets_.back(), graph.stream());
  }
}

void SourceFilter::add_to(Pipeline& stage) const { add_conditions(conditions_, stage); }

void SourceFilter::leave_out_answered(Pipeline& stage) const {
  std::vector<PipelineStep> left;
  for (size_t i = 0; i < stage.steps.size(); ++i) {
    if (!answered_[i]) left.push_back(std::move(stage.steps[i]));
  }
  stage.steps = std::move(left);
}

uint64_t SourceFilter::bytes() const {
  uint64_t sum = 0;
  for (const Members& set : sets_) sum += set.bits.bytes();
  return sum;
}

std::string SourceFilter::text() const { return text_of(sets_); }

std::string text_of(const std::vector<Members>& sets) {
  if (sets.empty()) return {};
  std::string out = "keys of joins asked where rows are read: bits of";
  for (const Members& set : sets) out += (&set == sets.data() ? " " : ", ") + std::to_string(set.count);
  return out + " numbers";
}

Pipeline likely_filtered(const Query& query, const Pipeline& stage) {
  std::vector<Expr> conditions;
  for (const AskedKey& asked : asked_keys(query, stage)) {
    conditions.push_back(exec::member_of(asked.key.probe, static_cast<int64_t>(conditions.size()), {}));
  }
  Pipeline out = stage;
  add_conditions(conditions, out);
  return out;
}

}  // namespace basalt::cuda
