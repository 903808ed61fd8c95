#include "engine/llama/gguf/template_texts.h"

#include <string_view>

#include "engine/llama/backend/llama_backend.h"
#include "engine/llama/gguf/gguf_files.h"

namespace cairn {
namespace {

std::string TextOf(const gguf_context* gguf, const char* name) {
  const int64_t key = gguf_find_key(gguf, name);
  const bool is_text = key >= 0 && gguf_get_kv_type(gguf, key) == GGUF_TYPE_STRING;
  return is_text ? gguf_get_val_str(gguf, key) : "";
}

// The text of the token whose number is under `name`.
std::string TokenOf(const gguf_context* gguf, const char* name) {
  const int64_t key = gguf_find_key(gguf, name);
  const int64_t tokens = gguf_find_key(gguf, "tokenizer.ggml.tokens");
  if (key < 0 || gguf_get_kv_type(gguf, key) != GGUF_TYPE_UINT32 || tokens < 0 ||
      gguf_get_kv_type(gguf, tokens) != GGUF_TYPE_ARRAY ||
      gguf_get_arr_type(gguf, tokens) != GGUF_TYPE_STRING) {
    return "";
  }
  const uint32_t token = gguf_get_val_u32(gguf, key);
  return token < gguf_get_arr_n(gguf, tokens) ? gguf_get_arr_str(gguf, tokens, token) : "";
}

}  // namespace

Result<TemplateTexts> ReadTemplateTexts(const std::string& path) {
  std::string why;
  SetLlamaLog([&why](LogLevel level, std::string_view line) {
    if (level == LogLevel::kError && why.empty()) why = line;
  });
  const auto file = OpenGgufFile(path);
  SetLlamaLog(nullptr);
  if (!file) {
    return Fail(file.error().code, file.error().message + (why.empty() ? "" : ": " + why));
  }
  const gguf_context* const gguf = file->gguf.get();
  return TemplateTexts{.usual = TextOf(gguf, "tokenizer.chat_template"),
                       .with_tools = TextOf(gguf, "tokenizer.chat_template.tool_use"),
                       .bos_text = TokenOf(gguf, "tokenizer.ggml.bos_token_id"),
                       .eos_text = TokenOf(gguf, "tokenizer.ggml.eos_token_id")};
}

}  // namespace cairn
