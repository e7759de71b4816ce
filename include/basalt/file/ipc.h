// Arrow IPC, the serialised form of Arrow: both the stream and the file format, read and written through nanoarrow.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/core/arrow.h"
#include "basalt/file/reader.h"

namespace basalt {

enum class IpcKind { kStream, kFile };

// Whether these first bytes (8 or more) of an input begin an IPC stream or file.
bool is_ipc(std::string_view front);
// .arrow, .arrows, .ipc and .feather.
bool is_ipc_name(std::string_view path);

// Gives up to `size` bytes into `out`; 0 at the end. Throws Error(kIo).
using ByteReader = std::function<size_t(void* out, size_t size)>;

constexpr uint64_t kUnknownBytes = ~uint64_t{0};

// Opens a stream or a file, told apart by the first bytes; record batches follow as they are read. Every batch is
// validated before it is given out. `name` stands in errors. A file may come from a pipe. `size`: what the reader gives
// in all; where that is unknown, memory is only taken for what has come, which costs large batches a copy. `counter`
// tells how many bytes of a path were read.
void open_ipc(const std::string& path, ArrowArrayStream* out,
              const std::shared_ptr<std::atomic<uint64_t>>& counter = nullptr);
void open_ipc(ByteReader reader, const std::string& name, ArrowArrayStream* out, uint64_t size = kUnknownBytes);

// The rows of a .basalt file as an Arrow stream, one batch per chunk, decoded on demand. `columns`: names, empty = all.
// `limits` are for all columns of a batch together.
void stream_file(std::shared_ptr<const File> file, const std::vector<std::string>& columns, ArrowArrayStream* out,
                 const DecodeLimits& limits = {});

struct IpcSummary {
  uint64_t rows = 0;
  uint64_t bytes = 0;
};

// Writes all batches and releases the stream. To a path: a temporary file beside it, synced and renamed when it is
// complete. The second form writes to any descriptor, which stays open.
IpcSummary write_ipc(ArrowArrayStream* stream, const std::string& path, IpcKind kind);
IpcSummary write_ipc(ArrowArrayStream* stream, int descriptor, const std::string& name, IpcKind kind);

}  // namespace basalt
