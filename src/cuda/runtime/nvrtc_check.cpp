// Compiles what Basalt generates, for several GPU generations and without a GPU, and says how long each kernel took and
// how many machine instructions it has. Exit 1 if one does not compile or is longer than its bound: compilation takes
// 0.2 to 0.3 ms per instruction, and unlike time their number does not depend on the machine. `--print NAME` shows a
// sample's source, `--tree BITS TREE` compiles the decoder of one column.
#include <elf.h>

#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/core/error.h"
#include "codec/device_names.h"
#include "cuda/query/sample_pipelines.h"
#include "cuda/runtime/nvrtc.h"

namespace basalt::cuda {
namespace {

struct Source {
  std::string name;
  std::string text;
  size_t most_instructions = 0;
};

std::vector<Source> all_sources() {
  std::vector<Source> out;
  for (const samples::Sample& sample : samples::all()) {
    out.push_back({sample.name, device::plan_kernel(sample.pipeline, sample.columns, samples::kSampleRows).source,
                   sample.most_instructions});
  }
  const std::vector<std::pair<Physical, const char*>> arrays = {
      {Physical::kU8, "packed"},
      {Physical::kU64, "plain"},
      {Physical::kI128, "constant"},
      {Physical::kU32, "dict(packed, plain)"},
      {Physical::kU64, "rle(packed, packed)"},
      {Physical::kU64, "delta(packed)"},
      {Physical::kU64, "l3"},
      {Physical::kU32, "rle(l3, l3)"},
      {Physical::kF64, "galp(packed)"},
      {Physical::kF32, "galp(delta(packed))"},
      {Physical::kU16, "dict(rle(packed, packed), plain)"},
      {Physical::kU8, "ans"},
      {Physical::kU64, "dict(ans, plain)"},
      {Physical::kU32, "rle(ans, delta(ans))"},
      {Physical::kU64, "dict(plain, plain)"},
      {Physical::kF64, "galp(plain)"},
      {Physical::kU64, "rle(plain, plain)"},
      {Physical::kI64, "stride(rle(delta(packed), delta(packed)))"},
      {Physical::kU64, "delta(dict(grouped(dict(packed, plain)), plain))"},
      {Physical::kI32, "sum(packed, column_i32(packed))"},
      {Physical::kU8, "sum(rle(packed, packed), map(column_i32(packed), packed))"},
      {Physical::kI64, "sum(packed, product(map(column_i32(packed), packed), column_i64(dict(packed, packed))))"},
      {Physical::kI64, "sum(constant, sum(column_i32(packed), column_i64(packed)))"},
      {Physical::kI32, "sum(constant, place(column_i64(rle(delta(packed), delta(packed)))))"},
      {Physical::kU32, "dict(sum(ans, map(column_u16(delta(packed)), plain)), plain)"},
  };
  for (const auto& [type, tree] : arrays) {
    const DeviceReader reader = samples::reader_of(tree, type);
    out.push_back({"decode " + reader.type.text(), device::decode_source(reader, device_value_type(type)),
                   reader.most_instructions});
  }
  return out;
}

// The kernel that writes a column of so many bits with this tree.
std::vector<Source> decoder_of(const std::string& bits, const std::string& tree) {
  const Physical type = bits == "32" ? Physical::kU32 : Physical::kU64;
  const DeviceReader reader = samples::reader_of(tree, type);
  return {{tree, device::decode_source(reader, device_value_type(type)), reader.most_instructions}};
}

double processor_ms() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

// Machine instructions take 16 bytes each and lie in the sections called .text.
size_t instructions_of(const std::vector<char>& cubin) {
  Elf64_Ehdr head{};
  if (cubin.size() < sizeof(head)) throw Error(ErrorCode::kInternal, "machine code without a head");
  std::memcpy(&head, cubin.data(), sizeof(head));
  const auto section = [&](size_t index) {
    Elf64_Shdr out{};
    const size_t at = head.e_shoff + index * sizeof(out);
    if (at + sizeof(out) > cubin.size()) throw Error(ErrorCode::kInternal, "machine code ends before its sections");
    std::memcpy(&out, cubin.data() + at, sizeof(out));
    return out;
  };
  const size_t names = section(head.e_shstrndx).sh_offset;
  size_t bytes = 0;
  for (size_t i = 0; i < head.e_shnum; ++i) {
    const Elf64_Shdr one = section(i);
    if (std::strncmp(cubin.data() + names + one.sh_name, ".text", 5) == 0) bytes += one.sh_size;
  }
  return bytes / 16;
}

int print(const char* name) {
  for (const Source& source : all_sources()) {
    if (source.name == name) std::printf("%s", source.text.c_str());
  }
  return 0;
}

int check(const std::vector<Source>& sources) {
  std::string reason;
  const std::unique_ptr<Nvrtc> nvrtc = Nvrtc::find(&reason);
  if (nvrtc == nullptr) {
    std::fprintf(stderr, "nvrtc_check: %s\n", reason.c_str());
    return 1;
  }
  std::printf("NVRTC %s\n%-80s %14s %14s %14s\n", nvrtc->version().c_str(), "kernel: ms, instructions", "sm_80",
              "sm_90", "sm_100");
  int failures = 0;
  for (const Source& source : sources) {
    std::printf("%-80s", source.name.c_str());
    for (const int architecture : {80, 90, 100}) {
      try {
        // Processor time, so that a busy machine changes nothing.
        const double start = processor_ms();
        const CompiledKernel kernel = nvrtc->compile(source.text, kPreludeHeaders, kPreludeHeaderCount,
                                                     architecture / 10, architecture % 10, false);
        const size_t instructions = instructions_of(kernel.cubin);
        const bool too_long = instructions > source.most_instructions;
        std::printf(" %6.0f %6zu%s", processor_ms() - start, instructions, too_long ? "!" : " ");
        failures += too_long ? 1 : 0;
      } catch (const Error& error) {
        std::printf("\n%s\n", error.what());
        ++failures;
        break;
      }
      std::fflush(stdout);
    }
    std::printf("\n");
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace basalt::cuda

int main(int argc, char** argv) {
  try {
    const std::string_view mode = argc > 1 ? argv[1] : "";
    if (mode == "--print" && argc == 3) return basalt::cuda::print(argv[2]);
    if (mode == "--tree" && argc == 4) return basalt::cuda::check(basalt::cuda::decoder_of(argv[2], argv[3]));
    return basalt::cuda::check(basalt::cuda::all_sources());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "nvrtc_check: %s\n", error.what());
    return 1;
  }
}
