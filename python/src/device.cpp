// DLPack, __cuda_array_interface__ and Arrow device arrays over DeviceResult.
#include "device.h"

#include <dlfcn.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include "arrow.h"
#include "basalt/core/error.h"
#include "basalt/cuda/backend.h"
#include "basalt/exec/expressions.h"
#include "basalt/query/tree.h"
#include "dlpack.h"
#include "work.h"

namespace pybasalt {

using basalt::Error;
using basalt::ErrorCode;

namespace {

// The driver's function, since this module links no CUDA; an event of the runtime's is one of the driver's.
void wait_for_event(void* event) {
  using Synchronize = int (*)(void*);
  static const auto synchronize = [] {
    void* driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return driver == nullptr ? nullptr : reinterpret_cast<Synchronize>(::dlsym(driver, "cuEventSynchronize"));
  }();
  if (synchronize == nullptr) throw Error(ErrorCode::kDevice, "the CUDA driver has no cuEventSynchronize");
  if (const int status = synchronize(event); status != 0) {
    throw Error(ErrorCode::kDevice, "waiting for the GPU failed: error " + std::to_string(status));
  }
}

// A column as an array of numbers, the way numpy, PyTorch and CuPy see one.
struct DeviceColumn {
  std::shared_ptr<basalt::DeviceResult> result;
  size_t place = 0;

  const ArrowArray& array() const { return *result->array.array.children[place]; }
  const ArrowSchema& schema() const { return *result->schema.children[place]; }
  bool on_gpu() const { return result->array.device_type == ARROW_DEVICE_CUDA; }
};

struct NumberType {
  nb::dlpack::dtype dlpack;
  const char* numpy;
};

// Dates and moments are the integers that they are stored as.
NumberType number_type(const DeviceColumn& column) {
  const std::string format = column.schema().format;
  const auto of = [](nb::dlpack::dtype_code code, uint8_t bits, const char* numpy) {
    return NumberType{{static_cast<uint8_t>(code), bits, 1}, numpy};
  };
  using Code = nb::dlpack::dtype_code;
  if (format == "c") return of(Code::Int, 8, "|i1");
  if (format == "C") return of(Code::UInt, 8, "|u1");
  if (format == "s") return of(Code::Int, 16, "<i2");
  if (format == "S") return of(Code::UInt, 16, "<u2");
  if (format == "i" || format == "tdD" || format == "tts" || format == "ttm") return of(Code::Int, 32, "<i4");
  if (format == "I") return of(Code::UInt, 32, "<u4");
  if (format == "l" || format == "ttu" || format == "ttn" || format.starts_with("ts")) return of(Code::Int, 64, "<i8");
  if (format == "L") return of(Code::UInt, 64, "<u8");
  if (format == "f") return of(Code::Float, 32, "<f4");
  if (format == "g") return of(Code::Float, 64, "<f8");
  throw Error(ErrorCode::kUnsupported, std::string("column ") + column.schema().name +
                                           ": only numbers, dates and moments are arrays; cast it, to DOUBLE say");
}

const void* numbers(const DeviceColumn& column) {
  const ArrowArray& array = column.array();
  if (array.null_count != 0 && array.buffers[0] != nullptr) {
    throw Error(ErrorCode::kUnsupported, std::string("column ") + column.schema().name +
                                             " has NULLs, which an array cannot have: use coalesce() or IS NOT NULL");
  }
  const int64_t width = number_type(column).dlpack.bits / 8;
  return static_cast<const std::byte*>(array.buffers[1]) + array.offset * width;
}

nb::dlpack::device place_of(const DeviceColumn& column) {
  if (!column.on_gpu()) return {nb::device::cpu::value, 0};
  return {nb::device::cuda::value, static_cast<int32_t>(column.result->array.device_id)};
}

[[noreturn]] void refuse_buffer(const char* why) {
  PyErr_SetString(PyExc_BufferError, why);
  throw nb::python_error();
}

// Arguments as the array API's standard has them. Rows on the GPU were waited for: any stream may read them.
nb::object dlpack(const DeviceColumn& column, const nb::object& stream, const nb::object& max_version,
                  const nb::object& dl_device, const nb::object& copy) {
  const nb::dlpack::device place = place_of(column);
  if (!column.on_gpu() && !stream.is_none()) throw nb::value_error("stream: rows on the host have none");
  if (!dl_device.is_none() && !dl_device.equal(nb::make_tuple(place.device_type, place.device_id))) {
    refuse_buffer("dl_device: a column is handed out where it was decoded");
  }
  const bool copied = !copy.is_none() && nb::cast<bool>(copy);
  if (copied && column.on_gpu()) refuse_buffer("copy: a column on the GPU is handed out without one");
  const bool versioned = !max_version.is_none() && nb::cast<int>(max_version[0]) >= 1;

  SharedArray array{numbers(column), column.array().length, number_type(column).dlpack, place, column.result, copied};
  if (copied) {
    const size_t bytes = static_cast<size_t>(array.length) * array.type.bits / 8;
    const std::shared_ptr<std::byte[]> own_bytes(new std::byte[bytes]);
    if (bytes > 0) std::memcpy(own_bytes.get(), array.data, bytes);
    array.data = own_bytes.get();
    array.keeper = own_bytes;
  }
  return dlpack_capsule(array, versioned);
}

nb::dict array_interface(const DeviceColumn& column) {
  nb::dict out;
  out["shape"] = nb::make_tuple(column.array().length);
  out["typestr"] = number_type(column).numpy;
  out["data"] = nb::make_tuple(reinterpret_cast<uintptr_t>(numbers(column)), true);
  out["strides"] = nb::none();
  out["version"] = 3;
  return out;
}

nb::dict cuda_array_interface(const DeviceColumn& column) {
  if (!column.on_gpu()) throw nb::attribute_error("__cuda_array_interface__: the rows are on the host");
  nb::dict out = array_interface(column);
  out["stream"] = nb::none();
  return out;
}

nb::dict host_array_interface(const DeviceColumn& column) {
  if (column.on_gpu()) throw nb::attribute_error("__array_interface__: the rows are on the GPU");
  return array_interface(column);
}

// Of all rows, or of one column's array among them.
nb::tuple device_capsules(const ArrowSchema& schema, const ArrowArray& array,
                          const std::shared_ptr<basalt::DeviceResult>& result) {
  auto out_schema = std::make_unique<ArrowSchema>();
  share(schema, result, out_schema.get());
  auto out = std::make_unique<ArrowDeviceArray>(result->array);
  share(array, result, &out->array);
  nb::capsule capsule(out.get(), "arrow_device_array", [](void* pointer) noexcept {
    auto* held = static_cast<ArrowDeviceArray*>(pointer);
    if (held->array.release != nullptr) held->array.release(&held->array);
    delete held;
  });
  out.release();
  return nb::make_tuple(capsule_of(std::move(out_schema), "arrow_schema"), capsule);
}

std::vector<std::string> names(const DeviceRows& rows) {
  std::vector<std::string> out;
  for (int64_t i = 0; i < rows.result->schema.n_children; ++i) {
    out.emplace_back(rows.result->schema.children[i]->name);
  }
  return out;
}

// All rows of some columns.
basalt::Query rows_of(const std::vector<std::shared_ptr<basalt::File>>& files,
                      const std::vector<std::string>& columns) {
  basalt::QueryNode scan;
  scan.files.assign(files.begin(), files.end());
  basalt::QueryNode project;
  project.op = basalt::QueryOp::kProject;
  for (const std::string& name : columns) {
    const basalt::Field& field = files.front()->schema().fields[files.front()->find_column(name)];
    project.exprs.push_back(basalt::column(*files.front(), name, scan.columns));
    project.output.push_back(field);
    scan.output.push_back(field);
  }
  project.inputs.push_back(std::move(scan));
  return basalt::cut(project);
}

}  // namespace

basalt::TileRange tiles_of_chunk(const basalt::File& file, std::optional<uint32_t> chunk) {
  if (!chunk) return {};
  if (*chunk >= file.chunks().size()) throw nb::index_error("the file has no such chunk");
  basalt::TileRange tiles{0, 0};
  for (uint32_t i = 0; i <= *chunk; ++i) {
    tiles.begin = tiles.end;
    tiles.end += basalt::tile_count(file.chunks()[i].rows);
  }
  return tiles;
}

basalt::Device parse_device(const std::string& name) {
  if (name == "auto") return basalt::Device::kAuto;
  if (name == "cpu") return basalt::Device::kCpu;
  if (name == "cuda") return basalt::Device::kCuda;
  throw nb::value_error("device is 'auto', 'cpu' or 'cuda'");
}

DeviceRows run_on_device(const basalt::Query& query, const basalt::RunOptions& options) {
  DeviceRows rows;
  rows.result = std::make_shared<basalt::DeviceResult>(basalt::run_query_on_device(query, options, &rows.report));
  const ArrowDeviceArray& array = rows.result->array;
  // In the thread that ran it, which has the device's context. An event is handed over by its address.
  if (array.device_type == ARROW_DEVICE_CUDA && array.sync_event != nullptr) {
    wait_for_event(*static_cast<void**>(array.sync_event));
  }
  return rows;
}

void bind_device(nb::module_& module) {
  nb::class_<DeviceColumn>(module, "DeviceColumn")
      .def("__len__", [](const DeviceColumn& self) { return self.array().length; })
      .def("__dlpack__", &dlpack, nb::arg("stream").none(), nb::arg("max_version").none(), nb::arg("dl_device").none(),
           nb::arg("copy").none())
      .def("__dlpack_device__",
           [](const DeviceColumn& self) {
             const nb::dlpack::device place = place_of(self);
             return nb::make_tuple(place.device_type, place.device_id);
           })
      .def("__arrow_c_device_array__",
           [](const DeviceColumn& self) { return device_capsules(self.schema(), self.array(), self.result); })
      .def_prop_ro("__cuda_array_interface__", &cuda_array_interface)
      .def_prop_ro("__array_interface__", &host_array_interface);
  nb::class_<DeviceRows>(module, "DeviceRows")
      .def_prop_ro("rows", [](const DeviceRows& self) { return self.result->array.array.length; })
      .def_prop_ro("columns", &names)
      .def_prop_ro(
          "device",
          [](const DeviceRows& self) { return self.result->array.device_type == ARROW_DEVICE_CUDA ? "cuda" : "cpu"; })
      .def_prop_ro("ran_on", [](const DeviceRows& self) { return self.report.device_name; })
      .def_prop_ro("why_cpu", [](const DeviceRows& self) { return self.report.why_cpu; })
      .def("column",
           [](const DeviceRows& self, size_t place) {
             return DeviceColumn{self.result, place};
           })
      .def(
          "__arrow_c_device_array__",
          [](const DeviceRows& self, const nb::object&, const nb::kwargs&) {
            return device_capsules(self.result->schema, self.result->array.array, self.result);
          },
          nb::arg("requested_schema").none() = nb::none(), nb::arg("kwargs"));
  const auto rows_on_device = [](const std::vector<std::shared_ptr<basalt::File>>& files,
                                 const std::vector<std::string>& columns, const std::string& device, uint32_t threads,
                                 std::optional<uint32_t> chunk) {
    basalt::CancelToken cancel;
    basalt::RunOptions options;
    options.device = parse_device(device);
    options.threads = threads;
    options.cancel = &cancel;
    options.tiles = tiles_of_chunk(*files.at(0), chunk);
    return run_watched([&] { return run_on_device(rows_of(files, columns), options); }, {[&] { cancel.cancel(); }, {}});
  };
  module.def("rows_on_device", rows_on_device, nb::arg("files"), nb::arg("columns"), nb::arg("device"),
             nb::arg("threads"), nb::arg("chunk").none() = nb::none());
  module.def("gpu", [] {
    const nb::gil_scoped_release released;
    return std::string(basalt::gpu().backend != nullptr ? "" : basalt::gpu().reason);
  });
}

}  // namespace pybasalt
