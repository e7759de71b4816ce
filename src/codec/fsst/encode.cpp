// From rows to codes, one table after the other.
#include <algorithm>
#include <cstring>
#include <vector>

#include "basalt/core/error.h"
#include "codec/child_values.h"
#include "codec/codecs.h"
#include "codec/fsst/fsst.h"
#include "codec/fsst/tables.h"

namespace basalt {

std::unique_ptr<Codec> make_fsst() { return std::make_unique<FsstCodec>(); }

std::vector<ChildSlot> FsstCodec::children(Physical) const { return {{"code lengths", Physical::kU32}}; }

namespace {

// Codes of rows, tile after tile, under one table at a time.
class RowEncoder {
 public:
  RowEncoder(const Values& values, fsst::Parse parse)
      : values_(values),
        readable_(values.bytes + (values.count == 0 ? 0 : values.offsets[values.count])),
        parse_(parse) {}

  void use(const fsst::SymbolTable& table) { matcher_ = std::make_unique<fsst::Matcher>(table); }
  // Rows of one tile, or fewer.
  void add(uint64_t first, uint64_t end) {
    const char* const text = values_.bytes + values_.offsets[first];
    cut(first, end);
    encode_parts(text);
    const fsst::Matcher::Part* part = parts_.data();
    for (uint64_t row = first; row < end; ++row) {
      const auto plain = static_cast<uint64_t>(values_.offsets[row + 1] - values_.offsets[row]);
      const uint64_t cuts = fsst::pieces_of(plain);
      uint64_t length = 0;
      if (cuts == 0 && plain != 0) length = part++->code_bytes;
      for (uint64_t i = 0; i < cuts; ++i, ++part) {
        length += part->code_bytes;
        pieces.push_back(static_cast<uint16_t>(part->code_bytes));
      }
      lengths.push_back(static_cast<uint32_t>(length));
    }
  }

  Buffer codes;
  std::vector<uint32_t> lengths;
  std::vector<uint16_t> pieces;

 private:
  // Finds the parts: rows that are not empty, and pieces of long ones.
  void cut(uint64_t first, uint64_t end) {
    const auto bytes = static_cast<uint64_t>(values_.offsets[end] - values_.offsets[first]);
    parts_.resize(end - first + bytes / fsst::kPieceBytes + 1);
    fsst::Matcher::Part* part = parts_.data();
    const char* at = values_.bytes + values_.offsets[first];
    for (uint64_t row = first; row < end; ++row) {
      const char* const row_end = values_.bytes + values_.offsets[row + 1];
      while (row_end - at > fsst::kPieceBytes) part++->end = at += fsst::kPieceBytes;
      part->end = row_end;
      part += static_cast<ptrdiff_t>(at != row_end);
      at = row_end;
    }
    parts_.resize(static_cast<size_t>(part - parts_.data()));
  }
  // From `text` on.
  void encode_parts(const char* text) {
    constexpr size_t kAtOnce = 1024;  // keeps the room that codes may need within a few megabytes
    for (size_t i = 0; parse_ == fsst::Parse::kGreedy && i < parts_.size(); i += kAtOnce) {
      const std::span<fsst::Matcher::Part> some(parts_.data() + i, std::min(kAtOnce, parts_.size() - i));
      matcher_->encode_all(text, some, readable_, codes);
      text = some.back().end;
    }
    for (size_t i = 0; parse_ == fsst::Parse::kOptimal && i < parts_.size(); ++i) {
      const auto size = static_cast<size_t>(parts_[i].end - text);
      const size_t at = codes.size();
      codes.resize(at + 2 * size + 8);
      const uint8_t* end = matcher_->encode_optimal(text, size, codes.as<uint8_t>() + at);
      codes.resize(static_cast<size_t>(end - codes.as<uint8_t>()));
      parts_[i].code_bytes = codes.size() - at;
      text = parts_[i].end;
    }
  }

  const Values& values_;
  const char* readable_;
  fsst::Parse parse_;
  std::unique_ptr<fsst::Matcher> matcher_;
  std::vector<fsst::Matcher::Part> parts_;
};

// Whether codes from `first` on have an escape. A literal byte may look like one, but only behind one.
bool has_escape(const Buffer& codes, size_t first) {
  return first < codes.size() && std::memchr(codes.data() + first, fsst::kEscape, codes.size() - first) != nullptr;
}

template <typename T>
void append_all(Buffer& stream, const std::vector<T>& values) {
  stream.append(values.data(), values.size() * sizeof(T));
}

}  // namespace

Node FsstCodec::encode(const Values& values, const Tree& tree, Aims aims) const {
  return encode_by(fsst::plan_of(aims.effort), values, tree, aims);
}

Node FsstCodec::encode_by(const fsst::Plan& plan, const Values& values, const Tree& tree, Aims aims) const {
  fsst::Tables trained = fsst::train_tables(values, plan);
  const uint64_t table_rows = uint64_t{kTileRows} << trained.shift;
  std::vector<uint64_t> starts;
  std::vector<uint32_t> piece_starts;
  RowEncoder rows(values, plan.training.parse);
  rows.lengths.reserve(values.count);
  rows.codes.reserve(values.count == 0 ? 0 : static_cast<size_t>(values.offsets[values.count] - values.offsets[0]) / 2);
  for (size_t i = 0; i < trained.tables.size(); ++i) {
    const uint64_t first = i * table_rows;
    const uint64_t end = std::min<uint64_t>(first + table_rows, values.count);
    rows.use(trained.tables[i]);
    const size_t codes_before = rows.codes.size();
    for (uint64_t row = first; row < end; row += kTileRows) {
      starts.push_back(rows.codes.size());
      piece_starts.push_back(static_cast<uint32_t>(rows.pieces.size()));
      rows.add(row, std::min<uint64_t>(row + kTileRows, end));
    }
    trained.tables[i].escape_free = !has_escape(rows.codes, codes_before);
  }
  starts.push_back(rows.codes.size());
  piece_starts.push_back(static_cast<uint32_t>(rows.pieces.size()));

  Node node{this, values.type, values.count, fsst::pack_parameters(plan.training.parse, trained.shift), {}, {}};
  node.streams.resize(fsst::kStreams);
  node.streams[fsst::kTables] = fsst::pack_tables(trained.tables);
  append_all(node.streams[fsst::kStarts], starts);
  node.streams[fsst::kCodes] = std::move(rows.codes);
  if (!rows.pieces.empty()) {
    append_all(node.streams[fsst::kPieceStarts], piece_starts);
    append_all(node.streams[fsst::kPieces], rows.pieces);
  }
  node.children.push_back(encode_tree(number_values(rows.lengths), tree.children[fsst::kCodeLengths], aims));
  return node;
}

std::optional<Estimate> FsstCodec::estimate(const Sample& sample, ChildChooser& chooser) const {
  // Codes of a part of the sample: enough to know their number to about a per cent.
  constexpr uint64_t kMostBytes = 512 << 10;
  const Values& values = sample.values;
  if (values.count == 0) return std::nullopt;
  const fsst::Plan plan = fsst::plan_of(chooser.effort());
  const fsst::SymbolTable table = fsst::train_rows(values, {0, values.count}, plan);
  const auto plain = static_cast<uint64_t>(values.offsets[values.count] - values.offsets[0]);
  const uint64_t every = std::max<uint64_t>(1, plain / kMostBytes);
  const uint64_t piece_rows = sample.piece_rows == 0 ? kTileRows : sample.piece_rows;
  RowEncoder rows(values, plan.training.parse);
  rows.use(table);
  uint64_t encoded = 0;
  for (uint64_t row = 0; row < values.count; row += every * piece_rows) {
    const uint64_t end = std::min(row + piece_rows, values.count);
    rows.add(row, end);
    encoded += static_cast<uint64_t>(values.offsets[end] - values.offsets[row]);
  }
  const double scale = encoded == 0 ? 0 : static_cast<double>(plain) / static_cast<double>(encoded) * sample.scale();
  const double tiles = tile_count(sample.total_rows);
  double bytes = static_cast<double>(sizeof(fsst::Parameters) + table.bytes()) + 8 * (tiles + 1);
  bytes += static_cast<double>(rows.codes.size() + rows.pieces.size() * sizeof(uint16_t)) * scale;
  if (!rows.pieces.empty()) bytes += 4 * (tiles + 1);
  // Kernels read code lengths together with codes if they are packed: anything else has to save something of the whole.
  constexpr double kPackedWins = 0.98;
  const Sample lengths{number_values(rows.lengths), sample.total_rows, piece_rows};
  Estimate child = chooser.best(lengths, fsst::kCodeLengths);
  if (chooser.forced(fsst::kCodeLengths) == nullptr) {
    Estimate packed = *get_codec("packed").estimate(lengths, chooser);
    if (bytes + child.bytes >= (bytes + packed.bytes) * kPackedWins) child = std::move(packed);
  }
  return Estimate{bytes + child.bytes, {"fsst", {std::move(child.tree)}}};
}

}  // namespace basalt
