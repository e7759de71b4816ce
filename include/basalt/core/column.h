// A decoded column in host memory: what the writer takes and the reader gives. Arrow import and export convert to and
// from this form; inside Basalt nothing else is passed around.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "basalt/core/buffer.h"
#include "basalt/core/types.h"

namespace basalt {

struct Column {
  DataType type;
  uint64_t length = 0;
  uint64_t null_count = 0;
  Buffer values;                 // fixed width: length × width bytes (bool: one byte per row)
  Buffer offsets;                // utf8, binary, list: length + 1 of int64, first is 0
  Buffer bytes;                  // utf8, binary
  Buffer validity;               // bit i set = row i valid, least significant bit first; empty = no NULL
  std::vector<Column> children;  // list: elements; struct: fields

  bool is_valid(uint64_t row) const {
    return validity.empty() || ((validity.as<uint8_t>()[row >> 3] >> (row & 7)) & 1);
  }
  std::string_view string_at(uint64_t row) const {
    const int64_t* at = offsets.as<int64_t>();
    return {bytes.as<char>() + at[row], static_cast<size_t>(at[row + 1] - at[row])};
  }
  uint64_t plain_bytes() const;  // what the column occupies uncompressed, children included
};

// An empty column of this shape (offsets hold their first 0).
Column make_column(const Field& field);

// Appends rows [begin, end) of `source`, which has the same shape.
void append_rows(Column& target, const Column& source, uint64_t begin, uint64_t end);

// Appends rows that are NULL; zero or nothing lies under them.
void append_nulls(Column& target, uint64_t rows);

// Brings nested columns to the form in which imports and readers give rows out, whatever Arrow or a file holds: what
// lies under a NULL struct is NULL, a NULL list has no elements. Other columns are left as they are.
void make_canonical(Column& column);

// Equal as SQL values: same types, NULLs, bits of every valid value, children.
bool equal(const Column& a, const Column& b);

struct Table {
  Schema schema;
  uint64_t rows = 0;
  std::vector<Column> columns;

  // Adds a column without NULLs; T is the type that values of `type` are held as, std::string for texts. Throws
  // Error(kInvalidArgument) where it is not, or columns differ in length.
  template <typename T>
  Table& add(std::string name, const DataType& type, const std::vector<T>& values) {
    Column& column = add_column(std::move(name), type, values.size(), std::is_same_v<T, std::string> ? 0 : sizeof(T));
    if constexpr (std::is_same_v<T, std::string>) {
      for (const std::string& text : values) {
        column.bytes.append(text.data(), text.size());
        column.offsets.push(static_cast<int64_t>(column.bytes.size()));
      }
    } else {
      column.values.append(values.data(), values.size() * sizeof(T));
    }
    return *this;
  }

 private:
  Column& add_column(std::string name, const DataType& type, uint64_t length, uint32_t width);
};

}  // namespace basalt
