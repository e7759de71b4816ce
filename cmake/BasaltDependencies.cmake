# Third-party libraries as targets. Headers come from the system, or from .deps/headers on a machine that builds from an
# offline bundle; DuckDB and nanoarrow always come from .deps.

set(basalt_header_hints "${BASALT_DEPS_DIR}/headers")
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
# Formatting code in a library saves 5 s of compilation in every file that uses it; a static fmt may not be usable in
# shared libraries, so then the headers alone.
get_target_property(basalt_fmt_type fmt::fmt TYPE)
if(basalt_fmt_type STREQUAL "SHARED_LIBRARY")
  set(basalt_fmt fmt::fmt)
else()
  set(basalt_fmt fmt::fmt-header-only)
endif()

function(basalt_find_header variable header package)
  find_path(${variable} ${header} HINTS ${basalt_header_hints})
  mark_as_advanced(${variable})
  if(NOT ${variable})
    message(FATAL_ERROR "${header} not found (Debian and Ubuntu: ${package}). Run: make setup")
  endif()
endfunction()

basalt_find_header(BASALT_XXHASH_INCLUDE xxhash.h libxxhash-dev)
basalt_find_header(BASALT_FLATBUFFERS_INCLUDE flatbuffers/flatbuffers.h libflatbuffers-dev)
basalt_find_header(BASALT_ZSTD_INCLUDE zstd.h libzstd-dev)
basalt_find_header(BASALT_LZ4_INCLUDE lz4frame.h liblz4-dev)
find_library(BASALT_ZSTD_LIBRARY zstd REQUIRED)
find_library(BASALT_LZ4_LIBRARY lz4 REQUIRED)
mark_as_advanced(BASALT_ZSTD_LIBRARY BASALT_LZ4_LIBRARY)

add_library(basalt_zstd INTERFACE)
target_include_directories(basalt_zstd SYSTEM INTERFACE "${BASALT_ZSTD_INCLUDE}")
target_link_libraries(basalt_zstd INTERFACE "${BASALT_ZSTD_LIBRARY}")

add_library(basalt_lz4 INTERFACE)
target_include_directories(basalt_lz4 SYSTEM INTERFACE "${BASALT_LZ4_INCLUDE}")
target_link_libraries(basalt_lz4 INTERFACE "${BASALT_LZ4_LIBRARY}")

add_library(basalt_xxhash INTERFACE)
target_include_directories(basalt_xxhash SYSTEM INTERFACE "${BASALT_XXHASH_INCLUDE}")
# Inlined into each user: no library at run time, and the hash of short keys folds into its caller.
target_compile_definitions(basalt_xxhash INTERFACE XXH_INLINE_ALL=)

# --- nanoarrow: Arrow structures, IPC, device arrays -------------------------------------------------------------------

set(nanoarrow_dir "${BASALT_DEPS_DIR}/nanoarrow")
if(NOT EXISTS "${nanoarrow_dir}/src/nanoarrow/nanoarrow.h")
  message(FATAL_ERROR "nanoarrow is not in ${nanoarrow_dir}. Run: make setup")
endif()
set(NANOARROW_VERSION 0.9.0)
set(NANOARROW_VERSION_MAJOR 0)
set(NANOARROW_VERSION_MINOR 9)
set(NANOARROW_VERSION_PATCH 0)
# Other libraries of one process (DuckDB's Python module, ADBC drivers) carry a nanoarrow too; ours has its own names.
set(NANOARROW_NAMESPACE_DEFINE "#define NANOARROW_NAMESPACE Basalt")
configure_file("${nanoarrow_dir}/src/nanoarrow/nanoarrow_config.h.in"
               "${PROJECT_BINARY_DIR}/generated/nanoarrow/nanoarrow/nanoarrow_config.h" @ONLY)

add_library(basalt_nanoarrow STATIC
  "${nanoarrow_dir}/src/nanoarrow/common/array.c"
  "${nanoarrow_dir}/src/nanoarrow/common/array_stream.c"
  "${nanoarrow_dir}/src/nanoarrow/common/schema.c"
  "${nanoarrow_dir}/src/nanoarrow/common/utils.c"
  "${nanoarrow_dir}/src/nanoarrow/ipc/codecs.c"
  "${nanoarrow_dir}/src/nanoarrow/ipc/decoder.c"
  "${nanoarrow_dir}/src/nanoarrow/ipc/encoder.c"
  "${nanoarrow_dir}/src/nanoarrow/ipc/reader.c"
  "${nanoarrow_dir}/src/nanoarrow/ipc/writer.c"
  "${nanoarrow_dir}/src/nanoarrow/device/device.c"
  "${nanoarrow_dir}/flatcc/src/runtime/builder.c"
  "${nanoarrow_dir}/flatcc/src/runtime/emitter.c"
  "${nanoarrow_dir}/flatcc/src/runtime/refmap.c"
  "${nanoarrow_dir}/flatcc/src/runtime/verifier.c")
target_include_directories(basalt_nanoarrow SYSTEM
  PUBLIC "${nanoarrow_dir}/src" "${PROJECT_BINARY_DIR}/generated/nanoarrow"
  PRIVATE "${nanoarrow_dir}/flatcc/include")
target_compile_definitions(basalt_nanoarrow PRIVATE NANOARROW_IPC_WITH_ZSTD NANOARROW_IPC_WITH_LZ4)
target_compile_options(basalt_nanoarrow PRIVATE -w)
# Misaligned loads are how flatcc reads; the sanitizer is meant for our code.
if(BASALT_SANITIZE)
  target_compile_options(basalt_nanoarrow PRIVATE -fno-sanitize=undefined)
endif()
set_target_properties(basalt_nanoarrow PROPERTIES C_VISIBILITY_PRESET hidden)
target_link_libraries(basalt_nanoarrow PRIVATE basalt_zstd basalt_lz4)

# --- FlatBuffers: the footer's schema, and what we look at in Arrow's messages -----------------------------------------

add_library(basalt_flatbuffers INTERFACE)
target_include_directories(basalt_flatbuffers SYSTEM INTERFACE "${BASALT_FLATBUFFERS_INCLUDE}")
file(GLOB basalt_schemas CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/file/*.fbs")
find_program(BASALT_FLATC flatc)
mark_as_advanced(BASALT_FLATC)
if(NOT BASALT_FLATC AND NOT BASALT_GENERATED_DIR AND EXISTS "${BASALT_DEPS_DIR}/generated/format_generated.h")
  set(BASALT_GENERATED_DIR "${BASALT_DEPS_DIR}/generated" CACHE PATH "" FORCE)
endif()
if(BASALT_GENERATED_DIR)
  target_include_directories(basalt_flatbuffers SYSTEM INTERFACE "${BASALT_GENERATED_DIR}")
elseif(NOT BASALT_FLATC)
  message(FATAL_ERROR "flatc not found (Debian and Ubuntu: flatbuffers-compiler). Run: make setup")
else()
  set(basalt_generated_headers "")
  foreach(schema IN LISTS basalt_schemas)
    get_filename_component(name "${schema}" NAME_WE)
    set(header "${PROJECT_BINARY_DIR}/generated/${name}_generated.h")
    add_custom_command(OUTPUT "${header}"
      COMMAND "${BASALT_FLATC}" --cpp --cpp-std c++17 --scoped-enums --gen-object-api -o "${PROJECT_BINARY_DIR}/generated" "${schema}"
      DEPENDS "${schema}" COMMENT "flatc ${name}.fbs" VERBATIM)
    list(APPEND basalt_generated_headers "${header}")
  endforeach()
  add_custom_target(basalt_schema_header DEPENDS ${basalt_generated_headers})
  add_dependencies(basalt_flatbuffers basalt_schema_header)
  target_include_directories(basalt_flatbuffers SYSTEM INTERFACE "${PROJECT_BINARY_DIR}/generated")
endif()
