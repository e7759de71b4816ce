# Tests: one GoogleTest program per folder of tests/, one entry per Python test. All run in the repository root.
# tests/support is shared by all (BasaltTestSupport); tests/fuzz belongs to BasaltFuzz.

enable_testing()
find_package(GTest REQUIRED)

set(basalt_test_environment
  "BASALT_BIN=${PROJECT_BINARY_DIR}/basalt" "BASALT_BUILD_DIR=${PROJECT_BINARY_DIR}" "BASALT_SOURCE_DIR=${PROJECT_SOURCE_DIR}"
  "LC_ALL=C.UTF-8" "UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1")
# libduckdb is not instrumented, so containers that it filled look overflowed. The leak check takes 4 s at the end of
# every process: the unit tests afford it once each, tests that start the program many times do not.
set(basalt_asan_options "ASAN_OPTIONS=detect_container_overflow=0:detect_odr_violation=0:allocator_may_return_null=1")
set(basalt_no_leak_check "${basalt_asan_options}:detect_leaks=0")

set(test_headers "")
file(GLOB test_folders CONFIGURE_DEPENDS LIST_DIRECTORIES true "${PROJECT_SOURCE_DIR}/tests/*")
foreach(folder IN LISTS test_folders)
  get_filename_component(name "${folder}" NAME)
  if(NOT IS_DIRECTORY "${folder}" OR name MATCHES "^(support|fuzz|golden|emulated_gpu)$")
    continue()
  endif()
  file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS "${folder}/*.cpp")
  if(NOT test_sources OR (name STREQUAL "sql" AND NOT BASALT_SQL_ENABLED) OR (name STREQUAL "cli" AND NOT TARGET basalt_cli))
    continue()
  endif()
  set(target basalt_${name}_tests)
  add_executable(${target} ${test_sources})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  target_link_libraries(${target} PRIVATE basalt_test_support GTest::gtest_main GTest::gmock)
  # Most of what runs is the library: their own code need not be fast.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  # At that level GCC 12 takes strings in lists of initial values for arrays that are read beyond their end, and more of
  # the kind: what follows the flow of data is left to newer ones and to clang.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread
      -Wno-maybe-uninitialized -Wno-dangling-pointer -Wno-use-after-free -Wno-free-nonheap-object -Wno-nonnull)
  endif()
  # GoogleTest and what every test includes are parsed once, by the first program.
  if(test_headers)
    target_precompile_headers(${target} REUSE_FROM ${test_headers})
  else()
    set(test_headers ${target})
    target_precompile_headers(${target} PRIVATE <gtest/gtest.h> <algorithm> <array> <functional> <map> <memory> <random>
      <span> <string> <vector>)
  endif()
  if(name STREQUAL "sql")
    target_link_libraries(${target} PRIVATE basalt_sql basalt_duckdb)
    target_include_directories(${target} SYSTEM PRIVATE "${duckdb_dir}/tpch/include")
  endif()
  if(name STREQUAL "cli")
    add_dependencies(${target} basalt_cli)
  endif()
  if(name STREQUAL "cuda")
    target_link_libraries(${target} PRIVATE basalt_paper)
    # Device code on the CPU: its `#pragma unroll` means nothing there.
    file(GLOB emulated_sources CONFIGURE_DEPENDS "${folder}/emulated_*_test.cpp")
    set_source_files_properties(${emulated_sources} PROPERTIES COMPILE_OPTIONS "-Wno-unknown-pragmas")
    # Loops over rows, with memory that is the host's.
    set_source_files_properties("${folder}/emulated_gather_texts_test.cpp" PROPERTIES
      INCLUDE_DIRECTORIES "${PROJECT_SOURCE_DIR}/tests/emulated_gpu/include")
    if(TARGET basalt_cuda)
      add_dependencies(${target} basalt_cuda)
    endif()
  endif()
  # NVRTC, which the tests of generated kernels open, keeps what it allocates.
  if(name MATCHES "^(sql|cli|cuda)$")
    set(asan_options "${basalt_no_leak_check}")
  else()
    set(asan_options "${basalt_asan_options}")
  endif()
  add_test(NAME ${name} COMMAND ${target} --gtest_brief=1)
  set_tests_properties(${name} PROPERTIES WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    ENVIRONMENT "${basalt_test_environment};${asan_options}" TIMEOUT 1800 LABELS unit)
endforeach()

# Joins as the GPU runs them, where there is none: a backend whose kernels are loops (tests/emulated_gpu).
set(emulated_gpu "${PROJECT_SOURCE_DIR}/tests/emulated_gpu")
file(GLOB emulated_gpu_sources CONFIGURE_DEPENDS "${emulated_gpu}/*.cpp" 
  "${PROJECT_SOURCE_DIR}/src/cuda/query/joins/*.cpp" "${PROJECT_SOURCE_DIR}/src/cuda/query/windows/*.cpp")
add_library(basalt_emulated_gpu SHARED EXCLUDE_FROM_ALL ${emulated_gpu_sources}
  "${PROJECT_SOURCE_DIR}/src/cuda/query/common_texts.cpp" "${PROJECT_SOURCE_DIR}/src/cuda/query/device_table.cpp")
target_include_directories(basalt_emulated_gpu BEFORE PRIVATE "${emulated_gpu}/include")
target_include_directories(basalt_emulated_gpu PRIVATE "${PROJECT_SOURCE_DIR}/tests")
target_link_libraries(basalt_emulated_gpu PRIVATE basalt_internal)
target_compile_options(basalt_emulated_gpu PRIVATE -Wno-unknown-pragmas)
set_target_properties(basalt_emulated_gpu PROPERTIES
  UNITY_BUILD OFF LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
if(TARGET basalt_sql_tests)
  add_dependencies(basalt_sql_tests basalt_emulated_gpu)
  add_test(NAME joins_on_an_emulated_gpu
    COMMAND basalt_sql_tests --gtest_brief=1 --gtest_filter=*joins*cuda:*Joins*cuda:*LateKeys*cuda:*windows*cuda:*Tpch*cuda:*Tpcds*cuda:*Ssb*cuda)
  set_tests_properties(joins_on_an_emulated_gpu PROPERTIES WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}" ENVIRONMENT
    "${basalt_test_environment};${basalt_no_leak_check};BASALT_CUDA_LIBRARY=$<TARGET_FILE:basalt_emulated_gpu>;BASALT_JOIN_HOST_ROWS=8"
    FAIL_REGULAR_EXPRESSION "=\\] 0 tests from" TIMEOUT 1800 LABELS unit)
endif()

# Python tests may use numpy and the standard library. The first python3 on the path may lack numpy where the
# distribution's own has it.
function(basalt_python_has_numpy result candidate)
  execute_process(COMMAND "${candidate}" -c "import numpy" RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
  if(NOT status EQUAL 0)
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()
file(GLOB_RECURSE python_tests CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/*_test.py")
if(NOT BASALT_BENCH)
  list(FILTER python_tests EXCLUDE REGEX "/tests/bench/columns_test")
endif()
if(python_tests AND TARGET basalt_cli)
  find_program(BASALT_PYTHON NAMES python3 VALIDATOR basalt_python_has_numpy)
  mark_as_advanced(BASALT_PYTHON)
  foreach(file IN LISTS python_tests)
    if(NOT BASALT_PYTHON)
      message(WARNING "No python3 with numpy: the tests written in Python are left out")
      break()
    endif()
    file(RELATIVE_PATH name "${PROJECT_SOURCE_DIR}/tests" "${file}")
    string(REGEX REPLACE "_test\\.py$" "" name "${name}")
    add_test(NAME ${name} COMMAND "${BASALT_PYTHON}" -B "${file}")
    set_tests_properties(${name} PROPERTIES WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
      ENVIRONMENT "${basalt_test_environment};${basalt_no_leak_check}" TIMEOUT 900 LABELS python)
  endforeach()
endif()

if(TARGET nvrtc_check AND BASALT_NVRTC_LIBRARY AND NOT BASALT_SANITIZE)
  add_test(NAME nvrtc_compiles_all COMMAND nvrtc_check)
  set_tests_properties(nvrtc_compiles_all PROPERTIES WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    ENVIRONMENT "${basalt_test_environment};BASALT_NVRTC=${BASALT_NVRTC_LIBRARY}" TIMEOUT 900 LABELS nvrtc)
elseif(TARGET nvrtc_check AND NOT BASALT_SANITIZE)
  message(STATUS "No NVRTC library: the test nvrtc_compiles_all is left out")
endif()

file(GLOB example_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/*.cpp")
if(example_sources AND NOT BASALT_SANITIZE)
  add_test(NAME install_example
    COMMAND "${CMAKE_COMMAND}" -D "BUILD_DIR=${PROJECT_BINARY_DIR}" -D "SOURCE_DIR=${PROJECT_SOURCE_DIR}"
            -D "CXX=${CMAKE_CXX_COMPILER}" -P "${PROJECT_SOURCE_DIR}/cmake/InstallExampleTest.cmake")
  set_tests_properties(install_example PROPERTIES
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}" ENVIRONMENT "${basalt_test_environment}" TIMEOUT 300 LABELS install)
endif()
