// The checksum of files is XXH3-64 whatever vectors the processor has, whole or in pieces.
#include "file/checksum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace basalt::format_v1 {
namespace {

std::vector<unsigned char> bytes(size_t count) {
  std::vector<unsigned char> out(count);
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<unsigned char>(i * 0x9E3779B97F4A7C15ull >> 56);
  return out;
}

TEST(Checksum, IsTheLibrarys) {
  for (const size_t length : {size_t{0}, size_t{1}, size_t{16}, size_t{17}, size_t{128}, size_t{129}, size_t{240},
                              size_t{241}, size_t{1023}, size_t{1024}, size_t{1025}, size_t{1} << 20}) {
    const std::vector<unsigned char> data = bytes(length);
    EXPECT_EQ(checksum(data.data(), length), XXH3_64bits(data.data(), length)) << length;
  }
  EXPECT_EQ(checksum(bytes(1000).data(), 1000), 0x8D3E88D833CD4A80ull);
}

TEST(Checksum, InPiecesIsTheSame) {
  const std::vector<unsigned char> data = bytes((1 << 20) + 7);
  for (const size_t piece : {size_t{1}, size_t{63}, size_t{64}, size_t{256}, size_t{1} << 18}) {
    Checksum sum;
    const size_t length = piece == 1 ? 5000 : data.size();
    for (size_t at = 0; at < length; at += piece) sum.add(data.data() + at, std::min(piece, length - at));
    EXPECT_EQ(sum.value(), checksum(data.data(), length)) << piece;
  }
}

}  // namespace
}  // namespace basalt::format_v1
