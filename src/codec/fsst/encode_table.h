// A table for the device encoder, made on the host.
#pragma once

#include "codec/fsst/encode_work.h"
#include "codec/fsst/symbols.h"

namespace basalt::fsst {

EncodeTable make_encode_table(const SymbolTable& table);

}  // namespace basalt::fsst
