// The border between libbasalt and libbasalt_cuda, which is loaded at run time when a driver and a device are found.
// libbasalt never links CUDA; it sees only this interface.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "basalt/exec/pipeline.h"

struct ArrowDeviceArray;

namespace basalt {

struct GpuInfo {
  int ordinal = 0;
  std::string name;
  int major = 0;
  int minor = 0;
  int multiprocessors = 0;
  uint64_t memory_total = 0;
  uint64_t memory_free = 0;
  uint64_t l2_bytes = 0;
  double memory_gbs = 0;  // the peak, as its clock has it
  std::string driver_version;
  std::string runtime_version;
  std::string nvrtc_version;  // empty: not found, generated kernels are unavailable
};

struct GpuBandwidth {
  double copy_gbs = 0;  // device to device, read + written
  double read_gbs = 0;
  double host_to_device_gbs = 0;  // pinned
  double host_to_device_pageable_gbs = 0;
};

// Decoding of whole arrays, from the device's memory to its memory, for benchmarks.
struct DecodeTiming {
  double seconds = 0;  // for all arrays: the median of several rounds, none of which finds anything in L2
  uint32_t kernels = 0;
};

// Blocks that are copied from pinned memory and decoded, for benchmarks. Seconds, medians.
struct TransferTiming {
  std::vector<double> copies;  // of each block by itself
  std::vector<double> kernels;
  double in_turn = 0;    // all blocks, no copy beside a kernel
  double as_given = 0;   // copies beside kernels, in the order of the blocks
  double reordered = 0;  // the same in Johnson's order
};

// A codec of another library on the same values, device to device.
struct PeerTiming {
  std::string codec;
  uint64_t piece_bytes = 0;  // values are cut into pieces of so many bytes
  uint64_t encoded_bytes = 0;
  double encode_seconds = 0;
  double decode_seconds = 0;
};
struct PeerTimings {
  std::vector<PeerTiming> codecs;
  std::string reason;  // why there are none
};

// How a generated decoder is launched: what the layout of tiles leaves open.
struct LaunchShape {
  uint32_t warps = 8;  // per block: 1, 2, 4 or 8, but no more than its shared memory has room for
  uint32_t tiles = 1;  // that a warp decodes one after the other: 1, 2, 4, 8 or 16
  bool operator==(const LaunchShape&) const = default;
};
struct TunedDecoder {
  LaunchShape before;  // untuned
  LaunchShape found;
  double before_seconds = 0;
  double found_seconds = 0;
  uint32_t probes = 0;
  // If all shapes were tried: the fastest of them.
  LaunchShape fastest;
  double fastest_seconds = 0;
  uint32_t all_probes = 0;
};

class GpuBackend {
 public:
  virtual ~GpuBackend() = default;
  virtual std::vector<GpuInfo> devices() = 0;
  virtual GpuBandwidth measure_bandwidth() = 0;

  // Empty if the pipeline can run on the GPU, else the reason in a few words.
  virtual std::string why_not(const Pipeline& pipeline) = 0;
  virtual std::vector<Value> run(const Pipeline& pipeline, const RunOptions& options, RunReport& report) = 0;
  // The first stages of a chain, whose first one reads files and has groups or rows: as many as can run on the device,
  // and as long as more rows lie there than the host may as well take. One report for each that ran. Of a query that is
  // no chain all stages; Error(kUnsupported) where one cannot.
  virtual Table run_stages(const Query& query, const RunOptions& options, std::vector<RunReport>& reports) = 0;
  // The same, but rows that the query's last stage leaves on the device stay there: `out` has them, and the table is
  // empty. Else `out` is left as it was.
  virtual Table run_stages_on_device(const Query& query, const RunOptions& options, std::vector<RunReport>& reports,
                                     ArrowDeviceArray& out) = 0;
  // Source of the kernel that run() would launch.
  virtual std::string kernel_source(const Pipeline& pipeline) = 0;

  // Decodes a validated chunk on the device and brings the rows back; the same column as decode_rows(root, type, 0, n).
  virtual Column decode(const NodeView& root, const DataType& type) = 0;
  // Empty if decode() can, else the reason in a few words.
  virtual std::string why_not_decode(const NodeView& root) = 0;
  // Whether decode() has a kernel for fixed-width arrays of this tree that needs no compilation.
  virtual bool has_precompiled_decoder(const NodeView& node) = 0;
  // Arrays of fixed width and of one tree, decoded together. `unfused`: first those children of their roots that are
  // read row by row, each by a kernel of its own, to memory. Throws Error(kUnsupported) where a tree has no reader.
  virtual DecodeTiming time_decode(std::span<const NodeView> arrays, bool unfused, int rounds) = 0;
  // Each block: arrays as time_decode() takes them.
  virtual TransferTiming time_transfers(std::span<const std::vector<NodeView>> blocks, int rounds) = 0;
  // Values of one or eight bytes under nvCOMP's codecs for them, in the pieces that they are usually given.
  virtual PeerTimings time_nvcomp(const Values& values, int rounds) = 0;
  // Finds the shape in which the generated decoder of these arrays is fastest, as for time_decode(), and keeps it for
  // this GPU, beside the compiled kernels. `try_all`: also tries all shapes, of which none is kept. Throws
  // Error(kUnsupported) where a precompiled decoder reads them.
  virtual TunedDecoder tune_decoder(std::span<const NodeView> arrays, bool try_all) = 0;
  // Encodes on the device: the same bytes as encode_tree().
  virtual Node encode(const Values& values, const Tree& tree, Aims aims) = 0;
  virtual std::string why_not_encode(Physical type, const Tree& tree) = 0;

  virtual void drop_cache() = 0;
  virtual uint64_t cached_bytes() = 0;
};

// The loaded backend, or nullptr with a sentence why CUDA is unavailable.
struct GpuAvailability {
  GpuBackend* backend = nullptr;
  std::string reason;
};
// Loads on first call (thread-safe); BASALT_CUDA_LIBRARY names another library file, BASALT_DISABLE_CUDA=1 disables it.
const GpuAvailability& gpu();

// The symbol that libbasalt_cuda exports: creates the backend or returns nullptr and fills `reason`.
constexpr uint32_t kGpuBackendAbi = 11;
using CreateGpuBackend = GpuBackend* (*)(uint32_t abi, std::string* reason);
constexpr const char* kCreateGpuBackendSymbol = "basalt_create_gpu_backend";

}  // namespace basalt
