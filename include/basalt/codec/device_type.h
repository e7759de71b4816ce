// A type of device code as a small tree: codecs put it together; generated kernels print it, and include what declares
// it.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace basalt {

struct DeviceType {
  std::string name;         // `Dict`, `uint64_t`, or a number that is an argument; empty: there is no such type
  std::string header = {};  // that declares it, `codec/dict/gpu/kernels.cuh`; empty: every kernel knows it
  std::vector<DeviceType> arguments = {};
  bool takes_widths = false;  // a last argument may list the widths of packed tiles for which it is unrolled

  bool empty() const { return name.empty(); }
  // As it is written: `Dict<uint64_t, Packed<uint32_t>, Plain<uint64_t>>`.
  std::string text() const;
  // Its own header and those of its arguments.
  void add_headers(std::set<std::string>& to) const;
  bool operator==(const DeviceType&) const = default;
};

}  // namespace basalt
