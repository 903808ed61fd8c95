# Functions shared by the two tests of an installed libcairn. Needs BUILD and FOLDER.

# run(RESULT command...): sets RESULT to the command's output; a failure fails the test.
function(run result)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    string(JOIN " " command ${ARGN})
    message(FATAL_ERROR "failed: ${command}\n${output}${errors}")
  endif()
  set(${result} "${output}" PARENT_SCOPE)
endfunction()

# Installs libcairn to FOLDER, which is emptied before.
function(install_library)
  file(REMOVE_RECURSE "${FOLDER}")
  run(ignored ${CMAKE_COMMAND} --install ${BUILD} --prefix ${FOLDER} --component heart)
endfunction()

# Runs the compiled example and compares what it prints.
function(expect_example_works program)
  run(output "${program}")
  set(expected "66 tokens: 0 reused, 66 read, the state is a cold run's
108 tokens: 65 reused, 43 read, the state is a cold run's
67 tokens: 42 reused, 25 read, the state is a cold run's
67 tokens: 66 reused, 1 read, the state is a cold run's
")
  if(NOT output STREQUAL expected)
    message(FATAL_ERROR "the example printed\n${output}and not\n${expected}")
  endif()
endfunction()
