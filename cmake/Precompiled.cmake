# Headers that nearly every file reads, read once for all of them: half of the time of a build with
# clang, two thirds with gcc. The release preset does without, so that a file which forgets an include
# does not compile there: CI builds the programs that way too.

option(CAIRN_PRECOMPILED "Read common headers once for all files" OFF)

# ccache where it is installed: a second build of the same sources takes a minute or two. With
# precompiled headers it needs leave to ignore what they define, and headers without a time in them.
find_program(CAIRN_CCACHE ccache)
mark_as_advanced(CAIRN_CCACHE)
if(CAIRN_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CAIRN_CCACHE})
endif()
if(CAIRN_PRECOMPILED AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(cairn_flags INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
elseif(CAIRN_PRECOMPILED AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Behind precompiled headers gcc 12 warns of what is not there (-Warray-bounds in std::string). What is
  # there the release preset finds.
  target_compile_options(cairn_flags INTERFACE -w)
endif()

set(CAIRN_COMMON_HEADERS <algorithm> <chrono> <condition_variable> <cstdint> <filesystem> <fstream>
  <functional> <map> <memory> <mutex> <optional> <random> <set> <span> <sstream> <string>
  <string_view> <thread> <unordered_map> <utility> <variant> <vector>)

# What nearly every file above the scheduler includes: api, routes, router and cmd; and inside it.
set(CAIRN_SERVER_HEADERS "\"base/json.h\"" "\"sched/scheduler_client.h\"")
set(CAIRN_SCHED_HEADERS "\"sched/context/prompt_rules.h\"" "\"sched/context/step_accounts.h\"" "\"sched/slots/restorer.h\"")

# The sanitizers' presets optimise nothing, which halves the time of their builds. What tests run in long
# loops is worth it all the same: everything but tests and the folders above the scheduler.
set(CAIRN_OPTIMISED "")
if(CAIRN_SANITIZE)
  set(CAIRN_OPTIMISED -O1)
endif()

# cairn_precompiled_kind(KIND HEADERS headers LIBRARIES targets FLAGS flags): a target that holds the
# compiled headers; the other targets of its kind only use them, and are compiled with the same flags.
function(cairn_precompiled_kind kind)
  cmake_parse_arguments(ARG "" "" "HEADERS;LIBRARIES;FLAGS" ${ARGN})
  set(empty "${PROJECT_BINARY_DIR}/precompiled.cc")
  file(CONFIGURE OUTPUT "${empty}" CONTENT "// Nothing but the headers.\n")
  # In a file of their own, for CMake dates the one that it writes as this list's, not by its content.
  set(header "${PROJECT_BINARY_DIR}/precompiled_${kind}.h")
  list(TRANSFORM ARG_HEADERS REPLACE "(.+)" "#include \\1\n")
  list(JOIN ARG_HEADERS "" includes)
  file(CONFIGURE OUTPUT "${header}" CONTENT "${includes}")
  add_library(cairn_precompiled_${kind} STATIC "${empty}")
  target_link_libraries(cairn_precompiled_${kind} PRIVATE cairn_flags ${ARG_LIBRARIES})
  target_compile_options(cairn_precompiled_${kind} PRIVATE ${ARG_FLAGS})
  target_precompile_headers(cairn_precompiled_${kind} PRIVATE "${header}")
endfunction()

function(cairn_precompiled_kinds)
  if(NOT CAIRN_PRECOMPILED)
    return()
  endif()
  set(library ${CAIRN_COMMON_HEADERS})
  set(server ${library} ${CAIRN_SERVER_HEADERS})
  cairn_precompiled_kind(library HEADERS ${library} FLAGS ${CAIRN_OPTIMISED})
  cairn_precompiled_kind(server HEADERS ${server} LIBRARIES cairn_dep_expected)
  cairn_precompiled_kind(sched HEADERS ${library} ${CAIRN_SCHED_HEADERS} LIBRARIES cairn_dep_expected
    FLAGS ${CAIRN_OPTIMISED})
  if(CAIRN_TESTS)
    set(test_libraries cairn_test_flags GTest::gtest)
    cairn_precompiled_kind(test HEADERS ${library} <gtest/gtest.h> LIBRARIES ${test_libraries})
    cairn_precompiled_kind(server_test HEADERS ${server} <gtest/gtest.h>
      LIBRARIES ${test_libraries} cairn_dep_expected)
  endif()
endfunction()

# cairn_use_precompiled(TARGET library|test)
function(cairn_use_precompiled target kind)
  if(NOT CAIRN_PRECOMPILED)
    return()
  endif()
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
  if(folder STREQUAL "src/sched" AND kind STREQUAL "library")
    set(kind sched)
  elseif(folder MATCHES "^(src/(sched|api|routes|cmd)|fleet/router)$")
    string(REPLACE "library" "server" kind "${kind}")
    string(REPLACE "test" "server_test" kind "${kind}")
  endif()
  if(kind MATCHES "^(library|sched)$")
    target_compile_options(${target} PRIVATE ${CAIRN_OPTIMISED})
  endif()
  target_precompile_headers(${target} REUSE_FROM cairn_precompiled_${kind})
endfunction()
