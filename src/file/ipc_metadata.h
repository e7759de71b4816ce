// What the messages of an Arrow IPC stream say about themselves, checked: nothing is missing that a reader needs,
// counts and lengths are such that it may calculate with them, and its memory stays near what is stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "basalt/core/error.h"

namespace basalt {

namespace arrow_message {
struct RecordBatch;
}

inline void require_sound(bool holds, const char* reason) {
  if (!holds) throw Error(ErrorCode::kCorrupt, reason);
}

class IpcMetadata {
 public:
  struct Body {
    uint64_t bytes = 0;
    bool compressed = false;  // check_compressed() wants to see it before it is given out
  };

  // The next message of the stream, aligned to 8 bytes. Throws Error(kCorrupt), or kUnsupported.
  Body check(const uint8_t* metadata, size_t size);
  // The body of that message: what its buffers say they unpack to.
  void check_compressed(const uint8_t* metadata, const uint8_t* body) const;

 private:
  class SchemaCheck;
  // What the values of a dictionary are stored as.
  struct Dictionary {
    uint8_t kind = 0;
    uint64_t nodes = 0;
    uint64_t buffers = 0;
  };

  // A column of batches, or one below it.
  struct StoredField {
    uint64_t buffers = 0;
    uint64_t offset_bytes = 0;  // 0: it has no offsets
  };

  void check_first_offsets(const arrow_message::RecordBatch& batch, const std::vector<uint64_t>& sizes) const;

  std::map<int64_t, Dictionary> dictionaries_;  // of the schema, by id
  std::vector<StoredField> fields_;             // of the schema, in preorder
};

}  // namespace basalt
