// Types of device code, printed.
#include "basalt/codec/device_type.h"

namespace basalt {

std::string DeviceType::text() const {
  std::string out = name;
  for (size_t i = 0; i < arguments.size(); ++i) out += (i == 0 ? "<" : ", ") + arguments[i].text();
  return arguments.empty() ? out : out + ">";
}

void DeviceType::add_headers(std::set<std::string>& to) const {
  if (!header.empty()) to.insert(header);
  for (const DeviceType& argument : arguments) argument.add_headers(to);
}

}  // namespace basalt
