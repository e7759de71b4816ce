#include "cuda/query/arrow_values.h"

#include "basalt/core/error.h"
#include "basalt/core/host_device.h"
#include "cuda/codec/encode_array.cuh"

namespace basalt::cuda {

namespace {

template <typename To, typename From>
DeviceBuffer convert(const DeviceBuffer& values, uint64_t count, cudaStream_t stream) {
  DeviceBuffer out(count * sizeof(To), stream);
  const auto* from = values.as<From>();
  auto* to = out.as<To>();
  each_row(count, stream, [=] __device__(uint64_t i) { to[i] = static_cast<To>(from[i]); });
  return out;
}

}  // namespace

DeviceBuffer widen_decimals(const DeviceBuffer& values, Physical type, uint64_t count, cudaStream_t stream) {
  switch (type) {
    case Physical::kI16: return convert<int128_t, int16_t>(values, count, stream);
    case Physical::kI32: return convert<int128_t, int32_t>(values, count, stream);
    case Physical::kI64: return convert<int128_t, int64_t>(values, count, stream);
    default: throw Error(ErrorCode::kInternal, "decimals of a width that needs no widening");
  }
}

DeviceBuffer narrow(const DeviceBuffer& values, uint64_t count, cudaStream_t stream) {
  return convert<int32_t, int64_t>(values, count, stream);
}

DeviceBuffer uuid_bytes(const DeviceBuffer& values, uint64_t count, cudaStream_t stream) {
  DeviceBuffer out(count * sizeof(uint128_t), stream);
  const auto* from = values.as<uint128_t>();
  auto* to = out.as<uint8_t>();
  each_row(count, stream, [=] __device__(uint64_t i) {
    uint128_t number = from[i] ^ (static_cast<uint128_t>(1) << 127);
    for (int place = 15; place >= 0; --place, number >>= 8) to[i * 16 + place] = static_cast<uint8_t>(number);
  });
  return out;
}

}  // namespace basalt::cuda
