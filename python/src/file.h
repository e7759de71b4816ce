// Files and scans of them as Python objects.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <vector>

#include "arrow.h"
#include "basalt/exec/scan.h"
#include "basalt/file/reader.h"

namespace pybasalt {

using Files = std::vector<std::shared_ptr<const basalt::File>>;

// `options` without a token: the reader has its own.
std::unique_ptr<Reader> scan_files(Files files, basalt::ScanOptions options);

void bind_file(nb::module_& module);

}  // namespace pybasalt
