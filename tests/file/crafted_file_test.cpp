// That taking a file apart and sealing it again changes nothing that a reader sees: what tests of crafted files find is
// then what they crafted.
#include "support/crafted_file.h"

#include <gtest/gtest.h>

#include "basalt/core/threads.h"
#include "basalt/encoding/tree.h"
#include "basalt/file/verify.h"
#include "file/test_files.h"

namespace basalt::test {

namespace {

TEST(CraftedFile, UnchangedIsSound) {
  TemporaryFolder folder;
  const Table table = everything(20000);
  write(folder.path("a.basalt"), table, chunks_of(8192));
  const std::shared_ptr<File> file = open_bytes(CraftedFile(read_bytes(folder.path("a.basalt"))).seal());
  ThreadPool pool(1);
  EXPECT_NO_THROW(verify_file(*file, pool));
  expect_equal(table, read_table(*file));
}

TEST(CraftedFile, AnotherArray) {
  TemporaryFolder folder;
  const Table table = make_table(3000, {integers("a", type_of(TypeKind::kInt32), 3000, [](uint64_t i) { return i; })});
  write(folder.path("a.basalt"), table);
  CraftedFile crafted_file(read_bytes(folder.path("a.basalt")));
  Values values;
  values.type = Physical::kI32;
  values.count = 3000;
  values.data = table.columns[0].values.data();
  crafted_file.set_array(0, crafted(encode_tree(values, bind_tree(parse_tree("delta(packed)"), Physical::kI32))));
  const std::shared_ptr<File> file = open_bytes(crafted_file.seal());
  EXPECT_EQ(to_string(file->column(0).shapes.at(0)), "delta(packed)");
  expect_equal(table, read_table(*file));
}

}  // namespace

}  // namespace basalt::test
