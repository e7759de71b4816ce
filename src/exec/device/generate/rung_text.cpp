// What explain analyze says of a kernel: how it keeps what it finds, and the fact that allowed that.
#include "exec/device/generate/generate.h"

namespace basalt::device {

namespace {

std::string groups_text(const GroupsPlan& groups) {
  const std::string bounded = "at most " + std::to_string(groups.slots) + " groups by the bounds of their keys";
  switch (groups.rung) {
    case GroupRung::kLanes: return "states in each lane: " + bounded;
    case GroupRung::kRuns: return "runs of neighbouring rows: the key is sorted, by the statistics of all chunks";
    case GroupRung::kBlock: return "states in each block: " + bounded;
    case GroupRung::kDense: return "one array: " + bounded;
    case GroupRung::kHash: return "a hash table: keys have " + std::to_string(groups.keys.bits()) + " bits";
    case GroupRung::kWide:
      return "a hash table: keys have " + std::to_string(groups.keys.words()) + " words of 64 bits";
  }
  return {};
}

}  // namespace

std::string rung_text(const KernelPlan& plan) {
  if (plan.groups) return groups_text(*plan.groups);
  if (!plan.rows) return "totals in registers: there are no groups";
  if (plan.rows->order.empty()) return "rows in the order of the table: none is asked for";
  const std::string words = std::to_string(plan.rows->words()) + " words of 64 bits";
  return plan.rows->first_only ? "rows within a threshold, sorted by " + words + ": the order has a limit"
                               : "all rows, sorted by " + words;
}

}  // namespace basalt::device
