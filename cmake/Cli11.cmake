# CLI11 compiled once. Included whole, as it comes, it is half of what a file with flags costs to
# compile. Where its functions do not lie apart from its declarations it stays whole.

find_path(CAIRN_CLI11_INCLUDE_DIR CLI/impl/App_inl.hpp)
if(CAIRN_CLI11_INCLUDE_DIR)
  file(GLOB parts RELATIVE "${CAIRN_CLI11_INCLUDE_DIR}" "${CAIRN_CLI11_INCLUDE_DIR}/CLI/impl/*.hpp")
  list(TRANSFORM parts REPLACE "(.+)" "#include <\\1>\n")
  list(JOIN parts "" parts)
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/cli11.cc" CONTENT "${parts}")
  add_library(cairn_cli11 STATIC "${PROJECT_BINARY_DIR}/cli11.cc")
  target_compile_definitions(cairn_cli11 PUBLIC CLI11_COMPILE)
  target_link_libraries(cairn_cli11 PUBLIC CLI11::CLI11)
  target_link_libraries(cairn_dep_cli11 INTERFACE cairn_cli11)
endif()
