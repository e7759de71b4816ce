// The module pybasalt._core: libbasalt as Python sees it; SQL is in pybasalt._session. What reads well in Python is
// written in Python, in the files beside it.
#include <nanobind/nanobind.h>

#include "arrow.h"
#include "basalt/core/error.h"
#include "device.h"
#include "file.h"
#include "work.h"
#include "write.h"

namespace pybasalt {
namespace {

// Errors are classes of Python's: pybasalt._errors knows which.
void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const basalt::Error& error) {
    const nb::object made =
        nb::module_::import_("pybasalt._errors").attr("make")(basalt::to_string(error.code()), error.what());
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
  }
}

}  // namespace
}  // namespace pybasalt

NB_MODULE(_core, module) {
  // Sessions that the package keeps end with the process.
  nanobind::set_leak_warnings(false);
  pybasalt::InterpreterEnd::watch();
  nanobind::register_exception_translator(&pybasalt::translate);
  pybasalt::bind_arrow(module);
  pybasalt::bind_file(module);
  pybasalt::bind_write(module);
  pybasalt::bind_device(module);
}
