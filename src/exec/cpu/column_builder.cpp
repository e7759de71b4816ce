#include "exec/cpu/column_builder.h"

#include <cstring>

#include "basalt/core/error.h"

namespace basalt::exec {

ColumnBuilder::ColumnBuilder(const Field& field) : column_(make_column(field)), type_(physical_of(field.type)) {}

void ColumnBuilder::reserve(uint64_t rows) {
  if (type_ == Physical::kBytes) {
    column_.offsets.reserve((rows + 1) * sizeof(int64_t));
  } else {
    column_.values.reserve(rows * width_of(type_));
  }
}

// Validity exists from the first NULL on.
void ColumnBuilder::mark(bool valid) {
  const uint64_t row = column_.length++;
  if (valid && column_.validity.empty()) return;
  const size_t had = column_.validity.size();
  column_.validity.resize(row / 8 + 1);
  auto* bits = column_.validity.as<uint8_t>();
  if (had == 0) {
    std::memset(bits, 0xFF, column_.validity.size());
  } else if (column_.validity.size() > had) {
    bits[had] = 0xFF;
  }
  if (valid) return;
  bits[row / 8] = static_cast<uint8_t>(bits[row / 8] & ~(1u << row % 8));
  ++column_.null_count;
}

void ColumnBuilder::add_null() {
  if (type_ == Physical::kBytes) {
    column_.offsets.push(static_cast<int64_t>(column_.bytes.size()));
  } else {
    const int128_t zero = 0;
    column_.values.append(&zero, width_of(type_));
  }
  mark(false);
}

void ColumnBuilder::add_integer(int128_t value) {
  // Little-endian: the low bytes are the narrower integer.
  column_.values.append(&value, width_of(type_));
  mark(true);
}

void ColumnBuilder::add_real(double value) {
  if (type_ == Physical::kF32) {
    column_.values.push(static_cast<float>(value));
  } else {
    column_.values.push(value);
  }
  mark(true);
}

void ColumnBuilder::add_text(std::string_view text) {
  column_.bytes.append(text.data(), text.size());
  column_.offsets.push(static_cast<int64_t>(column_.bytes.size()));
  mark(true);
}

void ColumnBuilder::add_value(const Value& value) {
  if (value.null) {
    add_null();
  } else if (type_ == Physical::kBytes) {
    add_text(value.bytes);
  } else if (is_float(type_)) {
    add_real(value.real);
  } else {
    add_integer(value.integer);
  }
}

void ColumnBuilder::add_rows(const Vector& vector, const uint16_t* rows, uint32_t count) {
  const auto each = [&](const auto& add) {
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t row = rows == nullptr ? i : rows[i];
      if (vector.valid != nullptr && vector.valid[row] == 0) {
        add_null();
      } else {
        add(row);
      }
    }
  };
  switch (vector.lane) {
    case Lane::kI32: return each([&](uint32_t row) { add_integer(vector.as<int32_t>()[row]); });
    case Lane::kI64: return each([&](uint32_t row) { add_integer(vector.as<int64_t>()[row]); });
    case Lane::kI128: return each([&](uint32_t row) { add_integer(vector.as<int128_t>()[row]); });
    case Lane::kBool: return each([&](uint32_t row) { add_integer(vector.as<uint8_t>()[row]); });
    case Lane::kF32: return each([&](uint32_t row) { add_real(static_cast<double>(vector.as<float>()[row])); });
    case Lane::kF64: return each([&](uint32_t row) { add_real(vector.as<double>()[row]); });
    case Lane::kBytes: return each([&](uint32_t row) { add_text(vector.as<std::string_view>()[row]); });
  }
}

void ColumnBuilder::add_row(const Column& from, uint64_t row) {
  if (!from.is_valid(row)) return add_null();
  if (type_ == Physical::kBytes) return add_text(from.string_at(row));
  const uint32_t width = width_of(type_);
  column_.values.append(from.values.data() + row * width, width);
  mark(true);
}

void ColumnBuilder::add_column(const Column& from) { append_rows(column_, from, 0, from.length); }

Column ColumnBuilder::take() { return std::move(column_); }

}  // namespace basalt::exec
