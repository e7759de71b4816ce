// From encoded chunks to columns: rows of one array, whole columns with their children, whole tables in parallel.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <new>
#include <numeric>

#include "basalt/core/error.h"
#include "basalt/core/threads.h"
#include "basalt/file/reader.h"
#include "core/bitmap.h"
#include "core/saturating.h"
#include "core/utf8.h"
#include "file/decoded_size.h"
#include "file/encoded_chunks.h"

namespace basalt {

namespace {

void check_intact(const Reader& reader) {
  if (reader.corrupt()) throw Error(ErrorCode::kCorrupt, "its values break the rules of their encoding");
}

// From here on memory for strings is taken once, for all that are left.
constexpr uint64_t kLargeBytes = 32 << 20;
// What the place of a list or string takes: its offset.
constexpr uint64_t kFewRows = 16;  // of strings, which are looked for one by one
constexpr uint64_t kOffsetBytes = 8;
// The same as writers count it when they cut chunks: what they write as one has to be readable as one.
constexpr uint64_t kWrittenOffsetBytes = 4;

// Rows [begin, end) of a fixed-width array, decoded tile by tile.
Buffer decode_fixed(const NodeView& node, uint64_t begin, uint64_t end, const DecodeLimits& limits) {
  const uint32_t width = width_of(node.type);
  if (width == 0) throw Error(ErrorCode::kInternal, "a fixed-width array was expected");
  if (end - begin > limits.bytes / width) fail_decoded_limit((end - begin) * width, limits.bytes);
  Buffer out;
  // Every tile is written whole, the last one too.
  out.reserve(static_cast<size_t>((end - begin + kTileRows) * width));
  out.resize(static_cast<size_t>((end - begin) * width));
  if (begin == end) return out;
  const std::unique_ptr<Reader> reader = open_reader(node);
  Buffer partial;
  for (uint64_t row = begin; row < end;) {
    if (limits.cancel != nullptr) limits.cancel->check();
    const auto tile = static_cast<uint32_t>(row / kTileRows);
    const uint64_t first = uint64_t{tile} * kTileRows;
    const uint64_t next = std::min<uint64_t>(end, first + kTileRows);
    if (row == first) {
      reader->decode_tile(tile, out.data() + (row - begin) * width);
    } else {
      partial.resize(size_t{kTileRows} * width);
      reader->decode_tile(tile, partial.data());
      std::memcpy(out.data() + (row - begin) * width, partial.data() + (row - first) * width, (next - row) * width);
    }
    row = next;
  }
  check_intact(*reader);
  return out;
}

// Of rows [begin, end), without decoding them; of the first ones only where these exceed the limit.
uint64_t string_bytes(Reader& reader, uint64_t begin, uint64_t end, const DecodeLimits& limits) {
  std::array<uint32_t, kTileRows> lengths;
  uint64_t total = 0;
  for (uint64_t row = begin; row < end && total <= limits.bytes;) {
    if (limits.cancel != nullptr) limits.cancel->check();
    const auto tile = static_cast<uint32_t>(row / kTileRows);
    const uint64_t first = uint64_t{tile} * kTileRows;
    const uint64_t next = std::min<uint64_t>(end, first + kTileRows);
    reader.string_lengths(tile, lengths.data());
    total += std::accumulate(lengths.begin() + (row - first), lengths.begin() + (next - first), uint64_t{0});
    row = next;
  }
  return total;
}

// Rows [first, last) of a tile of strings, which are not all of it.
void decode_part(Reader& reader, uint32_t tile, uint32_t first, uint32_t last, StringRows& out) {
  std::vector<uint32_t> rows(last - first);
  std::iota(rows.begin(), rows.end(), tile * kTileRows + first);
  if (reader.most_bytes(tile) > kLargeBytes) return reader.gather(rows, out);
  StringRows whole;
  reader.decode_tile(tile, whole);
  if (whole.size() < last) throw Error(ErrorCode::kCorrupt, "a tile has too few strings");
  for (uint32_t row = first; row < last; ++row) {
    const std::string_view text = whole.at(row);
    out.check_room(text.size());
    out.bytes.append(text.data(), text.size());
    out.offsets.push_back(static_cast<int64_t>(out.bytes.size()));
  }
}

// As decode_strings() does, of a few rows.
void decode_few_strings(const NodeView& node, uint64_t begin, uint64_t end, const DecodeLimits& limits,
                        Column& column) {
  const std::unique_ptr<Reader> reader = node.codec->open_for_few(node);
  std::vector<uint32_t> rows(end - begin);
  std::iota(rows.begin(), rows.end(), static_cast<uint32_t>(begin));
  StringRows out;
  out.limit = limits.bytes;
  reader->gather(rows, out);
  if (out.size() != rows.size()) throw Error(ErrorCode::kCorrupt, "a tile has a wrong number of strings");
  check_intact(*reader);
  column.offsets.clear();
  column.offsets.append(out.offsets.data(), out.offsets.size() * sizeof(int64_t));
  column.bytes = std::move(out.bytes);
  if (column.type.kind == TypeKind::kUtf8) check_utf8(column, begin);
}

// Of all rows, as the first ones are; no more than is taken without asking.
size_t likely_bytes(uint64_t bytes, uint64_t rows, uint64_t all_rows, uint64_t limit) {
  const double each = static_cast<double>(bytes) / static_cast<double>(rows);
  const double likely = each * static_cast<double>(all_rows) * 1.02;
  return static_cast<size_t>(std::min(likely, static_cast<double>(std::min<uint64_t>(limit, kLargeBytes))));
}

void decode_strings(const NodeView& node, uint64_t begin, uint64_t end, const DecodeLimits& limits, Column& column) {
  if (end - begin > limits.bytes / kOffsetBytes) fail_decoded_limit((end - begin) * kOffsetBytes, limits.bytes);
  StringRows rows;
  rows.limit = limits.bytes - (end - begin) * kOffsetBytes;
  // UTF-8 is looked at tile by tile, while the bytes are in the cache: a pass of its own costs half as much as
  // decoding.
  const bool utf8 = column.type.kind == TypeKind::kUtf8;
  bool ascii = true;
  bool large = false;
  size_t checked = 0;
  column.offsets.clear();
  column.offsets.reserve(static_cast<size_t>((end - begin + 1) * sizeof(int64_t)));
  column.offsets.push(int64_t{0});
  if (begin < end) {
    const std::unique_ptr<Reader> reader = open_reader(node);
    for (uint64_t row = begin; row < end;) {
      if (limits.cancel != nullptr) limits.cancel->check();
      const auto tile = static_cast<uint32_t>(row / kTileRows);
      const uint64_t first = uint64_t{tile} * kTileRows;
      const uint64_t in_tile = rows_in_tile(node.count, tile);
      const uint64_t next = std::min<uint64_t>(end, first + in_tile);
      if (!large && rows.bytes.size() > kLargeBytes) {
        large = true;
        const uint64_t rest = string_bytes(*reader, row, end, {rows.limit - rows.bytes.size(), limits.cancel});
        rows.check_room(rest);
        rows.bytes.reserve(static_cast<size_t>(rows.bytes.size() + rest));
      }
      if (row == first && next == first + in_tile) {
        reader->decode_tile(tile, rows);
      } else {
        decode_part(*reader, tile, static_cast<uint32_t>(row - first), static_cast<uint32_t>(next - first), rows);
      }
      ascii = ascii && (!utf8 || is_ascii({rows.bytes.as<char>() + checked, rows.bytes.size() - checked}));
      checked = rows.bytes.size();
      if (rows.size() != next - row) throw Error(ErrorCode::kCorrupt, "a tile has a wrong number of strings");
      if (row == begin) rows.bytes.reserve(likely_bytes(rows.bytes.size(), next - row, end - begin, rows.limit));
      // Offsets of all rows are held once: under a list they may be most of what a column takes.
      column.offsets.append(rows.offsets.data() + 1, rows.size() * sizeof(int64_t));
      rows.offsets.assign(1, rows.offsets.back());
      row = next;
    }
    check_intact(*reader);
  }
  column.bytes = std::move(rows.bytes);
  if (!ascii) check_utf8(column, begin);
}

void decode_validity(const NodeView& node, uint64_t begin, uint64_t end, const DecodeLimits& limits, Column& column) {
  const Buffer flags = decode_fixed(node, begin, end, limits);
  const uint8_t* valid = flags.as<uint8_t>();
  const uint64_t rows = end - begin;
  column.validity.resize(static_cast<size_t>((rows + 7) / 8));
  uint8_t* bits = column.validity.as<uint8_t>();
  if (!column.validity.empty()) std::memset(bits, 0, column.validity.size());
  uint8_t seen = 0;
  uint64_t valid_rows = 0;
  for (uint64_t i = 0; i < rows; ++i) {
    seen |= valid[i];
    valid_rows += valid[i] & 1;
    bits[i >> 3] = static_cast<uint8_t>(bits[i >> 3] | (valid[i] & 1) << (i & 7));
  }
  if (seen > 1) throw Error(ErrorCode::kCorrupt, "a NULL flag is neither 0 nor 1");
  column.null_count = rows - valid_rows;
  if (column.null_count == 0) column.validity.clear();
}

void check_bools(const Column& column) {
  uint8_t seen = 0;
  for (const uint8_t value : column.values.span<uint8_t>()) seen |= value;
  if (seen > 1) throw Error(ErrorCode::kCorrupt, "a boolean is neither 0 nor 1");
}

void lengths_to_offsets(const Buffer& lengths, Column& column) {
  column.offsets.resize(static_cast<size_t>((column.length + 1) * sizeof(int64_t)));
  int64_t* offsets = column.offsets.as<int64_t>();
  offsets[0] = 0;
  for (uint64_t i = 0; i < column.length; ++i) offsets[i + 1] = offsets[i] + lengths.as<uint32_t>()[i];
}

// A field's column of one chunk with all that lies below it.
class ColumnDecoder {
 public:
  ColumnDecoder(const File& file, uint32_t chunk, const DecodeLimits& limits)
      : file_(file), chunk_(chunk), left_(limits) {}

  Column decode(const Field& field) { return decode(field, file_.read_chunk(field.id, chunk_)); }

  Column decode(const Field& field, const EncodedChunk& encoded) {
    Column column = guarded(field, [&] { return decode_rows(encoded.root, field.type, 0, encoded.root.count, left_); });
    // What lies below shares the limit.
    take_decoded(left_, column, encoded_bytes(encoded.root));
    for (const Field& child : field.children) {
      const uint64_t rows = file_.column(child.id).chunks[chunk_].rows;
      const uint64_t wanted = field.type.kind == TypeKind::kList
                                  ? static_cast<uint64_t>(column.offsets.as<int64_t>()[column.length])
                                  : column.length;
      guarded(field, [&] {
        if (rows != wanted) {
          throw Error(ErrorCode::kCorrupt,
                      fmt::format("it needs {} rows of {} but there are {}", wanted, child.name, rows));
        }
        return 0;
      });
      column.children.push_back(decode(child));
    }
    return column;
  }

  template <typename Body>
  auto guarded(const Field& field, Body&& body) const -> decltype(body()) {
    const auto place = [&] {
      return fmt::format("{}: column {}, chunk {} at byte {}", file_.name(), file_.column(field.id).path, chunk_,
                         file_.column(field.id).chunks[chunk_].region.offset);
    };
    try {
      return body();
    } catch (const Error& error) {
      throw error.within(place());
    } catch (const std::bad_alloc&) {
      throw Error(ErrorCode::kOutOfMemory, place() + ": there is not enough memory for its values");
    }
  }

 private:
  const File& file_;
  uint32_t chunk_;
  DecodeLimits left_;
};

DecodeLimits with_stored_bytes(DecodeLimits limits, const NodeView& root) {
  limits.bytes = add_saturated(limits.bytes, encoded_bytes(root));
  return limits;
}

bool has_nulls(const NodeView& root) { return root.codec != nullptr && root.codec->holds_nulls(); }

}  // namespace

uint64_t decoded_bytes(const NodeView& root, const DataType& type, const DecodeLimits& asked) {
  const uint64_t flags = has_nulls(root) ? root.count : 0;
  if (type.kind == TypeKind::kStruct) return flags;
  if (type.kind == TypeKind::kList) return flags + root.count * kOffsetBytes;
  if (physical_of(type) != Physical::kBytes) return flags + root.count * width_of(physical_of(type));
  DecodeLimits limits = with_stored_bytes(asked, root);
  const uint64_t places = flags + root.count * kOffsetBytes;
  if (places > limits.bytes) return places;
  limits.bytes -= places;
  const std::unique_ptr<Reader> reader = open_reader(has_nulls(root) ? root.children.at(1) : root);
  return places + string_bytes(*reader, 0, root.count, limits);
}

void take_decoded(DecodeLimits& left, const Column& column, uint64_t stored) {
  uint64_t taken = column.type.kind == TypeKind::kStruct ? column.validity.size() : 0;
  taken += column.values.size() + column.bytes.size();
  if (!column.offsets.empty()) taken += column.length * kWrittenOffsetBytes;
  if (left.bytes == ~uint64_t{0}) return;
  left.bytes -= std::min(left.bytes, taken - std::min(taken, stored));
}

void take_decoded(DecodeLimits& left, const File& file, const Field& field, uint32_t chunk, const Column& column) {
  take_decoded(left, column, file.column(field.id).chunks[chunk].encoded_bytes);
  for (size_t i = 0; i < field.children.size(); ++i) {
    take_decoded(left, file, field.children[i], chunk, column.children[i]);
  }
}

Column decode_rows(const NodeView& root, const DataType& type, uint64_t begin, uint64_t end,
                   const DecodeLimits& asked) {
  if (begin > end || end > root.count) {
    throw Error(ErrorCode::kInvalidArgument, fmt::format("rows {} to {} of {} were asked for", begin, end, root.count));
  }
  Column column;
  column.type = type;
  column.length = end - begin;
  const DecodeLimits limits = with_stored_bytes(asked, root);
  const NodeView* values = &root;
  if (has_nulls(root)) {
    decode_validity(root.children.at(0), begin, end, limits, column);
    values = root.children.size() > 1 ? &root.children[1] : nullptr;
  }
  if (type.kind == TypeKind::kStruct) return column;
  if (values == nullptr || values->codec == nullptr || values->type != physical_of(type)) {
    throw Error(ErrorCode::kInvalidArgument, "an encoded array of another type was given");
  }
  if (values->type == Physical::kBytes) {
    const bool few = begin < end && end - begin <= kFewRows && end - begin < root.count;
    (few ? decode_few_strings : decode_strings)(*values, begin, end, limits, column);
    return column;
  }
  if (type.kind == TypeKind::kList && end - begin > limits.bytes / kOffsetBytes) {
    fail_decoded_limit((end - begin) * kOffsetBytes, limits.bytes);
  }
  Buffer decoded = decode_fixed(*values, begin, end, limits);
  if (type.kind == TypeKind::kList) {
    lengths_to_offsets(decoded, column);
    return column;
  }
  column.values = std::move(decoded);
  if (type.kind == TypeKind::kBool) check_bools(column);
  return column;
}

Column File::decode_column(uint32_t column, uint32_t chunk, const DecodeLimits& limits) const {
  Column decoded = ColumnDecoder(*this, chunk, limits).decode(schema().fields.at(column));
  make_canonical(decoded);
  return decoded;
}

namespace {

std::vector<uint32_t> columns_of(const File& file, const ReadOptions& options) {
  std::vector<uint32_t> columns;
  for (const std::string& name : options.columns) columns.push_back(file.find_column(name));
  if (!options.columns.empty()) return columns;
  columns.resize(file.schema().fields.size());
  std::iota(columns.begin(), columns.end(), 0);
  return columns;
}

// Room for what a column has in all parts, so that no value is moved again.
void reserve_for(Column& column, const std::map<size_t, Table>& parts, size_t number) {
  size_t values = 0;
  size_t offsets = column.offsets.size();
  size_t bytes = 0;
  for (const auto& [place, part] : parts) {
    const Column& more = part.columns[number];
    values += more.values.size();
    offsets += more.offsets.size();
    bytes += more.bytes.size();
  }
  column.values.reserve(values);
  column.offsets.reserve(offsets);
  column.bytes.reserve(bytes);
}

// What the columns of a chunk may take together.
struct ChunkRoom {
  std::mutex mutex;
  uint64_t left = 0;
};

Column decode_range(const File& file, const Field& field, const EncodedChunk& encoded, const ChunkRange& range,
                    const DecodeLimits& limits) {
  ColumnDecoder decoder(file, range.chunk, limits);
  if (field.children.empty()) {
    return decoder.guarded(field,
                           [&] { return decode_rows(encoded.root, field.type, range.begin, range.end, limits); });
  }
  Column whole = decoder.decode(field, encoded);
  make_canonical(whole);
  // What it takes is what the limit allows: not twice.
  if (range.begin == 0 && range.end == whole.length) return whole;
  Column part = make_column(field);
  append_rows(part, whole, range.begin, range.end);
  return part;
}

// Columns whose size is known are decoded at the same time; of the others one after the other, since each may leave
// nothing to the next.
Column decode_in_room(const File& file, const Field& field, const EncodedChunk& encoded, const ChunkRange& range,
                      ChunkRoom& room, const CancelToken* cancel) {
  std::unique_lock lock(room.mutex);
  DecodeLimits limits{room.left, cancel};
  const bool sized = field.children.empty() && physical_of(field.type) != Physical::kBytes;
  if (sized && room.left != ~uint64_t{0}) {
    const uint64_t needed = (range.end - range.begin) * width_of(physical_of(field.type));
    room.left -= std::min(room.left, needed - std::min(needed, encoded_bytes(encoded.root)));
  }
  if (sized) lock.unlock();
  Column out = decode_range(file, field, encoded, range, limits);
  if (!sized) {
    take_decoded(limits, file, field, range.chunk, out);
    room.left = limits.bytes;
  }
  return out;
}

}  // namespace

Schema read_schema(const File& file, const ReadOptions& options) {
  Schema schema;
  for (const uint32_t column : columns_of(file, options)) schema.fields.push_back(file.schema().fields[column]);
  return schema;
}

void read_parts(const File& file, const ReadOptions& options,
                const std::function<void(size_t part, Table&& rows)>& take) {
  const std::vector<uint32_t> columns = columns_of(file, options);
  const uint64_t first_row = std::min(options.first_row, file.rows());
  const std::vector<ChunkRange> ranges = chunks_of(file, first_row, std::min(options.rows, file.rows() - first_row));
  EncodedChunks encoded(file, columns, ranges);

  struct Part {
    Table rows;
    ChunkRoom room;
    std::atomic<size_t> missing;
  };
  std::vector<Part> parts(ranges.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    parts[i].rows.rows = ranges[i].end - ranges[i].begin;
    parts[i].rows.schema = read_schema(file, options);
    parts[i].rows.columns.resize(columns.size());
    parts[i].room.left = options.limits.bytes;
    parts[i].missing = columns.size();
  }
  // Rows without columns are counted.
  for (size_t i = 0; i < parts.size() && columns.empty(); ++i) take(i, std::move(parts[i].rows));
  ThreadPool pool(options.threads);
  pool.parallel_for(columns.size() * ranges.size(), [&](uint64_t i) {
    const size_t number = i / columns.size();
    const size_t column = i % columns.size();
    const Field& field = file.schema().fields[columns[column]];
    Part& part = parts[number];
    part.rows.columns[column] =
        decode_in_room(file, field, encoded.take(column, number), ranges[number], part.room, options.limits.cancel);
    if (--part.missing > 0) return;
    Table rows = std::move(part.rows);  // goes with what is not taken of it
    take(number, std::move(rows));
  });
}

Table read_table(const File& file, const ReadOptions& options) {
  std::mutex mutex;
  std::map<size_t, Table> parts;
  read_parts(file, options, [&](size_t part, Table&& rows) {
    const std::lock_guard lock(mutex);
    parts[part] = std::move(rows);
  });
  if (parts.size() == 1) return std::move(parts.begin()->second);
  Table table;
  table.schema = read_schema(file, options);
  for (const auto& [number, part] : parts) table.rows += part.rows;
  table.columns.resize(table.schema.fields.size());
  ThreadPool pool(options.threads);
  pool.parallel_for(table.columns.size(), [&](uint64_t c) {
    Column& column = table.columns[c];
    column = make_column(table.schema.fields[c]);
    reserve_for(column, parts, c);
    for (auto& [number, part] : parts) {
      append_rows(column, part.columns[c], 0, part.rows);
      part.columns[c] = Column{};
    }
  });
  return table;
}

}  // namespace basalt
