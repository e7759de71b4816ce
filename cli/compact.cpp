// `basalt compact`: small files of a dataset become few large ones, while others read it.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "basalt/core/error.h"
#include "basalt/sql/session.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "file/dataset.h"

namespace basalt::cli {
namespace {

struct CompactOptions {
  std::string folder;
  uint64_t target = uint64_t{256} << 20;
  uint32_t threads = 0;
  Effort effort = Effort::kBalanced;
};

// Neighbours that are small, as many as make one file of about the target's size.
struct Group {
  std::vector<std::string> parts;
  uint64_t bytes = 0;
};

std::vector<Group> groups_of(const std::vector<std::string>& parts, uint64_t target) {
  std::vector<Group> groups(1);
  for (const std::string& part : parts) {
    const uint64_t bytes = std::filesystem::file_size(part);
    const bool is_large = bytes >= target / 2;
    if (is_large || groups.back().bytes + bytes > target) groups.emplace_back();
    if (is_large) continue;
    groups.back().parts.push_back(part);
    groups.back().bytes += bytes;
  }
  std::erase_if(groups, [](const Group& group) { return group.parts.size() < 2; });
  return groups;
}

std::string query_of(const Group& group) {
  std::string list;
  for (const std::string& part : group.parts) list += (list.empty() ? "" : ", ") + quote_literal(part);
  // Only what the files hold: columns of the path belong to the path.
  return "select * from read_basalt([" + list + "], hive_partitioning = false)";
}

int run_compact(const CompactOptions& options, bool quiet) {
  const auto start = std::chrono::steady_clock::now();
  if (!std::filesystem::is_directory(options.folder))
    throw Error(ErrorCode::kIo, options.folder + ": not a folder; compact works on folders of .basalt files");
  const DatasetLock lock(options.folder, DatasetLock::Kind::kReplace);
  const std::vector<std::string> before = dataset_parts(lock.folder());
  if (before.empty()) throw Error(ErrorCode::kIo, options.folder + ": there are no .basalt files in it");
  const std::vector<Group> groups = groups_of(before, options.target);
  for (const Group& group : groups) {
    SessionOptions settings;
    settings.threads = options.threads;
    settings.device = Device::kCpu;
    Session session(settings);
    ProgressBar bar(options.folder, quiet, group.bytes, [&] { return session.progress(); });
    CancelToken cancel;
    const InterruptGuard interrupt([&] {
      cancel.cancel();
      session.interrupt();
    });
    WriteOptions write;
    write.threads = options.threads;
    write.effort = options.effort;
    write.cancel = &cancel;
    write.progress = [&](const WriteProgress& progress) { bar.update(progress); };
    replace_parts(lock, group.parts, [&](const std::string& path) { session.convert(query_of(group), path, write); });
  }
  if (quiet) return kSuccess;
  const std::vector<std::string> after = dataset_parts(lock.folder());
  uint64_t bytes = 0;
  for (const std::string& part : after) bytes += std::filesystem::file_size(part);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  print(fmt::format("{}: {} file(s) before, {} now, {} · {}\n", printable(options.folder), human_count(before.size()),
                    human_count(after.size()), human_bytes(bytes), human_seconds(seconds)));
  return kSuccess;
}

}  // namespace

void add_compact(Program& program) {
  auto options = std::make_shared<CompactOptions>();
  CLI::App* command =
      add_command(program, "compact", "Merge the small files of a folder that convert --append has filled",
                  "  basalt compact events\n"
                  "  basalt compact events --target 1GiB");
  command->add_option("DIR", options->folder, "The folder; who reads it meanwhile sees the old files or the new ones")
      ->required()
      ->check(local_files());
  add_bytes_option(command, "--target", options->target,
                   "About how large files become; half of it is large enough (default 256MiB)");
  add_effort_option(command, options->effort);
  add_threads_option(command, options->threads);
  command->callback(
      [&program, options] { program.run = [&program, options] { return run_compact(*options, program.quiet); }; });
}

}  // namespace basalt::cli
