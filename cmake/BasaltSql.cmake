# libbasalt_sql: DuckDB as parser, optimizer and fallback engine over Basalt files; and the program `basalt`, which needs
# it. The generators of TPC-H and TPC-DS are DuckDB's own extensions, compiled in.

set(BASALT_SQL_ENABLED OFF)
set(duckdb_dir "${BASALT_DEPS_DIR}/duckdb")
if(NOT BASALT_SQL STREQUAL "OFF")
  if(EXISTS "${duckdb_dir}/lib/libduckdb.so" AND EXISTS "${duckdb_dir}/tpcds")
    set(BASALT_SQL_ENABLED ON)
  elseif(BASALT_SQL STREQUAL "ON")
    message(FATAL_ERROR "BASALT_SQL=ON, but DuckDB is not in ${duckdb_dir}. Run: make setup")
  else()
    message(STATUS "DuckDB is not in ${duckdb_dir}: the SQL library and the program are not built")
  endif()
endif()
if(NOT BASALT_SQL_ENABLED)
  return()
endif()

add_library(basalt_duckdb SHARED IMPORTED)
set_target_properties(basalt_duckdb PROPERTIES
  IMPORTED_LOCATION "${duckdb_dir}/lib/libduckdb.so" IMPORTED_SONAME libduckdb.so)
# DuckDB's copy of fmt is left out: it would hide the real one.
target_include_directories(basalt_duckdb SYSTEM INTERFACE
  "${duckdb_dir}/include" "${duckdb_dir}/third_party/concurrentqueue" "${duckdb_dir}/third_party/fast_float"
  "${duckdb_dir}/third_party/fastpforlib" "${duckdb_dir}/third_party/fsst" "${duckdb_dir}/third_party/libpg_query/include"
  "${duckdb_dir}/third_party/re2" "${duckdb_dir}/third_party/utf8proc/include" "${duckdb_dir}/third_party/yyjson/include")

# An extension of DuckDB that makes a benchmark's tables: `generator` is the folder of the program inside it.
function(basalt_add_generator name generator)
  set(folder "${duckdb_dir}/${name}")
  file(GLOB_RECURSE sources "${folder}/*.cpp")
  add_library(basalt_${name} OBJECT ${sources})
  target_include_directories(basalt_${name} SYSTEM PUBLIC "${folder}/include" PRIVATE "${folder}/${generator}/include" ${ARGN})
  target_link_libraries(basalt_${name} PRIVATE basalt_duckdb)
  target_compile_options(basalt_${name} PRIVATE -w $<$<CONFIG:Release>:-O2>)
  if(BASALT_SANITIZE)
    target_compile_options(basalt_${name} PRIVATE -fno-sanitize=all)
  endif()
endfunction()
basalt_add_generator(tpch dbgen)
basalt_add_generator(tpcds dsdgen "${duckdb_dir}/tpcds/dsdgen/include/dsdgen-c")

file(GLOB_RECURSE basalt_sql_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/sql/*.cpp")
add_library(basalt_sql SHARED ${basalt_sql_sources} $<TARGET_OBJECTS:basalt_tpch> $<TARGET_OBJECTS:basalt_tpcds>)
target_include_directories(basalt_sql PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_include_directories(basalt_sql SYSTEM PRIVATE "${duckdb_dir}/tpch/include" "${duckdb_dir}/tpcds/include")
target_link_libraries(basalt_sql PUBLIC basalt PRIVATE basalt_internal basalt_duckdb)
# duckdb.hpp takes 11 s to parse: read it once, or once in each half. Tiles are decoded in libbasalt; what is left here
# copies them, which -O2 vectorises as well.
basalt_unity(basalt_sql 10)
# The generator's headers are full of macros: not together with anything else.
target_sources(basalt_sql PRIVATE "${PROJECT_SOURCE_DIR}/src/gen/tpch/rows.cpp")
set_source_files_properties("${PROJECT_SOURCE_DIR}/src/gen/tpch/rows.cpp" PROPERTIES
  COMPILE_OPTIONS "-isystem;${duckdb_dir}/tpch/dbgen/include")
if(NOT BASALT_UNITY)
  target_precompile_headers(basalt_sql PRIVATE <duckdb.hpp>)
endif()
target_compile_options(basalt_sql PRIVATE $<$<CONFIG:Release>:-O2>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Seen in DuckDB's own headers where they are inlined.
  target_compile_options(basalt_sql PRIVATE -Wno-maybe-uninitialized)
endif()
set_target_properties(basalt_sql PROPERTIES
  VERSION "${PROJECT_VERSION}" SOVERSION "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}"
  BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN;$ORIGIN/basalt")
if(BASALT_SANITIZE)
  # Objects made inside libduckdb have type information that this check does not recognise.
  target_compile_options(basalt_sql PRIVATE -fno-sanitize=vptr)
endif()

# --- the program -------------------------------------------------------------------------------------------------------

file(GLOB_RECURSE basalt_cli_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cli/*.cpp")
basalt_find_header(BASALT_CLI11_INCLUDE CLI/CLI.hpp libcli11-dev)
find_path(BASALT_LIBEDIT_INCLUDE histedit.h)
find_library(BASALT_LIBEDIT_LIBRARY edit)
mark_as_advanced(BASALT_LIBEDIT_INCLUDE BASALT_LIBEDIT_LIBRARY)

# What the program shares with bench/columns: options, tables, progress.
set(basalt_cli_common_sources "${PROJECT_SOURCE_DIR}/cli/command.cpp" "${PROJECT_SOURCE_DIR}/cli/progress.cpp"
  "${PROJECT_SOURCE_DIR}/cli/terminal.cpp")
list(REMOVE_ITEM basalt_cli_sources ${basalt_cli_common_sources})
add_library(basalt_cli_common STATIC ${basalt_cli_common_sources})
target_include_directories(basalt_cli_common PUBLIC "${PROJECT_SOURCE_DIR}")
target_include_directories(basalt_cli_common SYSTEM PUBLIC "${BASALT_CLI11_INCLUDE}")
target_link_libraries(basalt_cli_common PUBLIC basalt_internal basalt_sql)
# CLI11 is large, and nothing in the program itself is hot: what its benchmarks measure is memcpy and the libraries.
basalt_unity(basalt_cli_common)
target_compile_options(basalt_cli_common PRIVATE $<$<CONFIG:Release>:-O1>)

add_executable(basalt_cli ${basalt_cli_sources})
set_target_properties(basalt_cli PROPERTIES OUTPUT_NAME basalt INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
target_link_libraries(basalt_cli PRIVATE basalt_cli_common basalt_gen)
basalt_unity(basalt_cli 16)
target_compile_options(basalt_cli PRIVATE $<$<CONFIG:Release>:-O1>)
if(NOT BASALT_UNITY)
  target_precompile_headers(basalt_cli_common PRIVATE <CLI/CLI.hpp> <fmt/format.h>)
  # -fPIC, as that library is compiled: GCC refuses headers that were precompiled with other settings.
  target_precompile_headers(basalt_cli REUSE_FROM basalt_cli_common)
  target_compile_options(basalt_cli PRIVATE -fPIC)
endif()
if(BASALT_LIBEDIT_INCLUDE AND BASALT_LIBEDIT_LIBRARY)
  # Of one source only: precompiled headers have no such definition.
  set_source_files_properties("${PROJECT_SOURCE_DIR}/cli/line_editor.cpp" PROPERTIES
    COMPILE_DEFINITIONS BASALT_HAVE_LIBEDIT SKIP_PRECOMPILE_HEADERS ON)
  target_include_directories(basalt_cli SYSTEM PRIVATE "${BASALT_LIBEDIT_INCLUDE}")
  target_link_libraries(basalt_cli PRIVATE "${BASALT_LIBEDIT_LIBRARY}")
endif()
