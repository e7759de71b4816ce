// Texts with numbers taken apart on the device. What all rows share is found in two steps: how many digits every row
// ends with, then whether the rest is the same.
#include "codec/numbered/layout.h"
#include "cuda/codec/encode_texts.cuh"

namespace basalt::cuda {

namespace {

struct Shared {
  uint32_t digits;
  uint32_t differs;  // not 0: in length, or before the digits
};

}  // namespace

Node encode_numbered(DeviceValues& values, const Tree& tree, Aims aims, cudaStream_t stream) {
  Node node = make_node(values, tree, 0);
  const uint64_t count = values.count;
  DeviceValues numbers;
  numbers.type = Physical::kU64;
  numbers.count = count;
  numbers.data = DeviceBuffer(count * sizeof(uint64_t), stream);
  Shared shared{count == 0 ? 1 : numbered::kMostDigits, 0};
  uint64_t length = shared.digits;
  if (count > 0) {
    const strings::Texts texts = texts_of(values, stream);
    length = static_cast<uint64_t>(fetch(texts.offsets + 1, stream) - values.first_byte);
    const uint64_t row_bytes = length;
    const DeviceBuffer found = upload(&shared, sizeof(shared), stream);
    auto* all = found.as<Shared>();
    each_row(count, stream, [=] __device__(uint64_t row) {
      const uint64_t bytes = texts.at(row).length;
      if (bytes != row_bytes) all->differs = 1;
      atomicMin(&all->digits, numbered::digits_at_end(texts.bytes(row), bytes));
    });
    shared = fetch(all, stream);
    const uint32_t digits = shared.digits;
    if (digits > 0 && shared.differs == 0) {
      each_row_of_warps(count, stream, [=] __device__(uint64_t row) {
        const bool compare = row > 0 && row < count;
        strings::Text own = compare ? texts.at(row) : strings::no_text();
        strings::Text first = compare ? texts.at(0) : strings::no_text();
        if (compare) own.length = first.length = row_bytes - digits;
        if (!strings::are_equal(own, first, compare) && compare) all->differs = 1;
      });
      auto* number = numbers.data.as<uint64_t>();
      each_row(count, stream, [=] __device__(uint64_t row) {
        number[row] = numbered::read_digits(texts.bytes(row) + (row_bytes - digits), digits);
      });
      shared = fetch(all, stream);
    }
    if (shared.digits == 0 || shared.differs != 0) {
      throw Error(ErrorCode::kUnsupported, "numbered: the strings are not one text and as many digits");
    }
  }
  const Buffer text = count == 0 ? Buffer() : bytes_on_host(values, length - shared.digits, stream);
  node.params.push_back(static_cast<std::byte>(shared.digits));
  node.params.insert(node.params.end(), text.data(), text.data() + text.size());
  node.children.push_back(encode_node(numbers, tree.children[numbered::kNumbers], aims, stream));
  return node;
}

}  // namespace basalt::cuda
