# Headers that nearly every file reads, read once for all of them. With clang that halves the time
# of a build; with gcc it saves too little to be worth a second way of building. The presets of the
# sanitizers use it, so that their whole builds fit into continuous integration beside the others.
# A file that forgets an include still shows in the ordinary build.

option(CAIRN_PRECOMPILED "Read common headers once for all files; of use with clang" OFF)

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
