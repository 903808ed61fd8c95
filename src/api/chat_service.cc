#include "api/chat_service.h"

#include <utility>
#include <vector>

#include "api/wall_clock.h"
#include "chat/reasoning.h"
#include "chat/token_map.h"

namespace cairn {
namespace {

// The token positions of what the template says of the text. What cannot be placed is left out.
void AddPositions(const TextShape& text, const TokenMap& map, PromptShape* shape) {
  shape->header_end = map.PositionAt(text.header_end).value_or(0);
  shape->messages_end = map.PositionAt(text.last_message_end).value_or(0);
  for (const TextSpan& span : text.spans) {
    const auto position = map.PositionAt(span.begin);
    if (position) shape->turns.push_back({*position, span.role == Role::kUser});
  }
}

void AddReasoning(std::string_view text, const TokenMap& map, PromptShape* shape) {
  for (const TextRange& range : FindReasoning(text)) {
    const auto begin = map.PositionAt(range.begin);
    const auto end = map.PositionAt(range.end);
    if (begin && end && *begin < *end) shape->reasoning.push_back({*begin, *end});
  }
}

}  // namespace

ApiResult<std::string> ChatService::Render(const Conversation& conversation) const {
  auto text = template_->Render(conversation, true);
  if (!text) return tl::unexpected(ToApiError(text.error()));
  return std::move(*text);
}

PromptShape ChatService::ShapeOf(std::string_view text, const TextShape& text_shape,
                                 const Tokens& tokens, bool adds_bos) const {
  PromptShape shape;
  shape.tokens = tokens.size();
  // Checkpoints are placed by the rest, and models that can be cut anywhere get none.
  if (!engine_->traits().NeedsSnapshots()) return shape;
  std::vector<std::string> pieces;
  pieces.reserve(tokens.size());
  for (const Token token : tokens) {
    pieces.push_back(engine_->Piece(token, true));
    if (engine_->IsEndOfGeneration(token)) shape.eog_ends.push_back(pieces.size());
  }
  const TokenMap map(text, pieces, adds_bos ? 1 : 0);
  AddPositions(text_shape, map, &shape);
  AddReasoning(text, map, &shape);
  return shape;
}

Result<std::shared_ptr<const Grammar>> ChatService::AnswerGrammar(
    const std::string& content, std::string_view generation_prompt) const {
  const bool inside = OpensReasoning(generation_prompt);
  const bool may_reason = inside || template_->source().find("<think>") != std::string::npos;
  if (!may_reason) return Grammar::Parse(content);
  return Grammar::Parse(GrammarWithReasoning(content, inside), kAnswerRule);
}

ApiResult<StartedChat> ChatService::Start(ChatRequest request, NamespaceId name_space) const {
  if (!request.conversation.tools_json.empty() && !template_->caps().tools) {
    return tl::unexpected(FieldError("tools", "absent: this model's chat template shows none"));
  }
  // Rendered more than once, it must name the same second.
  if (request.conversation.now_unix_s == 0) request.conversation.now_unix_s = NowUnixS();
  const auto text = Render(request.conversation);
  if (!text) return tl::unexpected(text.error());
  const ModelInfo& info = engine_->info();
  const bool has_bos = !info.bos_text.empty() && text->starts_with(info.bos_text);
  const bool adds_bos = info.adds_bos && !has_bos;
  auto tokens = engine_->Tokenize(*text, adds_bos, true);
  if (!tokens) return tl::unexpected(ToApiError(tokens.error()));
  const auto text_shape = FindTextShape(*template_, request.conversation, *text);
  if (!text_shape) return tl::unexpected(ToApiError(text_shape.error()));

  const std::string_view generation_prompt =
      std::string_view(*text).substr(text_shape->last_message_end);
  if (!request.grammar.empty()) {
    auto grammar = AnswerGrammar(request.grammar, generation_prompt);
    if (!grammar) return tl::unexpected(ToApiError(grammar.error()));
    request.params.sampling.grammar = std::move(*grammar);
  }

  GenerationRequest generation;
  generation.name_space = name_space;
  generation.shape = ShapeOf(*text, *text_shape, *tokens, adds_bos);
  generation.prompt = std::move(*tokens);
  generation.params = std::move(request.params);
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
  return StartedChat{std::move(*submitted), MakeReasoningParser(OpensReasoning(generation_prompt))};
}

}  // namespace cairn
