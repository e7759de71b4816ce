// Rows that a query leaves on the GPU, as Arrow device arrays: copied back they are what run_query() gives.
#include "basalt/exec/device_result.h"

#include <dlfcn.h>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "cuda/gpu.h"
#include "cuda/pipelines.h"
#include "exec/tables.h"

namespace basalt::test {
namespace {

// The driver as a consumer that has nothing to do with Basalt sees it. Its functions return 0 if all is well.
class Driver {
 public:
  explicit Driver(int64_t device) {
    library_ = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    require(library_ == nullptr ? 1 : 0, "opening the driver");
    void* context = nullptr;
    int handle = 0;
    require(call<int>("cuInit", 0u), "cuInit");
    require(call<int>("cuDeviceGet", &handle, static_cast<int>(device)), "cuDeviceGet");
    require(call<int>("cuDevicePrimaryCtxRetain", &context, handle), "cuDevicePrimaryCtxRetain");
    require(call<int>("cuCtxSetCurrent", context), "cuCtxSetCurrent");
  }

  void wait_for(const void* event) {
    require(call<int>("cuEventSynchronize", *static_cast<void* const*>(event)), "cuEventSynchronize");
  }

  Buffer fetch(const void* from, uint64_t bytes) {
    Buffer out(bytes);
    if (bytes == 0) return out;
    void* to = out.data();
    require(call<int>("cuMemcpyDtoH_v2", to, reinterpret_cast<uint64_t>(from), static_cast<size_t>(bytes)),
            "cuMemcpyDtoH");
    return out;
  }

 private:
  template <typename Result, typename... Args>
  Result call(const char* name, Args... args) {
    auto* function = reinterpret_cast<Result (*)(Args...)>(dlsym(library_, name));
    require(function == nullptr ? 1 : 0, name);
    return function(args...);
  }
  static void require(int code, const char* what) {
    if (code != 0) throw Error(ErrorCode::kDevice, std::string(what) + " failed: " + std::to_string(code));
  }

  void* library_ = nullptr;
};

uint64_t bytes_of_values(const DataType& type, uint64_t rows) {
  const bool short_time =
      type.kind == TypeKind::kTime && (type.unit == TimeUnit::kSecond || type.unit == TimeUnit::kMilli);
  if (type.kind == TypeKind::kBool) return (rows + 7) / 8;
  if (type.kind == TypeKind::kDecimal) return rows * 16;
  return rows * (short_time ? 4 : width_of(physical_of(type)));
}

// A column of the device's, with buffers on the host.
struct FetchedColumn {
  std::vector<Buffer> buffers;
  std::vector<const void*> pointers;
  ArrowArray array{};

  FetchedColumn(const ArrowArray& from, const DataType& type, Driver& driver) : array(from) {
    const auto rows = static_cast<uint64_t>(from.length);
    const bool has_bitmap = from.buffers[0] != nullptr;
    EXPECT_EQ(has_bitmap, from.null_count > 0);
    buffers.push_back(driver.fetch(from.buffers[0], has_bitmap ? (rows + 7) / 8 : 0));
    if (physical_of(type) == Physical::kBytes) {
      buffers.push_back(driver.fetch(from.buffers[1], (rows + 1) * sizeof(int32_t)));
      const int32_t bytes = buffers.back().as<int32_t>()[rows];
      buffers.push_back(driver.fetch(from.buffers[2], static_cast<uint64_t>(bytes)));
    } else {
      buffers.push_back(driver.fetch(from.buffers[1], bytes_of_values(type, rows)));
    }
    for (const Buffer& buffer : buffers) pointers.push_back(buffer.data());
    if (!has_bitmap) pointers[0] = nullptr;
    array.buffers = pointers.data();
  }
};

Table fetched(const DeviceResult& result, const std::vector<Field>& fields) {
  const ArrowArray& rows = result.array.array;
  Driver driver(result.array.device_id);
  driver.wait_for(result.array.sync_event);
  std::vector<std::unique_ptr<FetchedColumn>> columns;
  std::vector<ArrowArray*> pointers;
  for (size_t i = 0; i < fields.size(); ++i) {
    columns.push_back(std::make_unique<FetchedColumn>(*rows.children[i], fields[i].type, driver));
    pointers.push_back(&columns.back()->array);
  }
  ArrowArray copy = rows;
  copy.children = pointers.data();
  return import_batch(copy, result.schema, import_schema(result.schema));
}

// All columns from `first` on, as many as one kernel surely reads at a time.
Query columns_on_device(const TestTable& table, size_t first = 0) {
  constexpr size_t kMost = 3;
  Pipeline all = all_columns_of(table);
  const size_t end = std::min(all.rows.size(), first + kMost);
  all.rows = {all.rows.begin() + static_cast<std::ptrdiff_t>(first),
              all.rows.begin() + static_cast<std::ptrdiff_t>(end)};
  all.output = {all.output.begin() + static_cast<std::ptrdiff_t>(first),
                all.output.begin() + static_cast<std::ptrdiff_t>(end)};
  Query query;
  query.stages = {std::move(all)};
  return query;
}

// `wanted`: what the CPU finds.
void expect_on_device(const DeviceResult& result, const Query& query, const Table& wanted, const std::string& what) {
  ASSERT_EQ(result.array.device_type, ARROW_DEVICE_CUDA) << what;
  ASSERT_NE(result.array.sync_event, nullptr) << what;
  const Table got = fetched(result, query.stages.back().output);
  ASSERT_EQ(got.rows, wanted.rows) << what;
  for (size_t i = 0; i < wanted.columns.size(); ++i) {
    if (equal(got.columns[i], wanted.columns[i])) continue;
    const Column& a = got.columns[i];
    const Column& b = wanted.columns[i];
    uint64_t row = 0;
    while (row + 1 < wanted.rows && a.is_valid(row) == b.is_valid(row) &&
           (!a.is_valid(row) ||
            (physical_of(b.type) == Physical::kBytes ? a.string_at(row) == b.string_at(row)
                                                     : same_value(value_at(a, row), value_at(b, row))))) {
      ++row;
    }
    ADD_FAILURE() << what << ", column " << i << " (" << to_string(b.type) << ") differs first in row " << row << "; "
                  << a.null_count << " and " << b.null_count << " NULLs";
  }
}

Table on_host(const Query& query) {
  RunOptions options;
  options.device = Device::kCpu;
  return run_query(query, options);
}

DeviceResult on_device(const Query& query) {
  RunOptions options;
  options.device = Device::kCuda;
  return run_query_on_device(query, options);
}

TEST(GpuDeviceResult, HasEveryTypeAndItsNulls) {
  BASALT_NEEDS_GPU();
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    Random random(seed);
    const TestTable table = random_table(random, 20'000 + below(random, 10'000), 8192);
    for (size_t first = 0; first < table.columns.size(); first += 3) {
      const Query query = columns_on_device(table, first);
      expect_on_device(on_device(query), query, on_host(query),
                       "seed " + std::to_string(seed) + ", column " + std::to_string(first));
    }
  }
}

TEST(GpuDeviceResult, HasTimesOfDayAndUuids) {
  BASALT_NEEDS_GPU();
  const uint64_t rows = 5000;
  std::vector<int64_t> millis;
  std::vector<int128_t> uuids;
  for (uint64_t i = 0; i < rows; ++i) {
    millis.push_back(static_cast<int64_t>(i * 17'279 % 86'400'000));
    uuids.push_back((static_cast<int128_t>(i * 0x9E3779B97F4A7C15u) << 64) + static_cast<int128_t>(i));
  }
  std::vector<Column> columns;
  columns.push_back(make_fixed(DataType{TypeKind::kTime, 0, 0, TimeUnit::kMilli}, millis));
  columns.push_back(make_fixed(DataType{TypeKind::kTime, 0, 0, TimeUnit::kMicro}, millis));
  columns.push_back(make_fixed(DataType{TypeKind::kTimestampTz, 0, 0, TimeUnit::kSecond}, millis));
  columns.push_back(make_fixed(DataType{TypeKind::kUuid}, uuids));
  const TestTable table = write_table(std::move(columns));
  const Query query = columns_on_device(table);
  expect_on_device(on_device(query), query, on_host(query), "times and UUIDs");
}

TEST(GpuDeviceResult, OfNoRows) {
  BASALT_NEEDS_GPU();
  std::vector<Column> columns;
  columns.push_back(make_fixed(DataType::bigint(), std::vector<int64_t>(9000, 5)));
  columns.push_back(make_strings(std::vector<std::string>(9000, "text")));
  columns.push_back(make_fixed(DataType{TypeKind::kBool}, std::vector<uint8_t>(9000, 1)));
  // Statistics would answer a filter that no tile can pass.
  columns.push_back(make_fixed(DataType::bigint(), [] {
    std::vector<int64_t> even;
    for (int64_t i = 0; i < 9000; ++i) even.push_back(i * 2);
    return even;
  }()));
  const TestTable table = write_table(std::move(columns));
  Query query = columns_on_device(table);
  Pipeline& stage = query.stages.front();
  stage.has_filter = true;
  stage.filter = equal(column_expr(3, Physical::kI64), literal(int64_t{4001}));
  const DeviceResult result = on_device(query);
  EXPECT_EQ(result.array.array.length, 0);
  expect_on_device(result, query, on_host(query), "no rows");
}

TEST(GpuDeviceResult, OfGroupsInOrder) {
  BASALT_NEEDS_GPU();
  std::vector<int64_t> keys;
  std::vector<std::string> texts;
  for (int64_t i = 0; i < 50'000; ++i) {
    keys.push_back(i * 7919 % 5000);
    texts.push_back("group " + std::to_string(i * 7919 % 5000));
  }
  std::vector<Column> columns;
  columns.push_back(make_fixed(DataType::bigint(), keys));
  columns.push_back(make_strings(texts));
  const TestTable table = write_table(std::move(columns));
  const uint32_t key = 0;  // an order by strings is the host's
  const Query all = columns_on_device(table);
  Query query;
  Pipeline groups = all.stages.front();
  groups.sink = Sink::kGroups;
  groups.keys = {groups.rows[key]};
  groups.rows.clear();
  groups.aggregates.resize(1);
  Field count;
  count.name = "count";
  count.type = DataType::bigint();
  groups.output = {groups.output[key], count};
  Pipeline order;
  order.sink = Sink::kRows;
  for (uint32_t i = 0; i < 2; ++i) {
    PipelineColumn column;
    column.field_id = i;
    column.name = groups.output[i].name;
    column.type = groups.output[i].type;
    order.columns.push_back(column);
    order.rows.push_back(column_expr(i, physical_of(column.type)));
  }
  order.order = {SortKey{}};
  order.output = groups.output;
  query.stages = {groups, order};
  expect_on_device(on_device(query), query, on_host(query), "groups by column " + std::to_string(key));
}

TEST(GpuDeviceResult, OutlivesTheFilesAndTheCacheAndIsReleasedByAnotherThread) {
  BASALT_NEEDS_GPU();
  Random random(9);
  DeviceResult result;
  Query query;
  Table wanted;
  {
    const TestTable table = random_table(random, 20'000, 8192);
    query = columns_on_device(table);
    wanted = on_host(query);
    result = on_device(query);
    on_device(query);  // another run, whose memory comes and goes meanwhile
    query.stages.front().files.clear();
  }
  gpu().backend->drop_cache();
  expect_on_device(result, query, wanted, "after its files and the cache");
  std::thread([moved = std::move(result)]() mutable {
    moved.array.array.release(&moved.array.array);
    EXPECT_EQ(moved.array.array.release, nullptr);
  }).join();
}

}  // namespace
}  // namespace basalt::test
