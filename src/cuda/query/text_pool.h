// The distinct strings of a statement on the device, each with a number: columns of strings become columns of numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codec/strings/gpu/texts.h"
#include "cuda/codec/decode_strings.h"
#include "cuda/runtime/device_buffer.h"

namespace basalt::cuda {

class TextPool {
 public:
  explicit TextPool(cudaStream_t stream);

  // A list of strings on the device whose numbers are asked for.
  struct List {
    strings::Texts at{};
    uint64_t count = 0;
    const uint8_t* wanted = nullptr;  // a byte for each, 0: it gets any number; nullptr: all are wanted
  };

  // Numbers of all strings of the lists, list after list: uint32. Strings that are not in the pool yet are copied into
  // it. Waits for the stream. Throws Error(kOutOfMemory) where numbers of 32 bits do not suffice.
  DeviceBuffer intern(const std::vector<List>& lists);
  // Of an empty pool: string i gets the number i. They must differ.
  void add_literals(const std::vector<std::string>& literals);

  uint64_t count() const { return texts_.count; }
  uint64_t byte_count() const { return texts_.byte_count; }
  strings::Texts texts() const { return {texts_.bytes.as<uint64_t>(), texts_.offsets.as<int64_t>(), 0}; }
  const DeviceStrings& strings() const { return texts_; }
  DeviceStrings take() { return std::move(texts_); }

 private:
  cudaStream_t stream_;
  DeviceStrings texts_;
  DeviceBuffer hashes_;  // uint64 of each string
};

// `count` strings that all differ, in the order of their bytes, then length.
struct TextOrder {
  DeviceBuffer numbers;  // uint32, by place in the order
  DeviceBuffer ranks;    // uint32, by number
};
TextOrder order_texts(const strings::Texts& texts, uint64_t count, cudaStream_t stream);

}  // namespace basalt::cuda
