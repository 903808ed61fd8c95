# cairn_embed_text(TARGET FILE NAME): compiles a text file into TARGET as the function
# `std::string_view cairn::NAME()`, whose declaration the source that calls it writes. The file is
# read again whenever it changes.
#
# As a script (cmake -DINPUT=… -DOUTPUT=… -DNAME=… -P EmbedText.cmake) it writes that source.

if(CMAKE_SCRIPT_MODE_FILE)
  file(READ "${INPUT}" text)
  # The source says where it comes from by the file's name only: builds in different places agree.
  get_filename_component(input_name "${INPUT}" NAME)
  file(WRITE "${OUTPUT}" "// Made from ${input_name} by the build.
#include <string_view>

namespace cairn {

std::string_view ${NAME}();

std::string_view ${NAME}() {
  return R\"embedded(${text})embedded\";
}

}  // namespace cairn
")
  return()
endif()

set(CAIRN_EMBED_TEXT_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")

function(cairn_embed_text target file name)
  set(input "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
  set(output "${CMAKE_CURRENT_BINARY_DIR}/${file}.cc")
  add_custom_command(OUTPUT "${output}"
    COMMAND ${CMAKE_COMMAND} "-DINPUT=${input}" "-DOUTPUT=${output}" -DNAME=${name}
      -P "${CAIRN_EMBED_TEXT_SCRIPT}"
    DEPENDS "${input}" "${CAIRN_EMBED_TEXT_SCRIPT}"
    VERBATIM)
  # Alone, so that a new text does not compile other sources again.
  set_source_files_properties("${output}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE "${output}")
endfunction()
