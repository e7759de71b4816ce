// Tables of the device encoder, from and to those of the CPU.
#pragma once

#include "codec/fsst/gpu/encode_work.h"
#include "codec/fsst/symbols.h"

namespace basalt::fsst {

EncodeTable make_encode_table(const SymbolTable& table);
SymbolTable symbols_of(const EncodeTable& table);

}  // namespace basalt::fsst
