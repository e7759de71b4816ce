// Rows that stay on the device, as Arrow has them there: what lies in Arrow's form already is handed over, the rest is
// rewritten by the device.
#include <limits>

#include "basalt/core/error.h"
#include "basalt/exec/device_result.h"
#include "core/arrow_array.h"
#include "cuda/backend.h"
#include "cuda/query/arrow_values.h"
#include "cuda/query/row_arrays.h"

namespace basalt::cuda {

namespace {

// What an array that was handed out holds on the device. Any thread may release it.
struct ExportedMemory {
  explicit ExportedMemory(int from) : device(from) {}
  ExportedMemory(const ExportedMemory&) = delete;
  ExportedMemory& operator=(const ExportedMemory&) = delete;
  ~ExportedMemory() {
    int before = 0;
    cudaGetDevice(&before);
    cudaSetDevice(device);
    buffers.clear();
    ready.reset();
    cudaSetDevice(before);
  }

  int device;
  std::vector<DeviceBuffer> buffers;
  std::unique_ptr<Event> ready;        // of a whole table: all of its columns are complete
  cudaEvent_t ready_handle = nullptr;  // to which Arrow has a pointer
};

DeviceBuffer exported_values(DeviceColumn& column, uint64_t rows, cudaStream_t stream) {
  const DataType& type = column.field.type;
  switch (type.kind) {
    case TypeKind::kBool: {
      uint64_t zeros = 0;
      return pack_validity(column.values.as<uint8_t>(), rows, zeros, stream);
    }
    case TypeKind::kDecimal:
      if (physical_of(type) == Physical::kI128) return std::move(column.values);
      return widen_decimals(column.values, physical_of(type), rows, stream);
    case TypeKind::kUuid: return uuid_bytes(column.values, rows, stream);
    case TypeKind::kTime:
      if (type.unit == TimeUnit::kSecond || type.unit == TimeUnit::kMilli) return narrow(column.values, rows, stream);
      return std::move(column.values);
    default: return std::move(column.values);
  }
}

void export_strings(const DeviceColumn& column, uint64_t rows, std::vector<DeviceBuffer>& buffers,
                    cudaStream_t stream) {
  DeviceStrings strings = strings_of(column, rows, stream);
  if (strings.byte_count > static_cast<uint64_t>(std::numeric_limits<int32_t>::max())) {
    throw Error(ErrorCode::kUnsupported,
                "column " + column.field.name + ": more than 2 GiB of strings in an Arrow array: ask for fewer rows");
  }
  buffers.push_back(narrow(strings.offsets, rows + 1, stream));
  buffers.push_back(std::move(strings.bytes));
}

void export_device_column(DeviceColumn&& column, uint64_t rows, int device, cudaStream_t stream, ArrowArray* out) {
  auto memory = std::make_shared<ExportedMemory>(device);
  auto owner = std::make_unique<arrow::ArrayOwner>();
  uint64_t nulls = 0;
  DeviceBuffer bits;
  if (column.validity.data() != nullptr) bits = pack_validity(column.validity.as<uint8_t>(), rows, nulls, stream);
  if (nulls == 0) bits = {};
  memory->buffers.push_back(std::move(bits));
  if (physical_of(column.field.type) == Physical::kBytes) {
    export_strings(column, rows, memory->buffers, stream);
  } else {
    memory->buffers.push_back(exported_values(column, rows, stream));
  }
  for (const DeviceBuffer& buffer : memory->buffers) owner->buffers.push_back(buffer.data());
  owner->memory = std::move(memory);
  arrow::finish_array(std::move(owner), rows, nulls, out);
}

}  // namespace

void CudaBackend::export_table(DeviceTable&& table, ArrowDeviceArray& out) {
  use_device();
  auto owner = std::make_unique<arrow::ArrayOwner>();
  owner->buffers.push_back(nullptr);
  owner->children.resize(table.columns.size());
  for (size_t i = 0; i < table.columns.size(); ++i) {
    export_device_column(std::move(table.columns[i]), table.rows, device_, compute_, &owner->children[i]);
  }
  auto memory = std::make_shared<ExportedMemory>(device_);
  memory->ready = std::make_unique<Event>(cudaEventDisableTiming);
  memory->ready->record(compute_);
  memory->ready_handle = *memory->ready;
  out = ArrowDeviceArray{};
  out.device_id = device_;
  out.device_type = ARROW_DEVICE_CUDA;
  out.sync_event = &memory->ready_handle;
  owner->memory = std::move(memory);
  arrow::finish_array(std::move(owner), table.rows, 0, &out.array);
}

}  // namespace basalt::cuda
