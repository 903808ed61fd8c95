// GgufName: the name of a GGUF file, which may be one part of a model in several files:
// "dir/name-Q4_K_M-00001-of-00003.gguf", as llama-gguf-split names them.

#ifndef CAIRN_BASE_GGUF_GGUF_NAME_H_
#define CAIRN_BASE_GGUF_GGUF_NAME_H_

#include <optional>
#include <string>
#include <string_view>

namespace cairn {

struct GgufName {
  std::string stem;       // "dir/name-Q4_K_M"
  bool numbered = false;  // the name has the numbers of a part and of the parts, be it 1 of 1
  int part = 1;
  int parts = 1;
};

// nullopt: the path does not end with .gguf.
std::optional<GgufName> ParseGgufName(std::string_view path);

// Returns the name of part `part` of a split model: "STEM-00002-of-00003.gguf".
std::string PartName(const GgufName& name, int part);

}  // namespace cairn

#endif  // CAIRN_BASE_GGUF_GGUF_NAME_H_
