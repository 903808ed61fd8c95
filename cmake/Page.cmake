# The web page: web/ made into files by Node, and those into a library that the program links.
#
# cairn_page(TARGET): adds BuiltPage() to TARGET, from src/http/page.h: the page's files, or none.

# Node is looked for, never required: a build without it has no page, and says so.
find_program(CAIRN_NODE node)
find_program(CAIRN_NPM npm)
mark_as_advanced(CAIRN_NODE CAIRN_NPM)
set(CAIRN_NODE_MIN 18)
set(cairn_node_complaint "")
if(NOT CAIRN_NODE OR NOT CAIRN_NPM)
  set(cairn_node_complaint "node and npm were not found")
else()
  execute_process(COMMAND ${CAIRN_NODE} --version OUTPUT_VARIABLE cairn_node_version
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  string(REGEX REPLACE "^v" "" cairn_node_version "${cairn_node_version}")
  if(cairn_node_version VERSION_LESS CAIRN_NODE_MIN)
    set(cairn_node_complaint "node is ${cairn_node_version}, needed is ${CAIRN_NODE_MIN}")
  endif()
endif()
if(cairn_node_complaint)
  set(cairn_web_default OFF)
else()
  set(cairn_web_default ON)
endif()
option(CAIRN_WEB "Build the web page into the program; needs Node.js ${CAIRN_NODE_MIN}"
  ${cairn_web_default})
if(CAIRN_WEB AND cairn_node_complaint)
  message(FATAL_ERROR "CAIRN_WEB is ON, but ${cairn_node_complaint}. -DCAIRN_WEB=OFF builds without "
    "the page.")
elseif(NOT CAIRN_WEB)
  if(NOT cairn_node_complaint)
    set(cairn_node_complaint "CAIRN_WEB is OFF")
  endif()
  message(STATUS "The web page is left out: ${cairn_node_complaint}")
endif()

set(CAIRN_PAGE_SCRIPTS "${CMAKE_CURRENT_LIST_DIR}/page")

# Node looks for packages beside the files that name them: everything is copied to one folder of the
# build, and the source tree stays clean.
function(cairn_page target)
  set(web "${PROJECT_SOURCE_DIR}/web")
  set(folder "${PROJECT_BINARY_DIR}/web")
  set(packages "${web}/package.json" "${web}/package-lock.json" "${web}/.npmrc")
  set(installed "${folder}/installed")
  add_custom_command(OUTPUT "${installed}"
    COMMAND ${CMAKE_COMMAND} -E make_directory "${folder}"
    COMMAND ${CMAKE_COMMAND} -E copy ${packages} "${folder}"
    COMMAND ${CMAKE_COMMAND} -DNPM=${CAIRN_NPM} -DFOLDER=${folder}
      -P "${CAIRN_PAGE_SCRIPTS}/InstallPackages.cmake"
    COMMAND ${CMAKE_COMMAND} -E touch "${installed}"
    DEPENDS ${packages} "${CAIRN_PAGE_SCRIPTS}/InstallPackages.cmake"
    COMMENT "Installing the page's packages"
    VERBATIM)

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${web}/src/*")
  set(settings "${web}/index.html" "${web}/tsconfig.json" "${web}/vite.config.ts")
  set(source "${folder}/page_files.cc")
  add_custom_command(OUTPUT "${source}"
    COMMAND ${CMAKE_COMMAND} -E rm -rf "${folder}/src" "${folder}/dist"
    COMMAND ${CMAKE_COMMAND} -E copy_directory "${web}/src" "${folder}/src"
    COMMAND ${CMAKE_COMMAND} -E copy ${settings} "${folder}"
    COMMAND ${CMAKE_COMMAND} -E chdir "${folder}" ${CAIRN_NPM} run --silent build
    COMMAND ${CMAKE_COMMAND} -DFOLDER=${folder}/dist -DOUTPUT=${source}
      -P "${CAIRN_PAGE_SCRIPTS}/EmbedPage.cmake"
    DEPENDS ${sources} ${settings} "${installed}" "${CAIRN_PAGE_SCRIPTS}/EmbedPage.cmake"
    COMMENT "Building the page"
    VERBATIM)
  target_sources(${target} PRIVATE "${source}")
endfunction()
