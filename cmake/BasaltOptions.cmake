# How everything is compiled: language, warnings, floating point, sanitizers, output folders.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS ON) # __int128 is an extension, and part of the format's types.
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# The program lies at the root of the build tree, all libraries together in lib/: the CUDA library is looked for beside
# libbasalt, in the build tree as well as after installation.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

find_program(BASALT_CCACHE ccache)
mark_as_advanced(BASALT_CCACHE)
if(BASALT_CCACHE)
  # Precompiled headers need these two allowances, or ccache gives up on every file that uses one. Paths below the
  # source folder are taken as relative ones, so that clones in other places share what one of them has compiled.
  set(BASALT_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${BASALT_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${BASALT_LAUNCHER})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${BASALT_LAUNCHER})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${BASALT_LAUNCHER})
endif()

# For all code, third-party too. Floats decide bits of the format, so no multiply-add contraction anywhere.
add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-ffp-contract=off>")
if(BASALT_SANITIZE)
  add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=${BASALT_SANITIZE};-fno-sanitize-recover=all;-fno-omit-frame-pointer>")
  add_link_options("-fsanitize=${BASALT_SANITIZE}")
  # Tiles of width 0 have no words: an offset is added to nothing and never followed. GCC does not look at that.
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND BASALT_SANITIZE MATCHES "undefined")
    add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-fno-sanitize=pointer-overflow>")
  endif()
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # Checked 128-bit products are a function of clang's own run-time library, which libgcc does not have.
    add_link_options(-rtlib=compiler-rt -unwindlib=libgcc)
    # GCC says by a macro what clang says by a feature.
    foreach(sanitizer address thread)
      if(BASALT_SANITIZE MATCHES ${sanitizer})
        string(TOUPPER ${sanitizer} sanitizer)
        add_compile_definitions("__SANITIZE_${sanitizer}__=1")
      endif()
    endforeach()
  endif()
endif()

# For our own code only.
add_library(basalt_options INTERFACE)
set(basalt_warnings -Wall -Wextra -Wshadow -Wnon-virtual-dtor)
# GCC 12 sees overlapping copies inside its own std::string (GCC bug 105651, fixed in 13).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND basalt_warnings -Wno-restrict)
endif()
# Vectors of an instruction set are never handed between files compiled without it.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  list(APPEND basalt_warnings -Wno-psabi)
endif()
if(BASALT_WERROR)
  list(APPEND basalt_warnings -Werror)
endif()
target_compile_options(basalt_options INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${basalt_warnings}>")
target_compile_definitions(basalt_options INTERFACE BASALT_VERSION="${PROJECT_VERSION}")
