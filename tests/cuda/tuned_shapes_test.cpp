// Launch shapes that were found are there in the next process, for the kind of GPU that they were found on; what a
// damaged file says is not launched.
#include "cuda/runtime/tuned_shapes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cuda/runtime/kernel_cache.h"

namespace basalt::cuda {
namespace {

namespace fs = std::filesystem;

class TunedShapesFolder : public testing::Test {
 protected:
  TunedShapesFolder() {
    std::string pattern = (fs::temp_directory_path() / "basalt-shapes-XXXXXX").string();
    base_ = mkdtemp(pattern.data());
    if (const char* value = std::getenv("XDG_CACHE_HOME")) saved_ = value;
    ::setenv("XDG_CACHE_HOME", base_.c_str(), 1);
  }
  ~TunedShapesFolder() override {
    saved_ ? ::setenv("XDG_CACHE_HOME", saved_->c_str(), 1) : ::unsetenv("XDG_CACHE_HOME");
    fs::remove_all(base_);
  }

  fs::path base_;
  std::optional<std::string> saved_;
};

TEST_F(TunedShapesFolder, KeepsWhatWasFoundForAKindOfGpu) {
  TunedShapes shapes("NVIDIA H200 (NVL)/x");
  EXPECT_EQ(shapes.of("kernel"), LaunchShape());
  shapes.set("kernel", {4, 2});
  shapes.set("other", {1, 16});
  EXPECT_EQ(shapes.of("kernel"), (LaunchShape{4, 2}));
  EXPECT_TRUE(fs::exists(fs::path(kernel_cache_folder()) / "shapes-NVIDIA-H200--NVL--x.txt"));

  const TunedShapes again("NVIDIA H200 (NVL)/x");
  EXPECT_EQ(again.of("kernel"), (LaunchShape{4, 2}));
  EXPECT_EQ(again.of("other"), (LaunchShape{1, 16}));
  EXPECT_EQ(again.of("a third"), LaunchShape());
  EXPECT_EQ(TunedShapes("NVIDIA A100").of("kernel"), LaunchShape());
}

TEST_F(TunedShapesFolder, ADamagedFileIsNothing) {
  TunedShapes("gpu").set("kernel", {4, 2});
  const fs::path file = fs::path(kernel_cache_folder()) / "shapes-gpu.txt";
  const auto size = fs::file_size(file);
  {
    std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(static_cast<std::streamoff>(size) - 2);
    out.put('8');
  }
  EXPECT_EQ(TunedShapes("gpu").of("kernel"), LaunchShape());
}

TEST(TunedShapes, LinesThatNoTunerWritesAreLeftOut) {
  const std::map<uint64_t, LaunchShape> good = {{7, {8, 1}}, {~uint64_t{0}, {1, 16}}};
  EXPECT_EQ(parse_shapes(shapes_text(good)), good);
  EXPECT_EQ(parse_shapes("1 3 1\n2 16 1\n3 8 32\n4 0 1\n5 8 0\n6 8\nx 8 1\n\n-1\n7 8 1\n18446744073709551615 1 16"),
            good);
}

TEST(TunedShapes, AxesEndWithAsManyWarpsAsThereIsRoomFor) {
  for (const auto& [warps, places] : {std::pair{1u, 1u}, {2u, 2u}, {3u, 3u}, {4u, 3u}, {5u, 4u}, {8u, 4u}, {32u, 4u}}) {
    const std::vector<SearchAxis> axes = shape_axes(warps, LaunchShape());
    EXPECT_EQ(axes.at(0).values, places) << warps;
    EXPECT_EQ(axes[0].start, places - 1) << "untuned kernels take all";
    EXPECT_EQ(axes.at(1).values, 5u);
    EXPECT_EQ(axes[1].start, 0u);
  }
  EXPECT_EQ(shape_at({2, 3}), (LaunchShape{4, 8}));
}

}  // namespace
}  // namespace basalt::cuda
