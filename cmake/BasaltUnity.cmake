# Sources of a folder are compiled together, a few at a time: headers are parsed and templates compiled once per group
# instead of once per file, which takes about half of the time from scratch (docs/decisions/build-time.md). Names in
# anonymous namespaces must therefore differ within a folder. -DBASALT_UNITY=OFF compiles every file alone, for daily
# work on one file and for clang-tidy.

option(BASALT_UNITY "Compile the sources of a folder together" ON)
if(BASALT_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # A type that holds one of an anonymous namespace is taken for a type of a header.
  target_compile_options(basalt_options INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>")
endif()

# basalt_unity(target [most sources of a group])
function(basalt_unity target)
  if(NOT BASALT_UNITY)
    return()
  endif()
  set(most 6)
  if(ARGC GREATER 1)
    set(most ${ARGV1})
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  list(SORT sources)
  foreach(source IN LISTS sources)
    # Loops for an instruction set have headers of their own below a pragma.
    if(NOT source MATCHES "\\.cpp$" OR source MATCHES "_avx[0-9]+\\.cpp$")
      continue()
    endif()
    get_filename_component(folder "${source}" DIRECTORY)
    file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${folder}")
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    if(NOT DEFINED ${folder}_count)
      set(${folder}_count 0)
    endif()
    math(EXPR part "${${folder}_count} / ${most}")
    math(EXPR ${folder}_count "${${folder}_count} + 1")
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${folder}_${part}")
  endforeach()
endfunction()
