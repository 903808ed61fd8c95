# Finds libllama of any version from CAIRN_LLAMA_MIN on. Its version file accepts no other major
# version than the one that is asked for, so it is asked for none, and the versions are compared here.

set(CAIRN_LLAMA_MIN 0.7)
# The newest whose headers and libraries the engine's tests ran with.
set(CAIRN_LLAMA_TRIED 0.8)

# Sets `complaint` to why this version cannot be used, and `warning` to what is to be said of it;
# each is empty if there is nothing.
function(cairn_judge_llama version complaint warning)
  set(${complaint} "" PARENT_SCOPE)
  set(${warning} "" PARENT_SCOPE)
  # Of 0.8.1 the first two numbers count.
  string(REGEX MATCH "^[0-9]+(\\.[0-9]+)?" minor "${version}")
  if(version VERSION_LESS CAIRN_LLAMA_MIN)
    set(${complaint} "libllama ${version} is too old: Cairn needs ${CAIRN_LLAMA_MIN} or newer"
      PARENT_SCOPE)
  elseif(minor VERSION_GREATER CAIRN_LLAMA_TRIED)
    set(${warning} "libllama ${version} is newer than ${CAIRN_LLAMA_TRIED}, the newest that Cairn \
was tried with; what its headers and states have changed is found at build and load" PARENT_SCOPE)
  endif()
endfunction()

# Sets `folder` to that of the first llama-config.cmake whose version can be used, and `complaint` to
# why the others cannot. No configuration is loaded: it would define the target of a library that is
# then not used.
function(cairn_look_for_llama folder complaint)
  set(${folder} "" PARENT_SCOPE)
  set(${complaint} "" PARENT_SCOPE)
  # A version that none has: all of them are looked at and none is taken.
  find_package(llama 999999 EXACT CONFIG QUIET)
  foreach(config version IN ZIP_LISTS llama_CONSIDERED_CONFIGS llama_CONSIDERED_VERSIONS)
    get_filename_component(here "${config}" DIRECTORY)
    if(version MATCHES "bit\\)$")
      set(wrong "libllama ${version} is another architecture's")
    else()
      cairn_judge_llama("${version}" wrong warning)
    endif()
    if(NOT wrong)
      set(${folder} "${here}" PARENT_SCOPE)
      return()
    endif()
    set(${complaint} "${wrong} (${here})" PARENT_SCOPE)
  endforeach()
endfunction()

# As find_package(llama), of a version that can be used. CAIRN_LLAMA_COMPLAINT: why there is none; empty
# if there is no libllama at all.
macro(cairn_find_llama)
  cairn_look_for_llama(CAIRN_LLAMA_FOLDER CAIRN_LLAMA_COMPLAINT)
  set(llama_FOUND FALSE)
  if(CAIRN_LLAMA_FOLDER)
    set(llama_DIR "${CAIRN_LLAMA_FOLDER}" CACHE PATH "Folder of llama-config.cmake" FORCE)
    find_package(llama CONFIG QUIET)
  endif()
endmacro()

# Says of a version that was found what is to be said, in one line; scripts/setup.sh looks for it.
function(cairn_tell_llama)
  cairn_judge_llama("${LLAMA_VERSION}" complaint warning)
  if(warning)
    message(NOTICE "Warning: ${warning}")
  endif()
endfunction()

function(cairn_need_llama)
  if(llama_FOUND)
    return()
  endif()
  set(why "${CAIRN_LLAMA_COMPLAINT}")
  if(NOT why)
    set(why "libllama ${CAIRN_LLAMA_MIN} or newer was not found")
  endif()
  message(FATAL_ERROR
    "${why}. Run `make setup`, or install llama.cpp ${CAIRN_LLAMA_MIN} or newer (Debian: "
    "libllama-dev) and name its prefix with -DCMAKE_PREFIX_PATH=/path/to/prefix.")
endfunction()
