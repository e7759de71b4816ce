// The bytes of a string, and where bytes of strings that are made go: a sink either counts them or writes them. Shared
// by host and device.
#pragma once

#include "basalt/core/host_device.h"

namespace basalt {

struct TextBytes {
  const unsigned char* data;
  uint64_t size;

  BASALT_HD TextBytes part(uint64_t begin, uint64_t end) const { return {data + begin, end - begin}; }
};

struct CountingSink {
  uint64_t size = 0;
  BASALT_HD void put(const TextBytes& bytes) { size += bytes.size; }
  BASALT_HD void put(unsigned char) { ++size; }
};

struct WritingSink {
  unsigned char* to;
  BASALT_HD void put(const TextBytes& bytes) {
    for (uint64_t i = 0; i < bytes.size; ++i) to[i] = bytes.data[i];
    to += bytes.size;
  }
  BASALT_HD void put(unsigned char byte) { *to++ = byte; }
};

}  // namespace basalt
