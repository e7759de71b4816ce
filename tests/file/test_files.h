// What the tests of src/file ask of tables and do to files.
#pragma once

#include <gtest/gtest.h>

#include "support/test_tables.h"

namespace basalt::test {

inline void expect_equal(const Table& expected, const Table& actual) {
  ASSERT_EQ(expected.rows, actual.rows);
  ASSERT_EQ(expected.columns.size(), actual.columns.size());
  for (size_t i = 0; i < expected.columns.size(); ++i) {
    EXPECT_TRUE(equal(expected.columns[i], actual.columns[i])) << "column " << expected.schema.fields[i].name;
  }
}

// The places of a column's streams, in the order of its metadata, and of its chunks' regions: rewritten as `edit`
// leaves them, and sealed again. `edit` also gets the streams of the column's dictionary, if it has one.
struct ColumnPlaces {
  std::vector<StreamPlace> streams;
  std::vector<StreamPlace> regions;
  std::vector<StreamPlace> dictionary;
};
void edit_places(std::vector<std::byte>& bytes, uint32_t column, const std::function<void(ColumnPlaces&)>& edit);
// Adds `shift` to every offset in the file's metadata and seals it again, as if so many bytes lay in front of it. Only
// the offsets change, not the bytes' own places.
void shift_offsets(std::vector<std::byte>& bytes, uint64_t shift);

}  // namespace basalt::test
