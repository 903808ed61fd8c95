# Which versions of libllama cmake/Llama.cmake takes, refuses and speaks of. They are played by the
# files by which CMake finds one. Run by ctest: cmake -DSOURCE=… -DFOLDER=… -DGENERATOR=…
# -DMAKE_PROGRAM=… -P this file

include(CMakePackageConfigHelpers)
include("${SOURCE}/cmake/Llama.cmake")
file(REMOVE_RECURSE "${FOLDER}")

# An installed libllama of that version, in FOLDER/VERSION. One that is too old may not even be loaded.
function(install_made version)
  set(here "${FOLDER}/${version}/lib/cmake/llama")
  set(CMAKE_SIZEOF_VOID_P 8)
  write_basic_package_version_file("${here}/llama-config-version.cmake" VERSION ${version}
    COMPATIBILITY SameMajorVersion)
  set(load "set(LLAMA_VERSION ${version})")
  if(version VERSION_LESS 0.7)
    set(load "message(FATAL_ERROR \"${version} was loaded\")")
  endif()
  file(WRITE "${here}/llama-config.cmake" "${load}\n")
endfunction()

# A project that needs one, as the probe of scripts/setup.sh does.
file(WRITE "${FOLDER}/needs/CMakeLists.txt" "cmake_minimum_required(VERSION 3.22)
project(needs LANGUAGES NONE)
include(${SOURCE}/cmake/Llama.cmake)
cairn_find_llama()
cairn_need_llama()
cairn_tell_llama()
message(STATUS \"took \${LLAMA_VERSION}\")
")

# expect(INSTALLED EXPECTED...): with these versions installed, the first in front, the project's
# configuration prints a text for each pattern. The first: of its end, 0 or 1.
function(expect installed result)
  set(prefixes "")
  foreach(version IN LISTS installed)
    list(APPEND prefixes "${FOLDER}/${version}")
  endforeach()
  file(REMOVE_RECURSE "${FOLDER}/build")
  execute_process(
    COMMAND ${CMAKE_COMMAND} -G ${GENERATOR} -DCMAKE_MAKE_PROGRAM=${MAKE_PROGRAM}
      -S "${FOLDER}/needs" -B "${FOLDER}/build" "-DCMAKE_PREFIX_PATH=${prefixes}"
      -DCMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH=OFF -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF
    RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(code)
    set(code 1)
  endif()
  if(NOT code EQUAL result)
    message(SEND_ERROR "with '${installed}' it ended with ${code} and said: ${said}")
  endif()
  string(REGEX REPLACE "[ \n]+" " " said "${said}")
  foreach(pattern IN LISTS ARGN)
    if(pattern MATCHES "^NOT (.*)$")
      if(said MATCHES "${CMAKE_MATCH_1}")
        message(SEND_ERROR "with '${installed}' it said: ${said}")
      endif()
    elseif(NOT said MATCHES "${pattern}")
      message(SEND_ERROR "with '${installed}' it did not say '${pattern}', but: ${said}")
    endif()
  endforeach()
endfunction()

foreach(version 0.6.0 0.7.0 0.7.4 0.8.0 0.8.2 0.9.0 1.0.0 1.4.2 2.0.0)
  install_made(${version})
endforeach()

expect("" 1 "libllama 0\\.7 or newer was not found" "make setup")
expect("0.6.0" 1 "libllama 0\\.6\\.0 is too old: Cairn needs 0\\.7 or newer" "make setup" "NOT was loaded")
expect("0.7.0" 0 "took 0\\.7\\.0" "NOT Warning")
expect("0.7.4" 0 "took 0\\.7\\.4" "NOT Warning")
foreach(version 0.8.0 0.8.2 0.9.0 1.0.0 1.4.2 2.0.0)
  set(warning "Warning: libllama ${version} is newer than ${CAIRN_LLAMA_TRIED}, the newest")
  string(REGEX MATCH "^[0-9]+\\.[0-9]+" minor ${version})
  if(minor VERSION_LESS_EQUAL CAIRN_LLAMA_TRIED)
    set(warning "NOT Warning")
  endif()
  expect("${version}" 0 "took ${version}" "${warning}")
endforeach()
# A later patch of the newest that was tried is no news.
expect("${CAIRN_LLAMA_TRIED}.0" 0 "NOT Warning")
# One that is too old does not hide another, and the first that can be used is taken.
expect("0.6.0;1.0.0;0.7.0" 0 "took 1\\.0\\.0" "NOT was loaded")
expect("0.7.0;1.0.0" 0 "took 0\\.7\\.0" "NOT Warning")
# A build that was configured before keeps to the rule.
execute_process(COMMAND ${CMAKE_COMMAND} "${FOLDER}/build" RESULT_VARIABLE code OUTPUT_VARIABLE said)
if(NOT code EQUAL 0 OR NOT said MATCHES "took 0.7.0")
  message(SEND_ERROR "configured again it said: ${said}")
endif()
