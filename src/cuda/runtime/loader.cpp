// Finds the GPU without linking to CUDA: looks for the driver first, then opens libbasalt_cuda beside libbasalt and
// asks it for a backend. Whatever is missing becomes a sentence that `basalt devices` and fallbacks show.
#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "basalt/cuda/backend.h"

namespace basalt {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// The folder of the library this function lies in, with a trailing slash; empty if the loader does not know it.
std::string own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&gpu), &info) == 0 || info.dli_fname == nullptr) return {};
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

std::string loader_message() {
  const char* message = dlerror();
  return message == nullptr ? "unknown reason" : message;
}

// Opening the driver costs nothing where it is missing, and gives a better sentence than the runtime's error would.
bool driver_present() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) return false;
  dlclose(driver);
  return true;
}

void* open_backend_library(std::string& tried) {
  const std::string named = environment("BASALT_CUDA_LIBRARY");
  const std::string folder = own_folder();
  const std::string candidates[] = {named, folder + "libbasalt_cuda.so", folder + "basalt/libbasalt_cuda.so"};
  for (const std::string& candidate : candidates) {
    if (candidate.empty()) continue;
    if (void* library = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    if (tried.empty() || !named.empty()) tried = loader_message();
    if (!named.empty()) break;  // a library that was asked for by name is never replaced by another
  }
  return nullptr;
}

GpuAvailability load() {
  const std::string disabled = environment("BASALT_DISABLE_CUDA");
  if (!disabled.empty() && disabled != "0") return {nullptr, "CUDA is disabled by BASALT_DISABLE_CUDA"};
  // A library that is named may know of other devices.
  if (environment("BASALT_CUDA_LIBRARY").empty() && !driver_present()) {
    return {nullptr, "no NVIDIA driver was found (libcuda.so.1 cannot be opened)"};
  }

  std::string tried;
  void* library = open_backend_library(tried);
  if (library == nullptr) {
    return {nullptr, "the GPU library libbasalt_cuda.so could not be opened, perhaps it was not built: " + tried};
  }
  auto create = reinterpret_cast<CreateGpuBackend>(dlsym(library, kCreateGpuBackendSymbol));
  if (create == nullptr) return {nullptr, "libbasalt_cuda.so has no entry point: " + loader_message()};
  GpuAvailability found;
  found.backend = create(kGpuBackendAbi, &found.reason);
  if (found.backend == nullptr && found.reason.empty()) found.reason = "the GPU library gave no reason";
  return found;
}

}  // namespace

const GpuAvailability& gpu() {
  // Lives to the end of the process: the CUDA runtime must not be torn down while static destructors still run.
  static const GpuAvailability* const availability = new GpuAvailability(load());
  return *availability;
}

}  // namespace basalt
