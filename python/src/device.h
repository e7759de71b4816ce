// Rows of a query where they were found: in the GPU's memory or the host's.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <string>

#include "basalt/exec/device_result.h"

namespace pybasalt {

namespace nb = nanobind;

struct DeviceRows {
  std::shared_ptr<basalt::DeviceResult> result;
  basalt::RunReport report;
};

// Runs it, and waits until its rows may be read by any stream.
DeviceRows run_on_device(const basalt::Query& query, const basalt::RunOptions& options);

// Of a file's rows those of a chunk; all, if none is named.
basalt::TileRange tiles_of_chunk(const basalt::File& file, std::optional<uint32_t> chunk);

basalt::Device parse_device(const std::string& name);

void bind_device(nb::module_& module);

}  // namespace pybasalt
