// The codecs whose arrays have a form of their own on the device.
#include "cuda/codec/device_forms.h"

#include "codec/ans/gpu/kernels.h"
#include "codec/ans/layout.h"
#include "codec/ans/table.h"
#include "cuda/runtime/resources.h"

namespace basalt::cuda {

void DeviceForms::add(const NodeView& stored, const std::vector<uint64_t>& streams, uint64_t to, uint32_t* fault) {
  if (stored.codec->name() != "ans") {
    throw Error(ErrorCode::kInternal, std::string(stored.codec->name()) + " has no form on the device");
  }
  const ans::Parameters parameters = ans::parameters_of(stored);
  ans::DecodeWork work;
  work.table = reinterpret_cast<const uint32_t*>(streams.at(ans::kTable));
  work.starts = reinterpret_cast<const uint32_t*>(streams.at(ans::kStarts));
  work.units = reinterpret_cast<const uint32_t*>(streams.at(ans::kUnits));
  work.codes = reinterpret_cast<void*>(to);
  work.fault = fault;
  work.rows = static_cast<uint32_t>(stored.count);
  work.symbols = parameters.symbols;
  work.unit_tiles = parameters.unit_tiles;
  works_.push_back(work);
}

void DeviceForms::make(cudaStream_t stream) const { check(ans::decode(works_, stream), "launching a decoder"); }

}  // namespace basalt::cuda
