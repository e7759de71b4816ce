// DLPack: arrays of one dimension as capsules that numpy, PyTorch, JAX and CuPy take
// (https://dmlc.github.io/dlpack/latest/c_api.html).
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>

namespace pybasalt {

namespace nb = nanobind;

struct SharedArray {
  const void* data = nullptr;
  int64_t length = 0;
  nb::dlpack::dtype type;
  nb::dlpack::device device;
  std::shared_ptr<const void> keeper;  // of the data
  bool copied = false;                 // for whoever takes it: theirs to write to
};

// `versioned`: whether it is for one who knows version 1, which has flags: read-only and copied.
nb::object dlpack_capsule(const SharedArray& array, bool versioned);

}  // namespace pybasalt
