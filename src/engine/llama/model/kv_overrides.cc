#include "engine/llama/model/kv_overrides.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <system_error>

namespace cairn {
namespace {

template <typename Number>
bool ReadNumber(std::string_view text, Number* number) {
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto read = std::from_chars(begin, end, *number);
  return read.ec == std::errc() && read.ptr == end;
}

// Copies a text that has room for its end; returns false if it is too long.
template <size_t kSize>
bool CopyText(std::string_view text, char (&target)[kSize]) {
  if (text.size() >= kSize) return false;
  std::fill(std::begin(target), std::end(target), '\0');
  std::copy(text.begin(), text.end(), std::begin(target));
  return true;
}

bool ReadValue(std::string_view type, std::string_view value, llama_model_kv_override* entry) {
  if (type == "int") {
    entry->tag = LLAMA_KV_OVERRIDE_TYPE_INT;
    return ReadNumber(value, &entry->val_i64);
  }
  if (type == "float") {
    entry->tag = LLAMA_KV_OVERRIDE_TYPE_FLOAT;
    return ReadNumber(value, &entry->val_f64);
  }
  if (type == "bool") {
    entry->tag = LLAMA_KV_OVERRIDE_TYPE_BOOL;
    entry->val_bool = value == "true";
    return value == "true" || value == "false";
  }
  entry->tag = LLAMA_KV_OVERRIDE_TYPE_STR;
  return type == "str" && CopyText(value, entry->val_str);
}

// Returns false if the text is not of the form.
bool ReadOverride(std::string_view text, llama_model_kv_override* entry) {
  const size_t equals = text.find('=');
  const size_t colon = text.find(':', std::min(equals, text.size()));
  if (equals == 0 || equals == std::string_view::npos || colon == std::string_view::npos) {
    return false;
  }
  return CopyText(text.substr(0, equals), entry->key) &&
         ReadValue(text.substr(equals + 1, colon - equals - 1), text.substr(colon + 1), entry);
}

}  // namespace

Result<std::vector<llama_model_kv_override>> MakeKvOverrides(
    const std::vector<std::string>& texts) {
  std::vector<llama_model_kv_override> entries;
  if (texts.empty()) return entries;
  for (const std::string& text : texts) {
    llama_model_kv_override entry{};
    if (!ReadOverride(text, &entry)) {
      return Fail(
          ErrorCode::kInvalidArgument,
          "--override-kv takes KEY=TYPE:VALUE, with the type int, float, bool or str and at "
          "most 127 bytes of key and text, not '" +
              text + "'");
    }
    entries.push_back(entry);
  }
  entries.push_back({});  // an empty key ends the list
  return entries;
}

}  // namespace cairn
