# GoogleTest: built from the private prefix's sources where they are, because its static library was
# compiled by a newer compiler than the host may have; else whatever the system offers.
if(EXISTS "${CAIRN_DEPS_PREFIX}/src/googletest/CMakeLists.txt" AND CAIRN_USES_PREFIX EQUAL 0)
  set(BUILD_GMOCK OFF)
  set(INSTALL_GTEST OFF)
  add_subdirectory("${CAIRN_DEPS_PREFIX}/src/googletest" "${PROJECT_BINARY_DIR}/googletest"
    EXCLUDE_FROM_ALL)
  if(NOT TARGET GTest::gtest)
    add_library(GTest::gtest ALIAS gtest)
    add_library(GTest::gtest_main ALIAS gtest_main)
  endif()
else()
  find_package(GTest REQUIRED)
endif()
