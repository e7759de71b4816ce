# What tests and fuzz targets share: tests/support, without GoogleTest.

file(GLOB_RECURSE support_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/support/*.cpp")
add_library(basalt_test_support STATIC ${support_sources})
target_include_directories(basalt_test_support PUBLIC "${PROJECT_SOURCE_DIR}/tests" "${PROJECT_SOURCE_DIR}")
target_link_libraries(basalt_test_support PUBLIC basalt_internal basalt_gen basalt_prelude)
target_compile_options(basalt_test_support PRIVATE $<$<CONFIG:Release>:-O1>)
basalt_unity(basalt_test_support)
