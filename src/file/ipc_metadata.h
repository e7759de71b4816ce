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

// Arrow's numbers of the types that are told apart here.
namespace arrow_kinds {
enum Kind : uint8_t {
  kNull = 1,
  kBinary = 4,
  kUtf8 = 5,
  kBool = 6,
  kList = 12,
  kStruct = 13,
  kUnion = 14,
  kFixedSizeBinary = 15,
  kFixedSizeList = 16,
  kMap = 17,
  kLargeBinary = 19,
  kLargeUtf8 = 20,
  kLargeList = 21,
  kRunEndEncoded = 22,
  kBinaryView = 23,
  kUtf8View = 24,
};
}  // namespace arrow_kinds

inline void require_sound(bool holds, const char* reason) {
  if (!holds) throw Error(ErrorCode::kCorrupt, reason);
}

// What buffers of a batch may unpack to, or what string views may stand for, together.
constexpr uint64_t most_unpacked(uint64_t body_bytes) { return (uint64_t{256} << 20) + 64 * body_bytes; }

class IpcMetadata {
 public:
  struct Body {
    uint64_t bytes = 0;
    bool compressed = false;  // check_compressed() wants to see it before it is given out
    bool rewrite = false;     // the reader cannot take it as it is: readable_batch() makes another one of it
  };
  // A column of batches, or one below it.
  struct StoredField {
    uint64_t buffers = 0;       // of views: two, and those that hold their bytes
    uint64_t offset_bytes = 0;  // 0: it has no offsets
    bool views = false;
  };

  // The next message of the stream, aligned to 8 bytes. Throws Error(kCorrupt), or kUnsupported.
  Body check(const uint8_t* metadata, size_t size);
  // The body of that message: what its buffers say they unpack to.
  void check_compressed(const uint8_t* metadata, const uint8_t* body) const;
  // Whether another schema is this one with large strings in place of views.
  bool is_but_for_views(const IpcMetadata& other) const;
  // What the batch of a sound message has, in preorder.
  const std::vector<StoredField>& fields_of(const uint8_t* metadata) const;

 private:
  class SchemaCheck;
  // What the values of a dictionary are stored as.
  struct Dictionary {
    uint8_t kind = 0;
    std::vector<StoredField> fields;
  };

  static void check_first_offsets(const arrow_message::RecordBatch& batch, const std::vector<StoredField>& fields,
                                  const std::vector<uint64_t>& sizes);

  std::map<int64_t, Dictionary> dictionaries_;  // of the schema, by id
  std::vector<StoredField> fields_;             // of the schema, in preorder
};

}  // namespace basalt
