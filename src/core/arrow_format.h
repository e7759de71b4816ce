// What the Arrow import and export share: format strings, extension metadata, and the few conversions that both
// directions must agree on. Arrow's C data interface is native-endian and Basalt runs on little-endian machines only.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "basalt/core/arrow.h"
#include "basalt/core/host_device.h"

namespace basalt::arrow {

static_assert(std::endian::native == std::endian::little);

constexpr int64_t kMillisPerDay = 86'400'000;
constexpr std::string_view kExtensionName = "ARROW:extension:name";
constexpr std::string_view kExtensionMetadata = "ARROW:extension:metadata";
constexpr std::string_view kUuidExtension = "arrow.uuid";
constexpr std::string_view kOpaqueExtension = "arrow.opaque";
// DuckDB writes and reads 128-bit integers under this name; a decimal(38,0) could not hold all of them.
constexpr std::string_view kHugeintMetadata = R"({"type_name":"hugeint","vendor_name":"DuckDB"})";

// Bytes → the number that sorts as the bytes do, and back (see TypeKind::kUuid).
inline int128_t uuid_from_bytes(const uint8_t* bytes) {
  uint128_t number = 0;
  for (int i = 0; i < 16; ++i) number = (number << 8) | bytes[i];
  return static_cast<int128_t>(number ^ (static_cast<uint128_t>(1) << 127));
}
inline void uuid_to_bytes(int128_t value, uint8_t* bytes) {
  uint128_t number = static_cast<uint128_t>(value) ^ (static_cast<uint128_t>(1) << 127);
  for (int i = 15; i >= 0; --i, number >>= 8) bytes[i] = static_cast<uint8_t>(number);
}

// The value stored for `key` in a schema's metadata block; empty if there is none.
std::string metadata_value(const char* metadata, std::string_view key);

}  // namespace basalt::arrow
