// What tests of tile readers share that run them on the CPU: every way to read an array.
// Include it after everything that is not device code.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cuda/device_arrays.h"
//
#include "cuda/emulated_warp.h"
//
#include "exec/device/decode.cuh"

namespace basalt::test {

// Readers that can write a whole tile to memory, with room of their own to stage it in.
template <typename Reader, typename T>
concept WritesTiles = requires(Reader reader, typename Reader::Staged& staged, T* out) {
  reader.write_tile(0, 0, staged, out);
};

template <typename Reader>
void expect_reads(const NodeView& node, const std::vector<typename Reader::value_type>& values,
                  const std::string& place) {
  using T = typename Reader::value_type;
  const std::vector<uint64_t> descriptor = descriptor_of(node);
  ASSERT_EQ(descriptor.size(), Reader::kDescriptorWords) << place;
  uint32_t bad = 0;
  if constexpr (requires(Reader reader) { reader.open(descriptor.data(), 0, nullptr); }) {
    std::vector<T> out(values.size());
    EmulatedWarp::run([&] { device::decode_array<Reader>(descriptor.data(), out.data(), &bad); });
    EXPECT_EQ(bad, 0u) << place;
    EXPECT_TRUE(out == values) << place;
  }

  // Rows by picking, and the precompiled way: bind once, seek tile after tile.
  alignas(16) static unsigned char scratch[64 << 10];
  static_assert(Reader::kScratchBytes <= sizeof(scratch));
  std::vector<T> again(values.size());
  EmulatedWarp::run([&] {
    Reader reader;
    reader.bind(descriptor.data());
    for (uint32_t tile = 0; tile * kTileRows < values.size(); ++tile) {
      reader.seek(tile, scratch);
      for (uint32_t k = 0; k < kRowsPerLane; ++k) {
        const size_t row = size_t{tile} * kTileRows + k * kLanes + device::lane_id();
        const T value = reader.at(k);
        if (row < values.size()) again[row] = value;
      }
      if (reader.bad) bad = 1;
      device::sync_warp();
    }
  });
  EXPECT_EQ(bad, 0u) << place;
  EXPECT_TRUE(again == values) << place << ", bound once";
  if constexpr (WritesTiles<Reader, T>) {
    const auto staged = std::make_unique<typename Reader::Staged>();
    std::vector<T> written(values.size());
    EmulatedWarp::run([&] {
      Reader reader;
      reader.bind(descriptor.data());
      for (uint32_t tile = 0; tile * kTileRows < values.size(); ++tile) {
        reader.write_tile(tile, rows_in_tile(values.size(), tile), *staged, written.data() + size_t{tile} * kTileRows);
        device::sync_warp();
      }
      if (reader.bad) bad = 1;
    });
    EXPECT_EQ(bad, 0u) << place;
    EXPECT_TRUE(written == values) << place << ", written to memory";
  }
  if constexpr (requires { Reader::value(descriptor.data(), 0); }) {
    for (size_t row = 0; row < values.size(); row += 97) {
      ASSERT_TRUE(Reader::value(descriptor.data(), static_cast<uint32_t>(row)) == values[row])
          << place << " row " << row;
    }
  }
}

}  // namespace basalt::test
