# `cmake --install`: libraries, public headers, the program, and the package that find_package(basalt) reads.

include(CMakePackageConfigHelpers)

install(TARGETS basalt EXPORT basaltTargets LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/basalt" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
# What kernels of others include to read encoded columns: layouts and tile readers, under basalt/device.
add_library(basalt_device INTERFACE)
set_target_properties(basalt_device PROPERTIES EXPORT_NAME device)
target_include_directories(basalt_device INTERFACE
  "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/basalt/device>")
install(TARGETS basalt_device EXPORT basaltTargets)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/src/codec" "${PROJECT_SOURCE_DIR}/src/core"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/basalt/device"
  FILES_MATCHING PATTERN "*/layout.h" PATTERN "*/kernels.cuh" PATTERN "*/kernels_*.cuh" PATTERN "*/filter.cuh" PATTERN "*/filter_table.h" PATTERN "*/scale.h" PATTERN "*/core/device/*.h" PATTERN "*/core/*_tile.h")
install(EXPORT basaltTargets NAMESPACE basalt:: DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/basalt")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/basaltConfig.cmake.in" "${PROJECT_BINARY_DIR}/basaltConfig.cmake"
  INSTALL_DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/basalt")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/basaltConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/basaltConfig.cmake" "${PROJECT_BINARY_DIR}/basaltConfigVersion.cmake"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/basalt")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/THIRD_PARTY.md" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

if(TARGET basalt_sql)
  install(TARGETS basalt_sql LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  # In a folder of its own: the system may have another version of DuckDB.
  install(FILES "${duckdb_dir}/lib/libduckdb.so" DESTINATION "${CMAKE_INSTALL_LIBDIR}/basalt")
endif()
if(TARGET basalt_cli)
  install(TARGETS basalt_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
if(TARGET basalt_cuda)
  install(TARGETS basalt_cuda LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  # Only where setup fetched NVRTC because the toolkit has none; a complete toolkit brings its own.
  file(GLOB nvrtc_libraries "${BASALT_DEPS_DIR}/nvrtc/lib/libnvrtc.so.*" "${BASALT_DEPS_DIR}/nvrtc/lib/libnvrtc-builtins.so.*")
  if(nvrtc_libraries)
    install(FILES ${nvrtc_libraries} DESTINATION "${CMAKE_INSTALL_LIBDIR}/basalt")
  endif()
endif()
