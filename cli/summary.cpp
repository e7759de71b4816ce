// Rendering a WriteSummary.
#include "cli/summary.h"

#include <fmt/format.h>

#include "cli/terminal.h"

namespace basalt::cli {

std::string render_summary(const WriteSummary& summary, const std::string& path, double seconds, int descriptor) {
  using Align = TextTable::Align;
  TextTable table({{"column", Align::kLeft},
                   {"type", Align::kLeft},
                   {"encoding", Align::kLeft},
                   {"in", Align::kRight},
                   {"out", Align::kRight},
                   {"ratio", Align::kRight}});
  for (const ColumnSummary& column : summary.columns) {
    std::string tree = column.trees.empty() ? "-" : column.trees[0];
    if (column.trees.size() > 1) tree += fmt::format(" (+{} more)", column.trees.size() - 1);
    table.add({column.path, column.type, tree, human_bytes(column.plain_bytes), human_bytes(column.encoded_bytes),
               human_ratio(column.plain_bytes, column.encoded_bytes)});
  }
  table.add_rule();
  table.add({fmt::format("{} rows", human_count(summary.rows)),
             fmt::format("{} chunk{}", human_count(summary.chunks), summary.chunks == 1 ? "" : "s"), path,
             human_bytes(summary.plain_bytes), human_bytes(summary.file_bytes),
             human_ratio(summary.plain_bytes, summary.file_bytes)});
  std::string text = table.render(descriptor);
  if (seconds > 0)
    text += dim(fmt::format("{} · {} rows/s · {}/s of plain data\n", human_seconds(seconds),
                            human_rate(static_cast<double>(summary.rows) / seconds),
                            human_bytes(static_cast<uint64_t>(static_cast<double>(summary.plain_bytes) / seconds))),
                descriptor);
  return text;
}

}  // namespace basalt::cli
