// The device encoder of `galp`.
#include "cuda/codec/encode_galp.h"

#include <cub/device/device_scan.cuh>

#include "codec/galp/galp.h"
#include "codec/packed/layout.h"
#include "cuda/codec/encode_array.cuh"

namespace basalt::cuda {

template <typename T>
GalpEncoder<T>::GalpEncoder(const T* values, uint64_t rows, Effort effort, cudaStream_t stream)
    : stream_(stream), work_(galp::EncodeWork<T>::of(values, rows, effort)) {
  if (rows == 0) return;
  const size_t bytes = galp::place_arrays<T>(work_, nullptr, zeros_);
  memory_ = std::make_unique<DeviceBlock>(bytes, stream, stream);
  galp::place_arrays(work_, memory_->template as<unsigned char>(), zeros_);
  size_t scan_bytes = 0;
  check(sum_sizes(nullptr, scan_bytes), "sizing temporary memory");
  scan_ = std::make_unique<DeviceBlock>(scan_bytes, stream, stream);
}

// Without memory: says how much it needs.
template <typename T>
cudaError_t GalpEncoder<T>::sum_sizes(void* temporary, size_t& bytes) {
  return cub::DeviceScan::InclusiveSum(temporary, bytes, work_.sizes, work_.starts + 1,
                                       static_cast<int64_t>(work_.tiles), stream_);
}

template <typename T>
typename GalpEncoder<T>::Sizes GalpEncoder<T>::measure() {
  size_t scan_bytes = scan_->bytes();
  check(sum_sizes(scan_->data(), scan_bytes), "summing sizes");
  struct Last {
    uint64_t start, end, any_dictionary;
  };
  const auto last = fetch(reinterpret_cast<const Last*>(work_.starts + work_.tiles - 1), stream_);
  require_packed_rows(galp::packed_rows_of(last.start));
  return {galp::exceptions_of(last.end), galp::packed_rows_of(last.end), last.any_dictionary != 0};
}

template <typename T>
typename GalpEncoder<T>::Sizes GalpEncoder<T>::choose_schemes() {
  if (work_.tiles == 0) return {0, 0, false};
  check(cudaMemsetAsync(memory_->data() + zeros_, 0, memory_->bytes() - zeros_, stream_), "clearing a search");
  check(galp::choose_schemes(work_, stream_), "choosing schemes");
  return measure();
}

template <typename T>
galp::ArraySchemes GalpEncoder<T>::search_pair() {
  if (work_.tiles == 0) return {};
  check(cudaMemsetAsync(memory_->data() + zeros_, 0, memory_->bytes() - zeros_, stream_), "clearing a search");
  check(galp::search_pair(work_, stream_), "searching a pair");
  return fetch(&work_.search->found, stream_);
}

template <typename T>
typename GalpEncoder<T>::Sizes GalpEncoder<T>::take_schemes(uint32_t scheme) {
  if (work_.tiles == 0) return {0, 0, false};
  check(galp::take_schemes(work_, scheme, stream_), "measuring exceptions");
  return measure();
}

template <typename T>
void GalpEncoder<T>::write(const galp::EncodedStreams<T>& streams) {
  if (work_.tiles == 0) return;
  check(galp::write_streams(work_, streams, stream_), "writing integers and exceptions");
}

template class GalpEncoder<double>;
template class GalpEncoder<float>;

namespace {

// Streams of galp on the device, for a child that gets the integers, or is `packed`.
template <typename T>
class StreamRoom {
 public:
  StreamRoom(const GalpEncoder<T>& encoder, const typename GalpEncoder<T>::Sizes& sizes, cudaStream_t stream)
      : start_bytes_(sizes.exception_words == 0 ? 0
                                                : (encoder.tiles() + size_t{1}) * (sizes.has_short_starts() ? 2 : 4)),
        dictionary_bytes_(sizes.has_dictionaries ? encoder.groups() * sizeof(galp::Dictionary) : 0),
        exception_bytes_(uint64_t{sizes.exception_words} * sizeof(uint32_t)),
        dictionaries_(dictionary_bytes_, stream),
        starts_(start_bytes_, stream),
        exceptions_(exception_bytes_, stream) {
    streams.dictionaries = dictionaries_.as<galp::Dictionary>();
    if (sizes.has_short_starts()) {
      streams.short_starts = starts_.as<uint16_t>();
    } else {
      streams.long_starts = starts_.as<uint32_t>();
    }
    streams.exceptions = exceptions_.as<uint32_t>();
  }
  Node to_host(const GalpEncoder<T>& encoder, const DeviceValues& values, const Tree& tree, cudaStream_t stream) const {
    Node node = make_node(values, tree, galp::kStreams);
    node.streams[galp::kSchemes] = download(encoder.schemes(), encoder.tiles(), stream);
    node.streams[galp::kDictionaries] = download(dictionaries_, dictionary_bytes_, stream);
    node.streams[galp::kExceptionStarts] = download(starts_, start_bytes_, stream);
    node.streams[galp::kExceptions] = download(exceptions_, exception_bytes_, stream);
    return node;
  }

  galp::EncodedStreams<T> streams{};

 private:
  size_t start_bytes_, dictionary_bytes_, exception_bytes_;
  DeviceBuffer dictionaries_, starts_, exceptions_;
};

DeviceValues integers_like(const DeviceValues& values) {
  DeviceValues integers;
  integers.type = get_codec("galp").children(values.type)[galp::kIntegers].type;
  integers.count = values.count;
  return integers;
}

template <typename T>
Node encode_packed_tiles(GalpEncoder<T>& encoder, const DeviceValues& values, const Tree& tree, cudaStream_t stream) {
  const auto sizes = encoder.choose_schemes();
  StreamRoom<T> room(encoder, sizes, stream);
  const size_t descriptor_bytes = encoder.tiles() * sizeof(uint32_t);
  const size_t word_bytes = size_t{packed_tile_words(sizes.packed_rows)} * sizeof(uint32_t);
  const DeviceBuffer descriptors(descriptor_bytes, stream);
  const DeviceBuffer words(word_bytes, stream);
  room.streams.descriptors = descriptors.as<uint32_t>();
  room.streams.packed_words = words.as<uint32_t>();
  encoder.write(room.streams);
  Node node = room.to_host(encoder, values, tree, stream);
  Node child = make_node(integers_like(values), tree.children[galp::kIntegers], packed::kStreams);
  child.streams[packed::kReferences] = download(encoder.references(), encoder.tiles() * sizeof(T), stream);
  child.streams[packed::kDescriptors] = download(descriptors, descriptor_bytes, stream);
  child.streams[packed::kWords] = download(words, word_bytes, stream);
  node.children.push_back(std::move(child));
  return node;
}

template <typename T>
Node encode_with_scheme(GalpEncoder<T>& encoder, uint32_t scheme, const DeviceValues& values, const Tree& tree,
                        Aims aims, cudaStream_t stream) {
  const auto sizes = encoder.take_schemes(scheme);
  StreamRoom<T> room(encoder, sizes, stream);
  DeviceValues integers = integers_like(values);
  integers.data = DeviceBuffer(values.count * sizeof(T), stream);
  room.streams.integers = integers.data.as<galp::IntOf<T>>();
  encoder.write(room.streams);
  Node node = room.to_host(encoder, values, tree, stream);
  node.children.push_back(encode_node(integers, tree.children[galp::kIntegers], aims, stream));
  return node;
}

template <typename T>
Node encode_floats(const DeviceValues& values, const Tree& tree, Aims aims, cudaStream_t stream) {
  GalpEncoder<T> encoder(values.data.as<T>(), values.count, aims.effort, stream);
  if (tree.children[galp::kIntegers].codec == galp::kChildOfManyScales) {
    return encode_packed_tiles(encoder, values, tree, stream);
  }
  const galp::ArraySchemes found = encoder.search_pair();
  Node node = encode_with_scheme(encoder, found.fewest_bits, values, tree, aims, stream);
  if (aims.effort == Effort::kFast || !found.differ()) return node;
  Node other = encode_with_scheme(encoder, found.fewest_exceptions, values, tree, aims, stream);
  return other.encoded_bytes() < node.encoded_bytes() ? std::move(other) : std::move(node);
}

}  // namespace

Node encode_galp(const DeviceValues& values, const Tree& tree, Aims aims, cudaStream_t stream) {
  if (values.count > galp::kMaxRows) throw Error(ErrorCode::kUnsupported, "galp: the array is too large");
  return values.type == Physical::kF64 ? encode_floats<double>(values, tree, aims, stream)
                                       : encode_floats<float>(values, tree, aims, stream);
}

}  // namespace basalt::cuda
