# Installs libcairn to a folder of its own, moves it, and builds examples/other_server.cc in a CMake
# project that uses only find_package(cairn). Run as a script with BUILD, CXX, GENERATOR,
# FOLDER, VERSION, and PREFIXES, where a system's tl::expected may be.

include("${CMAKE_CURRENT_LIST_DIR}/installed_library.cmake")

install_library()
set(moved "${FOLDER}.moved")
file(REMOVE_RECURSE "${moved}")
file(RENAME "${FOLDER}" "${moved}")
file(GLOB_RECURSE example "${moved}/*/other_server.cc")
set(project "${moved}/project")

# configure(CODE version): configures a project that requires this version.
function(configure code version)
  file(WRITE "${project}/CMakeLists.txt" "cmake_minimum_required(VERSION 3.22)
project(other_server LANGUAGES CXX)
find_package(cairn ${version} REQUIRED)
add_executable(other_server \"${example}\")
target_link_libraries(other_server PRIVATE cairn::cairn)
")
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${project} -B ${project}/build -G ${GENERATOR}
      -DCMAKE_CXX_COMPILER=${CXX} "-DCMAKE_PREFIX_PATH=${moved};${PREFIXES}"
    OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE result)
  set(${code} ${result} PARENT_SCOPE)
  set(said "${output}" PARENT_SCOPE)
endfunction()

configure(code 9.9)
if(code EQUAL 0 OR NOT said MATCHES "version: ${VERSION}")
  message(FATAL_ERROR "version 9.9 was asked for, and this came of it:\n${said}")
endif()
configure(code ${VERSION})
if(NOT code EQUAL 0)
  message(FATAL_ERROR "${said}")
endif()
run(ignored ${CMAKE_COMMAND} --build ${project}/build)
expect_example_works("${project}/build/other_server")
