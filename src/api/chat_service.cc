#include "api/chat_service.h"

#include <utility>
#include <vector>

#include "api/wall_clock.h"
#include "chat/reasoning.h"
#include "chat/spans.h"
#include "chat/token_map.h"

namespace cairn {
namespace {

// The token positions of what the template says of the text. What cannot be placed is left out.
PromptShape ToPromptShape(const TextShape& text, const TokenMap& map, size_t tokens) {
  PromptShape shape;
  shape.tokens = tokens;
  shape.header_end = map.PositionAt(text.header_end).value_or(0);
  shape.messages_end = map.PositionAt(text.last_message_end).value_or(0);
  for (const TextSpan& span : text.spans) {
    const auto position = map.PositionAt(span.begin);
    if (position) shape.turns.push_back({*position, span.role == Role::kUser});
  }
  return shape;
}

Conversation WithDate(const Conversation& conversation) {
  Conversation dated = conversation;
  if (dated.now_unix_s == 0) dated.now_unix_s = NowUnixS();
  return dated;
}

}  // namespace

ApiResult<std::string> ChatService::Render(const Conversation& conversation) const {
  auto text = template_->Render(conversation, true);
  if (!text) return tl::unexpected(ToApiError(text.error()));
  return std::move(*text);
}

ApiResult<StartedChat> ChatService::Start(const ChatRequest& request,
                                          NamespaceId name_space) const {
  if (!request.conversation.tools_json.empty() && !template_->caps().tools) {
    return tl::unexpected(FieldError("tools", "absent: this model's chat template shows none"));
  }
  const Conversation conversation = WithDate(request.conversation);
  const auto text = Render(conversation);
  if (!text) return tl::unexpected(text.error());
  const ModelInfo& info = engine_->info();
  const bool has_bos = !info.bos_text.empty() && text->starts_with(info.bos_text);
  const bool adds_bos = info.adds_bos && !has_bos;
  auto tokens = engine_->Tokenize(*text, adds_bos, true);
  if (!tokens) return tl::unexpected(ToApiError(tokens.error()));
  const auto text_shape = FindTextShape(*template_, conversation, *text);
  if (!text_shape) return tl::unexpected(ToApiError(text_shape.error()));

  std::vector<std::string> pieces;
  pieces.reserve(tokens->size());
  for (const Token token : *tokens) pieces.push_back(engine_->Piece(token, true));
  const TokenMap map(*text, pieces, adds_bos ? 1 : 0);

  GenerationRequest generation;
  generation.name_space = name_space;
  generation.shape = ToPromptShape(*text_shape, map, tokens->size());
  generation.prompt = std::move(*tokens);
  generation.params = request.params;
  generation.reuse = request.reuse;
  const size_t prompt_tokens = generation.prompt.size();
  auto submitted = scheduler_->Submit(std::move(generation));
  if (!submitted) {
    ApiError error = ToApiError(submitted.error());
    if (submitted.error().code == ErrorCode::kTooLong) {
      error.prompt_tokens = prompt_tokens;
      error.context_tokens = engine_->context_tokens();
    }
    return tl::unexpected(error);
  }
  const std::string_view generation_prompt =
      std::string_view(*text).substr(text_shape->last_message_end);
  return StartedChat{std::move(*submitted), OpensReasoning(generation_prompt)};
}

}  // namespace cairn
