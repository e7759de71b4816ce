// Texts and numbers, put together on the device.
#include <vector>

#include "codec/numbered/gpu/kernels.h"
#include "cuda/codec/decode_texts.h"

namespace basalt::cuda {

DeviceStrings decode_numbered(const StringsDecoder& decoder, const NodeView& node) {
  const cudaStream_t stream = decoder.stream();
  const DeviceChild numbers = decoder.child(node.children[numbered::kNumbers]);
  const ByteView text = node.params.subspan(1);
  std::vector<std::byte> words(text.begin(), text.end());
  words.resize((text.size() + 7) / 8 * 8);
  const DeviceBuffer prefix = upload(words.data(), words.size(), stream);

  numbered::DecodeWork work{};
  work.numbers = numbers.descriptor();
  work.prefix = prefix.as<uint64_t>();
  work.prefix_bytes = static_cast<uint32_t>(text.size());
  work.digits = static_cast<uint32_t>(node.params[0]);
  TextDecoding<numbered::DecodeWork> decoding(work, node.count, stream);
  decoding.reserve(node.count * work.row_bytes());
  const numbered::DecodeBatch batch{decoding.on_device(), 1, decoding.tiles(), numbers.stored};
  check(numbered::decode(batch, stream), "launching a decoder");
  return decoding.finish();
}

}  // namespace basalt::cuda
