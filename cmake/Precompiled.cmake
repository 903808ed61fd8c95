# Headers that nearly every file reads, read once for all of them. With clang that halves the time
# of a build; with gcc it saves a tenth, so the release preset does without. A file that forgets an
# include shows there: CI builds the programs that way too.

option(CAIRN_PRECOMPILED "Read common headers once for all files; of use with clang" OFF)

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
endif()

set(CAIRN_COMMON_HEADERS <algorithm> <chrono> <condition_variable> <cstdint> <filesystem> <fstream>
  <functional> <map> <memory> <mutex> <optional> <random> <set> <span> <sstream> <string>
  <string_view> <thread> <unordered_map> <utility> <variant> <vector>)

# Two targets that hold the compiled headers; the other targets of their kind only use them, which
# asks that all of a kind are compiled with the same flags.
function(cairn_precompiled_kinds)
  if(NOT CAIRN_PRECOMPILED)
    return()
  endif()
  set(empty "${PROJECT_BINARY_DIR}/precompiled.cc")
  file(CONFIGURE OUTPUT "${empty}" CONTENT "// Nothing but the headers.\n")
  add_library(cairn_precompiled_library STATIC "${empty}")
  target_link_libraries(cairn_precompiled_library PRIVATE cairn_flags)
  target_precompile_headers(cairn_precompiled_library PRIVATE ${CAIRN_COMMON_HEADERS})
  if(CAIRN_TESTS)
    add_library(cairn_precompiled_test STATIC "${empty}")
    target_link_libraries(cairn_precompiled_test
      PRIVATE cairn_flags cairn_test_flags GTest::gtest)
    target_precompile_headers(cairn_precompiled_test
      PRIVATE ${CAIRN_COMMON_HEADERS} <gtest/gtest.h>)
  endif()
endfunction()

# cairn_use_precompiled(TARGET library|test)
function(cairn_use_precompiled target kind)
  if(CAIRN_PRECOMPILED)
    target_precompile_headers(${target} REUSE_FROM cairn_precompiled_${kind})
  endif()
endfunction()
