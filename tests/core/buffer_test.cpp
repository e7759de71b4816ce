// Blocks of bytes that grow, and those that are so large that they come in large pages.
#include "basalt/core/buffer.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "core/large_memory.h"
#include "support/sanitized.h"

namespace basalt {
namespace {

TEST(Buffer, KeepsItsBytesWhileItGrows) {
  Buffer buffer;
  uint64_t next = 0;
  for (size_t bytes = 8; bytes <= 3 * kLargePage; bytes = bytes * 5 / 4 / 8 * 8 + 8) {
    while (buffer.size() < bytes) buffer.push(next++);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % Buffer::kAlignment, 0u);
    // Behind the last byte there is room for whole-vector loads.
    std::memset(buffer.data() + buffer.capacity(), 0xEE, Buffer::kSlack);
  }
  for (uint64_t i = 0; i < next; ++i) ASSERT_EQ(buffer.as<uint64_t>()[i], i);
  Buffer moved = std::move(buffer);
  EXPECT_EQ(moved.as<uint64_t>()[next - 1], next - 1);
  EXPECT_TRUE(buffer.empty());
}

TEST(Buffer, LargeOnesAreAlignedToLargePages) {
  for (const size_t bytes : {kLargePage, kLargePage + 1, 3 * kLargePage + 4097, 9 * kLargePage - 1}) {
    const Buffer buffer(bytes);
    const bool aligned = reinterpret_cast<uintptr_t>(buffer.data()) % kLargePage == 0;
    EXPECT_TRUE(aligned || test::kSanitized) << bytes;
    EXPECT_LE(buffer.capacity(), bytes + bytes / 8 + (size_t{64} << 10) + Buffer::kAlignment) << bytes;
  }
}

TEST(Buffer, WhatNobodyHasIsRefused) {
  Buffer buffer;
  for (const size_t bytes : {SIZE_MAX, SIZE_MAX - 63, SIZE_MAX - kLargePage, SIZE_MAX / 2}) {
    EXPECT_THROW(buffer.reserve(bytes), std::bad_alloc) << bytes;
  }
  EXPECT_TRUE(buffer.empty());
}

TEST(LargeMemory, SizesAreRoundedWhereThatIsLittle) {
  EXPECT_EQ(large_size(100), 100u);
  EXPECT_EQ(large_size(kLargePage - 4096), kLargePage);
  EXPECT_EQ(large_size(kLargePage), kLargePage);
  EXPECT_EQ(large_size(kLargePage + 1), kLargePage + (size_t{64} << 10));
  EXPECT_EQ(large_size(9 * kLargePage + 1), 10 * kLargePage);
  EXPECT_EQ(large_size(SIZE_MAX), SIZE_MAX);
}

// A block that was given back is there for the next one, and for one at a time.
TEST(LargeMemory, ThreadsTakeAndGiveBack) {
  std::vector<std::thread> threads;
  for (uint8_t number = 1; number <= 8; ++number) {
    threads.emplace_back([number] {
      for (int i = 0; i < 300; ++i) {
        const size_t bytes = kLargePage * (1 + i % 3);
        std::byte* const data = take_large(bytes);
        ASSERT_NE(data, nullptr);
        for (size_t at = 0; at < bytes; at += 4096) data[at] = std::byte{number};
        for (size_t at = 0; at < bytes; at += 4096) ASSERT_EQ(data[at], std::byte{number});
        give_back_large(data, bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(LargeMemory, OnlyAFewBlocksWait) {
  const auto use = [](size_t count, size_t bytes) {
    std::vector<std::byte*> blocks;
    for (size_t i = 0; i < count; ++i) blocks.push_back(take_large(bytes));
    for (std::byte* const block : blocks) give_back_large(block, bytes);
  };
  use(100, kLargePage);
  EXPECT_EQ(waiting_bytes(), size_t{64} << 20);
  use(1, 40 * kLargePage);  // more than may wait
  EXPECT_EQ(waiting_bytes(), size_t{64} << 20);
  use(1, 20 * kLargePage);
  EXPECT_EQ(waiting_bytes(), size_t{64} << 20);
  give_up_waiting();
  EXPECT_EQ(waiting_bytes(), size_t{0});
  set_most_waiting(2 * kLargePage);
  use(5, kLargePage);
  EXPECT_EQ(waiting_bytes(), 2 * kLargePage);
  set_most_waiting(0);
  EXPECT_EQ(waiting_bytes(), size_t{0});
  set_most_waiting(size_t{64} << 20);
}

// Whatever a thread of the parent did when it was forked.
TEST(LargeMemory, ChildrenOfBusyProcesses) {
  std::atomic<bool> stopped{false};
  std::vector<std::thread> busy;
  for (int i = 0; i < 3; ++i) {
    busy.emplace_back([&] {
      while (!stopped) give_back_large(take_large(kLargePage), kLargePage);
    });
  }
  for (int i = 0; i < 40; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      std::byte* const data = take_large(kLargePage);
      data[0] = std::byte{1};
      give_back_large(data, kLargePage);
      _exit(waiting_bytes() == kLargePage ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  stopped = true;
  for (std::thread& thread : busy) thread.join();
}

}  // namespace
}  // namespace basalt
