// ReadGgufTexts: texts and numbers from the metadata of a GGUF file. It needs no libllama, so it
// reads files too whose architecture the linked version does not know.

#ifndef CAIRN_BASE_GGUF_GGUF_TEXTS_H_
#define CAIRN_BASE_GGUF_GGUF_TEXTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cairn {

struct GgufTexts {
  // Values that are texts, and whole numbers that are not negative, by key.
  std::map<std::string, std::string, std::less<>> texts;
  std::map<std::string, uint64_t, std::less<>> numbers;
  // The texts of the vocabulary, by token.
  std::vector<std::string> tokens;

  // Empty if there is none.
  std::string_view TextOf(std::string_view key) const;
  // The text of the token whose number is under `key`; empty if there is none.
  std::string_view TokenOf(std::string_view key) const;
};

// Returns kNotFound if the file cannot be read, kInvalidArgument if it is no GGUF file or ends too
// early. Takes no more memory than the file's metadata has bytes, some times over. Any thread.
Result<GgufTexts> ReadGgufTexts(const std::string& path);

}  // namespace cairn

#endif  // CAIRN_BASE_GGUF_GGUF_TEXTS_H_
