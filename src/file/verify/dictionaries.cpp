// Comparing entries. They are looked at as what they are stored as: the entries of a list column, say, are lengths.
#include "file/verify/dictionaries.h"

#include <fmt/format.h>

#include <cstring>

#include "basalt/core/error.h"
#include "codec/dict/distinct.h"
#include "codec/dict/layout.h"
#include "codec/validity/layout.h"
#include "core/dispatch.h"
#include "file/verify/reasons.h"

namespace basalt::format_v1 {

namespace {

[[noreturn]] void fail_order(uint64_t entry) {
  fail(fmt::format("entries {} and {} of its dictionary do not ascend", entry - 1, entry));
}

// What is stored in full does not count.
uint64_t most_bytes(const NodeView& node, const DecodeLimits& limits) {
  const uint64_t stored = encoded_bytes(node);
  return limits.bytes > ~stored ? ~uint64_t{0} : limits.bytes + stored;
}

// Tile by tile, so that a dictionary that claims to be huge ends at its first fault.
void check_ascending(const NodeView& entries, const DecodeLimits& limits) {
  const std::unique_ptr<Reader> reader = open_reader(entries);
  if (entries.type == Physical::kBytes) {
    std::string before;
    StringRows rows;
    rows.limit = most_bytes(entries, limits);
    for (uint32_t tile = 0; tile < tile_count(entries.count); ++tile) {
      if (limits.cancel != nullptr) limits.cancel->check();
      rows.clear();
      reader->decode_tile(tile, rows);
      for (size_t i = 0; i < rows.size(); ++i) {
        const uint64_t entry = uint64_t{tile} * kTileRows + i;
        if (entry > 0 && (i == 0 ? std::string_view(before) : rows.at(i - 1)) >= rows.at(i)) fail_order(entry);
      }
      if (rows.size() > 0) before = rows.at(rows.size() - 1);
    }
    return;
  }
  dispatch_width(width_of(entries.type), [&](auto tag) {
    using T = decltype(tag);
    T values[kTileRows];
    T before{};
    for (uint32_t tile = 0; tile < tile_count(entries.count); ++tile) {
      if (limits.cancel != nullptr) limits.cancel->check();
      reader->decode_tile(tile, values);
      for (uint32_t i = 0; i < rows_in_tile(entries.count, tile); ++i) {
        const uint64_t entry = uint64_t{tile} * kTileRows + i;
        if (entry > 0 && order_key(before, entries.type) >= order_key(values[i], entries.type)) fail_order(entry);
        before = values[i];
      }
    }
  });
}

// All entries of a dictionary over the whole file, or of a chunk of such a file: at most 2^20.
struct Entries {
  Physical type = Physical::kNone;
  uint64_t count = 0;
  Buffer values;       // fixed width
  StringRows strings;  // bytes

  Entries(const NodeView& node, const DecodeLimits& limits) : type(node.type), count(node.count) {
    const uint32_t width = width_of(type);
    strings.limit = most_bytes(node, limits);
    if (count * width > strings.limit) fail_decoded_limit(count * width, strings.limit);
    const std::unique_ptr<Reader> reader = open_reader(node);
    // Tiles are written whole.
    if (width != 0) values.resize(static_cast<size_t>((count + kTileRows) * width));
    for (uint32_t tile = 0; tile < tile_count(count); ++tile) {
      if (limits.cancel != nullptr) limits.cancel->check();
      if (width == 0) {
        reader->decode_tile(tile, strings);
      } else {
        reader->decode_tile(tile, values.data() + size_t{tile} * kTileRows * width);
      }
    }
    if (reader->corrupt() || (width == 0 && strings.size() != count)) {
      fail("its entries break the rules of their encoding");
    }
  }

  bool same(uint64_t own, const Entries& other, uint64_t others) const {
    if (type == Physical::kBytes) return strings.at(own) == other.strings.at(others);
    const uint32_t width = width_of(type);
    return std::memcmp(values.data() + own * width, other.values.data() + others * width, width) == 0;
  }
};

// The dictionary of a chunk's values, below their NULLs if they have any; nullptr if they are stored otherwise.
const NodeView* dictionary_of(const NodeView& root) {
  const NodeView* values = &root;
  if (root.codec != nullptr && root.codec->holds_nulls()) {
    values = root.children.size() > validity::kValues ? &root.children[validity::kValues] : nullptr;
  }
  const bool found = values != nullptr && values->codec != nullptr && values->codec->holds_entries();
  return found ? values : nullptr;
}

void check_chunk_entries(const File& file, uint32_t field_id, uint32_t chunk, const Entries& all,
                         const DecodeLimits& limits, std::vector<bool>& used) {
  const EncodedChunk encoded = file.read_chunk(field_id, chunk);
  const NodeView* dict = dictionary_of(encoded.root);
  if (dict == nullptr) fail(fmt::format("chunk {} has no dictionary of its own", chunk));
  const std::vector<uint32_t> map = file.read_code_map(field_id, chunk);  // as long as the chunk's entries
  const Entries own(dict->children.at(dict::kEntries), limits);
  for (uint64_t i = 0; i < own.count; ++i) {
    const uint64_t place = map.empty() ? i : map[i];
    if (!own.same(i, all, place)) {
      fail(fmt::format("entry {} of chunk {} differs from the dictionary of the file", i, chunk));
    }
    used[place] = true;
  }
}

}  // namespace

void check_dictionaries(const NodeView& root, const DecodeLimits& limits) {
  for (const NodeView& child : root.children) check_dictionaries(child, limits);
  if (root.codec == nullptr || !root.codec->holds_entries()) return;
  check_ascending(root.children.at(dict::kEntries), limits);
}

void check_file_dictionary(const File& file, uint32_t field_id, const DecodeLimits& limits) {
  const ColumnInfo& info = file.column(field_id);
  if (!info.has_dictionary) return;
  try {
    const EncodedChunk dictionary = file.read_dictionary(field_id);
    if (dictionary.root.type == Physical::kNone) fail("a struct has no values that a dictionary could hold");
    check_ascending(dictionary.root, limits);
    const Entries all(dictionary.root, limits);
    std::vector<bool> used(all.count, false);
    for (uint32_t chunk = 0; chunk < info.chunks.size(); ++chunk) {
      check_chunk_entries(file, field_id, chunk, all, limits, used);
    }
    for (uint64_t i = 0; i < used.size(); ++i) {
      if (!used[i]) fail(fmt::format("entry {} is in no chunk", i));
    }
  } catch (const Error& error) {
    throw error.within(fmt::format("{}: column {}, dictionary", file.name(), info.path));
  }
}

}  // namespace basalt::format_v1
