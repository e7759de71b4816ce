// See nvcomp.h.
#include "cuda/codec/nvcomp.h"

#include <dlfcn.h>

#include <cstdlib>

#include "basalt/core/error.h"

namespace basalt::cuda {

namespace {

constexpr char kLibrary[] = "libnvcomp.so.6";
constexpr uint32_t kMajor = 6;

// Numbers of nvcompType_t and of the cascaded codec's options.
constexpr uint64_t kUnsignedChar = 1, kLongLong = 6, kTypeOfStream = 0xFF;
constexpr uint64_t kAsymmetric = 1, kBitpack = 1, kAllEncodings = 7, kLevel = 3;

struct Properties {
  uint32_t version;  // 6000 for 6.0.0
  uint32_t runtime;
};

template <typename F>
void take(void* library, const std::string& name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name.c_str()));
  if (function == nullptr) throw Error(ErrorCode::kDevice, "nvCOMP has no function " + name);
}

}  // namespace

std::unique_ptr<Nvcomp> Nvcomp::find(std::string* reason) {
  const char* named = std::getenv("BASALT_NVCOMP");
  const std::string path = named != nullptr && *named != '\0' ? named : kLibrary;
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    *reason = path + " cannot be opened (BASALT_NVCOMP names nvCOMP's library)";
    return nullptr;
  }
  std::unique_ptr<Nvcomp> out(new Nvcomp(library));
  int (*properties)(Properties*) = nullptr;
  take(library, "nvcompGetProperties", properties);
  Properties found{};
  if (properties(&found) != 0 || found.version / 1000 != kMajor) {
    *reason = path + " is not version " + std::to_string(kMajor) + " of nvCOMP";
    return nullptr;
  }
  return out;
}

Nvcomp::~Nvcomp() { dlclose(library_); }

NvcompCodec Nvcomp::codec(const char* name) const {
  NvcompCodec out;
  out.name = name;
  const std::string prefix = std::string("nvcompBatched") + name;
  take(library_, prefix + "CompressGetTempSize", out.compress_temp_size);
  take(library_, prefix + "CompressGetMaxOutputChunkSize", out.most_output);
  take(library_, prefix + "CompressAsync", out.compress);
  take(library_, prefix + "DecompressGetTempSize", out.decompress_temp_size);
  take(library_, prefix + "DecompressAsync", out.decompress);
  return out;
}

std::vector<NvcompCodec> Nvcomp::codecs_for(uint32_t width) const {
  if (width == 1) {
    NvcompCodec ans = codec("ANS");
    ans.compress_options.words[0] = kUnsignedChar << 32;
    ans.decompress_options.words[0] = kTypeOfStream << 32;
    return {ans};
  }
  if (width != 8) return {};
  NvcompCodec cascaded = codec("Cascaded");
  cascaded.compress_options = {{kLongLong | kAsymmetric << 32, kBitpack, 0, kAllEncodings, kLevel}};
  cascaded.decompress_options.words[1] = kTypeOfStream;
  NvcompCodec bitcomp = codec("Bitcomp");
  bitcomp.compress_options.words[0] = kLongLong << 32;
  return {cascaded, bitcomp};
}

}  // namespace basalt::cuda
