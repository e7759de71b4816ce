// All that a reader does with Arrow IPC that it does not trust. For the fuzz target and the tests of Arrow.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "basalt/core/error.h"
#include "basalt/file/ipc.h"
#include "core/arrow_reader.h"

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
  arrow::StreamReader batches(&stream, "untrusted", nullptr);
  uint64_t rows = 0;
  for (int batch = 0; batch < kMostBatches; ++batch) {
    const std::unique_ptr<Table> table = batches.next();
    if (table == nullptr) break;
    rows += table->rows;
    ArrowArray out{};
    export_batch(std::move(*table), &out);
    out.release(&out);
  }
  return rows;
}

}  // namespace basalt::test
