// What the sections of `basalt bench zipflow` share: encoding chunks, decoding them on the CPU and on the GPU, and the
// ceilings that both are compared with, measured in the same run.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "basalt/codec/codec.h"
#include "basalt/core/threads.h"
#include "basalt/cuda/backend.h"
#include "basalt/exec/pipeline.h"
#include "basalt/file/reader.h"
#include "core/private_folder.h"
#include "exec/transfer_order.h"
#include "gen/zipflow.h"

namespace basalt::cli {

// How chunks of a column are encoded: a tree for each, and one for those whose values it cannot hold.
struct ChunkTrees {
  std::vector<Tree> trees;
  Tree instead;

  static ChunkTrees all(const Tree& tree, size_t chunks) { return {std::vector<Tree>(chunks, tree), tree}; }
};

// Chunks of a column under their trees.
struct Measured {
  std::string trees;  // different ones
  uint64_t plain = 0;
  uint64_t encoded = 0;
  std::optional<double> encode_seconds;  // where it was by itself
  double decode_seconds = 0;
  std::optional<DecodeTiming> gpu;
  std::optional<DecodeTiming> gpu_unfused;
};

// What encoding chunks takes, with trees that are known.
struct EncodeTiming {
  double cpu_seconds = 0;
  std::optional<double> gpu_seconds;  // from the host's memory to its memory, chunk by chunk
};

// Tables of these columns as `convert --for disk` writes them, where columns may be stored by others; gone with this
// object.
class ZipflowFiles {
 public:
  ZipflowFiles(std::span<const gen::ZipflowColumn> columns, uint32_t threads);

  // Its trees, other columns by their names, and the bytes that no other column has, which whoever reads it alone needs
  // all the same.
  struct StoredColumn {
    std::string trees;
    uint64_t bytes = 0;
    std::vector<EncodedChunk> chunks;
  };
  StoredColumn read(const gen::ZipflowPlan& plan) const;

 private:
  PrivateFolder folder_;
  std::map<std::string, std::shared_ptr<const File>> files_;  // by table
};

class ZipflowBench {
 public:
  ZipflowBench(Device device, uint32_t threads, int rounds);

  // `unfused`: on the GPU children are decoded to memory, too.
  Measured measure(const std::vector<Values>& chunks, const ChunkTrees& trees, uint64_t plain_bytes,
                   bool unfused = false);
  // The same of chunks that are encoded; `trees`, `encoded` and what encoding took are the caller's to tell.
  Measured measure_decoding(std::span<const NodeView> chunks, uint64_t plain_bytes, bool unfused = false);

  EncodeTiming time_encoding(const std::vector<Values>& chunks, const ChunkTrees& trees);
  // Of decoders that are generated: their launch as it is, and as it is found to be fastest. Nothing without a GPU, or
  // where the decoder is precompiled.
  std::optional<TunedDecoder> tune(const std::vector<Values>& chunks, const ChunkTrees& trees);

  // nvCOMP's codec and pieces that decode these values fastest; nothing without a GPU or its library.
  std::optional<PeerTiming> fastest_peer(const Values& values);

  // Read and written bytes, of what memory copies in the same time.
  double share_of_memcpy(const Measured& measured) const;
  // Blocks of columns under these trees from pinned memory to values on the device; nothing without a GPU. Columns that
  // it cannot decode are left out; `blocks` are the others.
  std::optional<TransferTiming> time_transfers(const std::vector<std::vector<Values>>& columns,
                                               const std::vector<ChunkTrees>& trees,
                                               std::vector<exec::TransferBlock>& blocks);

  GpuBackend* gpu() const { return gpu_; }    // nullptr: there is none, or it is not wanted
  double copy_seconds(uint64_t bytes) const;  // of the link, from pinned memory

  // Cells of tables; "-" where the GPU did not decode.
  std::string gpu_rate(const Measured& measured) const;
  std::string gpu_share(const Measured& measured) const;
  std::string gpu_kernels(const Measured& measured) const;

  // Machine and ceilings.
  std::string where() const;
  // Why columns have no figures of the GPU.
  std::string remarks() const;

  // The same of bytes that a peer encoded, with its rate and share of the copy rate.
  std::string gpu_rate(uint64_t plain, double seconds) const;
  std::string gpu_share(uint64_t moved, double seconds) const;

  // Keeps the figures for json(); `fields` come first.
  void keep(const std::string& section, const std::string& fields, const Measured& measured);
  void keep(const std::string& section, const std::string& fields, const PeerTiming& peer);
  void keep(const std::string& section, const std::string& fields);
  std::string json(const std::string& data) const;

 private:
  std::vector<Node> encode(const std::vector<Values>& chunks, const ChunkTrees& trees);
  std::optional<DecodeTiming> time_on_gpu(std::span<const NodeView> chunks, bool unfused);

  void remark(const std::string& text);  // once

  ThreadPool pool_;
  int rounds_;
  double memcpy_gbs_ = 0;
  GpuBackend* gpu_ = nullptr;
  std::string gpu_name_;
  GpuBandwidth gpu_bandwidth_;
  std::vector<std::string> remarks_;
  std::vector<std::string> lines_;
};

// The 22 queries of TPC-H, at this scale.
std::string bench_queries(ZipflowBench& bench, double scale, uint32_t threads, int rounds);

}  // namespace basalt::cli
