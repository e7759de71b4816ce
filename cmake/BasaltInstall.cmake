# `cmake --install`: libraries, public headers, the program, and the package that find_package(basalt) reads.

include(CMakePackageConfigHelpers)

install(TARGETS basalt EXPORT basaltTargets LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/basalt" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
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
