// The precompiled decoders. Trees without one are decoded by kernels that are generated.
#pragma once

#include <string_view>

#include "codec/precompiled.h"

namespace basalt::cuda {

// The one for arrays with this reader, or nullptr.
const device::PrecompiledDecoder* find_precompiled(std::string_view reader);

}  // namespace basalt::cuda
