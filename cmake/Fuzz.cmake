# Programs that are fed bytes nobody chose. With CAIRN_FUZZ they are libFuzzer's, and need clang; else
# they are plain programs that play files. Either way a test plays all that are kept: see
# docs/testing.md. The preset `fuzz` sets it. The coverage that guides libFuzzer costs each object an
# eighth more time, so the preset `asan` does without.

option(CAIRN_FUZZ "Build the fuzz targets with libFuzzer; needs clang" OFF)

if(CAIRN_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "CAIRN_FUZZ needs clang; `make fuzz` names it.")
  endif()
  target_compile_options(cairn_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# cairn_fuzz(NAME SOURCES a_fuzz.cc DEPENDS cairn_base)
# And the test "Fuzz.NAME", which plays fuzz/corpus/NAME and fuzz/cases/NAME.
function(cairn_fuzz name)
  if(NOT CAIRN_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  set(program ${name}_fuzz)
  add_executable(${program} ${ARG_SOURCES})
  target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${program} PRIVATE cairn_flags ${ARG_DEPENDS} Threads::Threads)
  cairn_use_runtime(${program})
  cairn_use_precompiled(${program} library)
  set(folders ${PROJECT_SOURCE_DIR}/fuzz/corpus/${name} ${PROJECT_SOURCE_DIR}/fuzz/cases/${name})
  if(CAIRN_FUZZ)
    target_compile_definitions(${program} PRIVATE CAIRN_LIBFUZZER)
    target_link_options(${program} PRIVATE -fsanitize=fuzzer)
    # libFuzzer stops at a folder that is not there.
    foreach(folder ${folders})
      if(EXISTS ${folder})
        list(APPEND there ${folder})
      endif()
    endforeach()
    add_test(NAME Fuzz.${name} COMMAND ${program} -runs=0 ${there})
  else()
    target_sources(${program} PRIVATE play_files.cc)
    add_test(NAME Fuzz.${name} COMMAND ${program} ${folders})
  endif()
  set_tests_properties(Fuzz.${name} PROPERTIES LABELS "unit;asan-lane" TIMEOUT 120)
  add_dependencies(asan_lane ${program})
endfunction()
