// Judging names of outputs.
#include "cli/output.h"

#include <map>

#include "cli/command.h"

namespace basalt::cli {
namespace {

std::string without_compression(const std::string& path) {
  std::string name = CLI::detail::to_lower(path);
  return compression_by_name(name).empty() ? name : name.substr(0, name.rfind('.'));
}

}  // namespace

std::string compression_by_name(const std::string& path) {
  const std::string name = CLI::detail::to_lower(path);
  return name.ends_with(".gz") ? "gzip" : name.ends_with(".zst") ? "zstd" : "";
}

bool is_compressed_name(const std::string& path) { return !compression_by_name(path).empty(); }

std::string format_by_name(const std::string& path) {
  static const std::map<std::string, std::string> names = {
      {"parquet", "parquet"}, {"csv", "csv"},      {"tsv", "tsv"},       {"json", "json"},
      {"ndjson", "ndjson"},   {"jsonl", "ndjson"}, {"txt", "table"},     {"arrow", "arrow"},
      {"feather", "arrow"},   {"ipc", "arrow"},    {"arrows", "arrows"}, {"basalt", "basalt"}};
  const std::string name = without_compression(path);
  const auto found = names.find(name.substr(name.find_last_of("./") + 1));
  return found == names.end() ? "" : found->second;
}

void require_basalt_name(const std::string& path, const std::string& option) {
  if (CLI::detail::to_lower(path).ends_with(".basalt")) return;
  throw UsageError(path +
                   " comes last and would be the output, but its name does not end in .basalt. Was the output "
                   "forgotten? Write: basalt convert IN... OUT.basalt (" +
                   option + " allows other names)");
}

}  // namespace basalt::cli
