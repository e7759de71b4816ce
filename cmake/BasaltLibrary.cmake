# libbasalt: the format, the codecs and the CPU engine. It never links CUDA or DuckDB: the GPU library is opened at run
# time by src/cuda/runtime/loader*.cpp, and SQL is a library of its own on top.

# Every folder of src/ but three: sql/ and gen/ are libraries of their own, and of cuda/ only the loader belongs here.
file(GLOB basalt_folders CONFIGURE_DEPENDS LIST_DIRECTORIES true "${PROJECT_SOURCE_DIR}/src/*")
list(FILTER basalt_folders EXCLUDE REGEX "/src/(sql|cuda|gen)$")
list(TRANSFORM basalt_folders APPEND "/*.cpp")
file(GLOB_RECURSE basalt_sources CONFIGURE_DEPENDS ${basalt_folders} "${PROJECT_SOURCE_DIR}/src/cuda/runtime/loader*.cpp")

add_library(basalt SHARED ${basalt_sources})
basalt_unity(basalt)
add_library(basalt::basalt ALIAS basalt)
target_compile_features(basalt PUBLIC cxx_std_20)
target_include_directories(basalt
  PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>"
  PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(basalt PRIVATE
  $<BUILD_INTERFACE:basalt_options> $<BUILD_INTERFACE:basalt_nanoarrow> $<BUILD_INTERFACE:basalt_flatbuffers>
  $<BUILD_INTERFACE:basalt_xxhash> $<BUILD_INTERFACE:basalt_zstd> $<BUILD_INTERFACE:basalt_lz4>
  $<BUILD_INTERFACE:${basalt_fmt}> Threads::Threads ${CMAKE_DL_LIBS})
set_target_properties(basalt PROPERTIES
  VERSION "${PROJECT_VERSION}" SOVERSION "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")

# What code inside the house (other libraries, tests, benchmarks) needs besides the public headers.
add_library(basalt_internal INTERFACE)
target_include_directories(basalt_internal INTERFACE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(basalt_internal INTERFACE
  basalt basalt_options basalt_nanoarrow basalt_flatbuffers basalt_xxhash basalt_zstd basalt_lz4
  ${basalt_fmt} Threads::Threads)

# Columns and tables made by a rule, for the program, the tests and the benchmarks; the library does without.
file(GLOB basalt_gen_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/gen/*.cpp")
add_library(basalt_gen STATIC ${basalt_gen_sources})
basalt_unity(basalt_gen 9)
target_link_libraries(basalt_gen PUBLIC basalt_internal)

# L3 as it was published: what the benchmarks and the tests of its kernels compare with.
add_library(basalt_paper STATIC EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/bench/paper/cut.cpp")
target_include_directories(basalt_paper PUBLIC "${PROJECT_SOURCE_DIR}")
target_link_libraries(basalt_paper PUBLIC basalt_internal)
