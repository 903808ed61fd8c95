#include "api/render/render.h"

#include <cstdint>
#include <utility>

#include "api/anthropic/anthropic_request.h"
#include "api/json.h"
#include "api/openai/completion_prompt.h"
#include "api/openai/response_items.h"
#include "api/openai/responses_request.h"
#include "api/request/chat_request.h"

namespace cairn {
namespace {

Json Rendered(const RenderContext& context, const RenderRequest& request, TokenSpan tokens,
              bool stream) {
  Json ids = Json::array();
  for (const uint32_t id : context.ids->Of(tokens)) ids.push_back(id);
  return {{"request_id", request.id},
          {"token_ids", std::move(ids)},
          {"model", std::string(context.model)},
          {"stream", stream}};
}

ApiResult<std::string> RenderedChat(const ChatService& service, const RenderContext& context,
                                    const RenderRequest& request, ApiResult<ChatRequest> chat) {
  if (!chat) return tl::unexpected(chat.error());
  const bool stream = chat->stream;
  const auto tokens = service.RequestTokens(*std::move(chat), request.name_space);
  if (!tokens) return tl::unexpected(tokens.error());
  return ToText(Rendered(context, request, *tokens, stream));
}

}  // namespace

ApiResult<std::string> RenderChatBody(const ChatService& service, const RenderContext& context,
                                      const RenderRequest& request) {
  const auto json = ParseBody(request.body);
  if (!json) return tl::unexpected(json.error());
  return RenderedChat(
      service, context, request,
      ParseChatRequest(*json, *context.defaults, service.MediaRulesUntil(request.gone)));
}

ApiResult<std::string> RenderMessagesBody(const ChatService& service, const RenderContext& context,
                                          const RenderRequest& request) {
  const auto json = ParseBody(request.body);
  if (!json) return tl::unexpected(json.error());
  return RenderedChat(
      service, context, request,
      ParseMessagesRequest(*json, *context.defaults, service.MediaRulesUntil(request.gone)));
}

ApiResult<std::string> RenderResponsesBody(const ChatService& service, const RenderContext& context,
                                           const RenderRequest& request) {
  auto json = ParseBody(request.body);
  if (!json) return tl::unexpected(json.error());
  const auto resolved = ResolveReferences(&(*json)["input"], request.name_space, context.responses);
  if (!resolved) return tl::unexpected(resolved.error());
  const auto previous = FindPreviousResponse(*json, request.name_space, context.responses);
  if (!previous) return tl::unexpected(previous.error());
  auto parsed = ParseResponsesRequest(*json, *context.defaults,
                                      *previous ? (*previous)->turns() : ResponseTurns(),
                                      service.MediaRulesUntil(request.gone));
  if (!parsed) return tl::unexpected(parsed.error());
  return RenderedChat(service, context, request, std::move(parsed->chat));
}

ApiResult<std::string> RenderCompletionBody(const ChatService& service,
                                            const RenderContext& context,
                                            const RenderRequest& request) {
  const auto json = ParseBody(request.body);
  if (!json) return tl::unexpected(json.error());
  const auto prompts = ReadCompletionPrompts(service, *json, request.name_space, request.gone);
  if (!prompts) return tl::unexpected(prompts.error());
  bool stream = false;
  FieldReader fields(*json, "");
  fields.Bool("stream", &stream);
  if (fields.error()) return tl::unexpected(*fields.error());
  Json rendered = Json::array();
  for (const CompletionPrompt& prompt : *prompts) {
    rendered.push_back(Rendered(context, request, prompt.tokens, stream));
  }
  return ToText(rendered);
}

}  // namespace cairn
