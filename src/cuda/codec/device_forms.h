// Arrays that kernels do not read as they are stored, see Codec::device_form(): made by kernels that run before.
#pragma once

#include <cuda_runtime_api.h>

#include <vector>

#include "basalt/codec/codec.h"
#include "codec/ans/gpu/decode_work.h"

namespace basalt::cuda {

class DeviceForms {
 public:
  // Of a node that passed validation. `streams`: where those of the node lie on the device; `to`: room there for what
  // the form has. *fault (device memory) becomes 1 if the values are damaged.
  void add(const NodeView& stored, const std::vector<uint64_t>& streams, uint64_t to, uint32_t* fault);
  void add(const DeviceForms& more) { works_.insert(works_.end(), more.works_.begin(), more.works_.end()); }
  // Launches what makes all of them.
  void make(cudaStream_t stream) const;
  bool empty() const { return works_.empty(); }

 private:
  std::vector<ans::DecodeWork> works_;
};

}  // namespace basalt::cuda
