// Creating the backend and what it says about the device. The statement runner is in query/run.cpp, the decoder and the
// encoder in codec/decode.cpp and codec/encode.cu.
#include "cuda/backend.h"

#include <algorithm>

#include "cuda/runtime/bandwidth.h"

namespace basalt::cuda {

namespace {

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// Two transfers a clock, on all lines of the bus; 0 where the device does not tell.
double peak_memory_gbs(int device) {
  int kilohertz = 0;
  int bits = 0;
  const bool known = cudaDeviceGetAttribute(&kilohertz, cudaDevAttrMemoryClockRate, device) == cudaSuccess &&
                     cudaDeviceGetAttribute(&bits, cudaDevAttrGlobalMemoryBusWidth, device) == cudaSuccess;
  if (!known) {
    static_cast<void>(cudaGetLastError());
    return 0;
  }
  return 2.0 * kilohertz * 1e3 * bits / 8 / 1e9;
}

}  // namespace

CudaBackend::CudaBackend(int device) : device_(device), modules_(device) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "reading the device's properties");
  name_ = properties.name;
  memory_gbs_ = peak_memory_gbs(device);
  // Freed blocks stay in the pool, so that the next statement's allocations need no driver call.
  cudaMemPool_t pool = nullptr;
  check(cudaDeviceGetDefaultMemPool(&pool, device), "opening the device's memory pool");
  uint64_t keep = ~uint64_t{0};
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep), "configuring the device's memory pool");
  use_device();
  read_free_memory();
}

CudaBackend::~CudaBackend() = default;

std::vector<GpuInfo> CudaBackend::devices() {
  int count = 0;
  check(cudaGetDeviceCount(&count), "counting devices");
  int driver = 0;
  int runtime = 0;
  check(cudaDriverGetVersion(&driver), "reading the driver's version");
  check(cudaRuntimeGetVersion(&runtime), "reading the runtime's version");
  std::vector<GpuInfo> out;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, ordinal), "reading the device's properties");
    GpuInfo info;
    info.ordinal = ordinal;
    info.name = properties.name;
    info.major = properties.major;
    info.minor = properties.minor;
    info.multiprocessors = properties.multiProcessorCount;
    info.memory_total = properties.totalGlobalMem;
    info.l2_bytes = static_cast<uint64_t>(properties.l2CacheSize);
    info.memory_gbs = peak_memory_gbs(ordinal);
    info.driver_version = version_text(driver);
    info.runtime_version = version_text(runtime);
    info.nvrtc_version = modules_.nvrtc_version();
    if (ordinal == device_) {
      use_device();
      size_t free = 0;
      size_t total = 0;
      check(cudaMemGetInfo(&free, &total), "reading the device's memory");
      info.memory_free = free;
    }
    out.push_back(std::move(info));
  }
  // The one that statements run on comes first.
  std::stable_partition(out.begin(), out.end(), [&](const GpuInfo& info) { return info.ordinal == device_; });
  return out;
}

GpuBandwidth CudaBackend::measure_bandwidth() {
  std::lock_guard lock(mutex_);
  use_device();
  return measure(compute_);
}

std::string CudaBackend::why_not(const Pipeline& pipeline) {
  if (modules_.nvrtc_version().empty()) return modules_.nvrtc_reason();
  return stages_.why_not(pipeline);
}

std::string CudaBackend::kernel_source(const Pipeline& pipeline) {
  const auto stage = stages_.get(pipeline);
  if (const auto halves = stage->too_large ? device::halves_of(pipeline) : std::nullopt) {
    return kernel_source(halves->first) + "\n\n" + kernel_source(halves->second);
  }
  if (stage->plan == nullptr) throw Error(ErrorCode::kUnsupported, "no kernel runs this: " + stage->reason);
  return stage->plan->source;
}

const LoadedKernel& CudaBackend::statement_kernel(const std::string& source, bool& waited) {
  waited = false;
  if (const LoadedKernel* known = modules_.find(source)) return *known;
  waited = true;
  struct Unlocked {
    explicit Unlocked(std::mutex& held) : mutex(held) { mutex.unlock(); }
    ~Unlocked() { mutex.lock(); }
    std::mutex& mutex;
  } unlocked(mutex_);
  return modules_.get(source, device::kScanKernel);
}

void CudaBackend::drop_cache() {
  std::lock_guard lock(mutex_);
  use_device();
  compute_.synchronize();
  statements_.clear();
  slot_tables_.clear();
  cache_.clear();
  // Blocks are freed in stream order; other streams get them again only when that has happened.
  compute_.synchronize();
}

uint64_t CudaBackend::cached_bytes() {
  std::lock_guard lock(mutex_);
  return cache_.bytes();
}

ThreadPool& CudaBackend::threads(uint32_t wanted) {
  // A quarter of the cores is left to everything else: on an H200's sixteen cores that was as fast as using all or a
  // few percent faster, with ten threads slower.
  const uint32_t cores = hardware_threads();
  const uint32_t count = wanted == 0 ? cores - cores / 4 : wanted;
  if (threads_ == nullptr || threads_->size() != count) {
    threads_.reset();
    threads_ = std::make_unique<ThreadPool>(count);
    // Each thread fills one slot; a few more wait for their copies.
    slots_ = std::make_unique<PinnedSlots>(count + 6);
  }
  return *threads_;
}

void CudaBackend::begin_statement(const RunOptions& options, RunReport& report) {
  use_device();
  report = RunReport();
  report.device_name = name_;
  report.memory_gbs = memory_gbs_;
  // A limit that was lowered since holds for what is already there, too.
  if (options.gpu_memory != 0) cache_.make_room(0, options.gpu_memory, runs_);
  device_memory().begin();
}

void CudaBackend::read_free_memory() {
  if (knows_free_memory_) return;
  size_t free = 0;
  size_t total = 0;
  check(cudaMemGetInfo(&free, &total), "reading the device's memory");
  cudaMemPool_t pool = nullptr;
  uint64_t reserved = 0;  // by us, in use or not
  check(cudaDeviceGetDefaultMemPool(&pool, device_), "opening the device's memory pool");
  check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved),
        "reading the device's memory pool");
  free_memory_ = free + reserved;
  knows_free_memory_ = true;
}

uint64_t CudaBackend::memory_limit(const RunOptions& options) const {
  const uint64_t most = options.gpu_memory == 0 ? free_memory_ : std::min<uint64_t>(options.gpu_memory, free_memory_);
  // Room for work lists, results, what batches bring: of a limit that was given more, since it holds for all of that.
  const uint64_t usable = most - most / (options.gpu_memory == 0 ? 16 : 4);
  return usable - std::min(usable, held_bytes_);
}

const std::vector<ChunkKey>& CudaBackend::chunk_keys(const std::shared_ptr<const File>& file, uint32_t field_id) {
  FileKeys& keys = file_keys_[file.get()];
  if (keys.file.lock() != file) {  // new, or another file at the same address
    keys.file = file;
    keys.columns.clear();
  }
  const auto found = keys.columns.find(field_id);
  if (found != keys.columns.end()) return found->second;
  for (auto it = file_keys_.begin(); it != file_keys_.end();)
    it = it->second.file.expired() ? file_keys_.erase(it) : ++it;
  std::vector<ChunkKey> list;
  for (uint32_t chunk = 0; chunk < file->column(field_id).chunks.size(); ++chunk) {
    list.push_back(exec::key_of(*file, field_id, chunk));
  }
  return file_keys_[file.get()].columns[field_id] = std::move(list);
}

}  // namespace basalt::cuda

// The one symbol that libbasalt looks for.
extern "C" __attribute__((visibility("default"))) basalt::GpuBackend* basalt_create_gpu_backend(uint32_t abi,
                                                                                                std::string* reason) {
  if (abi != basalt::kGpuBackendAbi) {
    *reason = "libbasalt_cuda.so belongs to another version of Basalt";
    return nullptr;
  }
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess || count == 0) {
    cudaGetLastError();
    *reason = code == cudaSuccess || code == cudaErrorNoDevice
                  ? std::string("a driver is installed, but no CUDA device was found")
                  : std::string("the CUDA driver does not work: ") + cudaGetErrorString(code);
    return nullptr;
  }
  try {
    return new basalt::cuda::CudaBackend(0);
  } catch (const std::exception& error) {
    *reason = error.what();
    return nullptr;
  }
}
