# libbasalt_cuda: everything that needs the CUDA toolkit. Nothing links to it; libbasalt opens it when a driver and a
# device are there. Also the prelude: the headers that kernels compiled at run time include, embedded as text.

# --- the prelude, needed by the GPU library and by the check of generated kernels -------------------------------------

file(GLOB basalt_prelude_headers CONFIGURE_DEPENDS
  "${PROJECT_SOURCE_DIR}/include/basalt/core/host_device.h" "${PROJECT_SOURCE_DIR}/src/core/packed_tile.h"
  "${PROJECT_SOURCE_DIR}/src/core/quartered_tile.h" "${PROJECT_SOURCE_DIR}/src/core/float_key.h"
  "${PROJECT_SOURCE_DIR}/src/core/device/*.h" "${PROJECT_SOURCE_DIR}/src/core/device/*.cuh"
  "${PROJECT_SOURCE_DIR}/src/codec/*/layout.h" "${PROJECT_SOURCE_DIR}/src/codec/*/scale.h"
  "${PROJECT_SOURCE_DIR}/src/codec/*/filter_table.h"
  "${PROJECT_SOURCE_DIR}/src/codec/*/gpu/kernels.cuh" "${PROJECT_SOURCE_DIR}/src/codec/*/gpu/kernels_*.cuh"
  "${PROJECT_SOURCE_DIR}/src/codec/*/gpu/filter.cuh" "${PROJECT_SOURCE_DIR}/src/codec/*/gpu/filter_sum*.cuh"
  "${PROJECT_SOURCE_DIR}/src/codec/*/gpu/codes.cuh"
  "${PROJECT_SOURCE_DIR}/src/exec/scalar.h" "${PROJECT_SOURCE_DIR}/src/exec/fixed_sum.h"
  "${PROJECT_SOURCE_DIR}/src/exec/number_functions.h"
  "${PROJECT_SOURCE_DIR}/src/exec/conversions.h" "${PROJECT_SOURCE_DIR}/src/exec/calendar.h"
  "${PROJECT_SOURCE_DIR}/src/exec/device/*.h" "${PROJECT_SOURCE_DIR}/src/exec/device/*.cuh")
list(SORT basalt_prelude_headers)
set(basalt_prelude_list "${PROJECT_BINARY_DIR}/generated/prelude_headers.txt")
set(basalt_prelude_source "${PROJECT_BINARY_DIR}/generated/prelude_headers.cpp")
string(REPLACE ";" "\n" basalt_prelude_text "${basalt_prelude_headers}")
file(CONFIGURE OUTPUT "${basalt_prelude_list}" CONTENT "${basalt_prelude_text}\n")
add_custom_command(OUTPUT "${basalt_prelude_source}"
  COMMAND "${CMAKE_COMMAND}" -D "LIST=${basalt_prelude_list}" -D "OUTPUT=${basalt_prelude_source}"
          -D "SOURCE_DIR=${PROJECT_SOURCE_DIR}" -P "${PROJECT_SOURCE_DIR}/cmake/EmbedPrelude.cmake"
  DEPENDS ${basalt_prelude_headers} "${basalt_prelude_list}" "${PROJECT_SOURCE_DIR}/cmake/EmbedPrelude.cmake"
  COMMENT "Embedding the kernel prelude" VERBATIM)
add_library(basalt_prelude STATIC "${basalt_prelude_source}")
target_include_directories(basalt_prelude PUBLIC "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(basalt_prelude PRIVATE basalt_options)

# --- the toolkit -------------------------------------------------------------------------------------------------------

# Which GPUs are at hand, as compute capabilities without their point; empty if there is none.
set(basalt_gpu_capabilities "")
execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
  OUTPUT_VARIABLE gpu_answer ERROR_QUIET RESULT_VARIABLE gpu_query OUTPUT_STRIP_TRAILING_WHITESPACE)
if(gpu_query EQUAL 0 AND gpu_answer MATCHES "^[0-9.\n]+$")
  string(REPLACE "." "" gpu_answer "${gpu_answer}")
  string(REPLACE "\n" ";" basalt_gpu_capabilities "${gpu_answer}")
  list(REMOVE_DUPLICATES basalt_gpu_capabilities)
endif()

set(BASALT_CUDA_ENABLED OFF)
if(BASALT_CUDA STREQUAL "AUTO" AND NOT basalt_gpu_capabilities)
  # The kernels take longer to compile than everything else together.
  message(STATUS "No GPU here: the GPU library is not built (-DBASALT_CUDA=ON builds it)")
elseif(NOT BASALT_CUDA STREQUAL "OFF")
  find_package(CUDAToolkit 12.8 QUIET)
  if(NOT (CUDAToolkit_FOUND AND CUDAToolkit_NVCC_EXECUTABLE) AND EXISTS "${BASALT_DEPS_DIR}/cuda/bin/nvcc")
    set(CUDAToolkit_ROOT "${BASALT_DEPS_DIR}/cuda")
    find_package(CUDAToolkit 12.8 QUIET)
  endif()
  if(CUDAToolkit_FOUND AND CUDAToolkit_NVCC_EXECUTABLE)
    set(BASALT_CUDA_ENABLED ON)
  elseif(BASALT_CUDA STREQUAL "ON")
    message(FATAL_ERROR "BASALT_CUDA=ON, but no CUDA toolkit (12.8 or newer, with nvcc) was found")
  else()
    message(STATUS "No CUDA toolkit found: the GPU library is not built")
  endif()
endif()

# Where libnvrtc lies for programs run from the build tree: the toolkit's, else the one that setup fetched.
set(basalt_nvrtc_dir "")
find_library(BASALT_NVRTC_LIBRARY NAMES libnvrtc.so.13 libnvrtc.so.12 nvrtc
  HINTS "${BASALT_DEPS_DIR}/nvrtc/lib" "${CUDAToolkit_LIBRARY_DIR}")
mark_as_advanced(BASALT_NVRTC_LIBRARY)
if(BASALT_NVRTC_LIBRARY)
  get_filename_component(basalt_nvrtc_dir "${BASALT_NVRTC_LIBRARY}" DIRECTORY)
endif()
# libbasalt opens NVRTC by name: dlopen("libnvrtc.so.13") looks along the run path of the library that calls it.
set_target_properties(basalt PROPERTIES BUILD_RPATH "$ORIGIN;${basalt_nvrtc_dir}" INSTALL_RPATH "$ORIGIN;$ORIGIN/basalt")

if(BASALT_CUDA_ENABLED)
  if(NOT CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_COMPILER "${CUDAToolkit_NVCC_EXECUTABLE}")
  endif()
  set(CMAKE_CUDA_ARCHITECTURES ${BASALT_CUDA_ARCHITECTURES})
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    # Only for the GPUs at hand: each further architecture costs another full compilation of every kernel.
    set(CMAKE_CUDA_ARCHITECTURES 90)
    if(basalt_gpu_capabilities)
      set(CMAKE_CUDA_ARCHITECTURES ${basalt_gpu_capabilities})
    endif()
  endif()
  enable_language(CUDA)
  # CMake 3.25 does not know yet that nvcc speaks C++20.
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)

  # Flags of every precompiled kernel. -fmad=false: the GPU must round as the CPU does, or encoders would write
  # different bytes.
  add_library(basalt_cuda_options INTERFACE)
  set(basalt_cuda_flags -fmad=false --expt-relaxed-constexpr --extended-lambda -lineinfo
    -Xcompiler=-Wall,-Wextra,-ffp-contract=off)
  if(BASALT_WERROR)
    list(APPEND basalt_cuda_flags -Werror=all-warnings)
  endif()
  target_compile_options(basalt_cuda_options INTERFACE "$<$<COMPILE_LANGUAGE:CUDA>:${basalt_cuda_flags}>")

  file(GLOB_RECURSE basalt_cuda_sources CONFIGURE_DEPENDS
    "${PROJECT_SOURCE_DIR}/src/*.cu" "${PROJECT_SOURCE_DIR}/src/cuda/*.cpp")
  list(FILTER basalt_cuda_sources EXCLUDE REGEX "/src/cuda/runtime/(loader[^/]*|nvrtc_check)\\.cpp$")

  add_library(basalt_cuda SHARED ${basalt_cuda_sources})
  target_include_directories(basalt_cuda PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(basalt_cuda PRIVATE
    basalt_internal basalt_cuda_options basalt_prelude CUDA::cudart_static ${CMAKE_DL_LIBS})
  set_target_properties(basalt_cuda PROPERTIES
    BUILD_RPATH "$ORIGIN;${basalt_nvrtc_dir}" INSTALL_RPATH "$ORIGIN;$ORIGIN/basalt")
  message(STATUS "GPU library: CUDA ${CUDAToolkit_VERSION}, architectures ${CMAKE_CUDA_ARCHITECTURES}")
endif()

# --- every generated kernel shape compiles, without a GPU --------------------------------------------------------------

file(GLOB basalt_nvrtc_check_source CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/cuda/runtime/nvrtc_check.cpp")
if(basalt_nvrtc_check_source)
  add_executable(nvrtc_check "${basalt_nvrtc_check_source}")
  target_link_libraries(nvrtc_check PRIVATE basalt_internal basalt_prelude ${CMAKE_DL_LIBS})
  set_target_properties(nvrtc_check PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
endif()
