// ChatService's prefetch of the next turn after an answer.

#include <algorithm>
#include <string>
#include <utility>

#include "api/prompt/next_turn.h"
#include "api/service/chat_service.h"
#include "chat/spans/token_map.h"
#include "engine/token_text.h"

namespace cairn {
namespace {

std::string SentText(const Engine& engine, const FinishedAnswer& answer,
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

ChatService::AskedTurn ChatService::AskedOf(const ChatRequest& request,
                                            NamespaceId name_space) const {
  AskedTurn asked{.name_space = name_space};
  // The form in which a continued message comes back is unknown.
  const bool continues = request.conversation.end == PromptEnd::kOpenMessage;
  if (jobs_ && request.reuse && request.options.answers == 1 && !continues) {
    asked.conversation = std::make_shared<const Conversation>(request.conversation);
  }
  return asked;
}

std::function<void(const FinishedAnswer&)> ChatService::WhenAnswered(AskedTurn asked,
                                                                     const PromptKey& key) const {
  return
      [answers = answers_, jobs = jobs_, engine = engine_, this, key,
       asked = std::make_shared<const AskedTurn>(std::move(asked))](const FinishedAnswer& answer) {
        answers->Remember(asked->name_space, key,
                          MakeGeneratedAnswer(*engine, answer.tokens, answer.stop_text));
        if (jobs == nullptr || asked->conversation == nullptr) return;
        if (answer.reason == FinishReason::kCancelled) return;
        jobs->Push([this, asked, admission = answer.admission,
                    text = SentText(*engine, answer, TagsOf(asked->format))] {
          ExpectNextTurn(*asked, text, admission);
        });
      };
}

void ChatService::ExpectNextTurn(const AskedTurn& asked, std::string_view text,
                                 uint64_t admission) const {
  const Message answer = AnswerMessage(asked.format, text);
  std::vector<PrefetchPrompt> expected;
  const auto expect = [&](const Conversation& next, bool rolled) {
    auto [tokens, before_asked] = KnownPart(next, StandIns(answer), asked.name_space);
    if (tokens.empty() || tokens.size() >= engine_->context_tokens()) return;
    const auto is_same = [&](const PrefetchPrompt& other) { return other.tokens == tokens; };
    if (std::any_of(expected.begin(), expected.end(), is_same)) return;
    const size_t common = CommonPrefix(asked.prompt, tokens);
    // It shares only the system prefix with the last request, and other conversations may have the
    // same one.
    const size_t answered = rolled ? std::max(common, before_asked) : common;
    expected.push_back(
        {asked.name_space, std::move(tokens), answered, /*keeps_answer=*/false, admission});
  };
  Conversation sent = *asked.conversation;
  MakeCanonical(options_.prompt.canonical, &sent);
  prompts_.key_order()->Apply(asked.name_space, &sent);
  const auto left = rolling_->Expect(asked.name_space, sent, answer);
  if (left) {
    for (const Conversation& next : ExpectedConversations(*left, answer)) expect(next, true);
  }
  const size_t rolled = expected.size();
  const std::vector<Conversation> next = ExpectedConversations(*asked.conversation, answer);
  for (const Conversation& conversation : next) expect(conversation, false);
  for (PrefetchPrompt& prompt : expected) prompt.keeps_answer = expected.size() > 1;
  // The complete conversation is the least likely next request; its prefetch ends with any other
  // request.
  for (size_t i = rolled; rolled > 0 && i < expected.size(); ++i) {
    expected[i].answered_tokens = CommonPrefix(expected.front().tokens, expected[i].tokens);
  }
  // The conversation as it will be cut when it outgrows the context, so that the turn after the cut
  // prefills only its own message too.
  const ConversationCut* const cut = prompts_.conversation_cut();
  const auto planned = cut != nullptr ? cut->Planned(asked.name_space, next.front()) : std::nullopt;
  if (planned) expect(*planned, false);
  if (!expected.empty()) scheduler_->Prefetch(std::move(expected));
}

ChatService::Known ChatService::KnownPart(Conversation conversation, size_t unknown,
                                          NamespaceId name_space) const {
  const auto prompt =
      prompts_.Prepare(std::move(conversation),
                       {.name_space = name_space, .purpose = PromptUse::Purpose::kNextTurn});
  if (!prompt) return {};
  const size_t first = prompt->messages.size() - unknown;
  const TokenMap map(prompt->text.text, TokenPieces(*engine_, prompt->tokens, prompt->media),
                     prompt->adds_bos ? 1 : 0);
  const auto begin_of = [&](size_t message) -> size_t {
    const std::vector<TextSpan>& spans = prompt->text.shape.spans;
    const auto span = std::find_if(spans.begin(), spans.end(), [&](const TextSpan& candidate) {
      return candidate.message_index == message;
    });
    return span == spans.end() ? 0 : map.PositionAt(span->begin).value_or(0);
  };
  const auto end = prompt->tokens.begin() + static_cast<std::ptrdiff_t>(begin_of(first));
  return {{prompt->tokens.begin(), end}, first < 2 ? 0 : begin_of(first - 2)};
}

}  // namespace cairn
