# Which Node.js the page is built with. Runs in scripts too: tests/node_complaint_test.cmake.

# The oldest that Vite, as it is locked, was seen to run on; it lacks something of any older one.
set(CAIRN_NODE_MIN 18.4)

# cairn_node_complaint(NODE NPM OUT): sets OUT to what keeps the page from being built with these two
# programs, each a path or NOTFOUND; to nothing when nothing does.
function(cairn_node_complaint node npm out)
  set(${out} "" PARENT_SCOPE)
  if(NOT node)
    set(${out} "there is no node" PARENT_SCOPE)
    return()
  endif()
  execute_process(COMMAND "${node}" --version
    OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE code)
  if(NOT code EQUAL 0 OR NOT version MATCHES "^v([0-9]+[.][0-9]+[.][0-9]+)")
    set(${out} "${node} does not run" PARENT_SCOPE)
  elseif(CMAKE_MATCH_1 VERSION_LESS CAIRN_NODE_MIN)
    set(${out} "${node} is version ${CMAKE_MATCH_1}, which is too old" PARENT_SCOPE)
  elseif(NOT npm)
    set(${out} "there is no npm beside ${node}" PARENT_SCOPE)
  endif()
endfunction()
