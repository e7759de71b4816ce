// Damage: every byte of small files flipped, files cut at every length, with and without checksums that fit the damage.
// A reader gives a clear error or, where the checksums were left alone, exactly the same rows; verify notices every
// single byte. Nobody crashes, hangs or reads out of bounds (the sanitizer builds run these tests too).
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "basalt/core/error.h"
#include "basalt/file/verify.h"
#include "file/test_files.h"

namespace basalt::test {
namespace {

struct Example {
  std::string name;
  Table table;
  WriteOptions options;
};

std::vector<Example> examples() {
  std::vector<Example> out;
  const IsNull some = [](uint64_t i) { return i % 5 == 2; };
  const auto add = [&](const std::string& name, Table table, const std::map<std::string, std::string>& trees,
                       uint64_t chunk_bytes = 64 << 20) {
    WriteOptions options;
    options.threads = 1;
    options.chunk_bytes = chunk_bytes;
    for (const auto& [column, tree] : trees) options.encodings[column] = parse_tree(tree);
    out.push_back({name, std::move(table), options});
  };
  const uint64_t rows = 60;
  const auto narrow = [](uint64_t i) { return static_cast<int64_t>(scramble(i) % 8); };
  const auto runs = [](uint64_t i) { return static_cast<int64_t>(i / 9 % 3); };
  const auto word = [](uint64_t i) { return std::string("w") + std::to_string(scramble(i) % 6); };
  add("numbers",
      make_table(rows, {integers("packed", type_of(TypeKind::kInt32), rows, narrow, some),
                        integers("plain", type_of(TypeKind::kInt16), rows, narrow),
                        integers("constant", type_of(TypeKind::kInt64), rows, [](uint64_t) { return 7; }),
                        integers("flag", type_of(TypeKind::kBool), rows, [](uint64_t i) { return scramble(i) % 2; }),
                        integers("delta", type_of(TypeKind::kInt64), rows,
                                 [](uint64_t i) { return static_cast<int64_t>(3 * i); })}),
      {{"packed", "packed"},
       {"plain", "plain"},
       {"constant", "constant"},
       {"flag", "plain"},
       {"delta", "delta(packed)"}});
  add("runs and dictionaries",
      make_table(rows, {integers("rle", type_of(TypeKind::kInt32), rows, runs),
                        integers("rle of dict", type_of(TypeKind::kDate), rows, runs, some),
                        strings("dict", TypeKind::kUtf8, rows, word, some),
                        reals("float", TypeKind::kFloat64, rows, [](uint64_t i) { return i % 4 * 0.5; })}),
      {{"rle", "rle(packed, packed)"},
       {"dict", "dict(packed, strings(packed, plain))"},
       {"float", "dict(packed, plain)"}});
  add("strings",
      make_table(rows,
                 {strings(
                      "text", TypeKind::kUtf8, rows, [](uint64_t i) { return std::string(i % 7, 'x') + "é"; }, some),
                  strings("words", TypeKind::kUtf8, rows, word),
                  strings("same", TypeKind::kBinary, rows, [](uint64_t) { return "same"; })}),
      {{"text", "strings(packed, plain)"}, {"words", "strings(packed, fsst)"}});
  add("nested",
      make_table(
          12, {list_of(
                   "list", 12, [](uint64_t i) { return i % 4; },
                   [&](uint64_t n) { return integers("element", type_of(TypeKind::kUInt8), n, narrow, some); }, some),
               struct_of("struct", 12, {strings("s", TypeKind::kUtf8, 12, word)}, some)}),
      {});
  add("chunks of a few rows",
      make_table(30,
                 {strings("word", TypeKind::kUtf8, 30, word), integers("n", type_of(TypeKind::kInt64), 30, narrow)}),
      {{"word", "dict(packed, strings(packed, plain))"}}, 70);
  add("no rows", make_table(0, {integers("n", type_of(TypeKind::kInt64), 0, narrow)}), {});
  return out;
}

std::vector<std::byte> bytes_of(const Example& example) {
  TemporaryFolder folder;
  write(folder.path("t.basalt"), example.table, example.options);
  return read_bytes(folder.path("t.basalt"));
}

enum class Outcome { kSound, kSame, kOther, kError };  // kSame: the same rows, but verify found a fault

// Everything a reader of an untrusted file would do.
Outcome read_all(const std::vector<std::byte>& bytes, const Table& expected, ThreadPool& pool) {
  try {
    const auto file = open_bytes(bytes);
    const Table table = read_table(*file, {.columns = {}, .first_row = 0, .rows = 1000, .threads = 1});
    for (uint32_t field = 0; field < file->fields().size(); ++field) {
      if (!file->column(field).has_dictionary) continue;
      file->read_dictionary(field);
      for (uint32_t chunk = 0; chunk < file->chunks().size(); ++chunk) file->read_code_map(field, chunk);
    }
    bool same = table.rows == expected.rows && table.columns.size() == expected.columns.size();
    for (size_t i = 0; same && i < table.columns.size(); ++i) same = equal(table.columns[i], expected.columns[i]);
    try {
      verify_file(*file, pool);
      return same ? Outcome::kSound : Outcome::kOther;
    } catch (const Error& error) {
      EXPECT_GT(std::string(error.what()).size(), 20u);
    }
    return same ? Outcome::kSame : Outcome::kOther;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("test.basalt"), std::string::npos) << error.what();
    return Outcome::kError;
  }
}

class Corruption : public testing::TestWithParam<size_t> {
 protected:
  void SetUp() override {
    example_ = examples()[GetParam()];
    bytes_ = bytes_of(example_);
    ASSERT_EQ(read_all(bytes_, example_.table, pool_), Outcome::kSound);
  }
  Example example_;
  std::vector<std::byte> bytes_;
  ThreadPool pool_{1};
};

TEST_P(Corruption, EveryFlippedByteIsNoticedAndHarmless) {
  for (size_t at = 0; at < bytes_.size(); ++at) {
    const auto mask = static_cast<std::byte>(at % 3 == 0 ? 0xFF : 1u << (scramble(at) % 8));
    bytes_[at] ^= mask;
    const Outcome outcome = read_all(bytes_, example_.table, pool_);
    ASSERT_TRUE(outcome == Outcome::kError || outcome == Outcome::kSame) << example_.name << ": byte " << at;
    bytes_[at] ^= mask;
  }
}

TEST_P(Corruption, EveryTruncationIsFound) {
  for (size_t length = 0; length < bytes_.size(); ++length) {
    const std::vector<std::byte> cut(bytes_.begin(), bytes_.begin() + static_cast<ptrdiff_t>(length));
    ASSERT_EQ(read_all(cut, example_.table, pool_), Outcome::kError) << example_.name << ": cut at " << length;
  }
}

TEST_P(Corruption, DamageUnderFittingChecksumsDoesNoHarm) {
  for (size_t at = 0; at < bytes_.size(); ++at) {
    for (const unsigned mask : {0xFFu, 1u << (scramble(at) % 8)}) {
      std::vector<std::byte> damaged = bytes_;
      damaged[at] ^= static_cast<std::byte>(mask);
      reseal(damaged);
      read_all(damaged, example_.table, pool_);
    }
  }
}

TEST_P(Corruption, ResealingAnIntactFileChangesNothing) {
  std::vector<std::byte> copy = bytes_;
  ASSERT_TRUE(reseal(copy));
  EXPECT_EQ(copy, bytes_);
}

INSTANTIATE_TEST_SUITE_P(Files, Corruption, testing::Range<size_t>(0, 6), [](const auto& test) {
  std::string name = examples()[test.param].name;
  for (char& c : name) c = c == ' ' ? '_' : c;
  return name;
});

// A file whose encoded arrays lie under checksums that fit.
std::shared_ptr<File> lying_file(const Table& table, const std::string& tree,
                                 const std::function<void(Node&)>& damage) {
  TemporaryFolder folder;
  WriteOptions options;
  options.threads = 1;
  const Tree forced = parse_tree(tree);
  options.encodings[table.schema.fields[0].name] = forced;
  options.encoder = [&](const Values& values, const Tree& bound) {
    Node node = encode_tree(values, bound);
    if (bound == forced) damage(node);  // not what a file-wide dictionary adds
    return node;
  };
  write(folder.path("t.basalt"), table, options);
  return open_bytes(read_bytes(folder.path("t.basalt")));
}

std::string message_of_verify(const File& file) {
  ThreadPool pool(1);
  try {
    verify_file(file, pool);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCorrupt) << error.what();
    return error.what();
  }
  return "no error";
}

TEST(Lies, DictionariesThatDoNotAscendAreFoundByVerify) {
  const uint64_t rows = 4000;
  const Table numbers = make_table(rows, {integers("n", type_of(TypeKind::kInt32), rows, [](uint64_t i) {
                                     return static_cast<int64_t>(scramble(i) % 1500) - 700;
                                   })});
  for (const int other : {1, 0}) {  // exchanged, or the same entry twice
    const auto file = lying_file(numbers, "dict(plain, plain)", [&](Node& node) {
      auto* entries = node.children[1].streams[0].as<int32_t>();
      std::swap(entries[1023], entries[1023 + other]);
      if (other == 0) entries[1024] = entries[1023];
    });
    EXPECT_NE(message_of_verify(*file).find("do not ascend"), std::string::npos);
  }
  const Table words = make_table(
      rows, {strings("s", TypeKind::kUtf8, rows, [](uint64_t i) { return std::to_string(1000 + i % 100); })});
  const auto file = lying_file(words, "dict(plain, strings(plain, plain))",
                               [](Node& node) { node.children[1].children[1].streams[1].as<char>()[3] = '9'; });
  EXPECT_NE(message_of_verify(*file).find("do not ascend"), std::string::npos);
}

TEST(Lies, StringsThatAreNotUtf8AreNotRead) {
  const uint64_t rows = 3000;
  const Table table = make_table(rows, {strings("s", TypeKind::kUtf8, rows, [](uint64_t) { return "word"; })});
  const auto file = lying_file(table, "strings(plain, plain)",
                               [](Node& node) { node.children[1].streams[1].as<char>()[2500 * 4 + 1] = '\xFF'; });
  EXPECT_NE(message_of_verify(*file).find("column s, chunk 0 at byte 128: row 2500 is not valid UTF-8"),
            std::string::npos)
      << message_of_verify(*file);
  EXPECT_THROW(read_table(*file), Error);
  EXPECT_THROW(read_table(*file, {.columns = {}, .first_row = 2400, .rows = 200, .threads = 1}), Error);
  EXPECT_NO_THROW(read_table(*file, {.columns = {}, .first_row = 100, .rows = 2000, .threads = 1}));
}

TEST(Lies, NamesAreUtf8AndDifferent) {
  const auto bytes = [] {
    TemporaryFolder folder;
    write(folder.path("t.basalt"),
          make_table(2, {integers("name_a", type_of(TypeKind::kInt8), 2, [](uint64_t) { return 1; }),
                         integers("name_b", type_of(TypeKind::kInt8), 2, [](uint64_t) { return 1; })}));
    return read_bytes(folder.path("t.basalt"));
  }();
  for (const char last : {'a', '\xFF'}) {
    std::vector<std::byte> damaged = bytes;
    const std::string name = "name_b";
    for (size_t at = 0; at + name.size() < damaged.size(); ++at) {
      if (std::memcmp(damaged.data() + at, name.data(), name.size()) == 0) {
        damaged[at + name.size() - 1] = static_cast<std::byte>(last);
      }
    }
    ASSERT_TRUE(reseal(damaged));
    EXPECT_THROW(open_bytes(damaged), Error) << static_cast<int>(last);
  }
}

}  // namespace
}  // namespace basalt::test
