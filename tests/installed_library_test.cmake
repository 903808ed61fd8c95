# Installs libcairn to a folder of its own, compiles examples/other_server.cc as the page says, with
# nothing but pkg-config, and compares what it prints. Run as a script with BUILD, CXX and FOLDER.

find_program(PKG_CONFIG pkg-config)
if(NOT PKG_CONFIG)
  message("pkg-config is not here")
  return()
endif()
include("${CMAKE_CURRENT_LIST_DIR}/installed_library.cmake")

install_library()
file(GLOB_RECURSE pc "${FOLDER}/*/cairn.pc")
get_filename_component(pc_folder "${pc}" DIRECTORY)
run(flags ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${pc_folder} ${PKG_CONFIG} --cflags --libs cairn)
separate_arguments(flags UNIX_COMMAND "${flags}")

# Every installed header is there with all that it includes.
file(GLOB_RECURSE headers RELATIVE "${FOLDER}/include/cairn" "${FOLDER}/include/cairn/*.h")
set(all "")
foreach(header ${headers})
  string(APPEND all "#include \"${header}\"\n")
endforeach()
file(WRITE "${FOLDER}/all_headers.cc" "${all}")
run(ignored ${CXX} -std=c++20 -fsyntax-only "${FOLDER}/all_headers.cc" ${flags})

file(GLOB_RECURSE example "${FOLDER}/*/other_server.cc")
# clang sees gcc's own headers use what they call deprecated.
run(ignored ${CXX} -std=c++20 -Wall -Wextra -Werror -Wno-deprecated-declarations "${example}" ${flags}
  -o "${FOLDER}/other_server")
expect_example_works("${FOLDER}/other_server")
