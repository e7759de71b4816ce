// Temporary and output files: nothing that somebody planted is followed or changed, nothing remains that should not,
// and others cannot look in. Both ways of making files are tested, with and without a name.
#include "core/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <vector>

#include "basalt/core/error.h"
#include "core/private_folder.h"
#include "core/regular_file.h"

namespace basalt {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
 protected:
  Files() {
    std::string pattern = (fs::temp_directory_path() / "basalt-files-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~Files() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void put(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }
  std::string text_of(const std::string& name) const {
    std::ifstream file(path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::set<std::string> names() const {
    std::set<std::string> out;
    for (const auto& entry : fs::directory_iterator(folder_)) out.insert(entry.path().filename().string());
    return out;
  }
  const fs::path& folder() const { return folder_; }

 private:
  fs::path folder_;
};

ByteView view_of(std::string_view text) { return {reinterpret_cast<const std::byte*>(text.data()), text.size()}; }

std::string reason_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST_F(Files, ALinkAtTheTargetIsReplacedAndNotFollowed) {
  for (const bool nameless : {true, false}) {
    put("victim", "precious");
    fs::create_symlink(path("victim"), path("out"));
    OutputFile file(path("out"), {.may_be_nameless = nameless});
    file.write(view_of("new"));
    file.commit();
    EXPECT_EQ(text_of("victim"), "precious");
    EXPECT_EQ(text_of("out"), "new");
    EXPECT_FALSE(fs::is_symlink(path("out")));
    fs::remove(path("out"));
  }
}

TEST_F(Files, ALinkToNowhereCreatesNothingThere) {
  for (const bool nameless : {true, false}) {
    fs::create_symlink(path("elsewhere"), path("out"));
    OutputFile file(path("out"), {.may_be_nameless = nameless});
    file.write(view_of("new"));
    file.commit();
    EXPECT_FALSE(fs::exists(path("elsewhere")));
    EXPECT_EQ(text_of("out"), "new");
    fs::remove(path("out"));
  }
}

TEST_F(Files, WritersOfOtherLibrariesGetTheSameFile) {
  for (const bool nameless : {true, false}) {
    OutputFile file(path("out"), {.may_be_nameless = nameless});
    std::ofstream(file.path_to_open(), std::ios::trunc) << "by name";
    file.commit();
    EXPECT_EQ(text_of("out"), "by name");
  }
  EXPECT_EQ(names(), std::set<std::string>{"out"});
}

TEST_F(Files, DevicesAreWrittenWhereAllowedAndNeverReplaced) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_NE(reason_of([&] { OutputFile file(path("pipe")); }), "");
  EXPECT_NE(reason_of([&] { OutputFile file(folder().string(), {.may_be_device = true}); }), "");
  const int reader = ::open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  {
    OutputFile file(path("pipe"), {.may_be_device = true});
    file.write(view_of("through"));
    file.commit();
  }
  char got[16] = {};
  EXPECT_EQ(::read(reader, got, sizeof(got)), 7);
  EXPECT_STREQ(got, "through");
  ::close(reader);
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
  EXPECT_EQ(names(), std::set<std::string>{"pipe"});
}

// Standard output may be a regular file: the name of its descriptor must not be taken for a target.
TEST_F(Files, NamesOfDescriptorsAreWrittenThrough) {
  const int out = ::open(path("out").c_str(), O_RDWR | O_CREAT, 0600);
  OutputFile file("/proc/self/fd/" + std::to_string(out), {.may_be_device = true});
  file.write(view_of("text"));
  file.commit();
  ::close(out);
  EXPECT_EQ(text_of("out"), "text");
}

// As a shell's >> does it: what was written before stays, whoever writes, and the next writer goes on behind it.
TEST_F(Files, DescriptorsKeepWhatWasWrittenBefore) {
  for (const int flags : {O_APPEND, 0}) {
    const int out = ::open(path("out").c_str(), O_WRONLY | O_CREAT | O_TRUNC | flags, 0600);
    ASSERT_EQ(::write(out, "head ", 5), 5);
    for (const std::string folder : {"/dev/fd/", "/proc/self/fd/", "/dev/../dev/fd/"}) {
      OutputFile file(folder + std::to_string(out), {.may_be_device = true});
      file.write(view_of("own "));
      file.commit();
      OutputFile by_name(folder + std::to_string(out), {.may_be_device = true});
      std::ofstream(by_name.path_to_open(), std::ios::trunc) << "named ";
      by_name.commit();
    }
    ::close(out);
    EXPECT_EQ(text_of("out"), "head own named own named own named ");
  }
}

TEST_F(Files, NamesOfClosedDescriptorsAreAnErrorAndNoFiles) {
  const int closed = ::open("/dev/null", O_WRONLY);
  ::close(closed);
  for (const std::string folder : {"/dev/fd/", "/proc/self/fd/"}) {
    const std::string name = folder + std::to_string(closed);
    EXPECT_TRUE(is_written_through(name));
    EXPECT_NE(reason_of([&] { OutputFile file(name, {.may_be_device = true}); }).find("cannot open"),
              std::string::npos);
  }
}

TEST_F(Files, TemporaryFilesAreForTheirOwnerAndLeaveNothing) {
  ::setenv("TMPDIR", folder().c_str(), 1);
  for (const bool nameless : {true, false}) {
    const mode_t mask = ::umask(0);
    const auto file = OutputFile::temporary(nameless);
    ::umask(mask);
    file->write(view_of("spooled"));
    file->flush();
    struct stat status {};
    ASSERT_EQ(::fstat(file->descriptor(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, mode_t{0600});
    std::ifstream again(file->path_to_open());
    EXPECT_EQ((std::string{std::istreambuf_iterator<char>(again), {}}), "spooled");
  }
  ::unsetenv("TMPDIR");
  EXPECT_TRUE(names().empty());
}

TEST_F(Files, PrivateFoldersAreClosedToOthersAndGoWithTheirContents) {
  const mode_t mask = ::umask(0);
  std::string name = PrivateFolder::unused_name(folder().string(), "spill");
  EXPECT_NE(name, PrivateFolder::unused_name(folder().string(), "spill"));
  {
    const PrivateFolder made(name);
    struct stat status {};
    ASSERT_EQ(::lstat(name.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, mode_t{0700});
    fs::create_directories(fs::path(name) / "inner");
    std::ofstream(fs::path(name) / "inner" / "rows") << "rows";
  }
  ::umask(mask);
  EXPECT_TRUE(names().empty());
}

TEST_F(Files, APlantedLinkIsNoPrivateFolder) {
  fs::create_directory(path("victim"));
  put("victim/file", "precious");
  const std::string name = PrivateFolder::unused_name(folder().string(), "spill");
  fs::create_directory_symlink(path("victim"), name);
  EXPECT_NE(reason_of([&] { PrivateFolder folder(name); }), "");
  EXPECT_EQ(text_of("victim/file"), "precious");
  // Nor is a link cleaned up as if a killed process had left it.
  const PrivateFolder other(PrivateFolder::unused_name(folder().string(), "spill"));
  EXPECT_EQ(text_of("victim/file"), "precious");
}

TEST_F(Files, WhatKilledProcessesLeftIsRemovedByTheNext) {
  const std::string name = PrivateFolder::unused_name(folder().string(), "spill");
  const pid_t child = ::fork();
  if (child == 0) {
    const PrivateFolder left(name);
    std::ofstream(name + "/rows") << "rows";
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(child, nullptr, 0);
  ASSERT_TRUE(fs::exists(name + "/rows"));
  const PrivateFolder alive(PrivateFolder::unused_name(folder().string(), "spill"));
  EXPECT_FALSE(fs::exists(name));
  const PrivateFolder next(PrivateFolder::unused_name(folder().string(), "spill"));
  EXPECT_TRUE(fs::exists(alive.path())) << "its process lives";
  fs::create_directory(path("spill-of-somebody"));
  const PrivateFolder last(PrivateFolder::unused_name(folder().string(), "spill"));
  EXPECT_TRUE(fs::exists(path("spill-of-somebody")));
}

TEST_F(Files, AFolderIsLockedBeforeItHasTheNameOthersLookAt) {
  // Many at once, each of which looks for abandoned folders while the others make theirs.
  constexpr int kProcesses = 8;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    bool good = true;
    for (int round = 0; round < 50 && good; ++round) {
      const PrivateFolder made(PrivateFolder::unused_name(folder().string(), "spill"));
      std::ofstream(made.path() + "/rows") << "rows";
      good = fs::exists(made.path() + "/rows");
    }
    ::_exit(good ? 0 : 1);
  }
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_TRUE(names().empty());
}

TEST_F(Files, OnlyRegularFilesAreOpened) {
  put("file", "text");
  fs::create_symlink(path("file"), path("link"));
  ::close(open_regular_file(path("file")));
  ::close(open_regular_file(path("link")));
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path("socket").copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  const std::pair<std::string, std::string> refused[] = {{path("pipe"), "a pipe"},
                                                         {path("socket"), "a socket"},
                                                         {folder().string(), "a folder"},
                                                         {"/dev/null", "a device"}};
  for (const auto& [name, kind] : refused) {
    EXPECT_NE(reason_of([&name = name] { open_regular_file(name); }).find("not a regular file but " + kind),
              std::string::npos);
    EXPECT_NE(reason_of([&name = name] { check_regular_file(name); }).find(kind), std::string::npos);
  }
  ::close(socket);
  EXPECT_NE(reason_of([&] { open_regular_file(path("missing")); }).find("cannot open"), std::string::npos);
  check_regular_file(path("missing"));
}

}  // namespace
}  // namespace basalt
