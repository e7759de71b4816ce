// Encoding on the device: the same trees and the same bytes as encode_tree(), from values in host memory.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "basalt/codec/codec.h"

namespace basalt::cuda {

// Empty if the device can encode this tree of this type, else the reason in a few words.
std::string why_not_encode(Physical type, const Tree& tree);

// Uploads the values, encodes, and brings the streams back. Throws what encode_tree() throws for values that the tree
// cannot hold. Synchronises `stream`.
Node encode(const Values& values, const Tree& tree, Aims aims, cudaStream_t stream);

}  // namespace basalt::cuda
