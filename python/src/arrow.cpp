#include "arrow.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cerrno>
#include <utility>

#include "basalt/core/arrow_status.h"
#include "work.h"

namespace pybasalt {

using basalt::Error;
using basalt::ErrorCode;

namespace {

constexpr const char* kHandedOver = "the rows were handed over to a stream";
constexpr const char* kStreamCapsule = "arrow_array_stream";
constexpr const char* kSchemaCapsule = "arrow_schema";
constexpr const char* kArrayCapsule = "arrow_array";

struct PulledStream {
  TableSchema schema;
  std::function<std::shared_ptr<const ArrowArray>()> next;
  std::string failure;
};

int pull(ArrowArrayStream* stream, ArrowArray* out) {
  auto& from = *static_cast<PulledStream*>(stream->private_data);
  *out = ArrowArray{};
  try {
    if (const auto batch = from.next()) share(*batch, batch, out);
    return 0;
  } catch (const Error& error) {
    from.failure = error.what();
    return basalt::arrow_status(error.code());
  } catch (const std::exception& error) {
    from.failure = error.what();
    return EIO;
  }
}

}  // namespace

void open_stream(const TableSchema& schema, std::function<std::shared_ptr<const ArrowArray>()> next,
                 ArrowArrayStream* out) {
  *out = ArrowArrayStream{};
  out->private_data = new PulledStream{schema, std::move(next), {}};
  out->get_schema = [](ArrowArrayStream* stream, ArrowSchema* to) {
    const auto& from = static_cast<PulledStream*>(stream->private_data)->schema.arrow;
    share(*from, from, to);
    return 0;
  };
  out->get_next = pull;
  out->get_last_error = [](ArrowArrayStream* stream) -> const char* {
    const std::string& failure = static_cast<PulledStream*>(stream->private_data)->failure;
    return failure.empty() ? nullptr : failure.c_str();
  };
  out->release = [](ArrowArrayStream* stream) {
    delete static_cast<PulledStream*>(stream->private_data);
    stream->release = nullptr;
  };
}

void Batches::open(ArrowArrayStream* out) const {
  open_stream(
      schema,
      [rows = *this, next = size_t{0}]() mutable -> std::shared_ptr<const ArrowArray> {
        return next < rows.batches.size() ? rows.batches[next++] : nullptr;
      },
      out);
}

namespace {

// Moves a structure out of a capsule.
template <typename Structure>
Structure take(nb::handle capsule, const char* name) {
  auto* held = static_cast<Structure*>(PyCapsule_GetPointer(capsule.ptr(), name));
  if (held == nullptr) throw nb::python_error();
  if (held->release == nullptr) throw nb::value_error("the Arrow capsule was used before");
  Structure taken = *held;
  held->release = nullptr;
  return taken;
}

}  // namespace

TableSchema describe(const basalt::Schema& schema) {
  TableSchema out;
  ArrowSchema arrow{};
  basalt::export_schema(schema, &arrow);
  out.arrow = own(std::move(arrow));
  for (const basalt::Field& field : schema.fields) out.columns.emplace_back(field.name, basalt::to_string(field));
  return out;
}

int64_t Batches::rows() const {
  int64_t rows = 0;
  for (const auto& batch : batches) rows += batch->length;
  return rows;
}

nb::capsule Batches::stream() const {
  auto out = std::make_unique<ArrowArrayStream>();
  open(out.get());
  return capsule_of(std::move(out), kStreamCapsule);
}

nb::capsule schema_capsule(const TableSchema& schema) {
  auto out = std::make_unique<ArrowSchema>();
  share(*schema.arrow, schema.arrow, out.get());
  return capsule_of(std::move(out), kSchemaCapsule);
}

std::shared_ptr<const ArrowArray> next_array(ArrowArrayStream& stream, ErrorCode other) {
  ArrowArray array{};
  if (const int status = stream.get_next(&stream, &array); status != 0) {
    const char* sentence = stream.get_last_error(&stream);
    throw Error(basalt::arrow_error_code(status, other), sentence != nullptr ? sentence : "the Arrow stream failed");
  }
  return array.release == nullptr ? nullptr : own(std::move(array));
}

// With the interpreter's lock.
std::shared_ptr<ArrowArrayStream> Reader::open_stream() {
  if (stream_ == nullptr) throw nb::value_error(closed_ ? "the scan was closed" : kHandedOver);
  return stream_;
}

// Of one thread at a time, without the interpreter's lock.
std::shared_ptr<const ArrowArray> Reader::next_of(ArrowArrayStream& stream) const {
  if (stream.release == nullptr) throw Error(ErrorCode::kInvalidArgument, kHandedOver);
  try {
    return next_array(stream);
  } catch (const Error&) {
    if (*failure_) std::rethrow_exception(*failure_);
    throw;
  }
}

Batches Reader::next() {
  const std::shared_ptr<ArrowArrayStream> stream = open_stream();
  Batches out{schema_, {}};
  const auto work = [&] {
    const std::lock_guard lock(mutex_);
    return next_of(*stream);
  };
  auto batch = run_watched(work, {cancel_, {}});
  if (batch != nullptr) out.batches.push_back(std::move(batch));
  return out;
}

Batches Reader::all() {
  const std::shared_ptr<ArrowArrayStream> stream = open_stream();
  const auto work = [&] {
    const std::lock_guard lock(mutex_);
    Batches out{schema_, {}};
    while (auto batch = next_of(*stream)) out.batches.push_back(std::move(batch));
    return out;
  };
  return run_watched(work, {cancel_, {}});
}

nb::capsule Reader::stream() {
  const std::shared_ptr<ArrowArrayStream> stream = open_stream();
  auto out = std::make_unique<ArrowArrayStream>();
  run_unlocked([&] {
    const std::lock_guard lock(mutex_);  // other threads may be reading
    std::swap(*out, *stream);
  });
  if (out->release == nullptr) throw nb::value_error(kHandedOver);
  stream_ = nullptr;
  return capsule_of(std::move(out), kStreamCapsule);
}

void Reader::close() {
  closed_ = true;
  cancel_();
  std::shared_ptr<ArrowArrayStream> ended = std::exchange(stream_, nullptr);
  run_unlocked([&] { ended.reset(); });
}

bool speaks_arrow(nb::handle object) {
  return nb::hasattr(object, "__arrow_c_stream__") || nb::hasattr(object, "__arrow_c_array__");
}

void open_python(nb::handle object, ArrowArrayStream* out) {
  if (nb::hasattr(object, "__arrow_c_stream__")) {
    const nb::object capsule = object.attr("__arrow_c_stream__")();
    *out = take<ArrowArrayStream>(capsule, kStreamCapsule);
    return;
  }
  if (!nb::hasattr(object, "__arrow_c_array__")) {
    throw nb::type_error("a table is needed: an object with __arrow_c_stream__ or __arrow_c_array__");
  }
  const auto capsules = nb::cast<nb::tuple>(object.attr("__arrow_c_array__")());
  Batches rows;
  rows.schema.arrow = own(take<ArrowSchema>(capsules[0], kSchemaCapsule));
  rows.batches.push_back(own(take<ArrowArray>(capsules[1], kArrayCapsule)));
  rows.open(out);
}

void bind_arrow(nb::module_& module) {
  nb::class_<TableSchema>(module, "Schema")
      .def_ro("columns", &TableSchema::columns)
      .def("__arrow_c_schema__", &schema_capsule);
  nb::class_<Batches>(module, "Batches")
      .def_ro("schema", &Batches::schema)
      .def_prop_ro("rows", &Batches::rows)
      .def("__len__", [](const Batches& self) { return self.batches.size(); })
      .def("batch",
           [](const Batches& self, size_t i) {
             return Batches{self.schema, {self.batches.at(i)}};
           })
      .def("stream", &Batches::stream)
      .def("reader", [](const Batches& self) {
        ArrowArrayStream stream;
        self.open(&stream);
        return std::make_unique<Reader>(
            std::move(stream), self.schema, [] {}, std::make_shared<std::exception_ptr>());
      });
  nb::class_<Reader>(module, "Reader")
      .def_prop_ro("schema", &Reader::schema)
      .def("next", &Reader::next)
      .def("all", &Reader::all)
      .def("stream", &Reader::stream)
      .def("close", &Reader::close);
}

}  // namespace pybasalt
