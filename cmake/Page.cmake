# The web page: web/ made into files by Node, and those into a library that the program links.
#
# cairn_page(TARGET): adds BuiltPage() to TARGET, from src/routes/page.h: the page's files, or none.

# CAIRN_HAS_PAGE says whether there will be one.

set(CAIRN_PAGE_SCRIPTS "${CMAKE_CURRENT_LIST_DIR}/page")
include("${CAIRN_PAGE_SCRIPTS}/NodeComplaint.cmake")

# Node is looked for, never required: a build without it has no page, and says so.
find_program(CAIRN_NODE node)
find_program(CAIRN_NPM npm)
mark_as_advanced(CAIRN_NODE CAIRN_NPM)
set(CAIRN_WEB AUTO CACHE STRING
  "Build the web page into the program: ON, OFF, or AUTO: where Node.js and npm can")
set_property(CACHE CAIRN_WEB PROPERTY STRINGS AUTO ON OFF)
set(CAIRN_HAS_PAGE OFF)
if(NOT CAIRN_WEB)
  message(STATUS "The web page is left out: CAIRN_WEB is ${CAIRN_WEB}")
else()
  cairn_node_complaint("${CAIRN_NODE}" "${CAIRN_NPM}" cairn_node_complaint)
  set(cairn_node_advice "Install Node.js ${CAIRN_NODE_MIN} or newer and npm and configure again")
  if(NOT cairn_node_complaint)
    set(CAIRN_HAS_PAGE ON)
  elseif(CAIRN_WEB STREQUAL "AUTO")
    # On one line, which scripts/build.sh shows.
    message(NOTICE
      "The web page is left out: ${cairn_node_complaint}. ${cairn_node_advice} to have it.")
    # A better one may be found then.
    unset(CAIRN_NODE CACHE)
    unset(CAIRN_NPM CACHE)
  else()
    message(FATAL_ERROR "CAIRN_WEB is ${CAIRN_WEB}, but ${cairn_node_complaint}. "
      "${cairn_node_advice}, or leave the page out with -DCAIRN_WEB=OFF.")
  endif()
endif()

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
