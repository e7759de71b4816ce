// What a file tells about itself, and its rows.
#include "file.h"

#include <nanobind/stl/function.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>

#include "basalt/core/error.h"
#include "basalt/file/remote_source.h"
#include "work.h"

namespace pybasalt {

using basalt::File;
using basalt::Physical;
using basalt::TypeKind;

namespace {

// A file that Python reads: `read(offset, length)` gives bytes.
class PythonSource : public basalt::Source {
 public:
  PythonSource(std::string name, uint64_t size, nb::callable read)
      : name_(std::move(name)), size_(size), read_(std::move(read)) {}
  ~PythonSource() override {
    if (!InterpreterEnd::unless_come([&] { read_.reset(); })) read_.release();
  }
  std::string name() const override { return name_; }
  uint64_t size() const override { return size_; }

  void read(basalt::Range range, std::byte* out) const override {
    const nb::gil_scoped_acquire acquired;
    try {
      const auto bytes = nb::cast<nb::bytes>(read_(range.offset, range.length));
      if (bytes.size() != range.length) {
        throw basalt::Error(basalt::ErrorCode::kIo, name_ + ": " + std::to_string(range.length) + " bytes at " +
                                                        std::to_string(range.offset) + " were asked for, " +
                                                        std::to_string(bytes.size()) + " came");
      }
      std::memcpy(out, bytes.c_str(), range.length);
    } catch (nb::python_error& error) {
      throw basalt::Error(basalt::ErrorCode::kIo, sentence_about(name_, error));
    } catch (const std::bad_cast&) {
      throw basalt::Error(basalt::ErrorCode::kIo, name_ + ": what was read is not bytes");
    }
  }

 private:
  std::string name_;
  uint64_t size_;
  nb::object read_;
};

// Numbers and texts as Python has them, everything else as SQL prints it.
nb::object to_python(const basalt::Value& value, const basalt::DataType& type) {
  if (value.null) return nb::none();
  switch (type.kind) {
    case TypeKind::kBool: return nb::bool_(value.integer != 0);
    case TypeKind::kFloat32:
    case TypeKind::kFloat64: return nb::float_(value.real);
    case TypeKind::kUtf8:
      return nb::steal(
          PyUnicode_DecodeUTF8(value.bytes.data(), static_cast<Py_ssize_t>(value.bytes.size()), "replace"));
    case TypeKind::kBinary: return nb::bytes(value.bytes.data(), value.bytes.size());
    default: break;
  }
  const std::string text = basalt::format_value(value, type);
  const bool whole = type.kind >= TypeKind::kInt8 && type.kind <= TypeKind::kInt128;
  return whole ? nb::steal(PyLong_FromString(text.c_str(), nullptr, 10)) : nb::object(nb::str(text.c_str()));
}

nb::dict statistics(const File& file, uint32_t field) {
  const basalt::Statistics& known = file.statistics(field);
  const basalt::DataType& type = file.fields()[field]->type;
  nb::dict out;
  out["rows"] = known.rows;
  out["null_count"] = known.null_count;
  out["min"] = to_python(known.min, type);
  out["max"] = to_python(known.max, type);
  out["exact"] = known.min_exact && known.max_exact;
  return out;
}

// One dictionary for each flattened field.
nb::list columns(const File& file) {
  nb::list out;
  for (uint32_t id = 0; id < file.fields().size(); ++id) {
    const basalt::ColumnInfo& info = file.column(id);
    nb::list encodings;
    for (const std::string& tree : info.encodings) encodings.append(tree);
    nb::dict column;
    column["name"] = file.path(id);
    column["type"] = basalt::to_string(*file.fields()[id]);
    column["encodings"] = encodings;
    column["encoded_bytes"] = info.encoded_bytes - info.shared_bytes;
    column["plain_bytes"] = info.plain_bytes;
    column["statistics"] = statistics(file, id);
    out.append(column);
  }
  return out;
}

// As many as strings of more than 2 GiB need.
std::vector<std::shared_ptr<const ArrowArray>> arrow_batches(basalt::Table&& rows) {
  const auto table = std::make_shared<basalt::Table>(std::move(rows));
  ArrowArrayStream stream;
  basalt::export_stream(
      table->schema,
      [table, given = false]() mutable {
        return std::exchange(given, true) ? nullptr : std::make_unique<basalt::Table>(std::move(*table));
      },
      &stream);
  const auto owned = own(std::move(stream));
  std::vector<std::shared_ptr<const ArrowArray>> out;
  while (auto batch = next_array(*owned)) out.push_back(std::move(batch));
  return out;
}

Batches read_rows(const File& file, const std::vector<std::string>& names, uint64_t first, uint64_t rows,
                  uint32_t threads, uint64_t memory_limit) {
  const auto cancel = std::make_shared<basalt::CancelToken>();
  basalt::ReadOptions options;
  options.columns = names;
  options.first_row = first;
  options.rows = rows;
  options.threads = threads;
  options.limits.cancel = cancel.get();
  if (memory_limit > 0) options.limits.bytes = memory_limit;
  const auto work = [&] {
    std::mutex mutex;
    std::map<size_t, std::vector<std::shared_ptr<const ArrowArray>>> parts;
    basalt::read_parts(file, options, [&](size_t number, basalt::Table&& rows) {
      std::vector<std::shared_ptr<const ArrowArray>> part = arrow_batches(std::move(rows));
      const std::lock_guard lock(mutex);
      parts[number] = std::move(part);
    });
    Batches out;
    out.schema = describe(basalt::read_schema(file, options));
    for (auto& [number, part] : parts) std::ranges::move(part, std::back_inserter(out.batches));
    return out;
  };
  return run_watched(work, {[&] { cancel->cancel(); }, {}});
}

}  // namespace

std::unique_ptr<Reader> scan_files(Files files, basalt::ScanOptions options) {
  const auto cancel = std::make_shared<basalt::CancelToken>();
  options.cancel = cancel.get();
  // Ending a scan waits for its threads.
  const auto end = [process = Process()](basalt::Scan* held) {
    if (process.is_ours()) run_unlocked([&] { delete held; });
  };
  const std::shared_ptr<basalt::Scan> scan(new basalt::Scan(std::move(files), std::move(options)), end);
  ArrowArrayStream stream;
  const auto failure = std::make_shared<std::exception_ptr>();
  const auto next = [scan, cancel, failure]() -> std::unique_ptr<basalt::Table> {
    try {
      auto rows = std::make_unique<basalt::Table>();
      return scan->next(*rows) ? std::move(rows) : nullptr;
    } catch (...) {
      *failure = std::current_exception();
      throw;
    }
  };
  basalt::export_stream(scan->schema(), next, &stream);
  return std::make_unique<Reader>(
      std::move(stream), describe(scan->schema()), [cancel] { cancel->cancel(); }, failure);
}

void bind_file(nb::module_& module) {
  nb::class_<File>(module, "File")
      .def_prop_ro("name", &File::name)
      .def_prop_ro("rows", &File::rows)
      .def_prop_ro("bytes", &File::bytes)
      .def_prop_ro("format_version", &File::format_version)
      .def_prop_ro("created_by", &File::created_by)
      .def_prop_ro("sort_columns", &File::sort_columns)
      .def_prop_ro("metadata", &File::metadata)
      .def_prop_ro("schema", [](const File& self) { return describe(self.schema()); })
      .def_prop_ro("chunk_rows",
                   [](const File& self) {
                     std::vector<uint64_t> rows;
                     for (const basalt::ChunkInfo& chunk : self.chunks()) rows.push_back(chunk.rows);
                     return rows;
                   })
      .def("columns", &columns)
      .def("statistics",
           [](const File& self, const std::string& column) {
             return statistics(self, self.schema().fields[self.find_column(column)].id);
           })
      .def("read_rows", &read_rows);
  module.def("open", [](const std::string& path) {
    const nb::gil_scoped_release released;
    return File::open(path);
  });
  module.def("open_source", [](const std::string& name, uint64_t size, nb::callable read) {
    const auto source =
        std::make_shared<basalt::RemoteSource>(std::make_shared<PythonSource>(name, size, std::move(read)));
    const nb::gil_scoped_release released;
    return File::open(source);
  });
  module.def("scan_files", [](const std::vector<std::shared_ptr<File>>& files, const std::vector<std::string>& names,
                              uint32_t threads, uint64_t memory_limit) {
    basalt::ScanOptions options;
    options.columns = names;
    options.threads = threads;
    if (memory_limit > 0) options.decoded_limit = memory_limit;
    Files given;
    for (const std::shared_ptr<File>& file : files) given.push_back(outlasting(file));
    const nb::gil_scoped_release released;
    return scan_files(std::move(given), std::move(options));
  });
}

}  // namespace pybasalt
