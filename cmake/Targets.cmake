# How a folder becomes a library and its tests a program.

# Flags for our own code: every warning is an error. They sit on a target of their own so that
# other people's headers, included as system headers, are never held to them.
add_library(cairn_flags INTERFACE)
target_compile_options(cairn_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
  -Woverloaded-virtual -Werror)
# "sched/scheduler.h" is the server's; "lab/sim/oracle.h" and "testing/base/memory_fs.h" are not.
target_include_directories(cairn_flags INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
if(CAIRN_SANITIZE)
  target_compile_options(cairn_flags INTERFACE
    -fsanitize=${CAIRN_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(cairn_flags INTERFACE -fsanitize=${CAIRN_SANITIZE})
  # gcc's manual: with sanitizers this warning has false positives. The other builds hold it.
  target_compile_options(cairn_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
endif()

# clang checks that what a mutex guards is used under it (base/mutex.h), and sees gcc's own headers use
# what they call deprecated.
target_compile_options(cairn_flags INTERFACE
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety;-Wno-deprecated-declarations>)

# The usual linker takes four times as long for the programs of a sanitizer.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  find_program(CAIRN_LLD ld.lld-19)
  if(CAIRN_LLD)
    target_link_options(cairn_flags INTERFACE --ld-path=${CAIRN_LLD})
  endif()
endif()

# A test's own code runs once and briefly: it is not worth an optimiser's time, which was half of
# what a build took. What it calls is optimised as ever.
add_library(cairn_test_flags INTERFACE)
target_compile_options(cairn_test_flags INTERFACE -O0 -g1)
if(CAIRN_SANITIZE)
  target_compile_definitions(cairn_test_flags INTERFACE CAIRN_SANITIZED)
endif()

# cairn_library(NAME SOURCES a.cc b.cc DEPENDS cairn_base PRIVATE_DEPENDS other)
# One static library per folder, so that the linker holds the direction of includes.
function(cairn_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(cairn_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(cairn_${name} PUBLIC cairn_flags ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE_DEPENDS})
  cairn_use_precompiled(cairn_${name} library)
  cairn_use_unity(cairn_${name})
endfunction()

# Continuous integration compiles each test once (docs/testing.md): unit and property tests with the
# address sanitizer, the others, which start the programs, in the ordinary build. `make test` builds
# and runs all of them in one.
if(CAIRN_TESTS)
  add_custom_target(asan_lane)
  add_custom_target(ordinary_lane)
endif()

# cairn_test(NAME LABELS unit SOURCES a_test.cc DEPENDS cairn_base [TIMEOUT seconds] [PREFIX x]
#            [COST seconds] [LANE asan|ordinary])
# A GoogleTest program; each of its tests is a ctest test with the given labels. PREFIX: in front of
# their names, where another program has tests of the same. COST: what its longest test takes, if that
# is more than two seconds; ctest starts the longest first, so that all processors end together. LANE:
# where CI runs it if its labels would say otherwise.
function(cairn_test name)
  if(NOT CAIRN_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "TIMEOUT;PREFIX;COST;LANE" "SOURCES;DEPENDS;LABELS;PROPERTIES" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(NOT ARG_COST)
    set(ARG_COST 1)
  endif()
  if(NOT ARG_LANE)
    set(ARG_LANE asan)
    if("e2e" IN_LIST ARG_LABELS)
      set(ARG_LANE ordinary)
    endif()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE cairn_test_flags ${ARG_DEPENDS} GTest::gtest
    GTest::gtest_main Threads::Threads)
  cairn_use_precompiled(${name} test)
  cairn_use_unity(${name})
  target_compile_definitions(${name} PRIVATE
    CAIRN_SOURCE_DIR="${PROJECT_SOURCE_DIR}" CAIRN_PROGRAM="${PROJECT_BINARY_DIR}/cairn"
    CAIRN_LAB_PROGRAM="${PROJECT_BINARY_DIR}/cairn-lab")
  cairn_use_runtime(${name})
  add_dependencies(${ARG_LANE}_lane ${name})
  gtest_discover_tests(${name}
    DISCOVERY_TIMEOUT 60 TEST_PREFIX "${ARG_PREFIX}"
    PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT} COST ${ARG_COST}
      ${ARG_PROPERTIES})
endfunction()
