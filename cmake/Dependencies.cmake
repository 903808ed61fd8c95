# Where the libraries come from: first whatever this machine or CMAKE_PREFIX_PATH has, else the
# private prefix that scripts/setup.sh unpacks under .deps/prefix.

set(CAIRN_DEPS_PREFIX "${PROJECT_SOURCE_DIR}/.deps/prefix/usr" CACHE PATH
  "The private prefix made by scripts/setup.sh")

# scripts/setup.sh decides between the two and leaves its choice in the stamp; without a stamp
# the system goes first.
set(CAIRN_SOURCE "")
if(EXISTS "${PROJECT_SOURCE_DIR}/.deps/stamp")
  file(STRINGS "${PROJECT_SOURCE_DIR}/.deps/stamp" CAIRN_SOURCE REGEX "^source=")
endif()
include(cmake/Llama.cmake)
if(NOT CAIRN_SOURCE STREQUAL "source=prefix")
  cairn_find_llama()
endif()
if(NOT llama_FOUND AND EXISTS "${CAIRN_DEPS_PREFIX}/include/llama.h")
  list(PREPEND CMAKE_PREFIX_PATH "${CAIRN_DEPS_PREFIX}")
  cairn_find_llama()
endif()
include(cmake/Libraries.cmake)

# Every third-party library is an interface target of ours: their headers count as system headers,
# so our warning flags do not reach into them.
function(cairn_import name)
  cmake_parse_arguments(ARG "" "INCLUDE" "LINK;DEFINE" ${ARGN})
  add_library(${name} INTERFACE)
  if(ARG_INCLUDE AND NOT ARG_INCLUDE STREQUAL "/usr/include")
    target_include_directories(${name} SYSTEM INTERFACE ${ARG_INCLUDE})
  endif()
  target_link_libraries(${name} INTERFACE ${ARG_LINK})
  target_compile_definitions(${name} INTERFACE ${ARG_DEFINE})
endfunction()

set(CAIRN_HTTPLIB_DEFINE "")
if(CAIRN_HTTPLIB_LIBRARY)
  # A compiled cpp-httplib (Debian's) changes the layout of its classes with these; the values
  # must be the ones it was built with, which its pkg-config file states.
  set(CAIRN_HTTPLIB_DEFINE CPPHTTPLIB_OPENSSL_SUPPORT CPPHTTPLIB_ZLIB_SUPPORT
    CPPHTTPLIB_BROTLI_SUPPORT CPPHTTPLIB_ZSTD_SUPPORT CPPHTTPLIB_USE_NON_BLOCKING_GETADDRINFO)
else()
  set(CAIRN_HTTPLIB_LIBRARY "")
endif()

cairn_import(cairn_dep_llama INCLUDE ${LLAMA_INCLUDE_DIR} LINK llama)
cairn_import(cairn_dep_mtmd INCLUDE ${CAIRN_MTMD_INCLUDE_DIR} LINK ${CAIRN_MTMD_LIBRARY} llama)
cairn_import(cairn_dep_json LINK nlohmann_json::nlohmann_json)
cairn_import(cairn_dep_re2 INCLUDE ${CAIRN_RE2_INCLUDE_DIR} LINK ${CAIRN_RE2_LIBRARY})
cairn_import(cairn_dep_cli11 LINK CLI11::CLI11)
cairn_import(cairn_dep_spdlog LINK spdlog::spdlog)
cairn_import(cairn_dep_expected LINK tl::expected)
cairn_import(cairn_dep_xxhash LINK ${CAIRN_XXHASH_LIBRARY})
cairn_import(cairn_dep_zstd INCLUDE ${CAIRN_ZSTD_INCLUDE_DIR} LINK ${CAIRN_ZSTD_LIBRARY})
cairn_import(cairn_dep_stb INCLUDE ${CAIRN_STB_INCLUDE_DIR})
cairn_import(cairn_dep_miniaudio INCLUDE ${CAIRN_MINIAUDIO_INCLUDE_DIR})
cairn_import(cairn_dep_webp INCLUDE ${CAIRN_WEBP_INCLUDE_DIR} LINK ${CAIRN_WEBP_LIBRARY})
cairn_import(cairn_dep_openssl INCLUDE ${CAIRN_OPENSSL_INCLUDE_DIR}
  LINK ${CAIRN_SSL_LIBRARY} ${CAIRN_CRYPTO_LIBRARY})
cairn_import(cairn_dep_zmq INCLUDE ${CAIRN_ZMQ_INCLUDE_DIR} LINK ${CAIRN_ZMQ_LIBRARY})
cairn_import(cairn_dep_hiredis INCLUDE ${CAIRN_HIREDIS_INCLUDE_DIR}
  LINK ${CAIRN_HIREDIS_SSL_LIBRARY} ${CAIRN_HIREDIS_LIBRARY})
cairn_import(cairn_dep_curl INCLUDE ${CAIRN_CURL_INCLUDE_DIR} LINK ${CAIRN_CURL_LIBRARY})
cairn_import(cairn_dep_httplib INCLUDE ${CAIRN_HTTPLIB_INCLUDE_DIR}
  LINK ${CAIRN_HTTPLIB_LIBRARY} Threads::Threads DEFINE ${CAIRN_HTTPLIB_DEFINE})
# httplib.h includes OpenSSL's headers, and a machine need not have its own.
if(NOT CAIRN_OPENSSL_CONFIGURATION_DIR MATCHES "^/usr/include")
  foreach(library cairn_dep_openssl cairn_dep_httplib)
    target_include_directories(${library} SYSTEM INTERFACE ${CAIRN_OPENSSL_CONFIGURATION_DIR})
  endforeach()
endif()

# Programs that link the private prefix need its loader and its C library too: its libraries may
# ask for a newer glibc than the host's. RPATH instead of RUNPATH is inherited by libraries that
# carry a RUNPATH of their own, and the ggml libraries are named outright for the same reason.
set(CAIRN_BACKENDS_DIR "" CACHE PATH "Folder of ggml's backend plugins (empty: ggml's own search)")
string(FIND "${LLAMA_LIB_DIR}" "${CAIRN_DEPS_PREFIX}" CAIRN_USES_PREFIX)
function(cairn_prefix_loader result)
  file(GLOB loader "${CAIRN_DEPS_PREFIX}/lib64/ld-linux*.so.*" "${CAIRN_DEPS_PREFIX}/lib/ld-linux*.so.*"
    "${LLAMA_LIB_DIR}/ld-linux*.so.*")
  list(GET loader 0 loader)
  set(${result} "${loader}" PARENT_SCOPE)
endfunction()
function(cairn_use_runtime target)
  if(NOT CAIRN_USES_PREFIX EQUAL 0)
    return()
  endif()
  cairn_prefix_loader(loader)
  target_link_options(${target} PRIVATE
    -Wl,--dynamic-linker=${loader} -Wl,--allow-shlib-undefined -Wl,--disable-new-dtags
    -Wl,--no-as-needed -Wl,-rpath,${LLAMA_LIB_DIR})
  target_link_libraries(${target} PRIVATE ggml::ggml ggml::ggml-base)
endfunction()
if(CAIRN_USES_PREFIX EQUAL 0 AND NOT CAIRN_BACKENDS_DIR)
  # Its name ends with the number of ggml's interface.
  file(GLOB folders "${LLAMA_LIB_DIR}/ggml/backends*")
  if(folders)
    list(SORT folders COMPARE NATURAL)
    list(GET folders -1 CAIRN_BACKENDS_DIR)
  endif()
endif()
message(STATUS "libllama ${LLAMA_VERSION} from ${LLAMA_LIB_DIR}")
