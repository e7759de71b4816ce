// The prelude: the headers that kernels compiled at run time include, embedded in the library as text so that an
// installed Basalt needs no source tree. The build fills the table (cmake/EmbedPrelude.cmake).
#pragma once

#include <cstddef>

namespace basalt::cuda {

struct PreludeHeader {
  const char* name;  // As written in an #include: "codec/packed/layout.h", "basalt/core/host_device.h".
  const char* text;
};

extern const PreludeHeader kPreludeHeaders[];
extern const size_t kPreludeHeaderCount;

}  // namespace basalt::cuda
