# Programs that are fed bytes nobody chose. With CAIRN_FUZZ they are libFuzzer's, with the address
# and the undefined-behaviour sanitizer, and need clang; else they are plain programs that play
# files, and a test plays all that are kept: see docs/testing.md.

option(CAIRN_FUZZ "Build the fuzz targets with libFuzzer; needs clang" OFF)

if(CAIRN_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "CAIRN_FUZZ needs clang; `make fuzz` names it.")
  endif()
  set(CAIRN_FUZZ_SANITIZERS address,undefined)
  # clang sees gcc's own headers use what they call deprecated.
  target_compile_options(cairn_flags INTERFACE
    -fsanitize=fuzzer-no-link,${CAIRN_FUZZ_SANITIZERS} -fno-omit-frame-pointer
    -fno-sanitize-recover=all -Wno-deprecated-declarations)
endif()

# cairn_fuzz(NAME SOURCES a_fuzz.cc DEPENDS cairn_base)
# In an ordinary build also the test "Fuzz.NAME", which plays fuzz/corpus/NAME and fuzz/cases/NAME.
function(cairn_fuzz name)
  if(NOT CAIRN_FUZZ AND NOT CAIRN_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  set(program ${name}_fuzz)
  add_executable(${program} ${ARG_SOURCES})
  target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${program} PRIVATE cairn_flags ${ARG_DEPENDS} Threads::Threads)
  cairn_use_runtime(${program})
  cairn_use_precompiled(${program} library)
  if(CAIRN_FUZZ)
    target_compile_definitions(${program} PRIVATE CAIRN_LIBFUZZER)
    target_link_options(${program} PRIVATE -fsanitize=fuzzer,${CAIRN_FUZZ_SANITIZERS})
    add_dependencies(fuzz_targets ${program})
    return()
  endif()
  target_sources(${program} PRIVATE play_files.cc)
  add_test(NAME Fuzz.${name}
    COMMAND ${program} ${PROJECT_SOURCE_DIR}/fuzz/corpus/${name} ${PROJECT_SOURCE_DIR}/fuzz/cases/${name})
  set_tests_properties(Fuzz.${name} PROPERTIES LABELS unit TIMEOUT 120)
endfunction()
