// Options that several commands share.
#include "cli/command.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>

#include "basalt/core/error.h"
#include "basalt/cuda/backend.h"

namespace basalt::cli {
namespace {

uint64_t parse_bytes(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  static const std::map<std::string, double> units = {{"", 1},
                                                      {"b", 1},
                                                      {"k", 1024.0},
                                                      {"kb", 1e3},
                                                      {"kib", 1024.0},
                                                      {"m", 1048576.0},
                                                      {"mb", 1e6},
                                                      {"mib", 1048576.0},
                                                      {"g", 1073741824.0},
                                                      {"gb", 1e9},
                                                      {"gib", 1073741824.0},
                                                      {"t", 1099511627776.0},
                                                      {"tb", 1e12},
                                                      {"tib", 1099511627776.0}};
  std::string unit(end, text.data() + text.size());
  unit.erase(0, unit.find_first_not_of(' ') == std::string::npos ? unit.size() : unit.find_first_not_of(' '));
  const auto found = units.find(CLI::detail::to_lower(unit));
  if (error != std::errc() || found == units.end() || number < 0 || number * found->second > 1e18)
    throw CLI::ValidationError("'" + text + "' is not a size; write 512MiB, 2GB or a number of bytes");
  return static_cast<uint64_t>(number * found->second);
}

}  // namespace

CLI::App* add_command(Program& program, const std::string& name, const std::string& description,
                      const std::string& examples) {
  CLI::App* command = program.app.add_subcommand(name, description);
  command->footer("Examples:\n" + examples);
  command->add_flag("-q,--quiet", program.quiet, "No progress bar and no summary");
  return command;
}

CLI::Validator local_files() {
  const auto check = [](const std::string& path) -> std::string {
    const size_t scheme = path.find("://");
    const bool is_url = scheme != std::string::npos && scheme > 0 &&
                        std::all_of(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(scheme),
                                    [](unsigned char c) { return std::isalnum(c) != 0 || c == '+' || c == '-'; });
    if (!is_url) return "";
    return path + " is a URL, and the program works on local files; in Python, pybasalt.read reads URLs";
  };
  return CLI::Validator(check, "");
}

void add_device_option(CLI::App* command, Device& device) {
  static const std::map<std::string, Device> names = {
      {"auto", Device::kAuto}, {"cpu", Device::kCpu}, {"cuda", Device::kCuda}};
  command
      ->add_option_function<std::string>(
          "--device", [&device](const std::string& name) { device = names.at(name); },
          "Where to run: auto (the GPU if there is one), cpu, cuda")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->type_name("auto|cpu|cuda");
}

void add_effort_option(CLI::App* command, Effort& effort) {
  command
      ->add_option_function<std::string>(
          "--effort",
          [&effort](const std::string& name) {
            effort = name == "fast" ? Effort::kFast : name == "best" ? Effort::kBest : Effort::kBalanced;
          },
          "Time spent on smaller files: fast, balanced (default) or best")
      ->check(CLI::IsMember({"fast", "balanced", "best"}))
      ->type_name("fast|balanced|best");
}

void add_purpose_option(CLI::App* command, Purpose& purpose) {
  command
      ->add_option_function<std::string>(
          "--for",
          [&purpose](const std::string& name) {
            purpose = name == "resident"   ? Purpose::kResident
                      : name == "transfer" ? Purpose::kTransfer
                      : name == "disk"     ? Purpose::kDisk
                                           : Purpose::kBalanced;
          },
          "What the file is for: balanced (default); resident: lies in a GPU's memory, least time of kernels; "
          "transfer: is copied to a GPU with every query, least time of copies and kernels; disk: least bytes, "
          "slower to read")
      ->check(CLI::IsMember({"balanced", "resident", "transfer", "disk"}))
      ->type_name("balanced|resident|transfer|disk");
}

void add_threads_option(CLI::App* command, uint32_t& threads, const std::string& otherwise) {
  command->add_option("--threads", threads, "Threads to use (default: " + otherwise + ")")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
}

void add_bytes_option(CLI::App* command, const std::string& name, uint64_t& bytes, const std::string& description) {
  command
      ->add_option_function<std::string>(
          name, [&bytes](const std::string& text) { bytes = parse_bytes(text); }, description)
      ->type_name("SIZE");
}

uint64_t decoded_limit_of(uint64_t memory_limit) { return std::max(kDecodedLimit, memory_limit / 2); }

std::string to_string(Device device) {
  return device == Device::kCpu ? "cpu" : device == Device::kCuda ? "cuda" : "auto";
}

void require_device(Device device) {
  if (device == Device::kCuda && gpu().backend == nullptr)
    throw Error(ErrorCode::kDevice, "CUDA is not available: " + gpu().reason);
}

}  // namespace basalt::cli
