# Installs the build tree into a scratch prefix, builds examples/ against it as a stranger would, and runs every example.

set(prefix "${BUILD_DIR}/install-test/prefix")
set(example_build "${BUILD_DIR}/install-test/build")
file(REMOVE_RECURSE "${BUILD_DIR}/install-test")

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "failed (${status}): ${ARGV}\n${output}")
  endif()
endfunction()

run("${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${prefix}")
run("${CMAKE_COMMAND}" -G Ninja -S "${SOURCE_DIR}/examples" -B "${example_build}" "-DCMAKE_PREFIX_PATH=${prefix}"
    "-DCMAKE_CXX_COMPILER=${CXX}" -DCMAKE_BUILD_TYPE=Release)
run("${CMAKE_COMMAND}" --build "${example_build}")
file(STRINGS "${example_build}/examples.txt" programs)
foreach(program IN LISTS programs)
  run("${CMAKE_COMMAND}" -E chdir "${example_build}" "${example_build}/${program}")
  message(STATUS "${program}: ran")
endforeach()
if(EXISTS "${prefix}/bin/basalt")
  run("${prefix}/bin/basalt" --version)
endif()
