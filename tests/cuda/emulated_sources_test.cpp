// The tile readers of columns that are stored by others, run on the CPU lane by lane: the values that were encoded, of
// every width and sign, whatever lies below them, and word of rows that have no entry.
#include <gtest/gtest.h>

#include "basalt/core/error.h"
#include "codec/arrays.h"
#include "cuda/device_arrays.h"
#include "cuda/query/sample_pipelines.h"
//
#include "cuda/emulated_reads.h"
//
#include "codec/column/gpu/kernels.cuh"
#include "codec/delta/gpu/kernels.cuh"
#include "codec/dict/gpu/kernels.cuh"
#include "codec/map/gpu/kernels.cuh"
#include "codec/packed/gpu/kernels.cuh"
#include "codec/place/gpu/kernels.cuh"
#include "codec/plain/gpu/kernels.cuh"
#include "codec/product/gpu/kernels.cuh"
#include "codec/rle/gpu/kernels.cuh"
#include "codec/stride/gpu/kernels.cuh"
#include "codec/sum/gpu/kernels.cuh"

namespace basalt::test {
namespace {

using device::Delta;
using device::Dict;
using device::Map;
using device::OtherColumn;
using device::Packed;
using device::Place;
using device::Plain;
using device::Product;
using device::Rle;
using device::Stride;
using device::SumOfTwo;

// A tree that names `@other`, of random values beside a random column of another type.
template <typename Reader>
void check_beside(const std::string& tree, Physical type, Physical other_type, const std::string& other_tree) {
  using T = typename Reader::value_type;
  for (const uint64_t rows : {uint64_t{1}, uint64_t{1023}, uint64_t{5000}}) {
    for (const testing::Pattern pattern :
         {testing::Pattern::kNarrow, testing::Pattern::kRuns, testing::Pattern::kExtremes}) {
      const testing::Array other = testing::make_array(other_type, rows, pattern, 1);
      const Node other_node = encode_tree(other.values, bind_tree(parse_tree(other_tree), other_type));
      const std::vector<SourceColumn> sources = {{"other", 7, view_of(other_node)}};
      const testing::Array array = testing::make_array(type, rows, testing::Pattern::kRandom, 2);
      Values values = array.values;
      values.sources = &sources;
      Node node;
      try {
        node = encode_tree(values, bind_tree(parse_tree(tree), type));
      } catch (const Error& error) {
        ASSERT_EQ(error.code(), ErrorCode::kUnsupported);  // `map` of values that lie too far apart
        continue;
      }
      const NodeView view = view_of(node);
      const DeviceReader reader = view.codec->device_reader(view);
      EXPECT_EQ(reader.scratch_bytes, Reader::kScratchBytes) << reader.type.text();
      std::vector<T> expected(rows);
      std::memcpy(expected.data(), array.data.data(), rows * sizeof(T));
      expect_reads<Reader>(view, expected, tree + " beside " + other_tree + ", " + std::to_string(rows) + " rows");
    }
  }
}

TEST(EmulatedSources, DifferencesOfEveryWidthAndSign) {
  check_beside<SumOfTwo<uint32_t, Packed<uint32_t>, OtherColumn<uint32_t, Packed<uint32_t>, true>>>(
      "sum(packed, @other)", Physical::kI32, Physical::kI32, "packed");
  check_beside<SumOfTwo<uint64_t, Packed<uint64_t>, OtherColumn<uint64_t, Packed<uint8_t>, true>>>(
      "sum(packed, @other)", Physical::kU64, Physical::kI8, "packed");
  check_beside<SumOfTwo<uint64_t, Packed<uint64_t>, OtherColumn<uint64_t, Plain<uint16_t>, false>>>(
      "sum(packed, @other)", Physical::kI64, Physical::kU16, "plain");
  check_beside<SumOfTwo<uint8_t, Packed<uint8_t>, OtherColumn<uint8_t, Packed<uint64_t>, false>>>(
      "sum(packed, @other)", Physical::kI8, Physical::kU64, "packed");
}

// Both children stage rows of their own.
TEST(EmulatedSources, ScratchOfBothChildren) {
  check_beside<SumOfTwo<uint32_t, Rle<uint32_t, Packed<uint32_t>, Packed<uint32_t>>,
                        OtherColumn<uint32_t, Delta<uint64_t, Packed<uint64_t>>, true>>>(
      "sum(rle(packed, packed), @other)", Physical::kI32, Physical::kI64, "delta(packed)");
}

TEST(EmulatedSources, FunctionsAndProducts) {
  using Other = OtherColumn<uint64_t, Packed<uint16_t>, true>;
  check_beside<SumOfTwo<uint64_t, Packed<uint64_t>, Map<uint64_t, Other, Packed<uint64_t>>>>(
      "sum(packed, map(@other, packed))", Physical::kI64, Physical::kI16, "packed");
  check_beside<SumOfTwo<uint64_t, Packed<uint64_t>, Product<uint64_t, Packed<uint64_t>, Other, true>>>(
      "sum(packed, product(packed, @other))", Physical::kI64, Physical::kI16, "packed");
  check_beside<SumOfTwo<uint16_t, Packed<uint16_t>,
                        Product<uint16_t, Packed<uint16_t>, OtherColumn<uint16_t, Packed<uint16_t>, true>, false>>>(
      "sum(packed, product(packed, @other))", Physical::kU16, Physical::kI16, "packed");
  check_beside<
      SumOfTwo<uint64_t, Packed<uint64_t>,
               Product<uint64_t,
                       Map<uint64_t, OtherColumn<uint64_t, Dict<uint16_t, Packed<uint32_t>, Packed<uint16_t>>, false>,
                           Plain<uint64_t>>,
                       OtherColumn<uint64_t, Dict<uint16_t, Packed<uint32_t>, Packed<uint16_t>>, false>, true>>>(
      "sum(packed, product(map(@other, plain), @other))", Physical::kI64, Physical::kU16, "dict(packed, packed)");
}

TEST(EmulatedSources, SumsOfTwoColumns) {
  using Other = OtherColumn<uint64_t, Packed<uint16_t>, true>;
  check_beside<SumOfTwo<uint64_t, Packed<uint64_t>, SumOfTwo<uint64_t, Other, Other>>>(
      "sum(packed, sum(@other, @other))", Physical::kI64, Physical::kI16, "packed");
}

TEST(EmulatedSources, PlacesInRuns) {
  check_beside<SumOfTwo<uint32_t, Packed<uint32_t>, Place<uint32_t, OtherColumn<uint64_t, Packed<uint16_t>, true>>>>(
      "sum(packed, place(@other))", Physical::kI32, Physical::kI16, "packed");
  // The source stages rows of its own.
  check_beside<SumOfTwo<uint8_t, Packed<uint8_t>,
                        Place<uint8_t, OtherColumn<uint64_t, Delta<uint64_t, Packed<uint64_t>>, true>>>>(
      "sum(packed, place(@other))", Physical::kU8, Physical::kI64, "delta(packed)");
  check_beside<
      SumOfTwo<uint64_t, Packed<uint64_t>,
               Place<uint64_t, OtherColumn<uint64_t, Rle<uint32_t, Packed<uint32_t>, Packed<uint32_t>>, false>>>>(
      "sum(packed, place(@other))", Physical::kI64, Physical::kU32, "rle(packed, packed)");
}

// Views of readers that learn while they are read are kept by other views.
TEST(EmulatedSources, BelowOtherCodecs) {
  using Codes = SumOfTwo<uint32_t, Packed<uint32_t>, OtherColumn<uint32_t, Packed<uint16_t>, true>>;
  check_beside<Dict<uint64_t, Codes, Packed<uint64_t>>>("dict(sum(packed, @other), packed)", Physical::kI64,
                                                        Physical::kI16, "packed");
  using Bases = SumOfTwo<uint64_t, Packed<uint64_t>, OtherColumn<uint64_t, Packed<uint16_t>, true>>;
  check_beside<Stride<uint64_t, Bases>>("stride(sum(packed, @other))", Physical::kI64, Physical::kI16, "packed");
}

// Codes of a dictionary.
TEST(EmulatedSources, CodesThatAreFunctions) {
  std::vector<uint32_t> values(5000);
  for (uint32_t i = 0; i < values.size(); ++i) values[i] = i * 7 % 90 * 1000;
  using Codes = SumOfTwo<uint32_t, Packed<uint32_t>,
                         Map<uint32_t, OtherColumn<uint64_t, Packed<uint16_t>, false>, Packed<uint32_t>>>;
  expect_reads<Dict<uint32_t, Codes, Plain<uint32_t>>>(
      view_of(encoded(values, "dict(sum(packed, map(column_u16(packed), packed)), plain)", Physical::kU32)), values,
      "");
}

TEST(EmulatedSources, CodecsKnowTheirReaders) {
  EXPECT_EQ(
      samples::reader_of("sum(packed, product(map(column_i32(packed), plain), column_u8(packed)))", Physical::kI64)
          .type.text(),
      "SumOfTwo<uint64_t, Packed<uint64_t>, Product<uint64_t, Map<uint64_t, OtherColumn<uint64_t, "
      "Packed<uint32_t>, true>, Plain<uint64_t>>, OtherColumn<uint64_t, Packed<uint8_t>, false>, true>>");
}

TEST(EmulatedSources, RowsWithoutAnEntryAreReported) {
  std::vector<uint32_t> values(3000);
  for (uint32_t i = 0; i < values.size(); ++i) values[i] = i % 100;
  Node node = encoded(values, "map(column_u32(plain), packed)", Physical::kU32);
  using Reader = Map<uint32_t, OtherColumn<uint64_t, Plain<uint32_t>, false>, Packed<uint32_t>>;
  expect_reads<Reader>(view_of(node), values, "sound");
  auto* source = node.children[0].children[0].streams[0].as<uint32_t>();
  for (const uint32_t wrong : {100u, 0xFFFFFFFFu}) {
    source[2500] = wrong;
    const std::vector<uint64_t> descriptor = descriptor_of(view_of(node));
    std::vector<uint32_t> out(values.size());
    uint32_t bad = 0;
    EmulatedWarp::run([&] { device::decode_array<Reader>(descriptor.data(), out.data(), &bad); });
    EXPECT_EQ(bad, 1u);
    EXPECT_EQ(out[2500], 99u);
    EXPECT_EQ(out[2499], values[2499]);
  }
}

}  // namespace
}  // namespace basalt::test
