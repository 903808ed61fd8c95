#include "fleet/router/children/file_bytes.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "base/gguf/gguf_name.h"

namespace cairn {

uint64_t FileBytes(const ModelEntry& model) {
  uint64_t sum = 0;
  for (const std::string& argument : model.arguments) {
    const size_t value = argument.find('=');
    if (!argument.starts_with("--") || value == std::string::npos) continue;
    const auto name = ParseGgufName(std::string_view(argument).substr(value + 1));
    for (int part = 1; name && part <= name->parts; ++part) {
      std::error_code error;
      const auto bytes = std::filesystem::file_size(PartName(*name, part), error);
      if (!error) sum += bytes;
    }
  }
  return sum;
}

}  // namespace cairn
