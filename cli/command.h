// What every command of the program shares: how it registers itself, the options that mean the same everywhere, and
// the exit codes. Commands are thin: they parse, call a library, and print.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

#include "basalt/exec/pipeline.h"

namespace basalt::cli {

constexpr int kSuccess = 0;
constexpr int kFailure = 1;
constexpr int kUsage = 2;

// Options that contradict each other: the message goes to stderr with a pointer to --help, exit code 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Program {
  CLI::App app{"Basalt: columns that stay compressed from the file to the registers of the GPU."};
  bool quiet = false;
  std::function<int()> run;  // set by the command that was chosen
};

// One function per command, each in the file of its name.
void add_compact(Program& program);
void add_convert(Program& program);
void add_info(Program& program);
void add_export(Program& program);
void add_verify(Program& program);
void add_sql(Program& program);
void add_gen(Program& program);
void add_bench(Program& program);
void add_tune(Program& program);
void add_devices(Program& program);

// A subcommand with --quiet and a footer of examples.
CLI::App* add_command(Program& program, const std::string& name, const std::string& description,
                      const std::string& examples);

// A check for options that name files: URLs are refused with a word about who reads them.
CLI::Validator local_files();

void add_device_option(CLI::App* command, Device& device);
void add_effort_option(CLI::App* command, Effort& effort);
void add_purpose_option(CLI::App* command, Purpose& purpose);
void add_threads_option(CLI::App* command, uint32_t& threads, const std::string& otherwise = "all cores");
// "512MiB", "2GB", "1073741824".
void add_bytes_option(CLI::App* command, const std::string& name, uint64_t& bytes, const std::string& description);

// What values decoded at a time may take where a command has so much memory in all: half of it, but not less than
// where no limit is given.
uint64_t decoded_limit_of(uint64_t memory_limit);

std::string to_string(Device device);
// Throws Error(kDevice) with the reason where `device` asks for a GPU and there is none.
void require_device(Device device);

}  // namespace basalt::cli
