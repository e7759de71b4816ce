// Measuring and comparing traits.
#include "encoding/text_traits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "codec/dict/distinct.h"
#include "core/bitmap.h"

namespace basalt {

namespace {

// Shares that differ by less than this are taken for the same; sizes, by this part of the larger one.
constexpr double kNear = 0.02;
constexpr double kNearPart = 0.15;
// Entropy moves little and means much.
constexpr double kNearEntropy = 0.05;

bool is_near(double a, double b, double part, double absolute) {
  return std::abs(a - b) <= std::max(absolute, part * std::max(a, b));
}

double entropy_of(std::string_view bytes) {
  // Four tables: equal bytes in a row would wait for each other.
  std::array<std::array<uint32_t, 256>, 4> counts{};
  for (size_t i = 0; i < bytes.size(); ++i) ++counts[i % 4][static_cast<uint8_t>(bytes[i])];
  double bits = 0;
  for (size_t byte = 0; byte < 256; ++byte) {
    const uint32_t count = counts[0][byte] + counts[1][byte] + counts[2][byte] + counts[3][byte];
    if (count == 0) continue;
    const double share = static_cast<double>(count) / static_cast<double>(bytes.size());
    bits -= share * std::log2(share);
  }
  return bits;
}

}  // namespace

TextTraits traits_of(const Values& sample) {
  TextTraits traits;
  if (sample.count == 0) return traits;
  const auto rows = static_cast<double>(sample.count);
  const std::string_view bytes{sample.bytes + sample.offsets[0],
                               static_cast<size_t>(sample.offsets[sample.count] - sample.offsets[0])};
  traits.mean_length = static_cast<double>(bytes.size()) / rows;
  if (sample.validity != nullptr) {
    traits.valid_share = static_cast<double>(count_bits(sample.validity, 0, sample.count)) / rows;
  }
  NumberTable<TextKey> table;
  uint32_t before = ~0u;
  uint64_t changes = 0;
  for (uint64_t row = 0; row < sample.count; ++row) {
    const std::string_view text = sample.string(row);
    const uint32_t number = table.number_of(TextKey(text, bytes.data() + bytes.size()), [](uint32_t) { return true; });
    changes += number != before ? 1 : 0;
    before = number;
  }
  traits.new_share = static_cast<double>(changes) / rows;
  traits.distinct_share = static_cast<double>(table.size()) / rows;
  traits.bits_per_byte = entropy_of(bytes);
  return traits;
}

bool look_alike(const TextTraits& a, const TextTraits& b) {
  return is_near(a.mean_length, b.mean_length, kNearPart, 0) && is_near(a.valid_share, b.valid_share, 0, kNear) &&
         is_near(a.new_share, b.new_share, kNearPart, kNear) &&
         is_near(a.distinct_share, b.distinct_share, kNearPart, kNear) &&
         is_near(a.bits_per_byte, b.bits_per_byte, kNearEntropy, 0);
}

}  // namespace basalt
