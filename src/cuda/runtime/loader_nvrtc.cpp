// Opens NVRTC by name (see nvrtc.h) and drives it. What it compiled is kept on disk (kernel_cache.h) under a key of
// everything that decides the machine code.
#include <dirent.h>
#include <dlfcn.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "basalt/core/error.h"
#include "cuda/runtime/kernel_cache.h"
#include "cuda/runtime/nvrtc.h"

namespace basalt::cuda {

namespace fs = std::filesystem;

// The part of NVRTC's C interface that is used; its header need not be installed.
struct Nvrtc::Functions {
  using Program = void*;
  int (*version)(int*, int*) = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*log_size)(Program, size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*cubin_size)(Program, size_t*) = nullptr;
  int (*cubin)(Program, char*) = nullptr;
};

namespace {

template <typename F>
bool resolve(void* library, const char* name, F& target) {
  target = reinterpret_cast<F>(dlsym(library, name));
  return target != nullptr;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string folder_of(const void* symbol) {
  Dl_info info{};
  if (dladdr(symbol, &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code ignored;
  const fs::path path = fs::weakly_canonical(info.dli_fname, ignored);
  return path.parent_path().string();
}

// pip puts the library under <prefix>/lib/python3.x/site-packages/nvidia/cu13/lib.
void add_pip_candidates(const fs::path& prefix, std::vector<std::string>& out) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(prefix / "lib", ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("python3", 0) != 0) continue;
    for (const char* packages : {"site-packages", "dist-packages"}) {
      out.push_back((entry.path() / packages / "nvidia/cu13/lib/libnvrtc.so.13").string());
      out.push_back((entry.path() / packages / "nvidia/cuda_nvrtc/lib/libnvrtc.so.12").string());
    }
  }
}

std::vector<std::string> candidate_paths(const std::string& own_folder) {
  const std::string named = environment("BASALT_NVRTC");
  if (!named.empty()) return {named};  // a library that was asked for by name is never replaced by another
  std::vector<std::string> out = {"libnvrtc.so.13"};
  if (!own_folder.empty()) {
    const fs::path own = own_folder;
    out.push_back((own / "libnvrtc.so.13").string());
    // A build tree lies at <repository>/build/<preset>/lib; what set-up fetched lies at <repository>/.deps.
    for (const char* up : {"../../..", "../..", ".."}) {
      out.push_back((own / up / ".deps/nvrtc/lib/libnvrtc.so.13").string());
    }
    // A Python package's libraries lie at <site-packages>/pybasalt/lib; pip's NVRTC lies beside the package.
    out.push_back((own / "../../nvidia/cu13/lib/libnvrtc.so.13").string());
  }
  const std::string toolkit = environment("CUDA_HOME");
  if (!toolkit.empty()) out.push_back(toolkit + "/lib64/libnvrtc.so.13");
  out.push_back("/usr/local/cuda/lib64/libnvrtc.so.13");
  const std::string virtual_environment = environment("VIRTUAL_ENV");
  if (!virtual_environment.empty()) add_pip_candidates(virtual_environment, out);
  if (const std::string home = environment("HOME"); !home.empty()) add_pip_candidates(fs::path(home) / ".local", out);
  add_pip_candidates("/usr/local", out);
  out.push_back("libnvrtc.so.12");
  return out;
}

uint64_t hash_of(const std::string& text, uint64_t seed) {
  return XXH3_64bits_withSeed(text.data(), text.size(), seed);
}

// Two independent 64-bit hashes: the key must not collide in a cache that lives for years.
std::string cache_key(const std::string& source, const PreludeHeader* headers, size_t header_count,
                      const std::vector<std::string>& options, const std::string& version) {
  std::string all = version + '\0';
  for (const std::string& option : options) all += option + '\0';
  for (size_t i = 0; i < header_count; ++i) {
    all += headers[i].name;
    all += '\0';
    all += headers[i].text;
    all += '\0';
  }
  all += source;
  char key[40];
  std::snprintf(key, sizeof(key), "%016llx%016llx", static_cast<unsigned long long>(hash_of(all, 0)),
                static_cast<unsigned long long>(hash_of(all, 0x9E3779B97F4A7C15ull)));
  return key;
}

}  // namespace

std::unique_ptr<Nvrtc> Nvrtc::find(std::string* reason) {
  std::unique_ptr<Nvrtc> found(new Nvrtc);
  std::string last;
  for (const std::string& path : candidate_paths(folder_of(reinterpret_cast<const void*>(&kernel_cache_folder)))) {
    found->library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (found->library_ != nullptr) {
      found->path_ = path;
      break;
    }
    if (last.empty()) {
      const char* message = dlerror();
      last = message == nullptr ? path : message;
    }
  }
  if (found->library_ == nullptr) {
    if (reason != nullptr) {
      *reason =
          "the run-time compiler libnvrtc.so.13 was not found (pip package nvidia-cuda-nvrtc, or set "
          "BASALT_NVRTC to its path): " +
          last;
    }
    return nullptr;
  }
  found->functions_ = std::make_unique<Functions>();
  Functions& f = *found->functions_;
  void* library = found->library_;
  const bool complete =
      resolve(library, "nvrtcVersion", f.version) && resolve(library, "nvrtcGetErrorString", f.error_string) &&
      resolve(library, "nvrtcCreateProgram", f.create) && resolve(library, "nvrtcDestroyProgram", f.destroy) &&
      resolve(library, "nvrtcCompileProgram", f.compile) && resolve(library, "nvrtcGetProgramLogSize", f.log_size) &&
      resolve(library, "nvrtcGetProgramLog", f.log) && resolve(library, "nvrtcGetCUBINSize", f.cubin_size) &&
      resolve(library, "nvrtcGetCUBIN", f.cubin);
  int major = 0;
  int minor = 0;
  if (!complete || f.version(&major, &minor) != 0) {
    if (reason != nullptr) *reason = found->path_ + " is not a usable NVRTC library";
    return nullptr;
  }
  found->version_ = std::to_string(major) + "." + std::to_string(minor);
  // NVRTC opens its second library by bare name, which fails outside the search path unless it is in the process.
  const fs::path folder = folder_of(reinterpret_cast<const void*>(f.version));
  const std::string second = "libnvrtc-builtins.so." + found->version_;
  if (!folder.empty()) dlopen((folder / second).c_str(), RTLD_NOW | RTLD_GLOBAL);
  return found;
}

Nvrtc::~Nvrtc() {
  if (library_ != nullptr) dlclose(library_);
}

CompiledKernel Nvrtc::compile(const std::string& source, const PreludeHeader* headers, size_t header_count, int major,
                              int minor, bool use_disk_cache) const {
  const std::string architecture = "--gpu-architecture=sm_" + std::to_string(major * 10 + minor);
  // -fmad=false: floats must round as on the CPU. Warnings about unused helpers of the prelude help nobody.
  std::vector<std::string> options = {
      architecture,        "--std=c++20", "-fmad=false", "--device-int128", "--device-as-default-execution-space",
      "--disable-warnings"};
  if (std::getenv("BASALT_KERNEL_LINES") != nullptr) options.push_back("-lineinfo");
  CompiledKernel result;
  std::string key;
  if (use_disk_cache) {
    key = cache_key(source, headers, header_count, options, version_);
    if (load_kernel(key, result.cubin)) {
      result.from_cache = true;
      return result;
    }
  }

  const auto start = std::chrono::steady_clock::now();
  const Functions& f = *functions_;
  auto check = [&](int code, const char* step) {
    if (code != 0) {
      throw Error(ErrorCode::kDevice, std::string("NVRTC could not ") + step + ": " + f.error_string(code));
    }
  };
  std::vector<const char*> names;
  std::vector<const char*> texts;
  for (size_t i = 0; i < header_count; ++i) {
    names.push_back(headers[i].name);
    texts.push_back(headers[i].text);
  }
  Functions::Program program = nullptr;
  check(f.create(&program, source.c_str(), "basalt_kernel.cu", static_cast<int>(header_count), texts.data(),
                 names.data()),
        "create a program");
  struct Destroy {
    const Functions& f;
    Functions::Program program;
    ~Destroy() { f.destroy(&program); }
  } destroy{f, program};
  std::vector<const char*> arguments;
  for (const std::string& option : options) arguments.push_back(option.c_str());
  const int code = f.compile(program, static_cast<int>(arguments.size()), arguments.data());
  if (code != 0) {
    size_t length = 0;
    std::string log;
    if (f.log_size(program, &length) == 0 && length > 1) {
      log.resize(length);
      if (f.log(program, log.data()) != 0) log.clear();
    }
    throw Error(ErrorCode::kDevice, std::string("a generated kernel does not compile for ") + architecture + " (" +
                                        f.error_string(code) + "):\n" + log);
  }
  size_t size = 0;
  check(f.cubin_size(program, &size), "give the size of the machine code");
  result.cubin.resize(size);
  check(f.cubin(program, result.cubin.data()), "give the machine code");
  result.compile_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  if (use_disk_cache) store_kernel(key, result.cubin);
  return result;
}

}  // namespace basalt::cuda
