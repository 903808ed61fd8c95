# minja searches the whole rest of a template for each token and only then asks whether the match
# begins here: parsing takes time quadratic in the template's size, 0.5 s for 4 KiB. The build
# compiles a copy of its header that matches in place only. Both find the same tokens. A version of
# minja without these lines is used as it is.
file(READ "${CAIRN_MINJA_INCLUDE_DIR}/minja/minja.hpp" CAIRN_MINJA_HEADER)
string(REPLACE
  "std::regex_search(it, end, match, regex) && match.position() == 0"
  "std::regex_search(it, end, match, regex, std::regex_constants::match_continuous)"
  CAIRN_MINJA_HEADER "${CAIRN_MINJA_HEADER}")
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/include/minja/minja.hpp"
  CONTENT "${CAIRN_MINJA_HEADER}" @ONLY)
set(CAIRN_PATCHED_MINJA_INCLUDE_DIR "${PROJECT_BINARY_DIR}/include")
