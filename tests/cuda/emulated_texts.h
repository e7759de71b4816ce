// Where emulated decoders of strings write, and where their tiles begin. Comes behind emulated_warp.h and the kernels.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "codec/strings/gpu/kernels.cuh"

namespace basalt::test {

// Room for text that begins `shift` bytes behind a multiple of 16, with bytes around it that must stay as they are.
class Room {
 public:
  Room(size_t bytes, uint32_t shift) : bytes_(bytes), all_(bytes + 64, kUntouched) {
    base_ = all_.data() + (16 - reinterpret_cast<uintptr_t>(all_.data()) % 16) + 16 + shift % 16;
  }
  unsigned char* base() { return base_; }
  std::string text() const { return {reinterpret_cast<const char*>(base_), bytes_}; }
  void expect_untouched_around() const {
    for (const unsigned char& at : all_) {
      EXPECT_TRUE((&at >= base_ && &at < base_ + bytes_) || at == kUntouched) << &at - base_;
    }
  }

 private:
  static constexpr unsigned char kUntouched = 0xA5;
  size_t bytes_;
  std::vector<unsigned char> all_;
  unsigned char* base_;
};

// As the first kernel finds them: sums of the rows' lengths.
template <typename Lengths>
std::vector<uint64_t> text_starts_of(const strings::TextWork& work) {
  std::vector<uint64_t> starts{0};
  for (uint32_t tile = 0; tile < work.tiles(); ++tile) {
    uint64_t bytes = 0;
    EmulatedWarp::run([&] {
      const uint64_t own = strings::measure_tile<Lengths>(work, tile);
      if (device::lane_id() == 0) bytes = own;
    });
    starts.push_back(starts.back() + bytes);
  }
  return starts;
}

}  // namespace basalt::test
