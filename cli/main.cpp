// The program `basalt`: parses the command line, runs one command, and turns every failure into one sentence on stderr
// and an exit code (0 success, 1 failure, 2 usage, 128 + n when signal n asked it to end).
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <new>
#include <sstream>

#include "basalt/core/error.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/terminal.h"

namespace basalt::cli {
namespace {

int report(const std::string& message, int code) {
  std::fputs(("basalt: " + printable_lines(message) + "\n").c_str(), stderr);
  return code;
}

std::string no_command(const Program& program, const std::string& name) {
  std::string all;
  for (const CLI::App* command : program.app.get_subcommands([](const CLI::App*) { return true; }))
    all += (all.empty() ? "" : ", ") + command->get_name();
  return "there is no command '" + name + "'; there are " + all + "\nSee: basalt --help";
}

int show(const std::string& text, int code) {
  print(text);
  return code;
}

int parse(Program& program, int argc, char** argv) {
  try {
    program.app.parse(argc, argv);
    return kSuccess;
  } catch (const CLI::Success& done) {  // --help, --version
    std::ostringstream text;
    program.app.exit(done, text, text);
    program.run = [text = text.str()] { return show(text, kSuccess); };
    return kSuccess;
  } catch (const CLI::ParseError& error) {
    const std::string first = argv[1];
    if (program.app.get_subcommands().empty() && !first.starts_with("-"))
      return report(no_command(program, first), kUsage);
    std::string command = "basalt";
    for (const CLI::App* chosen : program.app.get_subcommands()) {
      command += " " + chosen->get_name();
      for (const CLI::App* inner : chosen->get_subcommands()) command += " " + inner->get_name();
    }
    return report(std::string(error.what()) + "\nSee: " + command + " --help", kUsage);
  }
}

int run(Program& program) {
  try {
    return program.run();
  } catch (const UsageError& error) {
    return report(error.what(), kUsage);
  } catch (const BrokenPipe&) {
    return kSuccess;
  } catch (const Error& error) {
    if (ending_signal() == 0 && stdout_is_broken()) return kSuccess;
    if (ending_signal() != 0) {
      const bool stopped = error.code() == ErrorCode::kCancelled;
      return report(stopped ? "ended by a signal" : error.what(), 128 + ending_signal());
    }
    if (was_interrupted() && error.code() == ErrorCode::kCancelled) return report("interrupted", 128 + SIGINT);
    return report(error.what(), kFailure);
  } catch (const std::bad_alloc&) {
    return report("out of memory", kFailure);
  } catch (const std::exception& error) {
    return report(error.what(), kFailure);
  }
}

// Where one of the standard streams is closed, the next file to be opened would take its number, and what is printed
// would end up in it. Reading from or writing to what is put there is an error.
void occupy_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    [[maybe_unused]] const int taken = ::open("/dev/null", (stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
  }
}

}  // namespace
}  // namespace basalt::cli

int main(int argc, char** argv) {
  using namespace basalt::cli;
  // A reader that goes away (| head) and a file beyond the user's limit must reach us as errors of write(), so that
  // temporary files are removed.
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
  occupy_standard_streams();
  Program program;
  program.app.name("basalt");  // not the path it was started with
  program.app.set_version_flag("--version", std::string("basalt ") + BASALT_VERSION);
  program.app.require_subcommand(1);
  program.app.footer(
      "Each command explains itself: basalt convert --help\n"
      "Exit codes: 0 success, 1 failure, 2 usage, 130 interrupted. NO_COLOR switches colours off.");
  add_convert(program);
  add_compact(program);
  add_info(program);
  add_export(program);
  add_verify(program);
  add_sql(program);
  add_gen(program);
  add_bench(program);
  add_tune(program);
  add_devices(program);
  if (argc == 1) {
    program.run = [&program] { return show(program.app.help(), kUsage); };
    return run(program);
  }
  if (const int parsed = parse(program, argc, argv); parsed != kSuccess) return parsed;
  return run(program);
}
