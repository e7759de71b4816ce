# libbasalt: the format, the codecs and the CPU engine. It never links CUDA or DuckDB: the GPU library is opened at run
# time by src/cuda/loader*.cpp, and SQL is a library of its own on top.

# A folder that has no source yet must not stop the configuration of the others.
function(basalt_or_placeholder variable name)
  if(NOT ${variable})
    set(placeholder "${PROJECT_BINARY_DIR}/generated/${name}_placeholder.cpp")
    file(CONFIGURE OUTPUT "${placeholder}" CONTENT "// ${name} has no sources yet.\n")
    set(${variable} "${placeholder}" PARENT_SCOPE)
  endif()
endfunction()

# Every folder of src/ but two: sql/ is a library of its own, and of cuda/ only the loader belongs here.
file(GLOB basalt_folders CONFIGURE_DEPENDS LIST_DIRECTORIES true "${PROJECT_SOURCE_DIR}/src/*")
list(FILTER basalt_folders EXCLUDE REGEX "/src/(sql|cuda)$")
list(TRANSFORM basalt_folders APPEND "/*.cpp")
file(GLOB_RECURSE basalt_sources CONFIGURE_DEPENDS ${basalt_folders} "${PROJECT_SOURCE_DIR}/src/cuda/loader*.cpp")
basalt_or_placeholder(basalt_sources basalt)

add_library(basalt SHARED ${basalt_sources})
add_library(basalt::basalt ALIAS basalt)
target_compile_features(basalt PUBLIC cxx_std_20)
target_include_directories(basalt
  PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>"
  PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(basalt PRIVATE
  $<BUILD_INTERFACE:basalt_options> $<BUILD_INTERFACE:basalt_nanoarrow> $<BUILD_INTERFACE:basalt_flatbuffers>
  $<BUILD_INTERFACE:basalt_xxhash> $<BUILD_INTERFACE:${basalt_fmt}> Threads::Threads ${CMAKE_DL_LIBS})
set_target_properties(basalt PROPERTIES
  VERSION "${PROJECT_VERSION}" SOVERSION "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")

# What code inside the house (other libraries, tests, benchmarks) needs besides the public headers.
add_library(basalt_internal INTERFACE)
target_include_directories(basalt_internal INTERFACE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(basalt_internal INTERFACE
  basalt basalt_options basalt_nanoarrow basalt_flatbuffers basalt_xxhash ${basalt_fmt} Threads::Threads)

# L3 as it was published: what `basalt bench l3` and the benchmarks on the GPU compare with.
add_library(basalt_paper STATIC "${PROJECT_SOURCE_DIR}/bench/paper/cut.cpp")
target_include_directories(basalt_paper PUBLIC "${PROJECT_SOURCE_DIR}")
target_link_libraries(basalt_paper PUBLIC basalt_internal)
