// Room for what the GPU's encoder makes of floats: the streams of galp(packed) in device memory.
#pragma once

#include "basalt/codec/codec.h"
#include "codec/packed/layout.h"
#include "cuda/codec/encode_galp.h"
#include "gpu_bench.h"

namespace basalt::bench {

// Streams of galp(packed) on the device, once they are measured.
template <typename T>
class StreamRoom {
 public:
  using Sizes = typename cuda::GalpEncoder<T>::Sizes;
  StreamRoom(const cuda::GalpEncoder<T>& encoder, const Sizes& sizes)
      : dictionaries_(sizes.has_dictionaries ? encoder.groups() * sizeof(galp::Dictionary) : 0),
        starts_(sizes.exception_words == 0 ? 0 : (encoder.tiles() + size_t{1}) * (sizes.has_short_starts() ? 2 : 4)),
        exceptions_(size_t{sizes.exception_words} * sizeof(uint32_t)),
        descriptors_(encoder.tiles() * sizeof(uint32_t)),
        words_(size_t{packed_tile_words(sizes.packed_rows)} * sizeof(uint32_t)) {
    streams.dictionaries = at<galp::Dictionary>(dictionaries_);
    if (sizes.has_short_starts()) {
      streams.short_starts = at<uint16_t>(starts_);
    } else {
      streams.long_starts = at<uint32_t>(starts_);
    }
    streams.exceptions = at<uint32_t>(exceptions_);
    streams.descriptors = at<uint32_t>(descriptors_);
    streams.packed_words = at<uint32_t>(words_);
    encoded = dictionaries_.bytes() + starts_.bytes() + exceptions_.bytes() + descriptors_.bytes() + words_.bytes() +
              encoder.tiles() * (1 + sizeof(T));
  }

  void require_like(const cuda::GalpEncoder<T>& encoder, const Node& node, const std::string& place) const {
    require_bytes(encoder.schemes(), encoder.tiles(), node.streams[galp::kSchemes], place + ": schemes");
    require_bytes(dictionaries_, node.streams[galp::kDictionaries], place + ": dictionaries");
    require_bytes(starts_, node.streams[galp::kExceptionStarts], place + ": starts");
    require_bytes(exceptions_, node.streams[galp::kExceptions], place + ": exceptions");
    const Node& child = node.children[galp::kIntegers];
    require_bytes(encoder.references(), encoder.tiles() * sizeof(T), child.streams[packed::kReferences],
                  place + ": references");
    require_bytes(descriptors_, child.streams[packed::kDescriptors], place + ": descriptors");
    require_bytes(words_, child.streams[packed::kWords], place + ": words");
  }

  // The words that describe the array to readers.
  std::vector<uint64_t> node(const cuda::GalpEncoder<T>& encoder, uint64_t rows, const Sizes& sizes) const {
    const auto address = [](const void* at) { return reinterpret_cast<uint64_t>(at); };
    return {rows | uint64_t{sizes.exception_words} << 32,
            address(encoder.schemes()),
            address(dictionaries_.data()),
            address(starts_.data()),
            address(exceptions_.data()),
            rows,
            address(encoder.references()),
            address(descriptors_.data()),
            address(words_.data())};
  }

  galp::EncodedStreams<T> streams{};
  uint64_t encoded = 0;

 private:
  using Bytes = DeviceArray<unsigned char>;
  template <typename U>
  static U* at(const Bytes& bytes) {
    return bytes.size() == 0 ? nullptr : reinterpret_cast<U*>(bytes.data());
  }
  static void require_bytes(const Bytes& got, const Buffer& expected, const std::string& place) {
    require_bytes(got.data(), got.size(), expected, place);
  }
  static void require_bytes(const void* got, size_t bytes, const Buffer& expected, const std::string& place) {
    require(bytes == expected.size(), place + " have another length");
    std::vector<unsigned char> on_host(bytes);
    if (bytes > 0) BASALT_CHECK(cudaMemcpy(on_host.data(), got, bytes, cudaMemcpyDeviceToHost));
    require(bytes == 0 || std::memcmp(on_host.data(), expected.data(), bytes) == 0, place + " have other bytes");
  }

  Bytes dictionaries_, starts_, exceptions_, descriptors_, words_;
};

}  // namespace basalt::bench
