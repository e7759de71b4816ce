// The fixed numbers of a .basalt file that writer, reader and verifier share: magic, alignment, postscript, checksums,
// statistics flags. docs/format.md is the text of the same.
#pragma once

#include <cstdint>
#include <cstring>

#include "basalt/core/buffer.h"
#include "file/checksum.h"

namespace basalt::format_v1 {

constexpr uint32_t kVersion = 1;
constexpr char kMagic[8] = {'B', 'A', 'S', 'A', 'L', 'T', '\r', '\n'};

// In front: magic, version, zero.
constexpr uint64_t kHeaderBytes = 16;
constexpr uint64_t kStreamAlignment = 128;
constexpr uint64_t kLargeRegion = 64 << 10;
constexpr uint64_t kLargeRegionAlignment = 4096;
constexpr uint64_t kMetadataAlignment = 8;
constexpr uint64_t kChecksumBlock = 1 << 20;
constexpr uint64_t kTailRead = 64 << 10;
constexpr uint32_t kMaxSchemaDepth = 64;  // trees: kMaxTreeLevels, kMaxTreeNodes (basalt/encoding/tree.h)
constexpr uint32_t kMaxCodecNameBytes = 64;
constexpr uint32_t kMaxNodeStreams = 8;                     // no codec has more than five
constexpr size_t kMaxShownPathBytes = 1024;                 // of a path in messages and listings
constexpr uint64_t kMaxElements = (uint64_t{1} << 31) - 1;  // rows of one chunk of a field under a list
constexpr uint32_t kMaxBoundBytes = 64;                     // of a string in statistics
constexpr uint64_t kMaxDictionaryEntries = 1 << 20;
constexpr uint64_t kMaxDictionaryBytes = 64 << 20;

// The last 64 bytes of a file, little-endian.
struct Postscript {
  uint64_t footer_offset = 0;
  uint64_t footer_length = 0;
  uint64_t footer_checksum = 0;
  uint64_t required_features = 0;
  uint64_t optional_features = 0;
  uint32_t version = kVersion;
  uint32_t length = 64;
  uint64_t checksum = 0;  // XXH3-64 of the 48 bytes before
  char magic[8] = {};
};
static_assert(sizeof(Postscript) == 64);
constexpr size_t kPostscriptChecked = 48;
inline void seal(Postscript& postscript) { postscript.checksum = checksum(&postscript, kPostscriptChecked); }

// Required features, of which a file that was unwrapped has none left. Wrapped: what lies between header and postscript
// is one zstd frame; all places are those of the file without it.
constexpr uint64_t kWrapped = 1;
constexpr uint64_t kKnownFeatures = 0;
constexpr uint64_t kMostWrappedBytes = 128 << 10;  // before they are wrapped

// Flags of a chunk or of a whole column.
enum ChunkFlag : uint16_t {
  kAscending = 1,
  kDescending = 2,
  kStrict = 4,
  kConstant = 8,
  kDense = 16,
};
// Flags of a zone; the footer's column flags hold the same bits, shifted by kBoundShift.
enum BoundFlag : uint8_t {
  kHasMin = 1,
  kHasMax = 2,
  kMinExact = 4,
  kMaxExact = 8,
  kHasNan = 16,
};
constexpr uint32_t kBoundShift = 8;

constexpr uint64_t checksum_blocks(uint64_t length) {
  return length / kChecksumBlock + (length % kChecksumBlock != 0 ? 1 : 0);
}

constexpr uint64_t align_up(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

}  // namespace basalt::format_v1
