# cmake -DFOLDER=folder -P: checks the build's message for a Node.js that cannot build the page.
# Uses fake programs that only print a version.

include("${CMAKE_CURRENT_LIST_DIR}/../cmake/page/NodeComplaint.cmake")

file(REMOVE_RECURSE "${FOLDER}")
file(MAKE_DIRECTORY "${FOLDER}")

function(stand_in name script)
  file(WRITE "${FOLDER}/${name}" "#!/bin/sh\n${script}\n")
  file(CHMOD "${FOLDER}/${name}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endfunction()

function(expect_complaint node npm expected)
  cairn_node_complaint("${node}" "${npm}" said)
  if(NOT said STREQUAL expected)
    message(SEND_ERROR "of ${node} and ${npm} it says '${said}', not '${expected}'")
  endif()
endfunction()

stand_in(oldest "echo v${CAIRN_NODE_MIN}.0")
stand_in(newer "echo v100.1.2")
stand_in(old "echo v18.3.0")
stand_in(older "echo v9.11.2")
stand_in(broken "exit 1")
stand_in(silent "true")

expect_complaint("${FOLDER}/oldest" /npm "")
expect_complaint("${FOLDER}/newer" /npm "")
expect_complaint("${FOLDER}/old" /npm "${FOLDER}/old is version 18.3.0, which is too old")
expect_complaint("${FOLDER}/older" /npm "${FOLDER}/older is version 9.11.2, which is too old")
expect_complaint("${FOLDER}/broken" /npm "${FOLDER}/broken does not run")
expect_complaint("${FOLDER}/silent" /npm "${FOLDER}/silent does not run")
expect_complaint("${FOLDER}/none" /npm "${FOLDER}/none does not run")
expect_complaint(CAIRN_NODE-NOTFOUND /npm "there is no node")
expect_complaint("${FOLDER}/newer" CAIRN_NPM-NOTFOUND "there is no npm beside ${FOLDER}/newer")
