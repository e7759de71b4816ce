// Rows that lie on the device: what one stage of a query leaves for the next.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "basalt/core/column.h"
#include "basalt/exec/pipeline.h"
#include "codec/strings/gpu/texts.h"
#include "cuda/codec/decode_strings.h"
#include "cuda/runtime/device_buffer.h"
#include "exec/bounds.h"
#include "exec/device/generate/generate.h"
#include "exec/text_codes.h"

namespace basalt::cuda {

// A list of strings, as Arrow has them.
struct DeviceTexts {
  uint64_t count = 0;
  DeviceBuffer offsets;  // int64, count + 1
  DeviceBuffer bytes;
};

std::shared_ptr<const DeviceTexts> as_device_texts(DeviceStrings strings);

struct DeviceColumn {
  Field field;
  DeviceBuffer values;    // of the field's physical type; of strings their places in a list, as uint32
  DeviceBuffer validity;  // a byte for each row, 1: it has a value; nothing: all have
  // The list, of strings: one of these.
  std::shared_ptr<const DeviceTexts> texts;
  std::shared_ptr<const exec::TextCodes> listed;  // a dictionary that the host has
  std::optional<exec::IntegerRange> range;        // of integers, where it is proven
};

// The list of a column of strings, and what it takes where only the host has had it.
struct TextList {
  strings::Texts at{};
  uint64_t count = 0;
  DeviceBuffer offsets;
  DeviceBuffer bytes;
};
TextList list_of(const DeviceColumn& column, cudaStream_t stream);
// The strings of a column of them, one behind the other.
DeviceStrings strings_of(const DeviceColumn& column, uint64_t rows, cudaStream_t stream);

struct DeviceTable {
  uint64_t rows = 0;
  std::vector<DeviceColumn> columns;
};

// That columns and their lists take; what several of them share counts for each.
uint64_t bytes_of(const DeviceTable& table);

// Rows of the host; strings lie as they come, perhaps several times.
DeviceTable upload_table(const Table& table, cudaStream_t stream);

// The number of each row, of 32 bits.
DeviceColumn row_numbers(uint64_t rows, cudaStream_t stream);
// A stage that reads all columns of a table.
void read_columns(const DeviceTable& table, Pipeline& stage);

// For how many rows a kernel is made that runs over so many: statements whose literals differ leave about as many, and
// shall have the same kernel.
uint64_t planned_rows(uint64_t rows);

// What a kernel may rely on of a column's values, of strings of their places.
Statistics statistics_of(const DeviceColumn& column, uint64_t rows);

// What the kernel of the next stage may rely on, of each column.
std::vector<device::ArrayShape> shapes_of(const DeviceTable& table);

// What a stage of a query leaves: rows on the host, or on the device, or beside it where there was no room.
struct StageRows {
  Table host;
  std::optional<DeviceTable> device;
  std::shared_ptr<const File> parked{};
};

}  // namespace basalt::cuda
