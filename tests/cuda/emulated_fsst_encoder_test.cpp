// The device encoder of compressed strings, run on the CPU: with the tables of the CPU's encoder it writes the same
// codes, code lengths and pieces, greedily and with fewest bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "basalt/encoding/tree.h"
#include "codec/fsst/gpu/encode_table.h"
#include "codec/fsst_texts.h"
//
#include "cuda/emulated_warp.h"
//
#include "codec/fsst/gpu/encode_rows.cuh"

namespace basalt::test {
namespace {

using testing::make_texts;
using testing::sentences;
using testing::text_cases;
using testing::TextCase;

void each_warp(uint64_t count, const std::function<void(uint64_t)>& body) {
  for (uint64_t first = 0; first < count; first += kLanes) EmulatedWarp::run([&] { body(first); });
}
void each_thread(uint64_t count, const std::function<void(uint64_t)>& body) {
  each_warp(count, [&](uint64_t first) {
    if (first + device::lane_id() < count) body(first + device::lane_id());
  });
}

std::vector<uint64_t> sums_before(const std::vector<uint32_t>& sizes) {
  std::vector<uint64_t> out{0};
  for (const uint32_t size : sizes) out.push_back(out.back() + size);
  return out;
}

void expect_same(const Values& values, Effort effort, bool keep_codes = true,
                 uint32_t stage_bytes = fsst::kGroupStageBytes) {
  const Node strings =
      encode_tree(values, bind_tree(parse_tree("strings(plain, fsst(plain))"), Physical::kBytes), effort);
  const Node& node = strings.children[1];
  fsst::Parameters params;
  std::memcpy(&params, node.params.data(), sizeof(params));
  const Buffer& stream = node.streams[fsst::kTables];
  const uint32_t table_count = fsst::table_count(tile_count(values.count), params.table_shift);
  std::vector<fsst::SymbolTable> tables;
  std::vector<fsst::EncodeTable> encode_tables;
  for (uint32_t i = 0; i < table_count; ++i) {
    tables.push_back(fsst::load_table(stream.data() + stream.as<uint32_t>()[i]));
    encode_tables.push_back(fsst::make_encode_table(tables.back()));
  }
  const int64_t first_byte = values.offsets[0];
  const auto bytes = static_cast<size_t>(values.offsets[values.count] - first_byte);
  std::vector<uint64_t> text(bytes / 8 + 2, 0xA5A5A5A5A5A5A5A5ull);
  std::memcpy(text.data(), values.bytes + first_byte, bytes);
  std::vector<uint8_t> steps(bytes);
  std::vector<uint32_t> code_lengths(values.count);
  std::vector<uint32_t> escapes(table_count);
  fsst::EncodeWork work{};
  work.text = text.data();
  work.offsets = values.offsets;
  work.first_byte = first_byte;
  work.stage_bytes = stage_bytes;
  work.rows = values.count;
  work.tables = encode_tables.data();
  const uint32_t table_shift = params.table_shift;
  work.table_shift = &table_shift;
  work.most_pieces = fsst::most_pieces_of(bytes);
  std::vector<uint32_t> tile_pieces(work.tiles());
  work.tile_pieces = tile_pieces.data();
  for (uint32_t tile = 0; tile < work.tiles(); ++tile) {
    EmulatedWarp::run([&] { fsst::find_tile_pieces<false>(work, tile); });
  }
  const std::vector<uint64_t> piece_starts = sums_before(tile_pieces);
  std::vector<fsst::EncodePiece> pieces(piece_starts.back());
  ASSERT_LE(pieces.size(), work.most_pieces);
  work.piece_starts = piece_starts.data();
  work.pieces = pieces.data();
  for (uint32_t tile = 0; tile < work.tiles(); ++tile) {
    EmulatedWarp::run([&] { fsst::find_tile_pieces<true>(work, tile); });
  }
  if (!pieces.empty()) {
    const auto expected_starts = node.streams[fsst::kPieceStarts].span<uint32_t>();
    ASSERT_TRUE(std::equal(piece_starts.begin(), piece_starts.end(), expected_starts.begin(), expected_starts.end()));
  }
  std::vector<uint32_t> piece_codes(pieces.size());
  work.steps = params.parse == static_cast<uint8_t>(fsst::Parse::kOptimal) ? steps.data() : nullptr;
  work.code_lengths = code_lengths.data();
  work.piece_codes = piece_codes.data();
  work.escapes = escapes.data();
  const auto table_of = [&](uint64_t row) -> const fsst::EncodeTable& {
    return encode_tables[fsst::table_of_row(work, row)];
  };
  std::vector<uint32_t> group_bytes(work.groups());
  work.group_bytes = group_bytes.data();
  const size_t waiting_bytes = fsst::EncodeWork::waiting_bytes(values.count, bytes);
  std::vector<device::SixteenBytes> waiting(waiting_bytes / 16 + 1);
  if (keep_codes && work.steps == nullptr) work.waiting = reinterpret_cast<uint8_t*>(waiting.data());
  std::vector<device::SixteenBytes> stage_words(work.stage_bytes / 16);
  auto* const stage = reinterpret_cast<unsigned char*>(stage_words.data());
  each_warp(values.count, [&](uint64_t first) { fsst::count_rows(work, table_of(first), first, stage); });
  each_thread(work.most_pieces, [&](uint64_t i) {
    if (fsst::is_piece(work, i)) fsst::count_piece(work, i);
  });

  const Buffer& expected_lengths = node.children[0].streams[0];
  ASSERT_EQ(std::memcmp(code_lengths.data(), expected_lengths.data(), expected_lengths.size()), 0);
  ASSERT_EQ(pieces.size() * sizeof(uint16_t), node.streams[fsst::kPieces].size());
  for (size_t i = 0; i < pieces.size(); ++i) {
    ASSERT_EQ(piece_codes[i], node.streams[fsst::kPieces].as<uint16_t>()[i]) << "piece " << i;
  }
  for (uint32_t i = 0; i < table_count; ++i) EXPECT_EQ(escapes[i] == 0, tables[i].escape_free) << "table " << i;

  const std::vector<uint64_t> group_places = sums_before(group_bytes);
  const std::vector<uint64_t> piece_places = sums_before(piece_codes);
  // Somewhere in words, as streams of other arrays would leave it.
  constexpr uint8_t kUntouched = 0x5A;
  std::vector<uint8_t> room(group_places.back() + 64, kUntouched);
  uint8_t* const codes = room.data() + 24 - reinterpret_cast<uintptr_t>(room.data()) % 8;
  work.group_places = group_places.data();
  work.piece_places = piece_places.data();
  work.codes = codes;
  each_warp(values.count, [&](uint64_t first) {
    fsst::write_rows(work, table_of(first), first, fsst::CountedGroup(work, first), stage);
  });
  each_thread(pieces.size(), [&](uint64_t i) { fsst::write_piece(work, i); });
  const Buffer& expected = node.streams[fsst::kCodes];
  ASSERT_EQ(group_places.back(), expected.size());
  EXPECT_TRUE(expected.empty() || std::memcmp(codes, expected.data(), expected.size()) == 0);
  for (uint8_t* at = room.data(); at < room.data() + room.size(); ++at) {
    ASSERT_TRUE((at >= codes && at < codes + expected.size()) || *at == kUntouched);
  }
}

TEST(EmulatedFsstEncoder, WritesTheCodesOfTheCpu) {
  for (const TextCase& one : text_cases()) {
    if (one.texts.empty()) continue;
    const testing::Array array = make_texts(one.texts);
    for (const Effort effort : {Effort::kFast, Effort::kBalanced, Effort::kBest}) {
      SCOPED_TRACE(std::string(one.name) + ", effort " + std::to_string(static_cast<int>(effort)));
      expect_same(array.values, effort);
    }
  }
}

// Codes wait in memory however little of them fits into shared memory.
TEST(EmulatedFsstEncoder, AnySizeOfStages) {
  for (const TextCase& one : text_cases()) {
    if (one.texts.empty()) continue;
    for (const uint32_t stage_bytes : {64, 512, 3072}) {
      SCOPED_TRACE(std::string(one.name) + ", stages of " + std::to_string(stage_bytes));
      expect_same(make_texts(one.texts).values, Effort::kFast, true, stage_bytes);
    }
  }
}

TEST(EmulatedFsstEncoder, CodesThatAreNotKept) {
  for (const TextCase& one : text_cases()) {
    if (one.texts.empty()) continue;
    SCOPED_TRACE(one.name);
    expect_same(make_texts(one.texts).values, Effort::kFast, false);
  }
}

TEST(EmulatedFsstEncoder, ValuesThatDoNotStartAtTheirBuffersBegin) {
  const testing::Array array = make_texts(sentences(1500, 5));
  expect_same(testing::without_first(array.values, 300), Effort::kBalanced);
}

}  // namespace
}  // namespace basalt::test
