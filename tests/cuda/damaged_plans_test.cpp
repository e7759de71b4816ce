// Planning kernels over damaged files, which needs no GPU: a plan, a reason or an error.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "basalt/core/error.h"
#include "exec/device/generate/generate.h"
#include "support/mutated_file.h"
#include "support/sanitized.h"
#include "support/untrusted.h"

namespace basalt::test {
namespace {

// Groups by each column, and its count, minimum and maximum.
void plan_all(const std::shared_ptr<const File>& file) {
  for (const Field& field : file->schema().fields) {
    const Physical type = physical_of(field.type);
    if ((width_of(type) == 0 && type != Physical::kBytes) || !field.children.empty()) continue;
    Expr column;
    column.op = ExprOp::kColumn;
    column.type = type;
    Pipeline groups;
    groups.files = {file};
    groups.columns = {{field.id, field.name, field.type}};
    groups.sink = Sink::kGroups;
    groups.keys = {column};
    groups.aggregates.emplace_back();
    Pipeline totals = groups;
    totals.sink = Sink::kTotals;
    totals.keys.clear();
    for (const AggregateOp op : {AggregateOp::kCount, AggregateOp::kMin, AggregateOp::kMax}) {
      totals.aggregates.emplace_back();
      totals.aggregates.back().op = op;
      totals.aggregates.back().arg = column;
    }
    refusing([&] { device::why_not(groups); });
    refusing([&] { device::why_not(totals); });
  }
}

TEST(DamagedPlans, EndInAPlanOrAReason) {
  const std::string path = (std::filesystem::temp_directory_path() / "basalt-damaged-plans.basalt").string();
  std::mt19937_64 random(3);
  for (const std::vector<std::byte>& sound : golden_files()) {
    for (int i = 0; i < (kSanitized ? 10 : 40); ++i) {
      std::vector<uint8_t> choices(8 + random() % 40);
      for (uint8_t& choice : choices) choice = static_cast<uint8_t>(random());
      const std::vector<std::byte> bytes = mutated(sound, choices.data(), choices.size());
      std::filesystem::remove(path);
      std::ofstream(path, std::ios::binary)
          .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
      refusing([&] { plan_all(File::open(path)); });
    }
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace basalt::test
