// Options and summaries of writing, shared by tables and SQL.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstdint>

#include "basalt/file/writer.h"

namespace pybasalt {

namespace nb = nanobind;

// From keyword arguments of pybasalt.write(); Python has checked their names.
basalt::WriteOptions write_options(const nb::dict& arguments);
nb::dict to_python(const basalt::WriteSummary& summary);

// The newest of the progress that a writer tells, for the thread that watches it.
class WriteWatch {
 public:
  WriteWatch(basalt::WriteOptions& options, nb::object callback);
  // Calls back with the rows and bytes so far.
  void tick();

 private:
  std::atomic<uint64_t> rows_ = 0;
  std::atomic<uint64_t> plain_bytes_ = 0;
  std::atomic<uint64_t> written_bytes_ = 0;
  nb::object callback_;
};

void bind_write(nb::module_& module);

}  // namespace pybasalt
