#include "api/llama_server/native.h"

#include <utility>

#include "api/json.h"
#include "api/memory_json.h"
#include "api/openai/response_items.h"
#include "api/openai/responses_request.h"
#include "api/request/settings_json.h"
#include "base/text.h"
#include "base/utf8.h"
#include "media/medium.h"

namespace cairn {
namespace {

// Counters since the start; sizes are those at the end of the last request.
Json CacheJson(const SchedulerStats& stats) {
  return {{"checkpoints", stats.cache.checkpoints},
          {"segments", stats.cache.segments},
          {"full_states", stats.cache.full_states},
          {"bytes", stats.cache.bytes},
          {"token_bytes", stats.cache.token_bytes},
          {"inserted", stats.cache.inserted},
          {"evicted", stats.cache.evicted},
          {"refused", stats.cache.refused},
          {"pinned", stats.cache.kept},
          {"pins_refused", stats.cache.keeps_refused},
          {"discarded", stats.cache.discarded},
          {"restored", stats.slot_counters.checkpoints_restored},
          {"assembled", stats.slot_counters.assembled},
          {"forked", stats.slot_counters.forked},
          {"full_states_set", stats.slot_counters.full_states_set},
          {"requests_preempted", stats.preempted},
          {"waited_for_prefill", stats.waited_for_prefix},
          {"slots_offloaded", stats.slot_counters.offloaded},
          {"failed", stats.slot_counters.failed},
          {"prompt_tokens", stats.tokens.prompt},
          {"reused_tokens", stats.tokens.reused}};
}

// Returns a token's text, or its bytes if they are not complete characters, as llama-server does.
Json PieceJson(const Engine& engine, Token token) {
  std::string piece = engine.Piece(token, true);
  if (ToValidUtf8(piece) == piece) return piece;
  Json bytes = Json::array();
  for (const char byte : piece) bytes.push_back(static_cast<uint8_t>(byte));
  return bytes;
}

ApiResult<std::string> InputTokens(const ChatService& service, const Conversation& conversation,
                                   NamespaceId name_space) {
  const auto tokens = service.PromptTokens(conversation, name_space);
  if (!tokens) return tl::unexpected(tokens.error());
  return ToText({{"object", "response.input_tokens"}, {"input_tokens", tokens->size()}});
}

ApiResult<std::string> SlotFileBody(SlotFiles* files, size_t slot, const SlotRequest& request) {
  const auto json = ParseBody(request.body);
  if (!json) return tl::unexpected(json.error());
  FieldReader fields(*json, "");
  std::string file;
  fields.String("filename", &file);
  if (!SlotFiles::IsFileName(file)) {
    fields.Fail("filename",
                "the name of a file, such as \"talk.bin\": no folders, no \"..\", none of "
                "\\ : * ? \" < > |, and no dot or space in front or at the end");
  }
  if (fields.error()) return tl::unexpected(*fields.error());
  const bool saves = request.action == "save";
  const auto done = saves ? files->Save(slot, request.name_space, file)
                          : files->Restore(slot, request.name_space, file);
  if (!done) return tl::unexpected(ToApiError(done.error()));
  return ToText({{"id_slot", slot},
                 {"filename", file},
                 {saves ? "n_saved" : "n_restored", done->tokens},
                 {saves ? "n_written" : "n_read", done->bytes},
                 {"timings", {{saves ? "save_ms" : "restore_ms", done->ms}}}});
}

}  // namespace

std::string BuildInfo(std::string_view version) {
  return "b" + std::string(version) + "-cairn";
}

std::string PropsBody(const ChatService& service, const GenerationParams& defaults,
                      const ServedModel& served) {
  const Engine& engine = service.engine();
  const TemplateCaps& caps = service.chat_template().caps();
  Json props;
  props["default_generation_settings"] = {{"id", 0},
                                          {"n_ctx", engine.context_tokens()},
                                          {"is_processing", false},
                                          {"params", SettingsJson(defaults)}};
  props["total_slots"] = engine.slots();
  props["model_alias"] = served.alias;
  props["model_path"] = engine.info().path;
  props["chat_template"] = service.chat_template().source();
  props["chat_template_caps"] = {{"supports_system_role", caps.system_role},
                                 {"supports_tools", caps.tools},
                                 {"supports_tool_calls", caps.tool_calls}};
  const MediaRules& media = service.media_rules();
  props["modalities"] = {{"vision", media.takes_images}, {"audio", media.takes_audio}};
  props["media_marker"] = kNextMediumMarker;
  props["bos_token"] = engine.info().bos_text;
  props["eos_token"] = engine.info().eos_text;
  props["build_info"] = BuildInfo(served.version);
  const SchedulerStats stats = service.stats();
  props["is_sleeping"] = stats.sleep.asleep;
  props["cairn"] = MemoryJson(engine.traits());
  props["cairn"]["placement"] = served.placement;
  props["cairn"]["reuse"] = served.reuse;
  props["cairn"]["late_system"] = LateSystemName(caps.late_system);
  props["cairn"]["pin_volatile"] = service.volatile_patterns();
  props["cairn"]["tells_volatile_late"] = service.tells_volatile_late();
  props["cairn"]["cache"] = CacheJson(stats);
  return ToText(props);
}

std::string SlotsBody(const ChatService& service) {
  Json slots = Json::array();
  for (const SlotStats& slot : service.stats().slots) {
    slots.push_back({{"id", slots.size()},
                     {"n_ctx", service.engine().context_tokens()},
                     {"is_processing", slot.busy},
                     {"n_tokens", slot.tokens},
                     {"n_prompt_tokens", slot.prompt_tokens},
                     {"n_decoded", slot.generated_tokens}});
  }
  return ToText(slots);
}

ApiResult<std::string> TokenizeBody(const ChatService& service, std::string_view body) {
  const auto json = ParseBody(body);
  if (!json) return tl::unexpected(json.error());
  FieldReader fields(*json, "");
  std::string content;
  bool add_special = false;
  bool parse_special = true;
  bool with_pieces = false;
  if (fields.Find("content") == nullptr) fields.Fail("content", "a string");
  fields.String("content", &content);
  fields.Bool("add_special", &add_special);
  fields.Bool("parse_special", &parse_special);
  fields.Bool("with_pieces", &with_pieces);
  if (fields.error()) return tl::unexpected(*fields.error());
  const auto tokens =
      service.limits().Tokenize(TextUse::kCounted, content, add_special, parse_special);
  if (!tokens) return tl::unexpected(tokens.error());
  // Written as text, because a tree of millions of values takes many times as much memory.
  std::string text = "{\"tokens\":[";
  for (const Token token : *tokens) {
    if (text.back() != '[') text += ',';
    text += with_pieces ? ToText({{"id", token}, {"piece", PieceJson(service.engine(), token)}})
                        : std::to_string(token);
  }
  return text + "]}";
}

ApiResult<std::string> DetokenizeBody(const ChatService& service, std::string_view body) {
  const auto json = ParseBody(body);
  if (!json) return tl::unexpected(json.error());
  FieldReader fields(*json, "");
  const Json* tokens = fields.Find("tokens");
  const auto vocab_size = static_cast<int64_t>(service.engine().info().vocab_size);
  const std::string expected = "a list of token ids from 0 to " + std::to_string(vocab_size - 1);
  if (tokens == nullptr || !tokens->is_array()) {
    return tl::unexpected(FieldError("tokens", expected));
  }
  std::string content;
  for (const Json& token : *tokens) {
    const bool known =
        token.is_number_integer() && token.get<int64_t>() >= 0 && token.get<int64_t>() < vocab_size;
    if (!known) return tl::unexpected(FieldError("tokens", expected));
    content += service.engine().Piece(token.get<Token>(), true);
  }
  return ToText({{"content", content}});
}

ApiResult<std::string> ApplyTemplateBody(const ChatService& service, std::string_view body) {
  const auto json = ParseBody(body);
  if (!json) return tl::unexpected(json.error());
  const auto conversation = ParseConversation(*json, service.media_rules());
  if (!conversation) return tl::unexpected(conversation.error());
  const auto prompt = service.Render(*conversation);
  if (!prompt) return tl::unexpected(prompt.error());
  // A client may send the prompt to /completion, with the media beside it.
  return ToText({{"prompt", *prompt}});
}

ApiResult<std::string> ChatInputTokensBody(const ChatService& service, std::string_view body,
                                           NamespaceId name_space,
                                           const std::function<bool()>& gone) {
  const auto json = ParseBody(body);
  if (!json) return tl::unexpected(json.error());
  const auto conversation = ParseConversation(*json, service.MediaRulesUntil(gone));
  if (!conversation) return tl::unexpected(conversation.error());
  return InputTokens(service, *conversation, name_space);
}

ApiResult<std::string> ResponsesInputTokensBody(const ChatService& service, std::string_view body,
                                                NamespaceId name_space, StoredResponses* stored,
                                                const std::function<bool()>& gone) {
  auto json = ParseBody(body);
  if (!json) return tl::unexpected(json.error());
  const auto resolved = ResolveReferences(&(*json)["input"], name_space, stored);
  if (!resolved) return tl::unexpected(resolved.error());
  const auto previous = FindPreviousResponse(*json, name_space, stored);
  if (!previous) return tl::unexpected(previous.error());
  const auto request = ParseResponsesRequest(
      *json, {}, *previous ? (*previous)->turns() : ResponseTurns(), service.MediaRulesUntil(gone));
  if (!request) return tl::unexpected(request.error());
  return InputTokens(service, request->chat.conversation, name_space);
}

ApiResult<std::string> SlotActionBody(const ChatService& service, SlotFiles* files,
                                      const SlotRequest& request) {
  const std::string_view action = request.action;
  const bool uses_file = action == "save" || action == "restore";
  if (uses_file && files == nullptr) {
    return tl::unexpected(ToApiError({ErrorCode::kUnsupported,
                                      "This server does not support slots action. Start it with "
                                      "`--slot-save-path`"}));
  }
  if (!uses_file && action != "erase") {
    return tl::unexpected(FieldError("action", "'erase', 'save' or 'restore'"));
  }
  const auto slot = ParseNumber(request.slot);
  if (!slot) return tl::unexpected(FieldError("id_slot", "a slot's number"));
  if (uses_file) return SlotFileBody(files, *slot, request);
  const auto erased = service.EraseSlot(*slot, request.name_space);
  if (!erased) return tl::unexpected(erased.error());
  return ToText({{"id_slot", *slot}, {"n_erased", *erased}});
}

}  // namespace cairn
