// What the chat service has read ahead of a conversation whose answer has been given.

#include <algorithm>
#include <string>
#include <utility>

#include "api/chat_service.h"
#include "api/next_turn.h"
#include "chat/token_map.h"
#include "engine/token_text.h"

namespace cairn {
namespace {

std::string TextOf(const Engine& engine, const FinishedAnswer& answer,
                   const std::vector<std::string>& control_texts) {
  std::string text;
  for (const Token token : answer.tokens) text += TokenText(engine, token, control_texts);
  const size_t sent = answer.stop_text.empty() ? std::string::npos : text.rfind(answer.stop_text);
  return sent == std::string::npos ? text : text.substr(0, sent);
}

size_t StandIns(const Message& answer) {
  return std::max<size_t>(1, answer.tool_calls.size());
}

}  // namespace

std::function<void(const FinishedAnswer&)> ChatService::WhenAnswered(AskedTurn asked,
                                                                     const PromptKey& key) const {
  return
      [answers = answers_, jobs = jobs_, engine = engine_, this, key,
       asked = std::make_shared<const AskedTurn>(std::move(asked))](const FinishedAnswer& answer) {
        answers->Remember(asked->name_space, key,
                          MakeGeneratedAnswer(*engine, answer.tokens, answer.stop_text));
        if (jobs == nullptr || asked->conversation == nullptr) return;
        if (answer.reason == FinishReason::kCancelled) return;
        jobs->Push([this, asked, text = TextOf(*engine, answer, TagsOf(asked->format))] {
          ExpectNextTurn(*asked, text);
        });
      };
}

void ChatService::ExpectNextTurn(const AskedTurn& asked, std::string_view text) const {
  const Message answer = AnswerMessage(asked.format, text);
  std::vector<WarmPrompt> expected;
  for (const Conversation& next : ExpectedConversations(*asked.conversation, answer)) {
    Tokens tokens = TokensBeforeLast(next, StandIns(answer), asked.name_space);
    if (tokens.empty() || tokens.size() >= engine_->context_tokens()) continue;
    const auto is_same = [&](const WarmPrompt& other) { return other.tokens == tokens; };
    if (std::any_of(expected.begin(), expected.end(), is_same)) continue;
    const size_t common = CommonPrefix(asked.prompt, tokens);
    expected.push_back({asked.name_space, std::move(tokens), common});
  }
  for (WarmPrompt& prompt : expected) prompt.keeps_answer = expected.size() > 1;
  if (!expected.empty()) scheduler_->Warm(std::move(expected));
}

Tokens ChatService::TokensBeforeLast(Conversation conversation, size_t messages,
                                     NamespaceId name_space) const {
  MakeCanonical(options_.canonical, &conversation);
  const size_t first = conversation.messages.size() - messages;
  const auto prompt = ToPrompt(std::move(conversation), name_space, true);
  if (!prompt) return {};
  const std::vector<TextSpan>& spans = prompt->text.shape.spans;
  const auto span = std::find_if(spans.begin(), spans.end(), [&](const TextSpan& candidate) {
    return candidate.message_index == first;
  });
  if (span == spans.end()) return {};
  std::vector<std::string> pieces;
  for (const Token token : prompt->tokens) pieces.push_back(engine_->Piece(token, true));
  const TokenMap map(prompt->text.text, pieces, prompt->adds_bos ? 1 : 0);
  const size_t position = map.PositionAt(span->begin).value_or(0);
  return {prompt->tokens.begin(), prompt->tokens.begin() + static_cast<std::ptrdiff_t>(position)};
}

}  // namespace cairn
