// Sealing a damaged file again, for tests of the checks behind the checksums.
#include <format_generated.h>

#include <cstring>

#include "file/flatbuffer_checks.h"
#include "file/format.h"
#include "file/test_tables.h"

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
    postscript.checksum = checksum(&postscript, kPostscriptChecked);
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

void shift_arrays(const format::Arrays* arrays, uint64_t shift) {
  for (const format::Stream* stream : *arrays->streams()) {
    if (stream->length() == 0) continue;
    *const_cast<format::Stream*>(stream) = format::Stream(stream->offset() + shift, stream->length());
  }
}

format::Place shifted(std::vector<std::byte>& bytes, const format::Place& place, uint64_t shift) {
  return {place.offset() + shift, place.length(), checksum(bytes.data() + place.offset(), place.length())};
}

std::vector<StreamPlace> places_of(const format::Arrays* arrays) {
  std::vector<StreamPlace> places;
  for (const format::Stream* stream : *arrays->streams()) places.push_back({stream->offset(), stream->length()});
  return places;
}

void set_places(const format::Arrays* arrays, const std::vector<StreamPlace>& places) {
  for (uint32_t i = 0; i < places.size(); ++i) {
    *const_cast<format::Stream*>(arrays->streams()->Get(i)) = format::Stream(places[i].offset, places[i].length);
  }
}

}  // namespace

void edit_places(std::vector<std::byte>& bytes, uint32_t column, const std::function<void(ColumnPlaces&)>& edit) {
  Postscript postscript;
  std::memcpy(&postscript, bytes.data() + bytes.size() - sizeof(Postscript), sizeof(postscript));
  const auto* footer = flatbuffers::GetRoot<format::Footer>(bytes.data() + postscript.footer_offset);
  const format::Column* entry = footer->columns()->Get(column);
  const auto* metadata = flatbuffers::GetRoot<format::ColumnMetadata>(bytes.data() + entry->metadata()->offset());
  const format::DictionaryMetadata* dictionary =
      entry->dictionary() == nullptr
          ? nullptr
          : flatbuffers::GetRoot<format::DictionaryMetadata>(bytes.data() + entry->dictionary()->offset());
  ColumnPlaces places;
  places.streams = places_of(metadata->arrays());
  for (const format::ColumnChunk* chunk : *metadata->chunks()) {
    places.regions.push_back({chunk->region_offset(), chunk->region_length()});
  }
  if (dictionary != nullptr) places.dictionary = places_of(dictionary->arrays());
  edit(places);
  set_places(metadata->arrays(), places.streams);
  if (dictionary != nullptr) set_places(dictionary->arrays(), places.dictionary);
  for (uint32_t i = 0; i < places.regions.size(); ++i) {
    const format::ColumnChunk* chunk = metadata->chunks()->Get(i);
    *const_cast<format::ColumnChunk*>(chunk) =
        format::ColumnChunk(chunk->rows(), chunk->plain_bytes(), places.regions[i].offset, places.regions[i].length,
                            chunk->distinct(), chunk->shape(), chunk->flags(), 0);
  }
  reseal(bytes);
}

void shift_offsets(std::vector<std::byte>& bytes, uint64_t shift) {
  std::byte* end = bytes.data() + bytes.size() - sizeof(Postscript);
  Postscript postscript;
  std::memcpy(&postscript, end, sizeof(postscript));
  const auto* footer = flatbuffers::GetRoot<format::Footer>(bytes.data() + postscript.footer_offset);
  for (const format::Column* column : *footer->columns()) {
    const format::Place* place = column->metadata();
    const auto* metadata = flatbuffers::GetRoot<format::ColumnMetadata>(bytes.data() + place->offset());
    shift_arrays(metadata->arrays(), shift);
    for (const format::ColumnChunk* chunk : *metadata->chunks()) {
      if (chunk->region_length() == 0) continue;
      *const_cast<format::ColumnChunk*>(chunk) =
          format::ColumnChunk(chunk->rows(), chunk->plain_bytes(), chunk->region_offset() + shift,
                              chunk->region_length(), chunk->distinct(), chunk->shape(), chunk->flags(), 0);
    }
    *const_cast<format::Place*>(place) = shifted(bytes, *place, shift);
    if (const format::Place* dictionary = column->dictionary()) {
      shift_arrays(flatbuffers::GetRoot<format::DictionaryMetadata>(bytes.data() + dictionary->offset())->arrays(),
                   shift);
      *const_cast<format::Place*>(dictionary) = shifted(bytes, *dictionary, shift);
    }
  }
  postscript.footer_checksum = checksum(bytes.data() + postscript.footer_offset, postscript.footer_length);
  postscript.footer_offset += shift;
  postscript.checksum = checksum(&postscript, kPostscriptChecked);
  std::memcpy(end, &postscript, sizeof(postscript));
}

bool reseal(std::vector<std::byte>& bytes) { return Resealer(bytes).run(); }

}  // namespace basalt::test
