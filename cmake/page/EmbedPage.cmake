# cmake -DFOLDER=dist -DOUTPUT=file.cc -P: writes the source that holds FOLDER's files as bytes.

file(GLOB files "${FOLDER}/index.html" "${FOLDER}/assets/*")
list(SORT files)
set(arrays "")
set(rows "")
set(count 0)
foreach(file IN LISTS files)
  get_filename_component(name "${file}" NAME)
  file(READ "${file}" bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
  string(APPEND arrays "const char kFile${count}[] = {${bytes}};\n")
  string(APPEND rows "    {\"${name}\", {kFile${count}, sizeof(kFile${count})}},\n")
  math(EXPR count "${count} + 1")
endforeach()
if(count EQUAL 0)
  message(FATAL_ERROR "there is no page in ${FOLDER}")
endif()
file(WRITE "${OUTPUT}" "// Made from the page's files by the build.
#include \"routes/page.h\"

namespace cairn {
namespace {

${arrays}
const PageFile kFiles[] = {
${rows}};

}  // namespace

std::span<const PageFile> BuiltPage() {
  return kFiles;
}

}  // namespace cairn
")
