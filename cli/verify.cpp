// `basalt verify`: every checksum, structure and value of a file, decoded on the chosen device.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>

#include "basalt/core/error.h"
#include "basalt/cuda/backend.h"
#include "basalt/file/verify.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/terminal.h"

namespace basalt::cli {
namespace {

struct VerifyArguments {
  std::vector<std::string> files;
  Device device = Device::kCpu;
  uint32_t threads = 0;
  uint64_t memory_limit = 0;
};

void verify_one(const std::string& path, const VerifyArguments& arguments, ThreadPool& pool, bool quiet) {
  const auto start = std::chrono::steady_clock::now();
  const auto file = File::open(path);
  std::atomic<double> share{0};
  CancelToken cancel;
  VerifyOptions options;
  options.progress = [&](double done) { share = done; };
  options.cancel = &cancel;
  options.memory_limit = arguments.memory_limit;
  std::atomic<uint64_t> on_device{0}, on_cpu{0};
  std::mutex mutex;
  std::set<std::string> reasons;  // for chunks that the GPU cannot decode
  if (arguments.device == Device::kCuda)
    options.decoder = [&](const NodeView& root, const DataType& type) {
      std::string reason = gpu().backend->why_not_decode(root);
      if (reason.empty()) {
        try {
          Column decoded = gpu().backend->decode(root, type);
          ++on_device;
          return decoded;
        } catch (const Error& error) {
          if (error.code() != ErrorCode::kOutOfMemory) throw;
          reason = error.what();
        }
      }
      ++on_cpu;
      {
        std::lock_guard lock(mutex);
        reasons.insert(reason);
      }
      return decode_rows(root, type, 0, root.count, {~uint64_t{0}, &cancel});
    };
  ProgressBar bar(path, quiet, file->bytes(), [&] { return share.load(); });
  const InterruptGuard interrupt([&] { cancel.cancel(); });
  const VerifyReport report = verify_file(*file, pool, options);
  bar.stop();
  if (quiet) return;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::string where = "on the CPU";
  if (arguments.device == Device::kCuda)
    where = fmt::format("{} column chunks on {}, {} on the CPU{}{}", human_count(on_device),
                        gpu().backend->devices()[0].name, human_count(on_cpu), reasons.empty() ? "" : ": ",
                        printable(fmt::format("{}", fmt::join(reasons, "; "))));
  for (const std::string& note : report.notes) print(fmt::format("{}: note: {}\n", printable(path), printable(note)));
  print(fmt::format("{}: sound. {} values in {} column chunks, {} streams, {}; {}, {}\n", printable(path),
                    human_count(report.values), human_count(report.chunks), human_count(report.streams),
                    human_bytes(report.bytes), where, human_seconds(seconds)));
}

int run_verify(const VerifyArguments& arguments, bool quiet) {
  require_device(arguments.device);
  ThreadPool pool(arguments.threads);
  for (const std::string& path : arguments.files) verify_one(path, arguments, pool, quiet);
  return kSuccess;
}

}  // namespace

void add_verify(Program& program) {
  auto arguments = std::make_shared<VerifyArguments>();
  CLI::App* command = add_command(program, "verify", "Check every byte, value and statistic of .basalt files",
                                  "  basalt verify lineitem.basalt\n"
                                  "  basalt verify *.basalt --quiet && echo all sound\n"
                                  "  basalt verify lineitem.basalt --device cuda");
  command->add_option("FILE", arguments->files, "The .basalt files")->required()->check(local_files());
  add_device_option(command, arguments->device);
  add_threads_option(command, arguments->threads);
  add_bytes_option(command, "--memory-limit", arguments->memory_limit,
                   "Memory for decoded values, besides the bytes they are stored in (default: 128 MiB, or 16 MiB for "
                   "each thread)");
  command->callback(
      [&program, arguments] { program.run = [&program, arguments] { return run_verify(*arguments, program.quiet); }; });
}

}  // namespace basalt::cli
