// The device decoder of compressed strings, run on the CPU: rows, places and pieces of long rows are those of the CPU's
// reader, wherever the text lies in memory; damage is found and nothing else is written.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "basalt/encoding/tree.h"
#include "codec/fsst/symbols.h"
#include "codec/fsst_texts.h"
#include "cuda/device_arrays.h"
//
#include "cuda/emulated_warp.h"
//
#include "codec/fsst/gpu/kernels.cuh"
#include "codec/packed/gpu/kernels.cuh"
#include "codec/plain/gpu/kernels.cuh"
//
#include "cuda/emulated_texts.h"

namespace basalt::test {
namespace {

using testing::make_texts;
using testing::sentences;
using testing::text_cases;
using testing::TextCase;

struct Decoded {
  std::string text;
  std::vector<int64_t> offsets;
  bool fits = true;
};

// As the kernels do it: sums of tiles, places, tiles, pieces. `shift`: where the text begins, modulo 16.
template <typename Lengths, typename CodeLengths>
Decoded decode(const Node& strings, uint32_t shift) {
  const NodeView view = view_of(strings);
  const NodeView& node = view.children[1];
  const std::vector<uint64_t> lengths = descriptor_of(view.children[0]);
  const std::vector<uint64_t> code_lengths = descriptor_of(node.children[fsst::kCodeLengths]);
  fsst::Parameters params;
  std::memcpy(&params, node.params.data(), sizeof(params));
  const auto stream = [&]<typename T>(uint32_t i, T*) { return reinterpret_cast<const T*>(node.streams[i].data()); };
  fsst::DecodeWork work{};
  work.tables = stream(fsst::kTables, static_cast<unsigned char*>(nullptr));
  work.starts = stream(fsst::kStarts, static_cast<uint64_t*>(nullptr));
  work.codes = stream(fsst::kCodes, static_cast<unsigned char*>(nullptr));
  if (!node.streams[fsst::kPieces].empty()) {
    work.piece_starts = stream(fsst::kPieceStarts, static_cast<uint32_t*>(nullptr));
    work.pieces = stream(fsst::kPieces, static_cast<uint16_t*>(nullptr));
  }
  work.lengths = lengths.data();
  work.code_lengths = code_lengths.data();
  work.rows = static_cast<uint32_t>(node.count);
  work.table_shift = params.table_shift;

  std::vector<uint64_t> text_starts = text_starts_of<Lengths>(work);
  Decoded out;
  out.offsets.resize(work.rows + 1);
  out.offsets.back() = static_cast<int64_t>(text_starts.back());
  Room room(text_starts.back(), shift);
  work.text = room.base();
  work.text_starts = text_starts.data();
  work.offsets = out.offsets.data();

  const auto table = std::make_unique<fsst::StagedTable>();
  alignas(16) static unsigned char stage[fsst::kStageBytes];
  const auto stage_of = [&](uint32_t number) {
    fsst::stage_table(fsst::table_of(work, number), *table, device::lane_id(), kLanes);
    device::sync_warp();
  };
  for (uint32_t tile = 0; tile < work.tiles(); ++tile) {
    EmulatedWarp::run([&] {
      stage_of(tile >> work.table_shift);
      if (!fsst::decode_tile<Lengths, CodeLengths>(work, *table, tile, stage)) out.fits = false;
    });
  }
  const uint64_t pieces = node.streams[fsst::kPieces].size() / sizeof(uint16_t);
  for (uint64_t first = 0; first < pieces; first += fsst::kPiecesOfWarp) {
    EmulatedWarp::run([&] {
      if (!fsst::decode_pieces<Lengths, CodeLengths>(work, first, *table, stage)) out.fits = false;
    });
  }
  room.expect_untouched_around();
  out.text = room.text();
  return out;
}

template <typename Lengths, typename CodeLengths>
void expect_texts(const Values& values, const Node& node, uint32_t shift) {
  const Decoded got = decode<Lengths, CodeLengths>(node, shift);
  EXPECT_TRUE(got.fits);
  for (uint64_t i = 0; i < values.count; ++i) {
    const auto length = static_cast<size_t>(got.offsets[i + 1] - got.offsets[i]);
    ASSERT_EQ(std::string_view(got.text).substr(static_cast<size_t>(got.offsets[i]), length), values.string(i))
        << "row " << i;
  }
}

using Packed = device::Packed<uint32_t>;
using Plain = device::Plain<uint32_t>;

TEST(EmulatedFsst, EveryKindOfBytesComesBack) {
  const Tree tree = bind_tree(parse_tree("strings(packed, fsst(packed))"), Physical::kBytes);
  uint32_t shift = 0;
  for (const TextCase& one : text_cases()) {
    if (one.texts.empty()) continue;
    const testing::Array array = make_texts(one.texts);
    for (const Effort effort : {Effort::kFast, Effort::kBest}) {
      SCOPED_TRACE(one.name);
      expect_texts<Packed, Packed>(array.values, encode_tree(array.values, tree, effort), shift);
      shift = (shift + 5) % 16;
    }
  }
}

TEST(EmulatedFsst, PlainChildrenReadAlike) {
  const testing::Array array = make_texts(sentences(2100, 3));
  const Tree tree = bind_tree(parse_tree("strings(plain, fsst(plain))"), Physical::kBytes);
  const Node node = encode_tree(array.values, tree);
  for (uint32_t shift = 0; shift < 16; ++shift) expect_texts<Plain, Plain>(array.values, node, shift);
}

// Runs of escapes for bytes that look like escapes, across lanes and steps, from every place of the stream.
TEST(EmulatedFsst, RunsOfEscapes) {
  std::mt19937_64 random(5);
  for (uint32_t lead = 0; lead < 20; ++lead) {
    std::vector<std::string> texts{std::string(lead, 'a')};
    for (int i = 0; i < 60; ++i) {
      texts.push_back(std::string(random() % 40, '\xFF') + std::string(random() % 3, 'a'));
    }
    testing::Array array = make_texts(texts);
    Node node = encode_tree(array.values, bind_tree(parse_tree("strings(plain, fsst(plain))"), Physical::kBytes));
    // The same rows with a table of one symbol: every other byte needs an escape.
    fsst::SymbolTable table;
    table.symbols.push_back({'a', 1});
    Node& child = node.children[1];
    Buffer tables;
    tables.push(uint32_t{8});
    tables.push(uint32_t{20});
    table.append_to(tables);
    tables.push(uint8_t{0});
    ASSERT_EQ(tables.size(), 20u);
    Buffer codes;
    std::vector<uint32_t> lengths;
    for (const std::string& text : texts) {
      const size_t before = codes.size();
      for (const char c : text) {
        if (c != 'a') codes.push(uint8_t{fsst::kEscape});
        codes.push(c == 'a' ? uint8_t{0} : static_cast<uint8_t>(c));
      }
      lengths.push_back(static_cast<uint32_t>(codes.size() - before));
    }
    const uint64_t starts[] = {0, codes.size()};
    child.streams[fsst::kTables] = tables;
    child.streams[fsst::kCodes] = codes;
    child.streams[fsst::kStarts].clear();
    child.streams[fsst::kStarts].append(starts, sizeof(starts));
    child.children[0].streams[0].clear();
    child.children[0].streams[0].append(lengths.data(), lengths.size() * sizeof(uint32_t));
    validate_tree(view_of(node));
    expect_texts<Plain, Plain>(array.values, node, lead % 16);
  }
}

TEST(EmulatedFsst, DamageIsFound) {
  const Tree tree = bind_tree(parse_tree("strings(plain, fsst(plain))"), Physical::kBytes);
  std::vector<std::string> texts = sentences(1500, 4);
  texts[700] = std::string(9000, 'x') + "end";
  const testing::Array array = make_texts(texts);
  const Node intact = encode_tree(array.values, tree);
  ASSERT_TRUE((decode<Plain, Plain>(intact, 3).fits));
  const auto fits = [&](const auto& damage) {
    Node node = encode_tree(array.values, tree);
    damage(node);
    return decode<Plain, Plain>(node, 3).fits;
  };
  EXPECT_FALSE(fits([](Node& node) { ++node.children[0].streams[0].as<uint32_t>()[5]; }));
  EXPECT_FALSE(fits([](Node& node) { --node.children[0].streams[0].as<uint32_t>()[705]; }));
  EXPECT_FALSE(fits([](Node& node) { ++node.children[1].children[0].streams[0].as<uint32_t>()[3]; }));
  EXPECT_FALSE(fits([](Node& node) { node.children[1].children[0].streams[0].as<uint32_t>()[3] = 4000000000u; }));
  EXPECT_FALSE(fits([](Node& node) { ++node.children[1].streams[fsst::kPieces].as<uint16_t>()[1]; }));
  EXPECT_FALSE(fits([](Node& node) { --node.children[1].streams[fsst::kPieces].as<uint16_t>()[0]; }));
  EXPECT_FALSE(fits([](Node& node) {
    Buffer& tables = node.children[1].streams[fsst::kTables];
    tables.as<uint8_t>()[tables.as<uint32_t>()[0] + fsst::kTableFlags] = 0;
    Buffer& codes = node.children[1].streams[fsst::kCodes];
    codes.as<uint8_t>()[codes.size() - 1] = fsst::kEscape;
  }));
}

}  // namespace
}  // namespace basalt::test
