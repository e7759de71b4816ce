// A query's rows as Arrow arrays: who owns them.
#include "basalt/exec/device_result.h"

#include <utility>

namespace basalt {

DeviceResult::DeviceResult(DeviceResult&& other) noexcept
    : schema(std::exchange(other.schema, {})), array(std::exchange(other.array, {})) {}

DeviceResult& DeviceResult::operator=(DeviceResult&& other) noexcept {
  std::swap(schema, other.schema);
  std::swap(array, other.array);
  return *this;
}

DeviceResult::~DeviceResult() {
  if (array.array.release != nullptr) array.array.release(&array.array);
  if (schema.release != nullptr) schema.release(&schema);
}

}  // namespace basalt
