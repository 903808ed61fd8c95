#include "api/llama_server/model_catalog.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "api/json.h"
#include "engine/embed/embedding_architectures.h"

namespace cairn {
namespace {

Json InputModalities(const MediaRules& media) {
  Json names = Json::array({"text"});
  if (media.takes_images) names.push_back("image");
  if (media.takes_audio) names.push_back("audio");
  return names;
}

Json OpenAiModel(const ChatService& service, const ServedModel& served) {
  const Engine& engine = service.engine();
  const ModelInfo& info = engine.info();
  return {{"id", served.alias},
          {"aliases", Json(served.aliases)},
          {"tags", Json(served.tags)},
          {"object", "model"},
          {"created", served.started_unix_s},
          {"owned_by", "cairn"},
          {"status", {{"value", "loaded"}}},
          {"architecture",
           {{"input_modalities", InputModalities(service.media_rules())},
            {"output_modalities", Json::array({"text"})}}},
          {"meta",
           {{"architecture", info.architecture},
            {"n_vocab", info.vocab_size},
            {"n_ctx", engine.context_tokens()},
            {"n_ctx_train", info.train_context_tokens},
            {"n_embd", info.embedding_size},
            {"n_params", info.parameters},
            {"size", info.size_bytes}}}};
}

// The same fields as llama-server's, for Ollama's clients.
Json OllamaModel(const ChatService& service, const ServedModel& served) {
  const std::string& family = service.engine().info().architecture;
  const MediaRules& media = service.media_rules();
  const bool generates = !IsEncoder(family);
  Json capabilities = generates ? Json::array({"completion", "tools"}) : Json::array({"embedding"});
  if (media.takes_images || media.takes_audio) capabilities.push_back("multimodal");
  return {{"name", served.alias},
          {"model", served.alias},
          {"modified_at", ""},
          {"size", ""},
          {"digest", ""},
          {"type", "model"},
          {"description", ""},
          {"tags", Json(served.tags)},
          {"capabilities", std::move(capabilities)},
          {"parameters", ""},
          {"details",
           {{"parent_model", ""},
            {"format", "gguf"},
            {"family", family},
            {"families", Json::array({family})},
            {"parameter_size", ""},
            {"quantization_level", ""}}}};
}

// Codex uses these as its base instructions and refuses a model without them; with an empty text it
// would have none.
constexpr std::string_view kCodexInstructions =
    "You are a coding agent that works in the user's terminal. Read files, run commands and change "
    "code with the tools that you are given. Look at the code before you change it, keep changes "
    "small and in the style of what stands around them, and check them by a build or a test where "
    "there is one. Follow the instructions of AGENTS.md files. Go on until the task is done, then "
    "say in a few sentences what you did and what is left open.";

// Codex reads no list with a modality that it does not know.
Json CodexModalities(const MediaRules& media) {
  return media.takes_images ? Json::array({"text", "image"}) : Json::array({"text"});
}

// Codex's ModelInfo. Fields that only some versions of Codex know do no harm in others.
Json CodexModel(const ChatService& service, const ServedModel& served) {
  constexpr size_t kToolOutputBytesMax = 10'000;  // Codex's default for unknown models
  const size_t context_tokens = service.engine().context_tokens();
  return {{"slug", served.alias},
          {"display_name", served.alias},
          {"supported_reasoning_levels", Json::array()},
          {"shell_type", "default"},
          {"visibility", "list"},
          {"supported_in_api", true},
          {"priority", 0},
          {"upgrade", nullptr},
          {"availability_nux", nullptr},
          {"additional_speed_tiers", Json::array()},
          {"service_tiers", Json::array()},
          {"base_instructions", kCodexInstructions},
          {"supports_reasoning_summaries", false},
          {"default_reasoning_summary", "auto"},
          {"support_verbosity", false},
          {"default_verbosity", nullptr},
          {"apply_patch_tool_type", nullptr},
          {"web_search_tool_type", "text"},
          {"truncation_policy", {{"mode", "bytes"}, {"limit", kToolOutputBytesMax}}},
          {"supports_parallel_tool_calls", !service.chat_template().caps().single_calls},
          {"supports_image_detail_original", false},
          {"context_window", context_tokens},
          {"max_context_window", context_tokens},
          {"effective_context_window_percent", 95},
          {"experimental_supported_tools", Json::array()},
          {"input_modalities", CodexModalities(service.media_rules())},
          {"supports_search_tool", false}};
}

}  // namespace

std::string ModelsBody(const ChatService& service, const ServedModel& served) {
  Json entry = OllamaModel(service, served);
  entry.update(CodexModel(service, served));
  Json body = {{"object", "list"}};
  body["data"] = Json::array({OpenAiModel(service, served)});
  body["models"] = Json::array({std::move(entry)});
  return ToText(body);
}

ApiResult<std::string> ModelBody(const ChatService& service, const ServedModel& served,
                                 std::string_view name) {
  const auto& aliases = served.aliases;
  if (name == served.alias || std::find(aliases.begin(), aliases.end(), name) != aliases.end()) {
    return ToText(OpenAiModel(service, served));
  }
  return tl::unexpected(ToApiError(
      {ErrorCode::kNotFound, "there is no model '" + std::string(name) +
                                 "' here; this server's model is '" + served.alias + "'"}));
}

}  // namespace cairn
