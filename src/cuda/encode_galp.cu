// The device encoder of `galp`.
#include "cuda/encode_galp.h"

#include <cub/device/device_scan.cuh>

#include "codec/galp/galp.h"
#include "cuda/encode_array.cuh"

namespace basalt::cuda {

template <typename T>
GalpEncoder<T>::GalpEncoder(const T* values, uint64_t rows, Effort effort, cudaStream_t stream)
    : stream_(stream), work_(galp::EncodeWork<T>::of(values, rows, effort)) {
  if (rows == 0) return;
  const size_t bytes = galp::place_arrays<T>(work_, nullptr, zeros_);
  memory_ = std::make_unique<DeviceBlock>(bytes, stream, stream);
  galp::place_arrays(work_, memory_->template as<unsigned char>(), zeros_);
}

template <typename T>
typename GalpEncoder<T>::Sizes GalpEncoder<T>::measure() {
  check(cudaMemsetAsync(work_.starts, 0, sizeof(uint32_t), stream_), "clearing a sum");
  with_temporary(stream_, [&](void* temporary, size_t& bytes) {
    return cub::DeviceScan::InclusiveSum(temporary, bytes, work_.words, work_.starts + 1,
                                         static_cast<int64_t>(work_.tiles), stream_);
  });
  const uint32_t words = fetch(work_.starts + work_.tiles, stream_);
  return {words, fetch(work_.uses_dictionary + work_.groups, stream_) != 0};
}

template <typename T>
typename GalpEncoder<T>::Sizes GalpEncoder<T>::choose_schemes() {
  if (work_.tiles == 0) return {0, false};
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
  if (work_.tiles == 0) return {0, false};
  check(galp::take_schemes(work_, scheme, stream_), "measuring exceptions");
  return measure();
}

template <typename T>
void GalpEncoder<T>::write(const Sizes& sizes, const galp::EncodedStreams& streams, galp::IntOf<T>* integers) {
  if (work_.tiles == 0) return;
  if (sizes.exception_words > 0) {
    check(cudaMemsetAsync(streams.exceptions, 0, uint64_t{sizes.exception_words} * sizeof(uint32_t), stream_),
          "clearing exceptions");
  }
  check(galp::write_streams(work_, streams, integers, stream_), "writing integers and exceptions");
}

template class GalpEncoder<double>;
template class GalpEncoder<float>;

namespace {

template <typename T>
Node write_node(GalpEncoder<T>& encoder, const typename GalpEncoder<T>::Sizes& sizes, const DeviceValues& values,
                const Tree& tree, Effort effort, cudaStream_t stream) {
  Node node = make_node(values, tree, galp::kStreams);
  const bool has_exceptions = sizes.exception_words > 0;
  const size_t start_bytes = has_exceptions ? (encoder.tiles() + size_t{1}) * (sizes.has_short_starts() ? 2 : 4) : 0;
  const size_t dictionary_bytes = sizes.has_dictionaries ? encoder.groups() * sizeof(galp::Dictionary) : 0;
  const size_t exception_bytes = uint64_t{sizes.exception_words} * sizeof(uint32_t);
  const DeviceBuffer dictionaries(dictionary_bytes, stream);
  const DeviceBuffer starts(start_bytes, stream);
  const DeviceBuffer exceptions(exception_bytes, stream);
  DeviceValues integers;
  integers.type = node.codec->children(values.type)[galp::kIntegers].type;
  integers.count = values.count;
  integers.data = DeviceBuffer(values.count * sizeof(T), stream);
  encoder.write(sizes,
                {dictionaries.as<galp::Dictionary>(), sizes.has_short_starts() ? starts.as<uint16_t>() : nullptr,
                 sizes.has_short_starts() ? nullptr : starts.as<uint32_t>(), exceptions.as<uint32_t>()},
                integers.data.as<galp::IntOf<T>>());
  node.streams[galp::kSchemes] = download(encoder.schemes(), encoder.tiles(), stream);
  node.streams[galp::kDictionaries] = download(dictionaries, dictionary_bytes, stream);
  node.streams[galp::kExceptionStarts] = download(starts, start_bytes, stream);
  node.streams[galp::kExceptions] = download(exceptions, exception_bytes, stream);
  node.children.push_back(encode_node(integers, tree.children[galp::kIntegers], effort, stream));
  return node;
}

template <typename T>
Node encode_floats(const DeviceValues& values, const Tree& tree, Effort effort, cudaStream_t stream) {
  GalpEncoder<T> encoder(values.data.as<T>(), values.count, effort, stream);
  if (tree.children[galp::kIntegers].codec == galp::kChildOfManyScales) {
    return write_node(encoder, encoder.choose_schemes(), values, tree, effort, stream);
  }
  const galp::ArraySchemes found = encoder.search_pair();
  Node node = write_node(encoder, encoder.take_schemes(found.fewest_bits), values, tree, effort, stream);
  if (effort == Effort::kFast || !found.differ()) return node;
  Node other = write_node(encoder, encoder.take_schemes(found.fewest_exceptions), values, tree, effort, stream);
  return other.encoded_bytes() < node.encoded_bytes() ? std::move(other) : std::move(node);
}

}  // namespace

Node encode_galp(const DeviceValues& values, const Tree& tree, Effort effort, cudaStream_t stream) {
  if (values.count > galp::kMaxRows) throw Error(ErrorCode::kUnsupported, "galp: the array is too large");
  return values.type == Physical::kF64 ? encode_floats<double>(values, tree, effort, stream)
                                       : encode_floats<float>(values, tree, effort, stream);
}

}  // namespace basalt::cuda
