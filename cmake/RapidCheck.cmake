# RapidCheck, for property tests. The private prefix has it as a static library, compiled by a newer
# compiler than the host may have: it needs the C++ runtime that came with it, which test programs
# run with anyway, and which must be the one that the linker sees.
if(CAIRN_TESTS)
  find_package(rapidcheck CONFIG REQUIRED)
  set(CAIRN_RAPIDCHECK_RUNTIME "")
  if(CAIRN_USES_PREFIX EQUAL 0)
    set(CAIRN_RAPIDCHECK_RUNTIME "${LLAMA_LIB_DIR}/libstdc++.so.6")
  endif()
  cairn_import(cairn_dep_rapidcheck LINK rapidcheck_gtest ${CAIRN_RAPIDCHECK_RUNTIME})
endif()

# cairn_property_test(NAME SOURCES a_property_test.cc DEPENDS cairn_base [TIMEOUT seconds] [COST seconds]
#                     [LANE asan|ordinary])
# A GoogleTest program of RapidCheck's properties. Under ctest its cases are the same in every run;
# called by hand, the program draws new ones. Under a sanitizer a fifth of them is played.
function(cairn_property_test name)
  if(NOT CAIRN_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "TIMEOUT;COST;LANE" "SOURCES;DEPENDS" ${ARGN})
  set(parameters "seed=1")
  if(CAIRN_SANITIZE)
    string(APPEND parameters " max_success=20")
  endif()
  cairn_test(${name} LABELS property TIMEOUT "${ARG_TIMEOUT}" COST "${ARG_COST}" LANE "${ARG_LANE}" SOURCES ${ARG_SOURCES}
    DEPENDS ${ARG_DEPENDS} cairn_dep_rapidcheck
    PROPERTIES ENVIRONMENT "RC_PARAMS=${parameters}")
endfunction()
