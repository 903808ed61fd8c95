# Every library the build looks up, once: the build includes this file, and so does the small
# project (cmake/probe) by which scripts/setup.sh asks whether a system has them all.

include(${CMAKE_CURRENT_LIST_DIR}/Llama.cmake)
if(NOT llama_FOUND)
  cairn_find_llama()
endif()
cairn_need_llama()
cairn_tell_llama()
# Beside libllama, whose package does not name it.
find_library(CAIRN_MTMD_LIBRARY mtmd HINTS ${LLAMA_LIB_DIR} REQUIRED)
find_path(CAIRN_MTMD_INCLUDE_DIR mtmd.h HINTS ${LLAMA_INCLUDE_DIR} REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(spdlog REQUIRED)
find_package(tl-expected REQUIRED)
find_library(CAIRN_XXHASH_LIBRARY xxhash REQUIRED)
find_library(CAIRN_ZSTD_LIBRARY zstd REQUIRED)
find_path(CAIRN_ZSTD_INCLUDE_DIR zstd.h REQUIRED)
# cpp-httplib ships no CMake package everywhere, so it is looked up by file.
find_library(CAIRN_HTTPLIB_LIBRARY cpp-httplib)
find_path(CAIRN_HTTPLIB_INCLUDE_DIR httplib.h REQUIRED)
# Debian's RE2 neither.
find_library(CAIRN_RE2_LIBRARY re2 REQUIRED)
find_path(CAIRN_RE2_INCLUDE_DIR re2/re2.h REQUIRED)
# Decoders of images and recordings: two headers that are compiled in, and WEBP's decoder.
find_path(CAIRN_STB_INCLUDE_DIR stb/stb_image.h REQUIRED)
find_path(CAIRN_MINIAUDIO_INCLUDE_DIR miniaudio.h REQUIRED)
find_library(CAIRN_WEBP_LIBRARY NAMES webpdecoder webp REQUIRED)
find_path(CAIRN_WEBP_INCLUDE_DIR webp/decode.h REQUIRED)
# CMake's own module would take the machine's OpenSSL where the private prefix has another.
find_library(CAIRN_SSL_LIBRARY ssl REQUIRED)
find_library(CAIRN_CRYPTO_LIBRARY crypto REQUIRED)
find_path(CAIRN_OPENSSL_INCLUDE_DIR openssl/ssl.h REQUIRED)
# Of which one header may lie with the machine's architecture.
find_path(CAIRN_OPENSSL_CONFIGURATION_DIR openssl/configuration.h REQUIRED)
# KV events (libzmq), and the remote tier: its index (hiredis, with TLS) and its objects (libcurl).
find_library(CAIRN_ZMQ_LIBRARY zmq REQUIRED)
find_path(CAIRN_ZMQ_INCLUDE_DIR zmq.h REQUIRED)
find_library(CAIRN_HIREDIS_LIBRARY hiredis REQUIRED)
find_library(CAIRN_HIREDIS_SSL_LIBRARY hiredis_ssl REQUIRED)
find_path(CAIRN_HIREDIS_INCLUDE_DIR hiredis/hiredis.h REQUIRED)
find_library(CAIRN_CURL_LIBRARY NAMES curl REQUIRED)
# Debian keeps libcurl's headers with the machine's architecture.
find_path(CAIRN_CURL_INCLUDE_DIR curl/curl.h REQUIRED)
