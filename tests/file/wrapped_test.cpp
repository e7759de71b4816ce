// Small files as one zstd frame: what is saved, what stays the same, and frames that lie.
#include <zstd.h>

#include <filesystem>

#include "basalt/core/error.h"
#include "basalt/file/reader.h"
#include "basalt/file/verify.h"
#include "file/format.h"
#include "test_files.h"

namespace basalt::test {
namespace {

constexpr size_t kTail = sizeof(format_v1::Postscript);

std::vector<std::byte> wrapped_bytes(const Table& table, const WriteOptions& options = {}) {
  TemporaryFolder folder;
  write_table(folder.path("t.basalt"), table, options);
  return read_bytes(folder.path("t.basalt"));
}

// The file with another frame between its header and its postscript.
std::vector<std::byte> with_frame(const std::vector<std::byte>& file, const std::vector<std::byte>& frame) {
  std::vector<std::byte> out(file.begin(), file.begin() + format_v1::kHeaderBytes);
  out.insert(out.end(), frame.begin(), frame.end());
  out.insert(out.end(), file.end() - kTail, file.end());
  return out;
}

std::vector<std::byte> frame_of(const std::vector<std::byte>& file) {
  return {file.begin() + format_v1::kHeaderBytes, file.end() - kTail};
}

std::vector<std::byte> compressed(const std::vector<std::byte>& content) {
  std::vector<std::byte> out(ZSTD_compressBound(content.size()));
  out.resize(ZSTD_compress(out.data(), out.size(), content.data(), content.size(), 1));
  return out;
}

TEST(WrappedFiles, HoldTheSameRowsInFewerBytes) {
  const Table table = everything(100);
  TemporaryFolder folder;
  write_table(folder.path("wrapped.basalt"), table);
  write(folder.path("plain.basalt"), table);
  const auto wrapped = File::open(folder.path("wrapped.basalt"));
  const auto plain = File::open(folder.path("plain.basalt"));
  expect_equal(table, read_table(*wrapped));
  EXPECT_EQ(wrapped->bytes(), std::filesystem::file_size(folder.path("wrapped.basalt")));
  EXPECT_EQ(plain->bytes(), std::filesystem::file_size(folder.path("plain.basalt")));
  EXPECT_LT(wrapped->bytes(), plain->bytes() / 2);
  EXPECT_EQ(wrapped->source().size(), plain->source().size());
  ThreadPool pool(1);
  verify_file(*wrapped, pool);
}

TEST(WrappedFiles, SummaryTellsTheirSize) {
  TemporaryFolder folder;
  const WriteSummary summary = write_table(folder.path("t.basalt"), everything(10));
  EXPECT_EQ(summary.file_bytes, std::filesystem::file_size(folder.path("t.basalt")));
}

TEST(WrappedFiles, AreSmallOnes) {
  const auto noise = [](uint64_t rows) {
    return make_table(rows, {integers("n", type_of(TypeKind::kInt64), rows,
                                      [](uint64_t i) { return static_cast<int64_t>(scramble(i)); })});
  };
  // Some hundred bytes of metadata around noise are not worth a frame.
  for (const uint64_t rows : {4'096, 100'000}) {
    const auto file = open_bytes(wrapped_bytes(noise(rows)));
    EXPECT_EQ(file->bytes(), file->source().size()) << rows;
  }
  const auto zeros = make_table(200'000, {integers("z", type_of(TypeKind::kInt64), 200'000,
                                                   [](uint64_t i) { return static_cast<int64_t>(i % 3); })});
  WriteOptions plain;
  plain.encodings["z"] = parse_tree("plain");
  const auto large = open_bytes(wrapped_bytes(zeros, plain));
  EXPECT_EQ(large->bytes(), large->source().size());
}

TEST(WrappedFiles, EveryFlippedByteIsFoundOrMeansNothing) {
  const Table table = everything(20);
  const std::vector<std::byte> bytes = wrapped_bytes(table);
  ThreadPool pool(1);
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::vector<std::byte> damaged = bytes;
    damaged[at] ^= std::byte{0x41};
    try {
      const auto file = open_bytes(damaged);
      verify_file(*file, pool);
      expect_equal(table, read_table(*file));
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::kInternal) << at;
    }
  }
}

TEST(WrappedFiles, EveryShorterOneIsRefused) {
  const std::vector<std::byte> bytes = wrapped_bytes(everything(5));
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_THROW(open_bytes({bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(length)}), Error) << length;
    const std::vector<std::byte> frame = frame_of(bytes);
    if (length >= frame.size()) continue;
    EXPECT_THROW(open_bytes(with_frame(bytes, {frame.begin(), frame.begin() + static_cast<ptrdiff_t>(length)})), Error);
  }
}

TEST(WrappedFiles, FramesThatLieAreRefused) {
  const std::vector<std::byte> bytes = wrapped_bytes(everything(5));
  const std::vector<std::byte> frame = frame_of(bytes);
  std::vector<std::byte> two = frame;
  two.insert(two.end(), frame.begin(), frame.end());
  std::vector<std::byte> longer = frame;
  longer.push_back(std::byte{0});
  const std::vector<std::byte> bomb = compressed(std::vector<std::byte>(64 << 20));
  const std::vector<std::byte> just_too_large = compressed(std::vector<std::byte>(format_v1::kMostWrappedBytes + 1));
  const std::vector<std::byte> zeros = compressed(std::vector<std::byte>(format_v1::kMostWrappedBytes));
  const std::vector<std::byte> wrapped_again = compressed(frame);
  const std::vector<std::byte> noise(200 << 10, std::byte{7});
  for (const auto& lie : {two, longer, bomb, just_too_large, zeros, wrapped_again, noise, std::vector<std::byte>()}) {
    EXPECT_THROW(open_bytes(with_frame(bytes, lie)), Error) << lie.size();
  }
}

TEST(WrappedFiles, AreTheSameWhateverTheThreads) {
  const Table table = everything(3000);
  EXPECT_EQ(wrapped_bytes(table, chunks_of(8192, 1)), wrapped_bytes(table, chunks_of(8192, 3)));
}

}  // namespace
}  // namespace basalt::test
