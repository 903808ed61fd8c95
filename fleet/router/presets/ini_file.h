// ParseIni: the INI files of llama-server's model presets.
//
//   version = 1            ; a key before the first section
//   [*]                    # the section of all models
//   ctx-size = 32768
//   [qwen3.5-27b]
//   model = /models/qwen3.5-27b-q4_k_m.gguf   ; a comment
//
// A name of a key begins with a letter or an underscore; letters, digits, and "_", ".", "-" follow.
// A semicolon or a number sign begins a comment wherever it stands, in a value too; blanks around a
// value do not count. There are no quotes and no escapes.

#ifndef CAIRN_FLEET_ROUTER_PRESETS_INI_FILE_H_
#define CAIRN_FLEET_ROUTER_PRESETS_INI_FILE_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace cairn {

struct IniSection {
  std::string name;  // empty for the keys before the first section
  // In the order of their first lines. A repeated key has its last value.
  std::vector<std::pair<std::string, std::string>> values;
};

// Returns the sections in the order of the file; the first one is always that without a name.
// kInvalidArgument names the line: it is none of the above, or begins a section that was there.
Result<std::vector<IniSection>> ParseIni(std::string_view text);

}  // namespace cairn

#endif  // CAIRN_FLEET_ROUTER_PRESETS_INI_FILE_H_
