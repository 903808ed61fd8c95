#include "engine/llama/model/model_info.h"

#include <llama.h>

#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "engine/llama/gguf/model_metadata.h"

namespace cairn {
namespace {

constexpr std::array<const char*, 12> kSamplingKeys = {
    "sequence",        "top_k",         "top_p",          "min_p",
    "xtc_probability", "xtc_threshold", "penalty_last_n", "penalty_repeat",
    "mirostat",        "mirostat_tau",  "mirostat_eta",   "temp"};

}  // namespace

ModelInfo DescribeModel(const llama_model* model, const LlamaVocabulary& vocabulary,
                        const std::string& path) {
  ModelInfo info;
  info.path = path;
  info.vocab_size = vocabulary.size();
  info.token_bytes_max = vocabulary.TokenBytesMax();
  info.name = ModelMetadata(model, "general.name");
  info.architecture = ArchitectureOf(model);
  std::array<char, 256> description{};
  llama_model_desc(model, description.data(), description.size());
  info.description = description.data();
  const char* chat_template = llama_model_chat_template(model, nullptr);
  if (chat_template != nullptr) info.chat_template = chat_template;
  const char* tool_template = llama_model_chat_template(model, "tool_use");
  // libllama has a name, no text, for some models whose file has none.
  const bool has_text = tool_template != nullptr && std::strchr(tool_template, '{') != nullptr;
  if (has_text) info.tool_template = tool_template;
  for (const char* const key : kSamplingKeys) {
    std::string value = ModelMetadata(model, "general.sampling." + std::string(key));
    if (!value.empty()) info.sampling.emplace_back(key, std::move(value));
  }
  const auto text_of = [&](llama_token token) {
    return token == LLAMA_TOKEN_NULL ? std::string() : vocabulary.Piece(token, true);
  };
  info.bos_text = text_of(llama_vocab_bos(vocabulary.vocab()));
  info.eos_text = text_of(llama_vocab_eos(vocabulary.vocab()));
  info.adds_bos = llama_vocab_get_add_bos(vocabulary.vocab());
  // libllama returns the file's 32 bits as a signed number.
  info.train_context_tokens = static_cast<uint32_t>(llama_model_n_ctx_train(model));
  info.embedding_size = static_cast<size_t>(llama_model_n_embd(model));
  info.parameters = llama_model_n_params(model);
  info.size_bytes = llama_model_size(model);
  return info;
}

}  // namespace cairn
