// Compressing strings on the device, tables included: they are trained there, rows are parsed there, and codes wait
// until sizes tell their places. The host waits once, for the sizes.
#include <algorithm>

#include "codec/fsst/gpu/encode_kernels.h"
#include "codec/fsst/gpu/encode_table.h"
#include "codec/fsst/gpu/train_kernels.h"
#include "codec/fsst/tables.h"
#include "cuda/codec/encode_array.cuh"
#include "cuda/codec/encode_texts.cuh"
#include "cuda/codec/prefix_sums.cuh"

namespace basalt::cuda {

namespace {

// Tables of an array, as the device has them: their number is known there only, until the array's sizes are.
struct DeviceTables {
  DeviceBuffer tables;
  DeviceBuffer shift;  // uint32
  uint32_t most = 0;
};

DeviceTables train_tables(const strings::Texts& texts, uint64_t rows, uint64_t plain_bytes, const fsst::Plan& plan,
                          cudaStream_t stream) {
  fsst::TrainArray array{};
  array.text = texts.words;
  array.offsets = texts.offsets;
  array.first_byte = texts.first_byte;
  array.rows = rows;
  array.shifts = fsst::table_shifts(rows, plain_bytes, plan);
  DeviceTables out;
  out.most = array.most_tables();
  out.tables = DeviceBuffer(out.most * sizeof(fsst::EncodeTable), stream);
  out.shift = DeviceBuffer(sizeof(uint32_t), stream);
  const DeviceBuffer tried(fsst::kMostTried * sizeof(fsst::EncodeTable), stream);
  array.tried = tried.as<fsst::EncodeTable>();
  array.tables = out.tables.as<fsst::EncodeTable>();
  array.shift = out.shift.as<uint32_t>();
  const DeviceBuffer device_array = upload(&array, sizeof(array), stream);

  fsst::TrainBatch batch{};
  batch.arrays = device_array.as<fsst::TrainArray>();
  batch.count = 1;
  batch.most_tables = out.most;
  batch.plan = plan;
  // Tables are trained side by side as long as that takes no more memory than the text, or only a little.
  constexpr uint64_t kFewBlocks = 1 + fsst::kTestRanges;
  const uint64_t scratch_bytes = fsst::ScratchSizes(plan).bytes();
  batch.blocks = static_cast<uint32_t>(
      std::min<uint64_t>(std::max(kFewBlocks, plain_bytes / scratch_bytes), std::max(out.most, fsst::kMostTried)));
  const DeviceBuffer scratch(batch.blocks * scratch_bytes, stream);
  batch.scratch = scratch.as<unsigned char>();
  check(fsst::train_tables(batch, stream), "training tables");
  return out;
}

Buffer fetch_tables(const DeviceTables& trained, const DeviceBuffer& escapes, uint32_t count, cudaStream_t stream) {
  const Buffer has_escapes = download(escapes, count * sizeof(uint32_t), stream);
  const Buffer host_tables = download(trained.tables, count * sizeof(fsst::EncodeTable), stream);
  std::vector<fsst::SymbolTable> tables;
  for (uint32_t i = 0; i < count; ++i) {
    tables.push_back(fsst::symbols_of(host_tables.as<fsst::EncodeTable>()[i]));
    tables.back().escape_free = has_escapes.as<uint32_t>()[i] == 0;
  }
  return fsst::pack_tables(tables);
}

// The streams of long rows.
void fetch_pieces(const DeviceBuffer& starts, uint64_t tiles, const DeviceBuffer& codes, uint64_t pieces,
                  cudaStream_t stream, Node& node) {
  const Buffer host_starts = download(starts, (tiles + 1) * sizeof(uint64_t), stream);
  for (const uint64_t start : host_starts.span<uint64_t>()) {
    node.streams[fsst::kPieceStarts].push(static_cast<uint32_t>(start));
  }
  const Buffer sizes = download(codes, pieces * sizeof(uint32_t), stream);
  for (const uint32_t size : sizes.span<uint32_t>()) node.streams[fsst::kPieces].push(static_cast<uint16_t>(size));
}

// What the host has to know of the encoded array before it can make room for it.
struct Sizes {
  uint64_t code_bytes;
  uint64_t pieces;
  uint32_t table_shift;
};

}  // namespace

Node encode_fsst(DeviceValues& values, const Tree& tree, Aims aims, cudaStream_t stream) {
  Node node = make_node(values, tree, fsst::kStreams);
  const fsst::Plan plan = fsst::plan_of(aims.effort);
  const uint64_t count = values.count;
  const uint64_t tiles = tile_count(count);
  const auto plain_bytes = static_cast<uint64_t>(values.end_byte - values.first_byte);
  // Codes of 32 rows, two bytes per byte at most, are counted in 32 bits.
  if (plain_bytes >= uint64_t{1} << 31) throw Error(ErrorCode::kUnsupported, "fsst: the array is too large");
  const strings::Texts texts = texts_of(values, stream);
  DeviceTables trained;
  if (count > 0) trained = train_tables(texts, count, plain_bytes, plan, stream);

  const bool optimal = plan.training.parse == fsst::Parse::kOptimal;
  const DeviceBuffer steps(optimal ? plain_bytes : 0, stream);
  DeviceValues lengths;
  lengths.type = Physical::kU32;
  lengths.count = count;
  lengths.data = cleared(count * sizeof(uint32_t), stream);
  const DeviceBuffer escapes = cleared(trained.most * sizeof(uint32_t), stream);

  fsst::EncodeWork work{};
  work.text = texts.words;
  work.offsets = texts.offsets;
  work.first_byte = texts.first_byte;
  work.rows = count;
  work.tables = trained.tables.as<fsst::EncodeTable>();
  work.table_shift = trained.shift.as<uint32_t>();
  work.steps = steps.as<uint8_t>();
  work.code_lengths = lengths.data.as<uint32_t>();
  work.escapes = escapes.as<uint32_t>();
  const DeviceBuffer group_bytes(work.groups() * sizeof(uint32_t), stream);
  work.group_bytes = group_bytes.as<uint32_t>();
  // Steps that are known take little to be followed twice.
  DeviceBuffer waiting(optimal ? 0 : fsst::EncodeWork::waiting_bytes(count, plain_bytes), stream);
  work.waiting = waiting.as<uint8_t>();

  work.most_pieces = fsst::most_pieces_of(plain_bytes);
  const DeviceBuffer tile_pieces = cleared(tiles * sizeof(uint32_t), stream);
  const DeviceBuffer pieces(work.most_pieces * sizeof(fsst::EncodePiece), stream);
  const DeviceBuffer piece_codes = cleared(work.most_pieces * sizeof(uint32_t), stream);
  work.tile_pieces = tile_pieces.as<uint32_t>();
  work.pieces = pieces.as<fsst::EncodePiece>();
  work.piece_codes = piece_codes.as<uint32_t>();
  if (work.most_pieces > 0) check(fsst::count_tile_pieces(work, stream), "counting pieces");
  const DeviceBuffer piece_starts = prefix_sums_of(work.tile_pieces, tiles, stream);
  work.piece_starts = piece_starts.as<uint64_t>();
  if (work.most_pieces > 0) check(fsst::list_pieces(work, stream), "listing pieces");
  check(fsst::count_codes(work, stream), "counting codes");

  const DeviceBuffer group_places = prefix_sums_of(work.group_bytes, work.groups(), stream);
  const DeviceBuffer piece_places = prefix_sums_of(work.piece_codes, work.most_pieces, stream);
  work.group_places = group_places.as<uint64_t>();
  work.piece_places = piece_places.as<uint64_t>();
  const DeviceBuffer device_sizes(sizeof(Sizes), stream);
  auto* sizes_to = device_sizes.as<Sizes>();
  each_row(1, stream, [=] __device__(uint64_t) {
    *sizes_to = {work.group_places[work.groups()], work.piece_starts[tiles], work.rows == 0 ? 0 : *work.table_shift};
  });
  const Sizes sizes = fetch(sizes_to, stream);

  const DeviceBuffer codes(sizes.code_bytes, stream);
  work.codes = codes.as<uint8_t>();
  check(fsst::write_codes(work, stream), "writing codes");
  waiting = {};
  const DeviceBuffer starts((tiles + 1) * sizeof(uint64_t), stream);
  auto* to = starts.as<uint64_t>();
  each_row(tiles + 1, stream, [=] __device__(uint64_t tile) {
    const uint64_t group = tile * (kTileRows / fsst::kGroupRows);
    to[tile] = work.group_places[group < work.groups() ? group : work.groups()];
  });

  const uint32_t table_count = fsst::table_count(static_cast<uint32_t>(tiles), sizes.table_shift);
  node.params = fsst::pack_parameters(plan.training.parse, sizes.table_shift);
  node.streams[fsst::kTables] = fetch_tables(trained, escapes, table_count, stream);
  node.streams[fsst::kStarts] = download(starts, (tiles + 1) * sizeof(uint64_t), stream);
  node.streams[fsst::kCodes] = download(codes, sizes.code_bytes, stream);
  if (sizes.pieces != 0) fetch_pieces(piece_starts, tiles, piece_codes, sizes.pieces, stream, node);
  node.children.push_back(encode_node(lengths, tree.children[fsst::kCodeLengths], aims, stream));
  return node;
}

}  // namespace basalt::cuda
