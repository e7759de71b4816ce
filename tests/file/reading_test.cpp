// Reading: few requests, row ranges, clear refusals, statistics and dictionaries as promised.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>

#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <stdexcept>

#include "basalt/core/error.h"
#include "basalt/file/verify.h"
#include "file/format.h"
#include "file/statistics.h"
#include "file/test_files.h"

namespace basalt::test {
namespace {

using testing::HasSubstr;

class CountingSource final : public Source {
 public:
  explicit CountingSource(std::shared_ptr<Source> source) : source_(std::move(source)) {}
  std::string name() const override { return source_->name(); }
  uint64_t size() const override { return source_->size(); }
  void read(Range range, std::byte* out) const override {
    ++reads;
    bytes += range.length;
    source_->read(range, out);
  }
  mutable std::atomic<uint64_t> reads{0};
  mutable std::atomic<uint64_t> bytes{0};

 private:
  std::shared_ptr<Source> source_;
};

std::string message_of(const std::function<void()>& action, ErrorCode code) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

std::vector<std::byte> file_bytes(const Table& table, const WriteOptions& options = {}) {
  TemporaryFolder folder;
  write(folder.path("t.basalt"), table, options);
  return read_bytes(folder.path("t.basalt"));
}

TEST(Reading, AWideFileCostsFourReads) {
  // 10,000 columns × 20 chunks: the footer is large, a column's metadata and data are not.
  const uint64_t columns = 10000;
  const uint64_t rows = 20;
  std::vector<NamedColumn> named;
  WriteOptions options;
  for (uint64_t c = 0; c < columns; ++c) {
    named.push_back(integers("column_" + std::to_string(c), type_of(TypeKind::kInt32), rows,
                             [c](uint64_t i) { return static_cast<int64_t>(scramble(c * 1000 + i)); }));
    options.encodings[named.back().field.name] = {"plain", {}};
  }
  options.chunk_bytes = columns * 4 / 2;  // one row per chunk
  const Table table = make_table(rows, std::move(named));
  TemporaryFolder folder;
  const WriteSummary summary = write(folder.path("wide.basalt"), table, options);
  ASSERT_EQ(summary.chunks, rows);
  const auto source = std::make_shared<CountingSource>(open_file_source(folder.path("wide.basalt")));
  const auto file = File::open(source);
  EXPECT_LE(source->reads, 2u);
  const Table one = read_table(*file, {.columns = {"column_7777"}, .first_row = 0, .rows = ~uint64_t{0}, .threads = 1});
  EXPECT_TRUE(equal(one.columns[0], table.columns[7777]));
  EXPECT_LE(source->reads, 4u);
  EXPECT_LE(source->bytes, 4u << 20);
}

TEST(Reading, RowRanges) {
  const Table table = everything(20000);
  TemporaryFolder folder;
  WriteOptions options;
  options.chunk_rows = 8192;
  write(folder.path("t.basalt"), table, options);
  const auto file = File::open(folder.path("t.basalt"));
  for (const auto& [first, count] : std::vector<std::pair<uint64_t, uint64_t>>{
           {0, 1}, {8191, 2}, {1000, 15000}, {19999, 1}, {8192, 8192}, {3, 0}, {20000, 5}, {19990, 1000}}) {
    const Table part = read_table(*file, {.columns = {}, .first_row = first, .rows = count, .threads = 2});
    const uint64_t end = std::min<uint64_t>(first + count, table.rows);
    Table expected;
    expected.rows = end - std::min(first, end);
    expected.schema = table.schema;
    for (size_t c = 0; c < table.columns.size(); ++c) {
      expected.columns.push_back(make_column(table.schema.fields[c]));
      append_rows(expected.columns.back(), table.columns[c], first, end);
    }
    expect_equal(expected, part);
  }
}

// Each part once, and all together the table; an error of whoever takes them is the reader's.
TEST(Reading, Parts) {
  const Table table = everything(20000);
  TemporaryFolder folder;
  WriteOptions options;
  options.chunk_rows = 8192;
  write(folder.path("t.basalt"), table, options);
  const auto file = File::open(folder.path("t.basalt"));
  for (const uint64_t first : {uint64_t{0}, uint64_t{5000}, uint64_t{20000}}) {
    const ReadOptions read{.columns = {}, .first_row = first, .rows = 9000, .threads = 3};
    std::mutex mutex;
    std::map<size_t, Table> parts;
    read_parts(*file, read, [&](size_t number, Table&& rows) {
      const std::lock_guard lock(mutex);
      EXPECT_TRUE(parts.emplace(number, std::move(rows)).second);
    });
    EXPECT_EQ(parts.size(), first == 0 ? 2u : first == 5000 ? 2u : 0u);
    Table all = read_table(*file, {.columns = {}, .first_row = 0, .rows = 0});
    for (auto& [number, part] : parts) {
      EXPECT_GT(part.rows, 0u);
      for (size_t c = 0; c < all.columns.size(); ++c) append_rows(all.columns[c], part.columns[c], 0, part.rows);
      all.rows += part.rows;
    }
    expect_equal(read_table(*file, read), all);
  }
  ReadOptions several;
  several.threads = 3;
  EXPECT_THROW(read_parts(*file, several, [](size_t, Table&&) { throw std::out_of_range("no more"); }),
               std::out_of_range);
}

TEST(Reading, UnknownColumnsNameNearOnes) {
  const auto file = open_bytes(file_bytes(everything(3)));
  const std::string message = message_of([&] { file->find_column("utf9"); }, ErrorCode::kInvalidArgument);
  EXPECT_THAT(message, HasSubstr("test.basalt"));
  EXPECT_THAT(message, HasSubstr("utf8"));
}

TEST(Reading, RefusesWhatIsNotBasalt) {
  const auto refuse = [](const std::string& text) {
    std::vector<std::byte> bytes(text.size());
    std::copy_n(reinterpret_cast<const std::byte*>(text.data()), text.size(), bytes.begin());
    return message_of([&] { open_bytes(bytes); }, ErrorCode::kCorrupt);
  };
  EXPECT_THAT(refuse(""), HasSubstr("not a Basalt file"));
  EXPECT_THAT(refuse(std::string(1000, 'x')), HasSubstr("not a Basalt file"));
  EXPECT_THAT(refuse("BASALT\r\n" + std::string(1000, 'x')), HasSubstr("cut off"));
}

TEST(Reading, RefusesNewerVersionsAndFeatures) {
  std::vector<std::byte> bytes = file_bytes(everything(2));
  const size_t at = bytes.size() - sizeof(format_v1::Postscript);
  std::vector<std::byte> newer = bytes;
  newer[at + 40] = std::byte{2};
  EXPECT_THAT(message_of([&] { open_bytes(newer); }, ErrorCode::kUnsupported), HasSubstr("newer version"));
  std::vector<std::byte> feature = bytes;
  feature[at + 24] = std::byte{4};
  reseal(feature);
  EXPECT_THAT(message_of([&] { open_bytes(feature); }, ErrorCode::kUnsupported), HasSubstr("features"));
  std::vector<std::byte> optional = bytes;
  optional[at + 32] = std::byte{4};
  reseal(optional);
  EXPECT_NO_THROW(open_bytes(optional));
}

TEST(Reading, AnUnknownCodecFailsOnlyItsColumn) {
  const uint64_t rows = 100;
  const auto value = [](uint64_t i) { return static_cast<int64_t>(i % 17); };
  WriteOptions options;
  options.encodings = {{"a", {"plain", {}}}, {"b", {"packed", {}}}};
  std::vector<std::byte> bytes = file_bytes(make_table(rows, {integers("a", type_of(TypeKind::kInt32), rows, value),
                                                              integers("b", type_of(TypeKind::kInt32), rows, value)}),
                                            options);
  // The codec's name in the footer's table.
  const std::string name = "packed";
  bool renamed = false;
  for (size_t at = 0; at + name.size() < bytes.size(); ++at) {
    if (std::memcmp(bytes.data() + at, name.data(), name.size()) != 0) continue;
    std::memcpy(bytes.data() + at, "future", name.size());
    renamed = true;
  }
  ASSERT_TRUE(renamed);
  ASSERT_TRUE(reseal(bytes));
  const auto file = open_bytes(bytes);
  EXPECT_NO_THROW(read_table(*file, {.columns = {"a"}, .first_row = 0, .rows = rows, .threads = 1}));
  const std::string message = message_of([&] { file->read_chunk(1, 0); }, ErrorCode::kUnsupported);
  EXPECT_THAT(message, HasSubstr("future"));
  EXPECT_THAT(message, HasSubstr("column b, chunk 0"));
}

TEST(Reading, ChecksumErrorsNameThePlace) {
  const uint64_t rows = 5000;
  WriteOptions options;
  options.encodings = {{"a", {"plain", {}}}};
  std::vector<std::byte> bytes = file_bytes(
      make_table(rows,
                 {integers("a", type_of(TypeKind::kInt32), rows, [](uint64_t i) { return static_cast<int64_t>(i); })}),
      options);
  const uint64_t offset = open_bytes(bytes)->column(0).chunks[0].region.offset;
  bytes[offset + 10] ^= std::byte{1};
  const auto file = open_bytes(bytes);
  const std::string message = message_of([&] { read_table(*file); }, ErrorCode::kCorrupt);
  EXPECT_THAT(message, HasSubstr("test.basalt: column a, chunk 0"));
  EXPECT_THAT(message, HasSubstr("checksum"));
  EXPECT_THAT(message, HasSubstr("at byte " + std::to_string(offset)));
  ThreadPool pool(2);
  EXPECT_THAT(message_of([&] { verify_file(*file, pool); }, ErrorCode::kCorrupt), HasSubstr("column a, chunk 0"));
}

TEST(Reading, StatisticsTellTheTruth) {
  const uint64_t rows = 20000;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Table table = make_table(
      rows,
      {integers("dense", type_of(TypeKind::kInt64), rows, [](uint64_t i) { return static_cast<int64_t>(i) - 7; }),
       integers("falling", type_of(TypeKind::kInt32), rows, [](uint64_t i) { return -static_cast<int64_t>(i / 2); }),
       reals("real", TypeKind::kFloat64, rows, [nan](uint64_t i) { return i == 3       ? nan
                                                                          : i % 2 == 0 ? 0.0
                                                                                       : -0.0; }),
       strings("long", TypeKind::kUtf8, rows, [](uint64_t i) { return std::string(100, 'z') + std::to_string(i); }),
       integers(
           "few", type_of(TypeKind::kInt32), rows, [](uint64_t i) { return static_cast<int64_t>(scramble(i) % 500); },
           [](uint64_t i) { return i < 9000; }),
       integers("same", type_of(TypeKind::kInt8), rows, [](uint64_t) { return 3; })});
  const auto file = open_bytes(file_bytes(table, chunks_of(8192)));
  const Statistics& dense = file->statistics(0);
  EXPECT_TRUE(dense.ascending && dense.strict && dense.dense && !dense.descending && !dense.constant);
  EXPECT_EQ(static_cast<int64_t>(dense.min.integer), -7);
  EXPECT_EQ(static_cast<int64_t>(dense.max.integer), 19992);
  EXPECT_NEAR(static_cast<double>(dense.distinct), 20000, 2500);
  EXPECT_EQ(static_cast<int64_t>(file->column(0).chunks[1].zones[0].min.integer), 8185);
  const Statistics& falling = file->statistics(1);
  EXPECT_TRUE(falling.descending && !falling.strict && !falling.ascending);
  const Statistics& real = file->statistics(2);
  EXPECT_TRUE(real.has_nan && !real.ascending);
  EXPECT_TRUE(std::signbit(real.min.real) && !std::signbit(real.max.real));
  EXPECT_EQ(real.min.real, 0.0);
  const Statistics& text = file->statistics(3);
  EXPECT_FALSE(text.min_exact || text.max_exact);
  EXPECT_EQ(text.min.bytes, std::string(64, 'z'));
  EXPECT_EQ(text.max.bytes, std::string(63, 'z') + "{");
  const Statistics& few = file->statistics(4);
  EXPECT_EQ(few.null_count, 9000u);
  EXPECT_TRUE(file->column(4).chunks[0].stats.min.null);
  EXPECT_NEAR(static_cast<double>(few.distinct), 500, 60);
  EXPECT_TRUE(file->statistics(5).constant);
}

TEST(Reading, BoundsOfStringsAreRoundedUp) {
  using format_v1::round_up;
  EXPECT_EQ(round_up(std::string(70, '\xFF'), false), "");
  EXPECT_EQ(round_up("a" + std::string(70, '\xFF'), false), "b");
  std::string characters;
  for (int i = 0; i < 30; ++i) characters += "漢";
  const std::string bound = round_up(characters, true);
  EXPECT_LE(bound.size(), 64u);
  EXPECT_GT(bound, characters);
  std::string highest;
  for (int i = 0; i < 20; ++i) highest += "\xF4\x8F\xBF\xBF";
  EXPECT_EQ(round_up(highest, true), "");
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    std::string text;
    for (uint64_t i = 0; i < 80; ++i)
      text.push_back(static_cast<char>(scramble(seed * 100 + i) % (seed % 3 == 0 ? 256 : 128)));
    for (const bool utf8 : {false, true}) {
      const std::string upper = round_up(text, utf8);
      EXPECT_LE(upper.size(), 64u);
      EXPECT_TRUE(upper.empty() || upper > text);
    }
  }
}

TEST(Reading, DictionariesSpanTheFile) {
  const uint64_t rows = 30000;
  const auto drifting = [](uint64_t i) { return "value " + std::to_string(1000 + i / 8192 * 3 + scramble(i) % 6); };
  WriteOptions options;
  options.chunk_rows = 8192;
  options.encodings = {{"text", parse_tree("dict")}, {"number", parse_tree("dict(packed, packed)")}};
  const auto file = open_bytes(file_bytes(
      make_table(rows, {strings("text", TypeKind::kUtf8, rows, drifting, [](uint64_t i) { return i % 100 == 0; }),
                        integers("number", type_of(TypeKind::kInt64), rows,
                                 [](uint64_t i) { return static_cast<int64_t>(scramble(i) % 5); })}),
      options));
  ASSERT_TRUE(file->column(0).has_dictionary);
  const EncodedChunk dictionary = file->read_dictionary(0);
  const Column entries = decode_rows(dictionary.root, type_of(TypeKind::kUtf8), 0, dictionary.root.count);
  ASSERT_EQ(entries.length, 15u);
  for (uint64_t i = 1; i < entries.length; ++i) EXPECT_LT(entries.string_at(i - 1), entries.string_at(i));
  for (uint32_t chunk = 0; chunk < 4; ++chunk) {
    const std::vector<uint32_t> map = file->read_code_map(0, chunk);
    ASSERT_EQ(map.size(), 6u);
    for (uint32_t i = 0; i < 6; ++i) EXPECT_EQ(map[i], chunk * 3 + i);
  }
  // Every chunk holds all five numbers: the streams of the first serve the file, and no map is needed.
  ASSERT_TRUE(file->column(1).has_dictionary);
  EXPECT_EQ(file->read_dictionary(1).root.count, 5u);
  EXPECT_TRUE(file->read_code_map(1, 2).empty());
}

// Entries whose rate changes every few hundred: efforts differ in what they make of them.
TEST(Reading, DictionariesAreEncodedWithTheFilesEffort) {
  const uint64_t rows = 3 * 8192;
  const auto entry = [](uint64_t i) {
    int64_t at = 0;
    for (uint64_t k = 0; k < i / 700; ++k) at += 700 * static_cast<int64_t>(scramble(k) % 900);
    return at + static_cast<int64_t>(i % 700 * (scramble(i / 700) % 900) + scramble(i) % 9);
  };
  const Table table = make_table(rows, {integers("a", type_of(TypeKind::kInt64), rows, entry)});
  std::vector<uint64_t> sizes;
  for (const Effort effort : {Effort::kFast, Effort::kBalanced, Effort::kBest}) {
    WriteOptions options = chunks_of(8192);
    options.encodings["a"] = parse_tree("dict(packed, l3)");
    options.effort = effort;
    const auto file = open_bytes(file_bytes(table, options));
    ASSERT_TRUE(file->column(0).has_dictionary);
    const EncodedChunk dictionary = file->read_dictionary(0);
    const Column entries = decode_rows(dictionary.root, type_of(TypeKind::kInt64), 0, dictionary.root.count);
    Values values;
    values.type = Physical::kI64;
    values.count = entries.length;
    values.data = entries.values.data();
    const Node expected = encode_tree(values, tree_of(dictionary.root), effort);
    ASSERT_EQ(expected.streams.size(), dictionary.root.streams.size());
    for (size_t i = 0; i < expected.streams.size(); ++i) {
      const ByteView stream = dictionary.root.streams[i];
      EXPECT_TRUE(std::ranges::equal(expected.streams[i].view(), stream)) << "stream " << i;
    }
    sizes.push_back(expected.encoded_bytes());
  }
  EXPECT_GT(sizes[0], sizes[1]);
}

// A file whose first bytes are far away: everything behind 5 GiB, the hole reads as zeros.
class ShiftedSource final : public Source {
 public:
  ShiftedSource(std::vector<std::byte> bytes, uint64_t shift) : bytes_(std::move(bytes)), shift_(shift) {}
  std::string name() const override { return "test.basalt"; }
  uint64_t size() const override { return bytes_.size() + shift_; }
  void read(Range range, std::byte* out) const override {
    for (uint64_t i = 0; i < range.length; ++i) {
      const uint64_t at = range.offset + i;
      out[i] = at < shift_ ? std::byte{0} : bytes_[static_cast<size_t>(at - shift_)];
    }
  }

 private:
  std::vector<std::byte> bytes_;
  uint64_t shift_;
};

TEST(Reading, OffsetsBeyondFourGigabytes) {
  // Moves a whole file up by 5 GiB: every offset in its metadata grows by as much.
  const Table table = everything(3000);
  std::vector<std::byte> bytes = file_bytes(table);
  const uint64_t shift = uint64_t{5} << 30;
  shift_offsets(bytes, shift);
  const auto file = File::open(std::make_shared<ShiftedSource>(bytes, shift));
  EXPECT_GT(file->column(3).chunks[0].region.offset, uint64_t{5} << 30);
  expect_equal(table, read_table(*file));
}

TEST(Reading, AFileCutWhileOpenIsAnError) {
  TemporaryFolder folder;
  const std::string path = folder.path("t.basalt");
  const uint64_t rows = 200000;
  write(path, make_table(rows, {integers("a", type_of(TypeKind::kInt64), rows,
                                         [](uint64_t i) { return static_cast<int64_t>(scramble(i)); })}));
  const auto file = File::open(path);
  file->column(0);
  std::filesystem::resize_file(path, 4096 + 100);
  EXPECT_THAT(message_of([&] { file->read_chunk(0, 0); }, ErrorCode::kIo), HasSubstr("cut while it was being read"));
}

TEST(Reading, RangesAreCoalesced) {
  std::vector<std::byte> bytes(100000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7);
  const CountingSource source(memory_source(to_buffer(bytes)));
  const std::vector<Range> ranges{{50000, 10}, {0, 100}, {200, 50}, {60, 100}, {0, 0}, {99990, 10}};
  const std::vector<Buffer> parts = read_ranges(source, ranges, 1000);
  EXPECT_EQ(source.reads, 3u);
  for (size_t i = 0; i < ranges.size(); ++i) {
    ASSERT_EQ(parts[i].size(), ranges[i].length);
    EXPECT_TRUE(std::equal(parts[i].data(), parts[i].data() + parts[i].size(), bytes.data() + ranges[i].offset));
  }
  message_of([&] { read_ranges(source, std::vector<Range>{{99990, 11}}); }, ErrorCode::kIo);
  message_of([&] { read_ranges(source, std::vector<Range>{{~uint64_t{0}, ~uint64_t{0}}}); }, ErrorCode::kIo);
}

}  // namespace
}  // namespace basalt::test
