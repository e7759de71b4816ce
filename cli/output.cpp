// Judging names of outputs, and copying Parquet to standard output.
#include "cli/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "basalt/core/error.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "core/output_file.h"
#include "core/regular_file.h"

namespace basalt::cli {
namespace {

std::string without_compression(const std::string& path) {
  std::string name = CLI::detail::to_lower(path);
  for (const std::string_view packed : {".gz", ".zst"})
    if (name.ends_with(packed)) return name.substr(0, name.size() - packed.size());
  return name;
}

}  // namespace

bool is_compressed_name(const std::string& path) { return without_compression(path).size() < path.size(); }

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

// Parquet is written in two passes over its file, so that it reaches a pipe through a temporary one.
void parquet_to_stdout(Session& session, const std::string& query) {
  const auto file = OutputFile::temporary();
  session.copy_to_parquet(query, file->path_to_open());
  const int source = open_regular_file(file->path_to_open());
  const std::shared_ptr<void> closer(nullptr, [&](void*) { ::close(source); });
  Output output;
  std::string block(1 << 20, 0);
  for (;;) {
    const ssize_t got = ::read(source, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error(ErrorCode::kIo, std::string("cannot read a temporary file back: ") + std::strerror(errno));
    if (got == 0) break;
    output.write({block.data(), static_cast<size_t>(got)});
  }
  output.flush();
}

}  // namespace basalt::cli
