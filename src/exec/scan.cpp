// Scanning one chunk: the filter decides which rows of a tile live, then every output column appends exactly those. A
// tile whose rows all live is decoded straight into the output.
#include "basalt/exec/scan.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "basalt/core/error.h"
#include "core/bitmap.h"
#include "core/saturating.h"
#include "core/utf8.h"
#include "exec/filter.h"
#include "file/decoded_size.h"

namespace basalt {

namespace {

// Bytes of strings after which a batch is given out.
constexpr uint64_t kBatchBytes = 16 << 20;
// A list of strings is not worth its making where a filter leaves fewer rows than it has entries; short ones cost
// little.
constexpr uint64_t kShortList = 4096;

bool is_nested(const DataType& type) { return type.kind == TypeKind::kList || type.kind == TypeKind::kStruct; }

// Empties a column but keeps its memory.
void clear_column(Column& column) {
  column.length = 0;
  column.null_count = 0;
  column.values.clear();
  column.offsets.clear();
  column.bytes.clear();
  column.validity.clear();
  if (column.type.kind == TypeKind::kUtf8 || column.type.kind == TypeKind::kBinary) column.offsets.push(int64_t{0});
}

// Eight bytes of 0 or 1 become eight bits.
void pack_bits(const uint8_t* bytes, uint32_t count, uint8_t* bits) {
  uint32_t i = 0;
  for (; i + 8 <= count; i += 8) {
    uint64_t word;
    std::memcpy(&word, bytes + i, 8);
    bits[i / 8] = static_cast<uint8_t>((word * 0x0102040810204080u) >> 56);
  }
  if (i < count) bits[i / 8] = 0;
  for (; i < count; ++i) put_bit(bits, i, bytes[i] != 0);
}

}  // namespace

struct ChunkScan::State {
  // One column of the result: read through `tiles`, or decoded as a whole where it is nested.
  struct Output {
    uint32_t column = 0;                  // top-level
    uint32_t tile_column = ~0u;           // index into pipeline columns; nested columns have none
    std::shared_ptr<const Column> whole;  // nested: the chunk's rows
    bool any_null = false;
    std::vector<uint8_t> valid;  // of the batch, one byte per row
    bool decided = false;        // whether it comes as codes
    const StringRows* entries = nullptr;
  };

  std::shared_ptr<const File> file;
  uint32_t chunk = 0;
  std::vector<PipelineColumn> columns;  // the filter's, then those only given back
  std::vector<Output> outputs;
  bool row_numbers = false;
  uint32_t batch_rows = 0;
  uint64_t most_entries = 0;  // of strings that come as codes
  Expr predicate;
  bool has_filter = false;

  exec::ChunkTiles tiles;
  std::unique_ptr<exec::Filter> filter;
  bool opened = false;
  Decision whole = Decision::kUnknown;
  ChunkPart part;
  DecodeLimits limits;
  ColumnCache::Use* cache = nullptr;
  uint32_t next_tile = 0;
  uint32_t end_tile = 0;
  uint32_t given = 0;  // of the current tile's alive rows, where it is not given out as a whole
  bool in_tile = false;
  ScanCounters counters;
  Schema schema;

  void open();
  bool next_rows();                       // advances to a tile with alive rows
  bool keep_rows_of_part(uint32_t tile);  // false: it has none
  void fill(Table& out);
  uint64_t rows_to_come() const;
  void reserve(Table& out) const;
  // Which of the tile's alive rows come next: all that are left, or as many as keep the batch's strings below
  // kBatchBytes, but one at least.
  uint32_t rows_that_fit(const Table& out);
  void append_rows_of_tile(Table& out, uint32_t first, uint32_t count);
  void decide_codes(Output& output);
  void append_codes(exec::ArrayTiles& values, Column& target, uint32_t first, uint32_t count);
  void append_column(Output& output, Column& target, uint32_t first, uint32_t count);
  void append_strings(exec::ArrayTiles& values, Column& target, uint32_t first, uint32_t count);
  void append_some_strings(exec::ArrayTiles& values, Column& target, uint32_t first, uint32_t count);
  void append_nested(Output& output, Column& target, uint32_t first, uint32_t count);
  void finish_column(Output& output, Column& column, uint64_t rows) const;
  void check_column(const Column& column, const std::string& name) const;
  [[noreturn]] void fail_column(const std::string& name, const char* fault) const;
};

void ChunkScan::State::open() {
  tiles.open(*file, columns, chunk, part.shared.get(), cache);
  tiles.set_decoded_limit(limits.bytes);
  end_tile = std::min(part.end_tile, tiles.tiles());
  next_tile = std::min(part.first_tile, end_tile);
  counters.tiles.total = end_tile - next_tile;
  part.end_row = std::min(part.end_row, tiles.chunk_rows());
  whole = filter->open_chunk(tiles, true);
  if (whole == Decision::kNone) {
    counters.tiles.skipped = counters.tiles.total;
    next_tile = end_tile;
  }
  if (whole == Decision::kAll && has_filter) counters.tiles.all_true = counters.tiles.total;
  opened = true;
}

bool ChunkScan::State::next_rows() {
  while (next_tile < end_tile) {
    if (limits.cancel != nullptr) limits.cancel->check();
    const uint32_t tile = next_tile++;
    const Decision zone = whole == Decision::kAll ? Decision::kAll : filter->zone(tile / kTilesPerZone);
    if (zone == Decision::kNone) {
      ++counters.tiles.skipped;
      continue;
    }
    tiles.begin(tile);
    if (!keep_rows_of_part(tile)) continue;
    if (zone == Decision::kAll) {
      if (whole != Decision::kAll) ++counters.tiles.all_true;
      return true;
    }
    const bool some = filter->run(tiles);
    tiles.count(counters.tiles);
    if (some) return true;
  }
  return false;
}

bool ChunkScan::State::keep_rows_of_part(uint32_t tile) {
  const uint64_t first = uint64_t{tile} * kTileRows;
  const uint64_t end = first + tiles.tile_rows();
  if (part.first_row <= first && end <= part.end_row) return true;
  std::array<uint8_t, kTileRows> mask{};
  const uint64_t begin = std::max(first, part.first_row);
  if (begin < std::min(end, part.end_row)) {
    std::fill(mask.begin() + static_cast<ptrdiff_t>(begin - first),
              mask.begin() + static_cast<ptrdiff_t>(std::min(end, part.end_row) - first), uint8_t{1});
  }
  tiles.keep(mask.data());
  return tiles.alive() > 0;
}

void ChunkScan::State::append_strings(exec::ArrayTiles& values, Column& target, uint32_t first, uint32_t count) {
  // The tile is decoded whole unless it is given out in parts, or is long and few of its rows are wanted.
  const bool in_parts = count < tiles.alive();
  if (in_parts || (count < tiles.tile_rows() && values.most_bytes(tiles.tile()) > kBatchBytes)) {
    return append_some_strings(values, target, first, count);
  }
  const StringRows& rows = values.strings(tiles.tile());
  const auto base = static_cast<int64_t>(target.bytes.size());
  const size_t at_row = target.offsets.size() / sizeof(int64_t);
  target.offsets.resize((at_row + count) * sizeof(int64_t));
  int64_t* offsets = target.offsets.as<int64_t>() + at_row;
  if (count == tiles.tile_rows()) {
    // As long as the rows of this tile are, so are probably the others.
    if (base == 0) target.bytes.reserve(std::min(kBatchBytes, rows.bytes.size() * (1 + rows_to_come() / kTileRows)));
    target.bytes.append(rows.bytes.data(), rows.bytes.size());
    for (uint32_t i = 0; i < count; ++i) offsets[i] = base + rows.offsets[i + 1];
    return;
  }
  const uint16_t* list = tiles.list();
  size_t total = 0;
  for (uint32_t i = 0; i < count; ++i) total += rows.at(list[i]).size();
  // Often the filter has left out empty strings and nothing else.
  const bool all_bytes = total == rows.bytes.size();
  if (all_bytes) target.bytes.append(rows.bytes.data(), total);
  target.bytes.resize(static_cast<size_t>(base) + total);
  int64_t at = base;
  for (uint32_t i = 0; i < count; ++i) {
    const std::string_view text = rows.at(list[i]);
    if (!all_bytes && !text.empty()) std::memcpy(target.bytes.data() + at, text.data(), text.size());
    at += static_cast<int64_t>(text.size());
    offsets[i] = at;
  }
}

// Without decoding the rest of the tile.
void ChunkScan::State::append_some_strings(exec::ArrayTiles& values, Column& target, uint32_t first, uint32_t count) {
  StringRows rows;
  values.gather_strings(tiles.tile(), tiles.list() + first, count, rows);
  const auto base = static_cast<int64_t>(target.bytes.size());
  if (base == 0) {
    target.bytes = std::move(rows.bytes);
  } else {
    target.bytes.append(rows.bytes.data(), rows.bytes.size());
  }
  for (uint32_t i = 0; i < count; ++i) target.offsets.push(base + rows.offsets[i + 1]);
}

void ChunkScan::State::append_nested(Output& output, Column& target, uint32_t first, uint32_t count) {
  const auto decode = [&] {
    DecodeLimits left{tiles.decoded_room(), limits.cancel};
    Column rows = file->decode_column(output.column, chunk, left);
    take_decoded(left, *file, file->schema().fields[output.column], chunk, rows);
    tiles.decoded_room() = left.bytes;
    if (rows.length != tiles.chunk_rows()) {
      throw Error(ErrorCode::kCorrupt, file->name() + ": column " + schema.fields[&output - outputs.data()].name +
                                           ": chunk " + std::to_string(chunk) + " has a wrong number of rows");
    }
    return rows;
  };
  // Few rows may be long: those that are all of a chunk are not held twice.
  if (target.length == 0 && count == tiles.chunk_rows() && part.shared == nullptr) {
    target = decode();
    return;
  }
  if (output.whole == nullptr) {
    const auto decode_shared = [&] { return std::make_shared<const Column>(decode()); };
    const uint32_t field = file->schema().fields[output.column].id;
    output.whole = part.shared != nullptr ? part.shared->get_decoded(field, decode_shared) : decode_shared();
  }
  const uint64_t first_row = uint64_t{tiles.tile()} * kTileRows;
  const uint16_t* list = tiles.list() + first;
  for (uint32_t i = 0; i < count;) {
    uint32_t end = i + 1;
    while (end < count && list[end] == list[end - 1] + 1) ++end;
    append_rows(target, *output.whole, first_row + list[i], first_row + list[end - 1] + 1);
    i = end;
  }
}

void ChunkScan::State::decide_codes(Output& output) {
  if (output.decided) return;
  output.decided = true;
  const Field& field = schema.fields[&output - outputs.data()];
  if (most_entries == 0 || physical_of(field.type) != Physical::kBytes) return;
  exec::ColumnChunk& source = tiles.chunk_column(output.tile_column);
  exec::ArrayTiles& values = source.values();
  const StringRows* entries = source.placed([&] { return values.entries(); });
  if (entries == nullptr || entries->size() > most_entries) return;
  // As the rows of this tile are, so are probably the others.
  const uint64_t rows_to_come = uint64_t{tiles.alive()} * (end_tile - tiles.tile());
  if (entries->size() > std::max(kShortList, rows_to_come)) return;
  if (field.type.kind == TypeKind::kUtf8 &&
      !are_utf8(entries->bytes.as<char>(), entries->offsets.data(), entries->size())) {
    fail_column(field.name, "a string is not valid UTF-8");
  }
  output.entries = entries;
}

void ChunkScan::State::append_codes(exec::ArrayTiles& values, Column& target, uint32_t first, uint32_t count) {
  std::array<uint32_t, kTileRows> codes;
  values.codes(tiles.tile(), codes.data());
  const size_t at = target.values.size();
  target.values.resize(at + count * sizeof(uint32_t));
  auto* to = reinterpret_cast<uint32_t*>(target.values.data() + at);
  if (count == tiles.tile_rows()) {
    std::copy_n(codes.data(), count, to);
    return;
  }
  const uint16_t* list = tiles.list() + first;
  for (uint32_t i = 0; i < count; ++i) to[i] = codes[list[i]];
}

void ChunkScan::State::append_column(Output& output, Column& target, uint32_t first, uint32_t count) {
  if (output.tile_column == ~0u) return append_nested(output, target, first, count);
  exec::ColumnChunk& source = tiles.chunk_column(output.tile_column);
  const bool all = count == tiles.tile_rows();
  if (output.entries != nullptr) {
    exec::ArrayTiles& values = source.values();
    source.placed([&] { append_codes(values, target, first, count); });
  } else if (physical_of(target.type) == Physical::kBytes) {
    exec::ArrayTiles& values = source.values();
    source.placed([&] { append_strings(values, target, first, count); });
  } else {
    const size_t width = width_of(physical_of(target.type));
    const size_t at = target.length * width;
    // A tile is always written whole.
    target.values.resize(at + kTileRows * width);
    if (all) {
      source.values().copy_tile(tiles.tile(), target.values.data() + at);
    } else {
      source.values().copy_rows(tiles.tile(), tiles.list() + first, count, target.values.data() + at);
    }
    target.values.resize(at + count * width);
  }
  const uint8_t* valid = source.valid(tiles.tile());
  uint8_t* bytes = output.valid.data() + target.length;
  if (valid == nullptr) {
    std::memset(bytes, 1, count);
  } else {
    output.any_null = true;
    if (all) {
      std::memcpy(bytes, valid, count);
    } else {
      const uint16_t* list = tiles.list() + first;
      for (uint32_t i = 0; i < count; ++i) bytes[i] = valid[list[i]];
    }
  }
  target.length += count;
}

void ChunkScan::State::append_rows_of_tile(Table& out, uint32_t first, uint32_t count) {
  for (size_t i = 0; i < outputs.size(); ++i) append_column(outputs[i], out.columns[i], first, count);
  if (row_numbers) {
    Column& target = out.columns.back();
    const uint64_t first_row = file->chunks()[chunk].first_row + uint64_t{tiles.tile()} * kTileRows;
    const uint16_t* list = tiles.list() + first;
    target.values.resize((target.length + count) * sizeof(int64_t));
    int64_t* numbers = target.values.as<int64_t>() + target.length;
    for (uint32_t i = 0; i < count; ++i) numbers[i] = static_cast<int64_t>(first_row + list[i]);
    target.length += count;
  }
  out.rows += count;
  counters.rows_out += count;
}

uint32_t ChunkScan::State::rows_that_fit(const Table& out) {
  uint64_t before = 0;
  uint64_t most = 0;
  std::vector<uint32_t> texts;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].tile_column == ~0u || physical_of(out.columns[i].type) != Physical::kBytes) continue;
    decide_codes(outputs[i]);
    if (outputs[i].entries != nullptr) continue;
    texts.push_back(outputs[i].tile_column);
    before += out.columns[i].bytes.size();
    exec::ColumnChunk& column = tiles.chunk_column(texts.back());
    exec::ArrayTiles& values = column.values();
    most += column.placed([&] { return values.most_bytes(tiles.tile()); });
  }
  const uint32_t left = tiles.alive() - given;
  if (before + most <= kBatchBytes) return left;
  std::array<uint64_t, kTileRows> bytes{};
  for (const uint32_t text : texts) {
    std::array<uint32_t, kTileRows> lengths;
    tiles.chunk_column(text).values().string_lengths(tiles.tile(), lengths.data());
    for (uint32_t row = 0; row < tiles.tile_rows(); ++row) bytes[row] += lengths[row];
  }
  const uint16_t* list = tiles.list() + given;
  uint32_t count = 0;
  for (; count < left && before + bytes[list[count]] <= kBatchBytes; ++count) before += bytes[list[count]];
  if (count > 0 || out.rows > 0) return count;
  // A row that is longer than a batch goes alone, if all of its strings may be held at once.
  uint64_t most_of_row = tiles.decoded_room();
  for (const uint32_t text : texts) {
    most_of_row = add_saturated(most_of_row, tiles.chunk_column(text).info().encoded_bytes);
  }
  if (bytes[list[0]] > most_of_row) fail_decoded_limit(bytes[list[0]], most_of_row);
  return 1;
}

// Of the batch, where no filter decides: rounded up to tiles.
uint64_t ChunkScan::State::rows_to_come() const {
  if (whole != Decision::kAll) return 0;
  return std::min(uint64_t{batch_rows}, uint64_t{end_tile - next_tile} * kTileRows);
}

// Growing step by step would touch twice the memory.
void ChunkScan::State::reserve(Table& out) const {
  const uint64_t rows = rows_to_come();
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].tile_column == ~0u) continue;
    Column& column = out.columns[i];
    const bool is_text = physical_of(column.type) == Physical::kBytes;
    Buffer& buffer = is_text ? column.offsets : column.values;
    buffer.reserve(is_text ? (rows + 1) * sizeof(int64_t) : rows * width_of(physical_of(column.type)));
  }
}

void ChunkScan::State::fill(Table& out) {
  reserve(out);
  for (;;) {
    if (!in_tile) {
      // Whatever the next tile leaves must fit.
      if (out.rows + kTileRows > batch_rows || !next_rows()) return;
      in_tile = true;
      given = 0;
    }
    const uint32_t count = rows_that_fit(out);
    if (count > 0) append_rows_of_tile(out, given, count);
    given += count;
    in_tile = given < tiles.alive();
    if (in_tile) return;
  }
}

void ChunkScan::State::check_column(const Column& column, const std::string& name) const {
  const char* fault = nullptr;
  if (column.type.kind == TypeKind::kUtf8 && find_invalid_utf8(column)) fault = "a string is not valid UTF-8";
  if (column.type.kind == TypeKind::kBool) {
    uint8_t seen = 0;
    for (const uint8_t value : column.values.span<uint8_t>()) seen |= value;
    if (seen > 1) fault = "a boolean is neither 0 nor 1";
  }
  if (fault != nullptr) fail_column(name, fault);
}

void ChunkScan::State::fail_column(const std::string& name, const char* fault) const {
  throw Error(ErrorCode::kCorrupt,
              file->name() + ": column " + name + ": chunk " + std::to_string(chunk) + ": " + fault);
}

void ChunkScan::State::finish_column(Output& output, Column& column, uint64_t rows) const {
  if (output.tile_column == ~0u || !output.any_null) return;
  column.validity.resize((rows + 7) / 8);
  pack_bits(output.valid.data(), static_cast<uint32_t>(rows), column.validity.as<uint8_t>());
  column.null_count = rows - count_bits(column.validity.as<uint8_t>(), 0, rows);
  if (column.null_count == 0) column.validity.clear();
}

std::vector<ChunkPart> split_chunk(const File& file, uint32_t chunk, uint32_t wanted) {
  constexpr uint32_t kLeastTiles = 64;
  const uint32_t tiles = tile_count(file.chunks().at(chunk).rows);
  const uint32_t zones = (tiles + kTilesPerZone - 1) / kTilesPerZone;
  const uint32_t count = std::max(1u, std::min(wanted, tiles / kLeastTiles));
  const auto shared = count > 1 ? std::make_shared<exec::SharedChunk>(count) : nullptr;
  std::vector<ChunkPart> parts;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t end = i + 1 == count ? tiles : zones * (i + 1) / count * kTilesPerZone;
    parts.push_back({zones * i / count * kTilesPerZone, end, shared});
  }
  return parts;
}

ChunkPart clip_part(ChunkPart part, uint64_t first_row, uint64_t end_row) {
  part.first_row = std::max(part.first_row, first_row);
  part.end_row = std::max(std::min(part.end_row, end_row), part.first_row);
  part.first_tile =
      static_cast<uint32_t>(std::clamp<uint64_t>(part.first_row / kTileRows, part.first_tile, part.end_tile));
  const uint64_t tiles = part.end_row / kTileRows + (part.end_row % kTileRows != 0 ? 1 : 0);
  part.end_tile = static_cast<uint32_t>(std::clamp<uint64_t>(tiles, part.first_tile, part.end_tile));
  return part;
}

ChunkScan::ChunkScan(std::shared_ptr<const File> file, uint32_t chunk, std::vector<uint32_t> columns,
                     const Expr* filter, std::vector<PipelineColumn> filter_columns, bool row_numbers,
                     uint32_t batch_rows, ChunkPart part, DecodeLimits limits)
    : state_(std::make_unique<State>()) {
  State& state = *state_;
  if (chunk >= file->chunks().size()) {
    throw Error(ErrorCode::kInvalidArgument, file->name() + ": there is no chunk " + std::to_string(chunk));
  }
  state.file = std::move(file);
  state.chunk = chunk;
  state.part = std::move(part);
  state.limits = limits;
  state.columns = std::move(filter_columns);
  state.row_numbers = row_numbers;
  state.batch_rows = std::max(batch_rows, kTileRows);
  if (filter != nullptr) {
    exec::check_expression(*filter, state.columns);
    state.predicate = *filter;
    state.has_filter = true;
  }
  state.filter = std::make_unique<exec::Filter>(state.has_filter ? &state.predicate : nullptr);
  const std::vector<Field>& fields = state.file->schema().fields;
  for (const uint32_t column : columns) {
    if (column >= fields.size()) {
      throw Error(ErrorCode::kInvalidArgument, state.file->name() + ": there is no column " + std::to_string(column));
    }
    const Field& field = fields[column];
    State::Output output;
    output.column = column;
    output.valid.resize(state.batch_rows);
    if (!is_nested(field.type)) {
      const auto known = std::find_if(state.columns.begin(), state.columns.end(),
                                      [&](const PipelineColumn& c) { return c.field_id == field.id; });
      output.tile_column = static_cast<uint32_t>(known - state.columns.begin());
      if (known == state.columns.end()) state.columns.push_back({field.id, field.name, field.type});
    }
    state.outputs.push_back(std::move(output));
    state.schema.fields.push_back(field);
  }
  if (row_numbers) {
    Field field;
    field.name = "file_row_number";
    field.type = {TypeKind::kInt64};
    field.nullable = false;
    state.schema.fields.push_back(field);
  }
}

ChunkScan::~ChunkScan() = default;

bool ChunkScan::next(Table& out) {
  State& state = *state_;
  if (!state.opened) state.open();
  if (out.columns.size() != state.schema.fields.size() || out.schema != state.schema) {
    out.schema = state.schema;
    out.columns.clear();
    for (const Field& field : state.schema.fields) out.columns.push_back(make_column(field));
  }
  for (size_t i = 0; i < out.columns.size(); ++i) {
    if (is_nested(out.columns[i].type)) {
      out.columns[i] = make_column(state.schema.fields[i]);
    } else {
      clear_column(out.columns[i]);
    }
  }
  for (State::Output& output : state.outputs) output.any_null = false;
  out.rows = 0;
  state.fill(out);
  state.tiles.check_not_corrupt();
  for (size_t i = 0; i < state.outputs.size(); ++i) {
    state.finish_column(state.outputs[i], out.columns[i], out.rows);
    if (state.outputs[i].entries == nullptr) state.check_column(out.columns[i], state.schema.fields[i].name);
  }
  return out.rows > 0;
}

void ChunkScan::give_codes(uint64_t most_entries) { state_->most_entries = most_entries; }
void ChunkScan::use_cache(ColumnCache::Use* cache) { state_->cache = cache; }
const StringRows* ChunkScan::entries(size_t column) const {
  return column < state_->outputs.size() ? state_->outputs[column].entries : nullptr;
}

const ScanCounters& ChunkScan::counters() const { return state_->counters; }

}  // namespace basalt
