// Compressed strings decoded on the device: the kernels of codec/fsst on arrays whose lengths are there already.
#include "cuda/decode_fsst.h"

#include <cstring>

#include "codec/fsst/decode_work.h"
#include "codec/fsst/kernels.h"
#include "cuda/runtime.h"

namespace basalt::cuda {

namespace {

// Bytes of the host in device memory.
class Upload {
 public:
  Upload(const void* from, size_t bytes, cudaStream_t stream) : block_(bytes, stream, stream) {
    if (bytes == 0) return;
    check(cudaMemcpyAsync(block_.data(), from, bytes, cudaMemcpyHostToDevice, stream), "copying to the device");
  }
  Upload(ByteView bytes, cudaStream_t stream) : Upload(bytes.data(), bytes.size(), stream) {}
  template <typename T>
  T* as() const {
    return block_.as<T>();
  }

 private:
  DeviceBlock block_;
};

[[noreturn]] void throw_corrupt() { throw Error(ErrorCode::kCorrupt, "its values break the rules of their encoding"); }

}  // namespace

void decode_fsst(const NodeView& node, const Buffer& lengths, const Buffer& code_lengths, StringRows& out,
                 cudaStream_t stream) {
  const auto upload = [&](uint32_t i) { return Upload(node.streams[i], stream); };
  const Upload tables = upload(fsst::kTables), starts = upload(fsst::kStarts), codes = upload(fsst::kCodes);
  const Upload piece_starts = upload(fsst::kPieceStarts), pieces = upload(fsst::kPieces);
  const Upload own_lengths(lengths.view(), stream), own_code_lengths(code_lengths.view(), stream);
  const uint64_t piece_count = node.streams[fsst::kPieces].size() / sizeof(uint16_t);
  // Both as `plain` arrays: a count and an address.
  const uint64_t words[] = {node.count, reinterpret_cast<uint64_t>(own_lengths.as<void>()), node.count,
                            reinterpret_cast<uint64_t>(own_code_lengths.as<void>())};
  const Upload descriptors(words, sizeof(words), stream);
  const DeviceBlock fault(sizeof(uint32_t), stream, stream);
  check(cudaMemsetAsync(fault.data(), 0, sizeof(uint32_t), stream), "clearing a flag");

  fsst::Parameters params;
  std::memcpy(&params, node.params.data(), sizeof(params));
  fsst::DecodeWork work{};
  work.tables = tables.as<unsigned char>();
  work.starts = starts.as<uint64_t>();
  work.codes = codes.as<unsigned char>();
  work.piece_starts = piece_count == 0 ? nullptr : piece_starts.as<uint32_t>();
  work.pieces = pieces.as<uint16_t>();
  work.lengths = descriptors.as<uint64_t>();
  work.code_lengths = descriptors.as<uint64_t>() + 2;
  work.rows = static_cast<uint32_t>(node.count);
  work.table_shift = params.table_shift;
  work.fault = fault.as<uint32_t>();

  const uint32_t tiles = work.tiles();
  const DeviceBlock text_starts((tiles + size_t{1}) * sizeof(uint64_t), stream, stream);
  work.text_starts = text_starts.as<uint64_t>();
  const DeviceBlock works(sizeof(work), stream, stream);
  const auto send = [&] {
    check(cudaMemcpyAsync(works.data(), &work, sizeof(work), cudaMemcpyHostToDevice, stream), "copying a descriptor");
  };
  const fsst::DecodeBatch batch{works.as<fsst::DecodeWork>(), 1, tiles, piece_count, fsst::Child::kPlain,
                                fsst::Child::kPlain};
  send();
  check(fsst::place_tiles(batch, stream), "adding up lengths");
  uint64_t bytes = 0;
  check(cudaMemcpyAsync(&bytes, work.text_starts + tiles, sizeof(bytes), cudaMemcpyDeviceToHost, stream),
        "copying a sum");
  check(cudaStreamSynchronize(stream), "adding up lengths");
  // Lengths of a damaged file may ask for anything.
  if (bytes > node.streams[fsst::kCodes].size() * fsst::kMaxSymbolBytes) throw_corrupt();

  const DeviceBlock text(bytes, stream, stream);
  const DeviceBlock offsets((node.count + 1) * sizeof(int64_t), stream, stream);
  work.text = text.as<unsigned char>();
  work.offsets = offsets.as<int64_t>();
  send();
  check(fsst::decode(batch, stream), "launching a decoder");
  uint32_t flag = 0;
  out.offsets.resize(node.count + 1);
  out.bytes.resize(bytes);
  check(cudaMemcpyAsync(out.offsets.data(), offsets.data(), (node.count + 1) * sizeof(int64_t), cudaMemcpyDeviceToHost,
                        stream),
        "copying decoded rows");
  if (bytes != 0) {
    check(cudaMemcpyAsync(out.bytes.data(), text.data(), bytes, cudaMemcpyDeviceToHost, stream),
          "copying decoded rows");
  }
  check(cudaMemcpyAsync(&flag, fault.data(), sizeof(flag), cudaMemcpyDeviceToHost, stream), "copying a flag");
  check(cudaStreamSynchronize(stream), "decoding strings");
  if (flag != 0) throw_corrupt();
}

}  // namespace basalt::cuda
