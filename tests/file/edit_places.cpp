// Moving the places of streams inside of a file, for tests of how a reader checks them.
#include <format_generated.h>

#include <cstring>

#include "file/format.h"
#include "file/test_files.h"

namespace basalt::test {

namespace {

using namespace format_v1;

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
  seal(postscript);
  std::memcpy(end, &postscript, sizeof(postscript));
}

}  // namespace basalt::test
