// Messages of Arrow IPC that nanoarrow does not read, put together anew. String views: the schema calls their columns
// large strings, and batches have offsets and bytes in place of views. Compressed dictionaries: unpacked.
#pragma once

#include <cstdint>
#include <vector>

#include "file/ipc_metadata.h"

namespace basalt {

// In a sound message: if it is a schema, its views become large strings. False if there are none. A part of a crafted
// message may have been another's, too: it is to be checked again.
bool rename_views(std::vector<uint8_t>& metadata);

struct IpcMessage {
  std::vector<uint8_t> metadata;  // a multiple of 8 bytes
  std::vector<uint8_t> body;
};
// The batch of a sound message as nanoarrow can read it. Throws Error(kCorrupt).
IpcMessage readable_batch(const uint8_t* metadata, const uint8_t* body,
                          const std::vector<IpcMetadata::StoredField>& fields);

}  // namespace basalt
