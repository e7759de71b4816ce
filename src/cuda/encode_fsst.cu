// Compressing strings on the device: rows are parsed there, once for their sizes and once for their codes; tables are
// trained on the host, from samples of a few dozen kilobytes each.
#include <cub/device/device_scan.cuh>

#include "codec/fsst/encode_kernels.h"
#include "codec/fsst/encode_table.h"
#include "codec/fsst/tables.h"
#include "cuda/encode_array.cuh"
#include "cuda/encode_texts.cuh"

namespace basalt::cuda {

namespace {

template <typename T>
DeviceBuffer upload_all(const std::vector<T>& values, cudaStream_t stream) {
  return upload(values.data(), values.size() * sizeof(T), stream);
}

template <typename T>
DeviceBuffer zeros(size_t count, cudaStream_t stream) {
  DeviceBuffer out(count * sizeof(T), stream);
  if (count > 0) check(cudaMemsetAsync(out.data(), 0, count * sizeof(T), stream), "clearing counts");
  return out;
}

// Sums of what lies before each item, and behind the last one that of all.
DeviceBuffer places_of(const uint32_t* sizes, uint64_t count, cudaStream_t stream) {
  DeviceBuffer places = zeros<uint64_t>(count + 1, stream);
  if (count == 0) return places;
  with_temporary(stream, [&](void* temporary, size_t& bytes) {
    return cub::DeviceScan::InclusiveScan(
        temporary, bytes, sizes, places.as<uint64_t>() + 1,
        [] __host__ __device__(uint64_t a, uint64_t b) { return a + b; }, static_cast<int64_t>(count), stream);
  });
  return places;
}

// The rows where the trainer reads them.
struct HostRows {
  Buffer offsets;
  Buffer bytes;
  Values values;

  HostRows(const DeviceValues& from, cudaStream_t stream)
      : offsets(download(from.offsets, (from.count + 1) * sizeof(int64_t), stream)) {
    values.type = Physical::kBytes;
    values.count = from.count;
    values.offsets = offsets.as<int64_t>();
    values.bytes = from.host_bytes;
    if (from.host_bytes != nullptr) return;
    bytes = download(from.data, static_cast<size_t>(from.end_byte - from.first_byte), stream);
    values.bytes = bytes.as<char>() - from.first_byte;
  }
};

// Pieces of all long rows.
struct Pieces {
  std::vector<fsst::EncodePiece> all;
  std::vector<uint32_t> starts{0};  // of tiles

  explicit Pieces(const Values& values) {
    for (uint64_t row = 0; row < values.count; ++row) {
      const auto length = static_cast<uint64_t>(values.offsets[row + 1] - values.offsets[row]);
      for (uint64_t piece = 0; piece < fsst::pieces_of(length); ++piece) {
        const uint64_t first = piece * fsst::kPieceBytes;
        const uint64_t bytes = std::min<uint64_t>(fsst::kPieceBytes, length - first);
        all.push_back({row, first, static_cast<uint32_t>(bytes), static_cast<uint32_t>(piece)});
      }
      if ((row + 1) % kTileRows == 0 || row + 1 == values.count) starts.push_back(static_cast<uint32_t>(all.size()));
    }
  }
};

}  // namespace

Node encode_fsst(DeviceValues& values, const Tree& tree, Effort effort, cudaStream_t stream) {
  Node node = make_node(values, tree, fsst::kStreams);
  const fsst::Plan plan = fsst::plan_of(effort);
  const HostRows host(values, stream);
  fsst::Tables trained = fsst::train_tables(host.values, plan);
  std::vector<fsst::SymbolTable>& tables = trained.tables;
  std::vector<fsst::EncodeTable> encode_tables;
  for (const fsst::SymbolTable& table : tables) encode_tables.push_back(fsst::make_encode_table(table));
  const Pieces pieces(host.values);
  const uint64_t count = values.count;

  const strings::Texts texts = texts_of(values, stream);
  const DeviceBuffer device_tables = upload_all(encode_tables, stream);
  const DeviceBuffer device_pieces = upload_all(pieces.all, stream);
  const bool optimal = plan.training.parse == fsst::Parse::kOptimal;
  const DeviceBuffer steps(optimal ? static_cast<size_t>(values.end_byte - values.first_byte) : 0, stream);
  DeviceValues lengths;
  lengths.type = Physical::kU32;
  lengths.count = count;
  lengths.data = zeros<uint32_t>(count, stream);
  const DeviceBuffer piece_codes(pieces.all.size() * sizeof(uint32_t), stream);
  const DeviceBuffer escapes = zeros<uint32_t>(tables.size(), stream);

  fsst::EncodeWork work{};
  work.text = texts.words;
  work.offsets = texts.offsets;
  work.first_byte = texts.first_byte;
  work.rows = count;
  work.tables = device_tables.as<fsst::EncodeTable>();
  work.table_shift = trained.shift;
  work.pieces = device_pieces.as<fsst::EncodePiece>();
  work.piece_count = pieces.all.size();
  work.steps = steps.as<uint8_t>();
  work.code_lengths = lengths.data.as<uint32_t>();
  work.piece_codes = piece_codes.as<uint32_t>();
  work.escapes = escapes.as<uint32_t>();
  check(fsst::count_codes(work, stream), "counting codes");

  const DeviceBuffer row_places = places_of(work.code_lengths, count, stream);
  const DeviceBuffer piece_places = places_of(work.piece_codes, work.piece_count, stream);
  const uint64_t code_bytes = fetch(row_places.as<uint64_t>() + count, stream);
  const DeviceBuffer codes(code_bytes, stream);
  work.row_places = row_places.as<uint64_t>();
  work.piece_places = piece_places.as<uint64_t>();
  work.codes = codes.as<uint8_t>();
  check(fsst::write_codes(work, stream), "writing codes");

  const uint64_t tiles = tile_count(count);
  const DeviceBuffer starts((tiles + 1) * sizeof(uint64_t), stream);
  auto* to = starts.as<uint64_t>();
  const uint64_t* places = work.row_places;
  each_row(tiles + 1, stream,
           [=] __device__(uint64_t tile) { to[tile] = places[tile * kTileRows < count ? tile * kTileRows : count]; });
  const Buffer has_escapes = download(escapes, tables.size() * sizeof(uint32_t), stream);
  for (size_t i = 0; i < tables.size(); ++i) tables[i].escape_free = has_escapes.as<uint32_t>()[i] == 0;

  node.params = fsst::pack_parameters(plan.training.parse, trained.shift);
  node.streams[fsst::kTables] = fsst::pack_tables(tables);
  node.streams[fsst::kStarts] = download(starts, (tiles + 1) * sizeof(uint64_t), stream);
  node.streams[fsst::kCodes] = download(codes, code_bytes, stream);
  if (!pieces.all.empty()) {
    node.streams[fsst::kPieceStarts].append(pieces.starts.data(), pieces.starts.size() * sizeof(uint32_t));
    const Buffer sizes = download(piece_codes, pieces.all.size() * sizeof(uint32_t), stream);
    for (const uint32_t size : sizes.span<uint32_t>()) {
      node.streams[fsst::kPieces].push(static_cast<uint16_t>(size));
    }
  }
  node.children.push_back(encode_node(lengths, tree.children[fsst::kCodeLengths], effort, stream));
  return node;
}

}  // namespace basalt::cuda
