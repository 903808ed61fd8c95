# Several sources of a target compiled as one, so that the headers they share are parsed once:
# docs/testing.md has the figures. It needs private names that differ within a target, which
# tests/tidy_test.cc holds. The release preset does without, so that a source which forgets an include
# does not compile there.

option(CAIRN_UNITY "Compile several sources of a target as one" OFF)
set(CAIRN_UNITY_SOURCES 8 CACHE STRING "The most sources that are compiled as one; 0: a target's all")

# cairn_use_unity(TARGET): after its sources are named. The batches of a target are of one size. CMake
# leaves out sources with compile options or definitions of their own.
function(cairn_use_unity target)
  get_target_property(sources ${target} SOURCES)
  list(LENGTH sources count)
  if(NOT CAIRN_UNITY OR count LESS 2)
    return()
  endif()
  set(size ${CAIRN_UNITY_SOURCES})
  if(size GREATER 0)
    math(EXPR batches "(${count} + ${size} - 1) / ${size}")
    math(EXPR size "(${count} + ${batches} - 1) / ${batches}")
  endif()
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ON UNITY_BUILD_MODE BATCH UNITY_BUILD_BATCH_SIZE ${size})
endfunction()
