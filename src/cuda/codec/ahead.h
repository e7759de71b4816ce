// The decoders that are compiled ahead. Trees without one are decoded by kernels that are generated.
#pragma once

#include <string_view>

#include "codec/ahead.h"

namespace basalt::cuda {

// The one for arrays with this reader, or nullptr.
const device::AheadDecoder* find_ahead(std::string_view reader);

}  // namespace basalt::cuda
