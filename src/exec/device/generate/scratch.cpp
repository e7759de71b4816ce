// How much shared memory a reader takes per warp, read off its type's text: the host has to know before it promises a
// kernel, and the readers themselves compile for devices only. A test holds these numbers against the readers' own.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/core/host_device.h"
#include "exec/device/generate/generate.h"

namespace basalt::device {

namespace {

// What a reader that is not known here may take: a tile of 64-bit values.
constexpr uint32_t kUnknownBytes = kTileRows * 8;

uint32_t rounded(uint32_t bytes) { return (bytes + 15) / 16 * 16; }

// `Name<A, B<C, D>>` as the name and the texts between its outermost commas.
struct TypeText {
  std::string_view name;
  std::vector<std::string_view> arguments;
};

TypeText split(std::string_view text) {
  TypeText out;
  const size_t open = text.find('<');
  out.name = text.substr(0, open);
  if (open == std::string_view::npos || text.back() != '>') return out;
  const std::string_view inner = text.substr(open + 1, text.size() - open - 2);
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= inner.size(); ++i) {
    if (i < inner.size() && inner[i] == '<') ++depth;
    if (i < inner.size() && inner[i] == '>') --depth;
    if (i < inner.size() && (inner[i] != ',' || depth > 0)) continue;
    out.arguments.push_back(inner.substr(begin, i - begin));
    begin = i + 1;
    while (begin < inner.size() && inner[begin] == ' ') ++begin;
  }
  return out;
}

uint32_t value_bytes(std::string_view type) {
  for (const auto& [name, bytes] : {std::pair{"uint8_t", 1u}, {"uint16_t", 2u}, {"uint32_t", 4u}, {"uint64_t", 8u}}) {
    if (type == name) return bytes;
  }
  return 16;
}

bool has_rows_in_shared(std::string_view reader) {
  return reader.starts_with("Rle<") || reader.starts_with("Delta<") || reader.starts_with("L3<");
}

}  // namespace

uint32_t scratch_bytes(std::string_view reader) {
  const TypeText type = split(reader);
  if (type.name == "Packed" || type.name == "Plain" || type.name == "Constant") return 0;
  if (type.name == "Dict" && type.arguments.size() == 3) return scratch_bytes(type.arguments[1]);
  if (type.name == "Galp" && type.arguments.size() == 2) return scratch_bytes(type.arguments[1]);
  if (type.name == "Delta" && type.arguments.size() == 2) {
    const uint32_t sum_bytes = std::max(4u, value_bytes(type.arguments[0]));
    return kRowsPerLane * (kLanes * sum_bytes + 16) + rounded(scratch_bytes(type.arguments[1]));
  }
  if (type.name == "L3" && type.arguments.size() == 1) {
    constexpr uint32_t kUnits = 4 * 48;
    constexpr uint32_t kMarks = kLanes * 4;
    const uint32_t value = value_bytes(type.arguments[0]);
    return kTileRows * std::max(4u, value) + kUnits + kMarks + kLanes * value;
  }
  if (type.name == "Rle" && type.arguments.size() == 3) {
    const std::string_view ends = type.arguments[2];
    const uint32_t marks = kTileRows + (has_rows_in_shared(ends) ? 0 : kTileRows * 4) + scratch_bytes(ends);
    const uint32_t values = kTileRows * value_bytes(type.arguments[0]) + scratch_bytes(type.arguments[1]);
    return kLanes * 8 + rounded(std::max(marks, values));
  }
  return kUnknownBytes;
}

}  // namespace basalt::device
