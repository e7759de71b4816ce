// Sources that are far away: planned ranges are fetched together with their neighbours, and give what lies there.
#include "basalt/file/remote_source.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "basalt/core/error.h"

namespace basalt::test {
namespace {

constexpr uint64_t kMegabyte = 1 << 20;

// Every byte tells its place.
class FarSource final : public Source {
 public:
  explicit FarSource(uint64_t size) : size_(size) {}
  std::string name() const override { return "far"; }
  uint64_t size() const override { return size_; }
  void read(Range range, std::byte* out) const override {
    const std::lock_guard lock(mutex);
    requests.push_back(range);
    if (failures > 0 && failures-- > 0) throw Error(ErrorCode::kIo, "far: the line is dead");
    for (uint64_t i = 0; i < range.length; ++i) out[i] = value_at(range.offset + i);
  }
  static std::byte value_at(uint64_t place) { return static_cast<std::byte>(place * 31 >> 3); }

  mutable std::mutex mutex;
  mutable std::vector<Range> requests;
  mutable int failures = 0;

 private:
  uint64_t size_;
};

struct Remote {
  explicit Remote(uint64_t size = 64 * kMegabyte)
      : far(std::make_shared<FarSource>(size)), source(std::make_shared<RemoteSource>(far)) {}
  void expect_read(Range range) const {
    std::vector<std::byte> bytes(range.length);
    source->read(range, bytes.data());
    for (uint64_t i = 0; i < range.length; ++i) ASSERT_EQ(bytes[i], FarSource::value_at(range.offset + i)) << i;
  }
  std::shared_ptr<FarSource> far;
  std::shared_ptr<RemoteSource> source;
};

TEST(RemoteSource, FetchesNeighboursOnce) {
  const Remote remote;
  const auto plan = remote.source->plan({{5000, 1000}, {1000, 2000}, {200'000, 10}, {10 * kMegabyte, 100}});
  EXPECT_TRUE(remote.far->requests.empty());
  for (const Range range : {Range{1000, 2000}, Range{200'000, 10}, Range{5000, 1000}}) remote.expect_read(range);
  ASSERT_EQ(remote.far->requests.size(), 1u);
  EXPECT_EQ(remote.far->requests[0].offset, 1000u);
  EXPECT_EQ(remote.far->requests[0].length, 199'010u);
  remote.expect_read({10 * kMegabyte, 100});
  EXPECT_EQ(remote.far->requests.size(), 2u);
  // What was read as planned is gone.
  remote.expect_read({1000, 2000});
  EXPECT_EQ(remote.far->requests.size(), 3u);
}

TEST(RemoteSource, FetchesNoMoreThanEightMegabytesAtOnce) {
  const Remote remote;
  std::vector<Range> ranges;
  for (uint64_t i = 0; i < 20; ++i) ranges.push_back({i * kMegabyte, kMegabyte});
  const auto plan = remote.source->plan(ranges);
  for (const Range& range : ranges) remote.expect_read(range);
  ASSERT_EQ(remote.far->requests.size(), 3u);
  for (const Range& request : remote.far->requests) EXPECT_LE(request.length, 8 * kMegabyte);
}

TEST(RemoteSource, ReadsAloneWhatNoPlanHolds) {
  const Remote remote;
  auto plan = remote.source->plan({{1000, 1000}, {3000, 1000}});
  remote.expect_read({3500, 1000});  // passes the plan's end
  remote.expect_read({0, 10});
  EXPECT_EQ(remote.far->requests.size(), 2u);
  plan.reset();
  remote.expect_read({1000, 1000});
  remote.expect_read({3000, 1000});
  EXPECT_EQ(remote.far->requests.size(), 4u);
}

TEST(RemoteSource, ForgetsWhatNobodyReads) {
  const Remote remote(1024 * kMegabyte);
  std::vector<Range> ranges;
  for (uint64_t i = 0; i < 100; ++i) {
    ranges.push_back({i * 10 * kMegabyte, 4 * kMegabyte});
    ranges.push_back({(i * 10 + 4) * kMegabyte, 4 * kMegabyte});
  }
  const auto plan = remote.source->plan(ranges);
  std::vector<std::byte> bytes(4 * kMegabyte);
  for (size_t i = 0; i < ranges.size(); i += 2) remote.source->read(ranges[i], bytes.data());
  EXPECT_EQ(remote.far->requests.size(), 100u);
  remote.source->read(ranges[199], bytes.data());  // still there
  EXPECT_EQ(remote.far->requests.size(), 100u);
  remote.source->read(ranges[1], bytes.data());
  EXPECT_EQ(remote.far->requests.size(), 101u);
  EXPECT_EQ(remote.far->requests.back().length, 4 * kMegabyte);
}

TEST(RemoteSource, TriesAgainAfterAFailure) {
  const Remote remote;
  const auto plan = remote.source->plan({{0, 100}, {200, 100}, {400, 100}});
  remote.far->failures = 1;
  std::vector<std::byte> bytes(100);
  EXPECT_THROW(remote.source->read({0, 100}, bytes.data()), Error);
  remote.expect_read({200, 100});
  remote.expect_read({400, 100});
  EXPECT_EQ(remote.far->requests.size(), 2u);
}

TEST(RemoteSource, LeavesPlacesBeyondTheEndToWhoeverReadsThem) {
  const Remote remote(1000);
  const auto plan = remote.source->plan({{900, 200}, {~uint64_t{0} - 10, 20}, {5, ~uint64_t{0}}, {0, 0}, {0, 10}});
  remote.expect_read({0, 10});
  EXPECT_EQ(remote.far->requests.size(), 1u);
}

TEST(RemoteSource, ServesThreads) {
  const Remote remote;
  std::vector<Range> ranges;
  for (uint64_t i = 0; i < 400; ++i) ranges.push_back({i * 3000, 2000});
  const auto plan = remote.source->plan(ranges);
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = t; i < ranges.size(); i += 4) remote.expect_read(ranges[i]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(remote.far->requests.size(), 1u);
}

}  // namespace
}  // namespace basalt::test
