// Sorting the parts of a file by their places and looking at what lies between them.
#include "file/verify/byte_map.h"

#include <fmt/format.h>

#include <algorithm>

#include "basalt/core/error.h"
#include "file/column_metadata.h"
#include "file/format.h"

namespace basalt::format_v1 {

namespace {

// Read together: a file of many small streams has many gaps.
constexpr size_t kGapsAtOnce = 1024;

void check_zeros(const Source& source, const std::vector<Range>& gaps) {
  for (size_t begin = 0; begin < gaps.size(); begin += kGapsAtOnce) {
    const std::span<const Range> some(gaps.data() + begin, std::min(kGapsAtOnce, gaps.size() - begin));
    const std::vector<Buffer> read = read_ranges(source, some, kLargeRegionAlignment);
    for (size_t i = 0; i < some.size(); ++i) {
      const auto bytes = read[i].span<uint8_t>();
      const auto found = std::find_if(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte != 0; });
      if (found == bytes.end()) continue;
      throw Error(ErrorCode::kCorrupt, fmt::format("byte {} lies between two parts of the file and is not zero",
                                                   some[i].offset + static_cast<uint64_t>(found - bytes.begin())));
    }
  }
}

}  // namespace

void check_every_byte(const Source& source, const FooterData& footer, std::vector<StreamPlace> streams) {
  // Of streams, equal places are one.
  check_overlaps(streams);
  std::vector<StreamPlace> parts = std::move(streams);
  std::erase_if(parts, [](const StreamPlace& part) { return part.length == 0; });
  const auto by_offset = [](const StreamPlace& a, const StreamPlace& b) { return a.offset < b.offset; };
  std::sort(parts.begin(), parts.end(), by_offset);
  const auto repeated = std::unique(parts.begin(), parts.end(),
                                    [](const StreamPlace& a, const StreamPlace& b) { return a.offset == b.offset; });
  parts.erase(repeated, parts.end());
  parts.push_back({0, kHeaderBytes});
  for (const ColumnEntry& column : footer.columns) {
    parts.push_back({column.metadata.offset, column.metadata.length});
    if (column.dictionary) parts.push_back({column.dictionary->offset, column.dictionary->length});
  }
  // The postscript begins where the footer ends, as the reader has seen.
  parts.push_back({footer.offset, source.size() - footer.offset});
  std::sort(parts.begin(), parts.end(), by_offset);

  std::vector<Range> gaps;
  uint64_t end = 0;
  for (const StreamPlace& part : parts) {
    if (part.offset < end) {
      throw Error(ErrorCode::kCorrupt, fmt::format("what lies at byte {} overlaps what lies before it", part.offset));
    }
    if (part.offset - end >= kLargeRegionAlignment) {
      throw Error(ErrorCode::kCorrupt,
                  fmt::format("the {} bytes at byte {} belong to nothing", part.offset - end, end));
    }
    if (part.offset > end) gaps.push_back({end, part.offset - end});
    end = part.offset + part.length;
  }
  check_zeros(source, gaps);
}

}  // namespace basalt::format_v1
