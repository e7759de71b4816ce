// Strings by their encoding: those whose bytes lie there already, those that are named by codes, and those that have
// kernels of their own.
#include "cuda/codec/decode_strings.h"

#include "codec/dict/layout.h"
#include "codec/plain/layout.h"
#include "codec/strings/layout.h"
#include "cuda/codec/decode_texts.h"
#include "cuda/codec/encode_array.cuh"
#include "cuda/codec/gather_strings.h"

namespace basalt::cuda {

namespace {

// Throws if `differs(i)` for some i < count.
template <typename Differs>
void require_none(uint64_t count, cudaStream_t stream, Differs differs) {
  const DeviceBuffer flag = cleared(sizeof(uint32_t), stream);
  auto* found = flag.as<uint32_t>();
  each_row(count, stream, [=] __device__(uint64_t i) {
    if (differs(i)) *found = 1;
  });
  if (fetch(found, stream) != 0) throw_corrupt();
}

strings::Texts texts_in(const DeviceStrings& strings) {
  return {strings.bytes.as<uint64_t>(), strings.offsets.as<int64_t>(), 0};
}

// --- below `strings` ---

DeviceStrings decode_plain(const StringsDecoder& decoder, const NodeView& lengths, const NodeView& node) {
  const cudaStream_t stream = decoder.stream();
  const ByteView bytes = node.streams[plain::kBytes];
  const DeviceChild row_lengths = decoder.child(lengths);
  TextDecoding<strings::TextWork> decoding({}, node.count, stream);
  decoding.place_tiles(row_lengths, bytes.size());
  const strings::TextBatch batch = strings::text_batch(decoding.on_device(), 1, decoding.tiles(), row_lengths.stored);
  check(strings::place_rows(batch, stream), "placing rows");
  DeviceStrings out = decoding.finish();
  const ByteView starts = node.streams[plain::kTileStarts];
  const DeviceBuffer tile_starts = upload(starts.data(), starts.size(), stream);
  const auto* stored = tile_starts.as<uint64_t>();
  const auto* offsets = out.offsets.as<int64_t>();
  const uint64_t count = node.count;
  require_none(tile_count(count) + uint64_t{1}, stream, [=] __device__(uint64_t tile) {
    const uint64_t row = tile * kTileRows < count ? tile * kTileRows : count;
    return static_cast<uint64_t>(offsets[row]) != stored[tile];
  });
  out.bytes = upload(bytes.data(), bytes.size(), stream);
  return out;
}

DeviceStrings decode_constant(const StringsDecoder& decoder, const NodeView& lengths, const NodeView& node) {
  const cudaStream_t stream = decoder.stream();
  const DeviceBuffer values = decoder.fixed(lengths);
  const auto* length = values.as<uint32_t>();
  const uint64_t bytes = node.params.size();
  require_none(node.count, stream, [=] __device__(uint64_t i) { return length[i] != bytes; });
  const int64_t ends[] = {0, static_cast<int64_t>(bytes)};
  const DeviceBuffer offsets = upload(ends, sizeof(ends), stream);
  const DeviceBuffer text = upload(node.params.data(), bytes, stream);
  const DeviceBuffer rows = cleared(node.count * sizeof(uint32_t), stream);
  return gather_strings({text.as<uint64_t>(), offsets.as<int64_t>(), 0}, rows.as<uint32_t>(), node.count, stream);
}

DeviceStrings decode_bytes(const StringsDecoder& decoder, const NodeView& node) {
  const NodeView& lengths = node.children[strings::kLengths];
  const NodeView& bytes = node.children[strings::kBytes];
  const std::string_view codec = bytes.codec->name();
  if (codec == "plain") return decode_plain(decoder, lengths, bytes);
  if (codec == "constant") return decode_constant(decoder, lengths, bytes);
  if (codec == "fsst") return decode_fsst(decoder, lengths, bytes);
  return decode_tokens(decoder, lengths, bytes);
}

// --- by themselves ---

DeviceStrings decode_dict(const StringsDecoder& decoder, const NodeView& node) {
  const DeviceBuffer codes = decoder.fixed(node.children[dict::kCodes]);
  const DeviceStrings entries = decoder.decode(node.children[dict::kEntries]);
  const auto* code = codes.as<uint32_t>();
  const uint64_t distinct = entries.count;
  require_none(node.count, decoder.stream(), [=] __device__(uint64_t i) { return code[i] >= distinct; });
  return gather_strings(texts_in(entries), code, node.count, decoder.stream());
}

// Those whose nodes hold rows, and the codecs of bytes below `strings`.
struct RowDecoder {
  std::string_view codec;
  DeviceStrings (*decode)(const StringsDecoder&, const NodeView&);
};
constexpr RowDecoder kRowDecoders[] = {{"strings", decode_bytes}, {"dict", decode_dict}, {"numbered", decode_numbered}};
constexpr std::string_view kBytesCodecs[] = {"plain", "constant", "fsst", "tokens"};

}  // namespace

bool decodes_strings_of(std::string_view codec) {
  for (const RowDecoder& decoder : kRowDecoders) {
    if (codec == decoder.codec) return true;
  }
  for (const std::string_view known : kBytesCodecs) {
    if (codec == known) return true;
  }
  return false;
}

DeviceStrings StringsDecoder::decode(const NodeView& node) const {
  for (const RowDecoder& decoder : kRowDecoders) {
    if (node.codec->name() == decoder.codec) return decoder.decode(*this, node);
  }
  throw Error(ErrorCode::kUnsupported, std::string(node.codec->name()) + " has no decoder on the GPU");
}

DeviceChild StringsDecoder::child(const NodeView& node) const {
  DeviceChild out;
  if (node.codec->holds_packed_tiles()) {
    out.stored = strings::Child::kPacked;
    out.array = upload_array(node, stream_);
    return out;
  }
  out.values = fixed_(node);
  // As a `plain` array: a count and an address.
  const uint64_t words[] = {node.count, reinterpret_cast<uint64_t>(out.values.data())};
  out.array.descriptor = upload(words, sizeof(words), stream_);
  return out;
}

}  // namespace basalt::cuda
