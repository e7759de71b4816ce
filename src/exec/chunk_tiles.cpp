// Reading a chunk's columns on demand and keeping track of the rows that are alive.
#include "exec/chunk_tiles.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "basalt/core/error.h"
#include "codec/strings/layout.h"
#include "codec/validity/layout.h"
#include "exec/loops.h"

namespace basalt::exec {

namespace {

// Below this share of a tile's rows, the survivors are gathered and only they are computed on.
constexpr uint32_t kListShare = 8;

uint32_t list_rows(const uint8_t* mask, uint32_t rows, uint16_t* out) {
  uint32_t count = 0;
  uint32_t i = 0;
  for (; i + 8 <= rows; i += 8) {
    uint64_t word;
    std::memcpy(&word, mask + i, 8);
    while (word != 0) {
      out[count++] = static_cast<uint16_t>(i + static_cast<uint32_t>(std::countr_zero(word)) / 8);
      word &= word - 1;
    }
  }
  for (; i < rows; ++i) {
    out[count] = static_cast<uint16_t>(i);
    count += mask[i];
  }
  return count;
}

}  // namespace

void ColumnChunk::reset(const File& file, const PipelineColumn& column, uint32_t chunk, SharedChunk* shared,
                        ColumnCache::Use* cache) {
  file_ = &file;
  column_ = &column;
  info_ = &file.column(column.field_id).chunks.at(chunk);
  chunk_ = chunk;
  loaded_ = false;
  bytes_read_ = 0;
  shared_ = shared;
  cache_ = cache;
  data_.reset();
}

std::string ColumnChunk::place() const {
  return file_->name() + ": column " + column_->name + ": chunk " + std::to_string(chunk_);
}

void ColumnChunk::read(LoadedColumn& out) const {
  const StreamPlace region = info_->region;
  const uint64_t size = file_->source().size();
  if (region.length > size || region.offset > size - region.length) {
    throw Error(ErrorCode::kCorrupt, place() + ": lies beyond the end of the file");
  }
  out.region.resize(region.length);
  if (region.length > 0) file_->source().read({region.offset, region.length}, out.region.data());
  out.shared.clear();
  out.root = file_->verify_chunk(column_->field_id, chunk_, out.region.view(), out.shared);
  if (out.root.count != file_->chunks()[chunk_].rows) {
    throw Error(ErrorCode::kCorrupt, place() + ": holds " + std::to_string(out.root.count) + " rows instead of " +
                                         std::to_string(file_->chunks()[chunk_].rows));
  }
  out.bytes = region.length;
  for (const Buffer& buffer : out.shared) out.bytes += buffer.size();
}

std::shared_ptr<const LoadedColumn> ColumnChunk::find_or_read(std::shared_ptr<LoadedColumn> room) const {
  if (cache_ != nullptr) {
    if (auto found = cache_->find(*file_, column_->field_id, chunk_); found != nullptr) return found;
  }
  read(*room);
  if (cache_ != nullptr) cache_->put(*file_, column_->field_id, chunk_, room);
  return room;
}

void ColumnChunk::load() {
  if (loaded_) return;
  if (shared_ != nullptr) {
    data_ = shared_->get(column_->field_id, [&] {
      auto data = find_or_read(std::make_shared<LoadedColumn>());
      bytes_read_ = data->bytes;
      return data;
    });
  } else {
    // Memory that no cache has taken serves again.
    if (own_ == nullptr || own_.use_count() > 1) own_ = std::make_shared<LoadedColumn>();
    data_ = find_or_read(own_);
    bytes_read_ = data_->bytes;
  }
  root_ = &data_->root;
  valid_reader_.reset();
  valid_tile_ = ~0u;
  bad_flags_ = false;
  lengths_open_ = false;
  // A struct has no values: without NULLs it has no node at all.
  const bool nulls = root_->codec != nullptr && root_->codec->holds_nulls();
  if (nulls) valid_reader_ = open_reader(root_->children[validity::kValid]);
  loaded_ = true;
  if (root_->codec != nullptr && !(nulls && root_->children.size() <= validity::kValues)) values_.open(values_node());
}

const NodeView& ColumnChunk::values_node() {
  load();
  return valid_reader_ != nullptr ? root_->children[validity::kValues] : *root_;
}

ArrayTiles& ColumnChunk::values() {
  load();
  return values_;
}

ArrayTiles* ColumnChunk::byte_lengths() {
  const NodeView& node = values_node();
  if (!node.codec->holds_lengths()) return nullptr;
  if (!lengths_open_) lengths_.open(node.children[strings::kLengths]);
  lengths_open_ = true;
  return &lengths_;
}

bool ColumnChunk::has_validity() {
  load();
  return valid_reader_ != nullptr;
}

const uint8_t* ColumnChunk::valid(uint32_t tile) {
  if (!has_validity()) return nullptr;
  if (valid_tile_ != tile) {
    valid_.resize(kTileRows);
    valid_reader_->decode_tile(tile, valid_.data());
    auto* bytes = valid_.as<uint8_t>();
    const uint32_t rows = rows_in_tile(root_->count, tile);
    // A damaged stream may hold other bytes than 0 and 1: clamped here, reported when the chunk is done.
    uint8_t seen = 0;
    for (uint32_t i = 0; i < rows; ++i) {
      seen |= bytes[i];
      bytes[i] = bytes[i] != 0 ? 1 : 0;
    }
    bad_flags_ = bad_flags_ || seen > 1;
    tile_has_null_ = count_mask(bytes, rows) != rows;
    valid_tile_ = tile;
  }
  return tile_has_null_ ? valid_.as<uint8_t>() : nullptr;
}

void ColumnChunk::check_not_corrupt() const {
  if (!loaded_) return;
  if (bad_flags_ || values_.corrupt() || (lengths_open_ && lengths_.corrupt()) ||
      (valid_reader_ != nullptr && valid_reader_->corrupt())) {
    throw Error(ErrorCode::kCorrupt, place() + ": values break the rules of their encoding");
  }
}

ChunkTiles::ChunkTiles() : mask_(kTileRows), list_(kTileRows * sizeof(uint16_t)), picked_(kTileRows) {}

void ChunkTiles::open(const File& file, const std::vector<PipelineColumn>& columns, uint32_t chunk, SharedChunk* shared,
                      ColumnCache::Use* cache) {
  chunk_rows_ = file.chunks().at(chunk).rows;
  columns_.resize(columns.size());
  selected_valid_.resize(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) columns_[i].reset(file, columns[i], chunk, shared, cache);
}

StatisticsList ChunkTiles::chunk_statistics() const {
  StatisticsList out;
  for (const ColumnChunk& column : columns_) out.push_back(&column.info().stats);
  return out;
}

StatisticsList ChunkTiles::zone_statistics(uint32_t zone) const {
  StatisticsList out;
  for (const ColumnChunk& column : columns_) {
    const std::vector<Statistics>& zones = column.info().zones;
    out.push_back(zone < zones.size() ? &zones[zone] : nullptr);
  }
  return out;
}

uint64_t ChunkTiles::bytes_read() const {
  uint64_t bytes = 0;
  for (const ColumnChunk& column : columns_) bytes += column.bytes_read();
  return bytes;
}

void ChunkTiles::check_not_corrupt() const {
  for (const ColumnChunk& column : columns_) column.check_not_corrupt();
}

void ChunkTiles::begin(uint32_t tile) {
  for (ColumnChunk& column : columns_) column.leave_tile();
  tile_ = tile;
  tile_rows_ = rows_in_tile(chunk_rows_, tile);
  alive_ = tile_rows_;
  hardest_ = Answered::kByBounds;
  texts_in_place_ = false;
  texts_decoded_ = false;
  listed_ = false;
  list_filled_ = false;
}

void ChunkTiles::fill_list() {
  auto* list = list_.as<uint16_t>();
  if (alive_ == tile_rows_) {
    for (uint32_t i = 0; i < tile_rows_; ++i) list[i] = static_cast<uint16_t>(i);
  } else {
    list_rows(mask_.as<uint8_t>(), tile_rows_, list);
  }
  list_filled_ = true;
}

const uint16_t* ChunkTiles::list() {
  if (!list_filled_) fill_list();
  return list_.as<uint16_t>();
}

void ChunkTiles::keep(const uint8_t* mask) {
  if (listed_) {
    auto* list = list_.as<uint16_t>();
    uint32_t count = 0;
    for (uint32_t i = 0; i < alive_; ++i) {
      list[count] = list[i];
      count += mask[i];
    }
    alive_ = count;
    return;
  }
  auto* own = mask_.as<uint8_t>();
  if (alive_ == tile_rows_) {
    std::memcpy(own, mask, tile_rows_);
  } else {
    mask_and(own, mask, tile_rows_);
  }
  alive_ = count_mask(own, tile_rows_);
  list_filled_ = false;
  if (alive_ > 0 && alive_ < tile_rows_ / kListShare) {
    fill_list();
    listed_ = true;
  }
}

void ChunkTiles::keep_of_tile(const uint8_t* mask) {
  if (!listed_) return keep(mask);
  auto* picked = picked_.as<uint8_t>();
  const uint16_t* rows = list();
  for (uint32_t i = 0; i < alive_; ++i) picked[i] = mask[rows[i]];
  keep(picked);
}

const uint8_t* ChunkTiles::valid(uint32_t index) {
  const uint8_t* all = columns_[index].valid(tile_);
  if (all == nullptr || !listed_) return all;
  selected_valid_[index].resize(kTileRows);
  auto* out = selected_valid_[index].as<uint8_t>();
  const uint16_t* rows = list();
  for (uint32_t i = 0; i < alive_; ++i) out[i] = all[rows[i]];
  return out;
}

Vector ChunkTiles::column(uint32_t index, Lane lane) {
  answered(Answered::kByRows);
  texts_decoded_ = texts_decoded_ || lane == Lane::kBytes;
  ArrayTiles& values = columns_[index].values();
  const void* data = columns_[index].placed(
      [&] { return listed_ ? values.rows(tile_, lane, list(), alive_) : values.tile(tile_, lane); });
  return {lane, data, valid(index)};
}

void ChunkTiles::count(TileCounts& counts) const {
  counts.count(hardest_);
  counts.texts_in_place += texts_in_place_ ? 1 : 0;
  counts.texts_decoded += texts_decoded_ ? 1 : 0;
}

std::optional<double> ChunkTiles::filter_sum(uint32_t index) {
  const uint8_t* mask = live();
  if (listed_) {
    auto* picked = picked_.as<uint8_t>();
    std::fill_n(picked, kTileRows, uint8_t{0});
    for (uint32_t i = 0; i < alive_; ++i) picked[list_.as<uint16_t>()[i]] = 1;
    mask = picked;
  }
  return columns_[index].values().filter_sum(tile_, mask);
}

bool ChunkTiles::filter_strings(uint32_t index, const std::shared_ptr<const Automaton>& test, uint8_t* out) {
  auto* whole = listed_ ? picked_.as<uint8_t>() : out;
  ArrayTiles& values = columns_[index].values();
  const Answered how = columns_[index].placed([&] { return values.filter_strings(tile_, test, whole); });
  if (how == Answered::kNot) return false;
  answered(how);
  tested_in_place();
  const uint16_t* rows = listed_ ? list() : nullptr;
  for (uint32_t i = 0; listed_ && i < alive_; ++i) out[i] = whole[rows[i]];
  return true;
}

const StringRows* ChunkTiles::codes(uint32_t index, uint32_t* out) {
  ArrayTiles& values = columns_[index].values();
  const StringRows* entries = values.entries();
  if (entries == nullptr || entries->size() == 0) return nullptr;
  answered(Answered::kByRows);
  codes_.resize(kTileRows * sizeof(uint32_t));
  auto* whole = listed_ ? codes_.as<uint32_t>() : out;
  columns_[index].placed([&] { values.codes(tile_, whole); });
  const uint16_t* rows = row_numbers();
  for (uint32_t i = 0; rows != nullptr && i < alive_; ++i) out[i] = whole[rows[i]];
  return entries;
}

std::optional<Vector> ChunkTiles::byte_lengths(uint32_t index) {
  ArrayTiles* lengths = columns_[index].byte_lengths();
  if (lengths == nullptr) return std::nullopt;
  answered(Answered::kByRows);
  tested_in_place();
  const void* data = listed_ ? lengths->rows(tile_, Lane::kI32, list(), alive_) : lengths->tile(tile_, Lane::kI32);
  // No string has 2^31 bytes or more: such a length would count as a negative one.
  uint32_t seen = 0;
  for (uint32_t i = 0; i < rows(); ++i) seen |= static_cast<const uint32_t*>(data)[i];
  if (seen >> 31 != 0) {
    throw Error(ErrorCode::kCorrupt, columns_[index].place() + ": a string has more than 2^31 - 1 bytes");
  }
  return Vector{Lane::kI32, data, valid(index)};
}

bool ChunkTiles::compare_encoded(uint32_t index, ExprOp op, int128_t literal, uint8_t* out) {
  if (listed_) return false;
  constexpr int128_t kFar = int128_t{1} << 121;
  if (literal > kFar || literal < -kFar) return false;
  int128_t low = -kFar - 1;
  int128_t high = kFar + 1;
  bool negate = false;
  switch (op) {
    case ExprOp::kEqual: low = high = literal; break;
    case ExprOp::kNotEqual:
      low = high = literal;
      negate = true;
      break;
    case ExprOp::kLess: high = literal - 1; break;
    case ExprOp::kLessEqual: high = literal; break;
    case ExprOp::kGreater: low = literal + 1; break;
    case ExprOp::kGreaterEqual: low = literal; break;
    default: return false;
  }
  const Answered how = columns_[index].values().filter_range(tile_, low, high, negate, out);
  if (how == Answered::kNot) return false;
  answered(how);
  return true;
}

}  // namespace basalt::exec
