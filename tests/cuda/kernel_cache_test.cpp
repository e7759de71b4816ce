// Compiled kernels are machine code: only what this user wrote, into a folder of this user that is closed to others, is
// ever loaded.
#include "cuda/runtime/kernel_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace basalt::cuda {
namespace {

namespace fs = std::filesystem;

class KernelCacheFolder : public testing::Test {
 protected:
  KernelCacheFolder() {
    std::string pattern = (fs::temp_directory_path() / "basalt-kernels-XXXXXX").string();
    base_ = mkdtemp(pattern.data());
    for (const char* name : {"XDG_CACHE_HOME", "HOME"}) {
      const char* value = std::getenv(name);
      saved_.emplace_back(name, value == nullptr ? "" : value);
    }
    ::setenv("XDG_CACHE_HOME", base_.c_str(), 1);
  }
  ~KernelCacheFolder() override {
    for (const auto& [name, value] : saved_)
      value.empty() ? ::unsetenv(name.c_str()) : ::setenv(name.c_str(), value.c_str(), 1);
    fs::remove_all(base_);
  }

  fs::path folder() const { return kernel_cache_folder(); }
  static bool loads(const std::string& key) {
    std::vector<char> cubin;
    return load_kernel(key, cubin) && cubin == kCubin;
  }

  static const std::vector<char> kCubin;
  fs::path base_;
  std::vector<std::pair<std::string, std::string>> saved_;
};
const std::vector<char> KernelCacheFolder::kCubin = {'c', 'o', 'd', 'e'};

TEST_F(KernelCacheFolder, KeepsKernelsInAFolderForItsOwnerAlone) {
  EXPECT_FALSE(loads("k"));
  EXPECT_EQ(why_not_cache_kernels(), "") << "it does not exist yet";
  const mode_t mask = ::umask(0);
  store_kernel("k", kCubin);
  ::umask(mask);
  EXPECT_TRUE(loads("k"));
  struct stat status {};
  ASSERT_EQ(::stat(folder().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, mode_t{0700});
  ASSERT_EQ(::stat((folder() / "k.cubin").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, mode_t{0600});
}

TEST_F(KernelCacheFolder, WhatOthersMayWriteIsNotUsed) {
  store_kernel("k", kCubin);
  for (const mode_t mode : {0720, 0702, 0777, 01777}) {
    ASSERT_EQ(::chmod(folder().c_str(), mode), 0);
    EXPECT_FALSE(loads("k"));
    EXPECT_NE(why_not_cache_kernels(), "");
    store_kernel("other", kCubin);
    EXPECT_FALSE(fs::exists(folder() / "other.cubin"));
  }
  // What others may only read was written by nobody else: their rights go, the cache stays.
  ASSERT_EQ(::chmod(folder().c_str(), 0755), 0);
  EXPECT_TRUE(loads("k"));
  struct stat status {};
  ASSERT_EQ(::stat(folder().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, mode_t{0700});
}

TEST_F(KernelCacheFolder, LinksAreNotFollowed) {
  store_kernel("k", kCubin);
  const fs::path entry = folder() / "k.cubin";
  fs::rename(entry, base_ / "elsewhere");
  fs::create_symlink(base_ / "elsewhere", entry);
  EXPECT_FALSE(loads("k")) << "a link in place of an entry";
  store_kernel("k", kCubin);
  EXPECT_TRUE(loads("k")) << "it is replaced";
  EXPECT_FALSE(fs::is_symlink(entry));
  fs::rename(folder(), base_ / "moved");
  fs::create_directory_symlink(base_ / "moved", folder());
  EXPECT_FALSE(loads("k")) << "a link in place of the folder";
  EXPECT_NE(why_not_cache_kernels(), "");
}

TEST_F(KernelCacheFolder, EntriesThatOthersMayWriteOrThatAreDamagedAreNotLoaded) {
  store_kernel("k", kCubin);
  const fs::path entry = folder() / "k.cubin";
  ASSERT_EQ(::chmod(entry.c_str(), 0622), 0);
  EXPECT_FALSE(loads("k"));
  ASSERT_EQ(::chmod(entry.c_str(), 0600), 0);
  EXPECT_TRUE(loads("k"));
  std::fstream(entry, std::ios::in | std::ios::out | std::ios::binary).seekp(17).put('X');
  EXPECT_FALSE(loads("k"));
  fs::remove(entry);
  ASSERT_EQ(::mkfifo(entry.c_str(), 0600), 0);
  EXPECT_FALSE(loads("k")) << "and it does not hang";
}

TEST_F(KernelCacheFolder, OtherUsersFoldersAreNotUsed) {
  store_kernel("k", kCubin);
  struct stat status {};
  ASSERT_EQ(::stat(folder().c_str(), &status), 0);
  EXPECT_EQ(why_not_trust(status, ::geteuid()), "");
  EXPECT_NE(why_not_trust(status, ::geteuid() + 1).find("another user"), std::string::npos);
  status.st_mode |= S_IWGRP;
  EXPECT_NE(why_not_trust(status, ::geteuid()).find("written by others"), std::string::npos);
  if (::geteuid() != 0) return;  // only root can give a folder away, to see the whole way
  ASSERT_EQ(::chown(folder().c_str(), 12345, 12345), 0);
  EXPECT_FALSE(loads("k"));
  EXPECT_NE(why_not_cache_kernels().find("another user"), std::string::npos);
  ASSERT_EQ(::chown(folder().c_str(), 0, 0), 0);
  ASSERT_EQ(::chown((folder() / "k.cubin").c_str(), 12345, 12345), 0);
  EXPECT_FALSE(loads("k"));
}

TEST_F(KernelCacheFolder, OnlyAbsolutePathsCount) {
  ::setenv("HOME", base_.c_str(), 1);
  ::setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(folder(), base_ / ".cache/basalt/kernels");
  ::setenv("HOME", "also/relative", 1);
  EXPECT_EQ(folder(), "");
  EXPECT_NE(why_not_cache_kernels(), "");
  store_kernel("k", kCubin);
  EXPECT_FALSE(loads("k"));
  EXPECT_FALSE(fs::exists("relative"));
}

}  // namespace
}  // namespace basalt::cuda
