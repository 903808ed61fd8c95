# What `cmake --install` installs, and the .deb that `make package` makes of it (docs/packages.md).
#
# With a libllama of the system, the program is installed as it is built and the package depends on
# the system's libraries. With the private prefix, whose libraries need a newer C library than the
# host has, a second program is linked for the package: `cairn-packaged`, which finds its loader,
# libraries and backends in CAIRN_BUNDLE_DIR. They are copied there. See docs/decisions/0023. In the
# relocatable archive (scripts/package_tar.sh) the same file finds them beside itself.

include(GNUInstallDirs)
set(CAIRN_BUNDLE_DIR "/usr/lib/cairn" CACHE STRING
  "Where an installed program finds the bundled libraries of the private prefix")
set(CAIRN_BUNDLED OFF)
if(CAIRN_USES_PREFIX EQUAL 0)
  set(CAIRN_BUNDLED ON)
endif()

if(CAIRN_BUNDLED)
  cairn_prefix_loader(CAIRN_LOADER)
  get_filename_component(loader_name "${CAIRN_LOADER}" NAME)
  # The same objects, but for the folder of the backends: its file comes before the archive that
  # holds another of it.
  add_executable(cairn-packaged $<TARGET_OBJECTS:cairn> src/engine/llama/backend/backends_folder.cc)
  set_target_properties(cairn-packaged PROPERTIES LINKER_LANGUAGE CXX)
  set_property(SOURCE src/engine/llama/backend/backends_folder.cc
    PROPERTY COMPILE_DEFINITIONS CAIRN_BACKENDS_DIR="${CAIRN_BUNDLE_DIR}/backends")
  target_link_libraries(cairn-packaged PRIVATE
    cairn_cmd cairn_media_decode cairn_dep_cli11 ggml::ggml ggml::ggml-base)
  target_link_options(cairn-packaged PRIVATE -s
    -Wl,--dynamic-linker=${CAIRN_BUNDLE_DIR}/${loader_name} -Wl,--allow-shlib-undefined
    -Wl,--disable-new-dtags -Wl,--no-as-needed -Wl,-z,relro -Wl,-z,now)
  # What CMake would add for libraries outside the system's folders is this machine's business.
  set_target_properties(cairn-packaged PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/packaged OUTPUT_NAME cairn
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "\$ORIGIN/../lib/cairn;${CAIRN_BUNDLE_DIR}"
    INSTALL_RPATH_USE_LINK_PATH OFF)
  install(PROGRAMS ${PROJECT_BINARY_DIR}/packaged/cairn TYPE BIN COMPONENT program)
else()
  add_custom_target(cairn-packaged DEPENDS cairn)  # a name for scripts
  install(TARGETS cairn RUNTIME COMPONENT program)
  target_link_options(cairn PRIVATE -Wl,-z,relro -Wl,-z,now)
endif()

set(CAIRN_MAINTAINER "The Cairn authors <cairn@packages.invalid>" CACHE STRING
  "Who answers for the package: a name and an address, as Debian wants them")
# The last commit's time, so that two packages of one tree are alike; of a tree without git whoever
# builds it says it, as for any package.
if(NOT DEFINED ENV{SOURCE_DATE_EPOCH})
  execute_process(COMMAND git log -1 --format=%ct WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    OUTPUT_VARIABLE commit_time OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT commit_time)
    set(commit_time 0)
  endif()
  set(ENV{SOURCE_DATE_EPOCH} ${commit_time})
endif()
string(TIMESTAMP CAIRN_CHANGE_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
string(TIMESTAMP CAIRN_CHANGE_DAY "%Y-%m-%d" UTC)
# The rest of the program's package: bundled libraries, manual, licences.
configure_file(${PROJECT_SOURCE_DIR}/packaging/install_program.cmake.in
  ${PROJECT_BINARY_DIR}/install_program.cmake @ONLY)
install(SCRIPT ${PROJECT_BINARY_DIR}/install_program.cmake COMPONENT program)
install(FILES README.md CHANGELOG.md TYPE DOC COMPONENT program)
if(EXISTS ${PROJECT_SOURCE_DIR}/packaging/cairn.service)
  install(FILES packaging/cairn.service DESTINATION lib/systemd/system COMPONENT program)
endif()

# libcairn: the heart as one archive, for servers that are not ours.
set(heart base tree policy store cache)
set(heart_objects "")
foreach(folder ${heart})
  list(APPEND heart_objects $<TARGET_OBJECTS:cairn_${folder}>)
endforeach()
add_library(cairn_heart STATIC ${heart_objects})
set_target_properties(cairn_heart PROPERTIES OUTPUT_NAME cairn LINKER_LANGUAGE CXX
  ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/heart)
set_target_properties(cairn_heart PROPERTIES EXPORT_NAME cairn)
target_compile_features(cairn_heart INTERFACE cxx_std_20)
target_include_directories(cairn_heart INTERFACE
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/cairn>)
install(TARGETS cairn_heart EXPORT cairn ARCHIVE COMPONENT heart)
foreach(folder ${heart})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/${folder}/
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cairn/${folder} COMPONENT heart
    FILES_MATCHING PATTERN "*.h")
endforeach()

# A system's xxHash, zstd and tl::expected are the user's too. The prefix's are not: they come
# along, the first two as archives, which need nothing of the prefix's C library.
set(CAIRN_PC_LIBS "-lxxhash -lzstd")
set(heart_links xxhash zstd tl::expected)
if(CAIRN_BUNDLED)
  set(heart_links $<INSTALL_PREFIX>/${CMAKE_INSTALL_LIBDIR}/cairn/libxxhash.a
    $<INSTALL_PREFIX>/${CMAKE_INSTALL_LIBDIR}/cairn/libzstd.a)
  set(CAIRN_PC_LIBS "-L\${libdir}/cairn -lxxhash -lzstd")
  install(FILES ${LLAMA_LIB_DIR}/libxxhash.a ${LLAMA_LIB_DIR}/libzstd.a
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cairn COMPONENT heart)
  foreach(package libxxhash-dev libzstd-dev libexpected-dev)
    install(FILES ${CAIRN_DEPS_PREFIX}/share/doc/${package}/copyright
      DESTINATION ${CMAKE_INSTALL_DOCDIR}-dev/licences RENAME ${package} COMPONENT heart)
  endforeach()
  install(DIRECTORY ${CAIRN_DEPS_PREFIX}/include/tl
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cairn COMPONENT heart)
endif()
# From the .pc file up to the prefix, so that the installed tree may be moved.
file(RELATIVE_PATH CAIRN_PC_UP "/p/${CMAKE_INSTALL_LIBDIR}" "/p")
configure_file(${PROJECT_SOURCE_DIR}/packaging/cairn.pc.in ${PROJECT_BINARY_DIR}/cairn.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cairn.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  COMPONENT heart)
# find_package(cairn) finds the same as cairn::cairn.
foreach(link ${heart_links} Threads::Threads)
  target_link_libraries(cairn_heart INTERFACE $<INSTALL_INTERFACE:${link}>)
endforeach()
include(CMakePackageConfigHelpers)
set(heart_package ${CMAKE_INSTALL_LIBDIR}/cmake/cairn)
configure_package_config_file(packaging/cairnConfig.cmake.in ${PROJECT_BINARY_DIR}/cairnConfig.cmake
  INSTALL_DESTINATION ${heart_package})
# Its interface is not stable yet.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cairnConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cairnConfig.cmake ${PROJECT_BINARY_DIR}/cairnConfigVersion.cmake
  DESTINATION ${heart_package} COMPONENT heart)
install(EXPORT cairn FILE cairnTargets.cmake NAMESPACE cairn:: DESTINATION ${heart_package}
  COMPONENT heart)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR}-dev RENAME copyright COMPONENT heart)
install(FILES examples/other_server.cc DESTINATION ${CMAKE_INSTALL_DOCDIR}-dev/examples
  COMPONENT heart)

# The package is the program; libcairn stays with `cmake --install`.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME cairn)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "${CAIRN_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "LLM server that does not read prompts twice")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
  "Cairn serves GGUF models over the OpenAI, Anthropic and llama-server
 APIs and keeps checkpoints of the model's state along every prompt, so
 that a new turn of a conversation costs only its new tokens, on hybrid,
 recurrent and sliding-window models too.")
set(CPACK_COMPONENTS_ALL program)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
# The Debian package that a library's file is from, and its version; empty if it is from none. Its
# name ends with the number of the library's interface.
function(cairn_debian_package library package version)
  file(REAL_PATH "${library}" file)
  execute_process(COMMAND dpkg-query --search "${file}" OUTPUT_VARIABLE found ERROR_QUIET)
  string(REGEX MATCH "^[^:,]+" name "${found}")
  set(number "")
  if(name)
    execute_process(COMMAND dpkg-query --show --showformat=\${Version} ${name}
      OUTPUT_VARIABLE number ERROR_QUIET)
  endif()
  set(${package} "${name}" PARENT_SCOPE)
  set(${version} "${number}" PARENT_SCOPE)
endfunction()

set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/package)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
# By the rules of Debian's names: cairn_0.1.0_amd64.deb.
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
  GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
# The authorities' certificates, for downloads and remote stores over TLS.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "ca-certificates")
if(NOT CAIRN_BUNDLED)  # there the program is linked without symbols, and libraries stay as they are
  set(CPACK_STRIP_FILES ON)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  # Its functions alone would do with an older one, but the structs they take change.
  cairn_debian_package(${llama_LIBRARY} llama_package llama_version)
  if(llama_package)
    string(REGEX REPLACE "-[^-]*$" "" llama_version "${llama_version}")
    set(CPACK_DEBIAN_PACKAGE_DEPENDS "${llama_package} (>= ${llama_version})")
  endif()
  # For GPUs. A bundled program would load no backend of the system's: it has those of the prefix.
  get_target_property(ggml_library ggml::ggml IMPORTED_LOCATION)
  cairn_debian_package(${ggml_library} ggml_package ggml_version)
  if(ggml_package)
    set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "ca-certificates, ${ggml_package}-backend-vulkan")
  endif()
endif()
include(CPack)
