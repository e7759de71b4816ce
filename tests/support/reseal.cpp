// Sealing a damaged file again, for tests of the checks behind the checksums.
#include <format_generated.h>

#include <algorithm>
#include <cstring>

#include "file/flatbuffer_checks.h"
#include "file/format.h"
#include "support/crafted_file.h"

namespace basalt::test {

namespace {

using namespace format_v1;

class Resealer {
 public:
  explicit Resealer(std::vector<std::byte>& bytes) : bytes_(bytes) {}

  bool run() {
    if (bytes_.size() < kHeaderBytes + sizeof(Postscript)) return false;
    std::byte* end = bytes_.data() + bytes_.size() - sizeof(Postscript);
    Postscript postscript;
    std::memcpy(&postscript, end, sizeof(postscript));
    const bool found = seal_footer(postscript);
    seal(postscript);
    std::memcpy(end, &postscript, sizeof(postscript));
    return found;
  }

 private:
  bool inside(uint64_t offset, uint64_t length) const {
    return offset <= bytes_.size() && length <= bytes_.size() - offset;
  }
  template <typename Root>
  const Root* root(uint64_t offset, uint64_t length) const {
    if (!inside(offset, length) || offset % 8 != 0 || length == 0) return nullptr;
    const auto* data = reinterpret_cast<const uint8_t*>(bytes_.data() + offset);
    flatbuffers::Verifier verifier(data, length, 16, 1 << 20);
    return verifier.VerifyBuffer<Root>(nullptr) ? flatbuffers::GetRoot<Root>(data) : nullptr;
  }

  bool seal_footer(Postscript& postscript) {
    if (!inside(postscript.footer_offset, postscript.footer_length)) return false;
    const auto* footer = root<format::Footer>(postscript.footer_offset, postscript.footer_length);
    if (footer != nullptr && footer->columns() != nullptr) {
      for (const format::Column* column : *footer->columns()) {
        if (column->metadata() != nullptr) seal_block<format::ColumnMetadata>(*column->metadata());
        if (column->dictionary() != nullptr) seal_block<format::DictionaryMetadata>(*column->dictionary());
      }
    }
    postscript.footer_checksum = checksum(bytes_.data() + postscript.footer_offset, postscript.footer_length);
    return footer != nullptr;
  }

  template <typename Root>
  void seal_block(const format::Place& place) {
    if (const Root* metadata = root<Root>(place.offset(), place.length())) seal_arrays(metadata->arrays());
    if (!inside(place.offset(), place.length())) return;
    auto* mutable_place = const_cast<format::Place*>(&place);
    *mutable_place =
        format::Place(place.offset(), place.length(), checksum(bytes_.data() + place.offset(), place.length()));
  }

  void seal_arrays(const format::Arrays* arrays) {
    if (arrays == nullptr || arrays->streams() == nullptr || arrays->checksums() == nullptr) return;
    if (!is_aligned(arrays->streams())) return;
    uint32_t next = 0;
    for (const format::Stream* stream : *arrays->streams()) {
      if (!inside(stream->offset(), stream->length())) return;
      for (uint64_t at = 0; at < stream->length() && next < arrays->checksums()->size(); at += kChecksumBlock) {
        const uint64_t length = std::min(kChecksumBlock, stream->length() - at);
        const uint64_t sum = checksum(bytes_.data() + stream->offset() + at, length);
        auto* sums = const_cast<uint8_t*>(arrays->checksums()->Data());
        std::memcpy(sums + 8 * size_t{next++}, &sum, 8);
      }
    }
  }

  std::vector<std::byte>& bytes_;
};

}  // namespace

bool reseal(std::vector<std::byte>& bytes) { return Resealer(bytes).run(); }

}  // namespace basalt::test
