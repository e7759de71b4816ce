// The list of codecs with decoders that are compiled ahead.
#include "cuda/codec/ahead.h"

#include "codec/delta/gpu/kernels.h"
#include "codec/dict/gpu/kernels.h"
#include "codec/galp/gpu/kernels.h"
#include "codec/l3/gpu/kernels.h"
#include "codec/packed/gpu/kernels.h"
#include "codec/rle/gpu/kernels.h"

namespace basalt::cuda {

const device::AheadDecoder* find_ahead(std::string_view reader) {
  for (const device::AheadDecoders list :
       {packed::decoders(), dict::decoders(), rle::decoders(), delta::decoders(), l3::decoders(), galp::decoders()}) {
    for (const device::AheadDecoder& decoder : list) {
      if (reader == decoder.reader) return &decoder;
    }
  }
  return nullptr;
}

}  // namespace basalt::cuda
