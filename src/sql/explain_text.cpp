#include "sql/explain_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "basalt/core/error.h"
#include "basalt/file/reader.h"
#include "core/human.h"

namespace basalt::sql {

namespace {

// Whether kernels read something else than what is stored, which is made of it on the device before they start.
bool has_device_form(const Tree& tree) {
  const Codec* codec = find_codec(tree.codec);
  return (codec != nullptr && codec->has_device_form()) || std::ranges::any_of(tree.children, has_device_form);
}

// Of one column, in all files that have it.
struct StoredAs {
  std::set<std::string> trees;
  bool has_device_form = false;
};

}  // namespace

std::string pruning_text(const Query& query) {
  TileCounts sum;
  bool any = false;
  try {
    for (const Pipeline& stage : query.stages) {
      if (stage.files.empty() || !stage.has_filter) continue;
      const TileCounts tiles = decide_tiles(stage);
      sum.total += tiles.total;
      sum.skipped += tiles.skipped;
      any = true;
    }
  } catch (const Error& error) {
    return std::string("unknown: ") + error.what();
  }
  return any ? fmt::format("statistics leave {} of {} tiles", sum.total - sum.skipped, sum.total) : "";
}

std::string encodings_text(const Query& query, Device ran_on) {
  using Key = std::pair<std::string, std::string>;  // the first file of a table, the column
  std::vector<Key> keys;
  std::map<Key, StoredAs> columns;
  std::map<std::string, size_t> tables;  // that have a column of the name
  for (const Pipeline& stage : query.stages) {
    if (stage.files.empty()) continue;
    for (const PipelineColumn& column : stage.columns) {
      const Key key(stage.files.front()->name(), column.name);
      if (!columns.contains(key)) {
        keys.push_back(key);
        ++tables[column.name];
      }
      StoredAs& stored = columns[key];
      for (const auto& file : stage.files) {
        const ColumnInfo& info = file->column(column.field_id);
        stored.trees.insert(info.encodings.begin(), info.encodings.end());
        stored.has_device_form = stored.has_device_form || std::ranges::any_of(info.shapes, has_device_form);
      }
    }
  }
  std::string text;
  for (const Key& key : keys) {
    const auto& [file, name] = key;
    const StoredAs& stored = columns.at(key);
    const std::string of_file = tables.at(name) > 1 ? std::filesystem::path(file).filename().string() + " " : "";
    text += fmt::format("{}{}{}: {}", text.empty() ? "" : "\n", of_file, name, fmt::join(stored.trees, ", "));
    if (stored.has_device_form && ran_on == Device::kCuda) text += " (2 kernels: ans is made into codes before)";
  }
  return text;
}

std::string step_text(const RunReport& step) {
  std::string text = fmt::format("{}\non {}\nrows {} -> {}", step.what, step.device_name, step.rows, step.rows_out);
  if (!step.why_cpu.empty()) text += "\nnot on the GPU: " + step.why_cpu;
  if (!step.rung.empty()) text += "\n" + step.rung;
  if (step.encoded_bytes_read > 0) text += "\ndecoded from " + human_bytes(step.encoded_bytes_read);
  text += fmt::format("\n{:.3f} ms", step.total_ms);
  if (step.ran_on != Device::kCuda) return text;
  text += fmt::format("\nkernel {:.3f} ms, waited {:.3f} ms", step.kernel_ms, step.wait_ms);
  if (step.encoded_bytes_read > 0 && step.memory_gbs > 0) {
    const double least_ms = static_cast<double>(step.encoded_bytes_read) / step.memory_gbs / 1e6;
    text += fmt::format("\nits bytes need {:.3f} ms at the memory's peak of {:.0f} GB/s", least_ms, step.memory_gbs);
  }
  if (step.compile_ms > 0) text += fmt::format("\ncompiled in {:.1f} ms", step.compile_ms);
  if (step.bytes_transferred > 0) {
    text += fmt::format("\ntransferred {} in {:.3f} ms", human_bytes(step.bytes_transferred), step.transfer_ms);
  }
  return text + "\ndevice memory " + human_bytes(step.device_bytes);
}

}  // namespace basalt::sql
