// The list of codecs with precompiled decoders.
#include "cuda/codec/precompiled.h"

#include "codec/delta/gpu/kernels.h"
#include "codec/dict/gpu/kernels.h"
#include "codec/galp/gpu/kernels.h"
#include "codec/l3/gpu/kernels.h"
#include "codec/packed/gpu/kernels.h"
#include "codec/rle/gpu/kernels.h"

namespace basalt::cuda {

const device::PrecompiledDecoder* find_precompiled(std::string_view reader) {
  for (const device::PrecompiledDecoders list :
       {packed::decoders(), dict::decoders(), rle::decoders(), delta::decoders(), l3::decoders(), galp::decoders()}) {
    for (const device::PrecompiledDecoder& decoder : list) {
      if (reader == decoder.reader) return &decoder;
    }
  }
  return nullptr;
}

}  // namespace basalt::cuda
