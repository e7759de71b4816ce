// Strings compressed by fsst, decoded on the device.
#include <cstring>

#include "codec/fsst/gpu/kernels.h"
#include "cuda/codec/decode_texts.h"

namespace basalt::cuda {

DeviceStrings decode_fsst(const StringsDecoder& decoder, const NodeView& lengths, const NodeView& node) {
  const cudaStream_t stream = decoder.stream();
  const auto send = [&](uint32_t i) { return upload(node.streams[i].data(), node.streams[i].size(), stream); };
  const DeviceBuffer tables = send(fsst::kTables), starts = send(fsst::kStarts), codes = send(fsst::kCodes);
  const DeviceBuffer piece_starts = send(fsst::kPieceStarts), pieces = send(fsst::kPieces);
  const DeviceChild row_lengths = decoder.child(lengths);
  const DeviceChild code_lengths = decoder.child(node.children[fsst::kCodeLengths]);
  const uint64_t piece_count = node.streams[fsst::kPieces].size() / sizeof(uint16_t);
  fsst::Parameters params;
  std::memcpy(&params, node.params.data(), sizeof(params));

  fsst::DecodeWork work{};
  work.tables = tables.as<unsigned char>();
  work.starts = starts.as<uint64_t>();
  work.codes = codes.as<unsigned char>();
  work.piece_starts = piece_count == 0 ? nullptr : piece_starts.as<uint32_t>();
  work.pieces = pieces.as<uint16_t>();
  work.code_lengths = code_lengths.descriptor();
  work.table_shift = params.table_shift;
  TextDecoding<fsst::DecodeWork> decoding(work, node.count, stream);
  decoding.place_tiles(row_lengths, node.streams[fsst::kCodes].size() * fsst::kMaxSymbolBytes);
  const fsst::DecodeBatch batch{decoding.on_device(), 1, decoding.tiles(), piece_count, row_lengths.stored,
                                code_lengths.stored};
  check(fsst::decode(batch, stream), "launching a decoder");
  return decoding.finish();
}

}  // namespace basalt::cuda
