// Messages of Arrow IPC that nanoarrow does not read, put together anew. String views: the schema calls their columns
// large strings, and batches have offsets and bytes in place of views. Compressed dictionaries: unpacked.
#pragma once

#include <cstdint>
#include <vector>

#include "file/ipc_metadata.h"

namespace basalt {

// In a sound message: if it is a schema, its views become large strings.
void rename_views(uint8_t* metadata);

struct IpcMessage {
  std::vector<uint8_t> metadata;  // a multiple of 8 bytes
  std::vector<uint8_t> body;
};
// The batch of a sound message as nanoarrow can read it. Throws Error(kCorrupt).
IpcMessage readable_batch(const uint8_t* metadata, const uint8_t* body,
                          const std::vector<IpcMetadata::StoredField>& fields);

}  // namespace basalt
