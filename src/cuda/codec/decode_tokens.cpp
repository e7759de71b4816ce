// Words and phrases by their numbers, decoded on the device.
#include "codec/tokens/gpu/kernels.h"
#include "cuda/codec/decode_texts.h"

namespace basalt::cuda {

DeviceStrings decode_tokens(const StringsDecoder& decoder, const NodeView& lengths, const NodeView& node) {
  const cudaStream_t stream = decoder.stream();
  const ByteView starts = node.streams[tokens::kTileStarts];
  const DeviceBuffer device_starts = upload(starts.data(), starts.size(), stream);
  const DeviceChild row_lengths = decoder.child(lengths);
  const DeviceChild ids = decoder.child(node.children[tokens::kIds]);
  const DeviceChild counts = decoder.child(node.children[tokens::kCounts]);
  const DeviceStrings entries = decoder.decode(node.children[tokens::kEntries]);
  const DeviceBuffer slots(entries.count * sizeof(tokens::Slot), stream);

  tokens::DecodeWork work{};
  work.starts = device_starts.as<uint64_t>();
  work.ids = ids.descriptor();
  work.counts = counts.descriptor();
  work.entries = {entries.bytes.as<uint64_t>(), entries.offsets.as<int64_t>(), 0};
  work.entry_count = static_cast<uint32_t>(entries.count);
  work.slots = slots.as<tokens::Slot>();
  TextDecoding<tokens::DecodeWork> decoding(work, node.count, stream);
  decoding.place_tiles(row_lengths, node.children[tokens::kIds].count * tokens::kLongestEntry);
  const tokens::DecodeBatch batch{decoding.on_device(), 1,          decoding.tiles(), work.entry_count,
                                  row_lengths.stored,   ids.stored, counts.stored};
  check(tokens::make_slots(batch, stream), "preparing entries");
  check(tokens::decode(batch, stream), "launching a decoder");
  check(tokens::check_rows(batch, stream), "checking rows");
  return decoding.finish();
}

}  // namespace basalt::cuda
