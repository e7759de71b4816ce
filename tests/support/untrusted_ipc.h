// All that a reader does with Arrow IPC that it does not trust. For the fuzz target and the tests of Arrow.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "basalt/core/error.h"
#include "basalt/file/ipc.h"

namespace basalt::test {

// The rows of every batch, which is imported, normalised and handed out again. Throws Error where the bytes are not
// sound.
inline uint64_t import_untrusted(std::string_view bytes) {
  constexpr int kMostBatches = 64;
  ArrowArrayStream stream{};
  const auto reader = [&](void* out, size_t wanted) {
    const size_t count = std::min(wanted, bytes.size());
    if (count > 0) std::memcpy(out, bytes.data(), count);
    bytes.remove_prefix(count);
    return count;
  };
  open_ipc(reader, "untrusted", &stream);
  const std::unique_ptr<ArrowArrayStream, void (*)(ArrowArrayStream*)> owner(
      &stream, [](ArrowArrayStream* it) { it->release(it); });
  const auto check = [&](int code) {
    if (code != 0) throw Error(ErrorCode::kCorrupt, stream.get_last_error(&stream));
  };
  ArrowSchema arrow_schema{};
  check(stream.get_schema(&stream, &arrow_schema));
  const std::unique_ptr<ArrowSchema, void (*)(ArrowSchema*)> schema_owner(&arrow_schema,
                                                                          [](ArrowSchema* it) { it->release(it); });
  const Schema schema = import_schema(arrow_schema);
  uint64_t rows = 0;
  for (int batch = 0; batch < kMostBatches; ++batch) {
    ArrowArray array{};
    check(stream.get_next(&stream, &array));
    if (array.release == nullptr) break;
    const std::unique_ptr<ArrowArray, void (*)(ArrowArray*)> array_owner(&array,
                                                                         [](ArrowArray* it) { it->release(it); });
    rows += static_cast<uint64_t>(array.length);
    ArrowArray out{};
    export_batch(import_batch(array, arrow_schema, schema), &out);
    out.release(&out);
  }
  return rows;
}

}  // namespace basalt::test
