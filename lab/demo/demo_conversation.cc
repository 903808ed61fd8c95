#include "lab/demo/demo_conversation.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/utf8.h"

namespace cairn {
namespace {

constexpr size_t kPageBytes = 700;
constexpr std::string_view kPageMark = "\n\nThe page: \"";

// Returns the position after the first end of a sentence or paragraph at or after `from`, or
// `limit` if there is none before it.
size_t AfterSentence(std::string_view text, size_t from, size_t limit) {
  for (size_t i = from; i + 1 < limit; ++i) {
    const bool space_next = text[i + 1] == ' ' || text[i + 1] == '\n';
    if (text[i] == '.' && space_next) return i + 2;
    if (text[i] == '\n' && text[i + 1] == '\n') return i + 2;
  }
  return limit;
}

// Returns the index of user message number `user_message` in the list, or the list's size.
size_t IndexOfUserMessage(const std::vector<ChatMessage>& messages, size_t user_message) {
  size_t seen = 0;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].role == "user" && seen++ == user_message) return i;
  }
  return messages.size();
}

DemoTurn Ask(std::string what, size_t conversation, std::string text) {
  return {std::move(what), TurnOperation::kAppend, conversation, 0, std::move(text)};
}

DemoTurn Edit(std::string what, size_t user_message, std::string text) {
  return {std::move(what), TurnOperation::kEditFrom, 0, user_message, std::move(text)};
}

// Returns a passage in the form in which a user pastes it under a question.
std::string Page(std::string_view document, double fraction) {
  return std::string(kPageMark) + Passage(document, fraction, kPageBytes) + "\"";
}

// Cuts the pasted page out of a message, as a client does that drops it from the history.
void TakeOutPage(std::string* text) {
  const size_t mark = text->find(kPageMark);
  CHECK(mark != std::string::npos);
  text->erase(mark);
}

}  // namespace

std::string Passage(std::string_view document, double fraction, size_t bytes) {
  const double wanted = std::clamp(fraction, 0.0, 1.0) * static_cast<double>(document.size());
  size_t begin = std::min(static_cast<size_t>(wanted), document.size());
  const size_t sentence = begin == 0 ? 0 : AfterSentence(document, begin, document.size());
  // In a document without sentences the passage begins exactly at its fraction.
  if (sentence < begin + bytes && sentence < document.size()) begin = sentence;
  while (begin > 0 && begin < document.size() && IsContinuationByte(document[begin])) --begin;

  const size_t limit = begin + std::min(bytes, document.size() - begin);
  size_t end = begin;
  for (size_t next = begin; next < limit;) {
    next = AfterSentence(document, next, limit);
    if (next < limit || end == begin || limit == document.size()) end = next;
  }
  while (end > begin && end < document.size() && IsContinuationByte(document[end])) --end;
  std::string passage(document.substr(begin, end - begin));
  while (!passage.empty() && (passage.back() == '\n' || passage.back() == ' ')) passage.pop_back();
  return passage;
}

ChatMessage DemoSystemMessage(std::string_view document) {
  std::string text =
      "You answer questions about the document below, in one short sentence.\n\n"
      "--- document ---\n\n";
  text += document;
  text += "\n\n--- end of the document ---";
  return {"system", std::move(text)};
}

std::vector<DemoTurn> DemoTurns(std::string_view document) {
  const std::string first = "What is a cairn?";
  std::vector<DemoTurn> turns = {
      Ask("a first question about a document", 0, first),
      Ask("a follow-up", 0, "What are the four jobs of a cairn?"),
      {"the same prompt again", TurnOperation::kRegenerate, 0, 0, ""},
      Edit("the last message, edited", 1, "Who built cairns, and why?"),
      Edit("the first message, edited", 0, "Where does the word cairn come from?"),
      Ask("a second conversation about the document", 1,
          "What should a walker do in fog when the next cairn is not in sight?"),
      Ask("a follow-up with a pasted page", 1,
          "What is the main point of this page?" + Page(document, 0.67)),
      {"the page is gone from the history", TurnOperation::kDropPage, 1, 0,
       "Is paint better than a cairn?"},
      Ask("back in the first conversation", 0, "What do other languages call it?"),
      Ask("the first question, from another client", 2, first),
      Edit("the first message, edited once more", 0, "Why are cairns built on purpose?"),
      Ask("a follow-up after a restart", 1, "Thank you. What is the most important advice?"),
  };
  turns.back().after_restart = true;
  return turns;
}

std::vector<ChatMessage>& ApplyTurn(const DemoTurn& turn, const ChatMessage& system,
                                    Conversations* conversations) {
  if (conversations->size() <= turn.conversation) conversations->resize(turn.conversation + 1);
  std::vector<ChatMessage>& messages = (*conversations)[turn.conversation];
  if (messages.empty()) messages.push_back(system);
  switch (turn.operation) {
    case TurnOperation::kAppend:
      break;
    case TurnOperation::kEditFrom: {
      const size_t index = IndexOfUserMessage(messages, turn.user_message);
      CHECK(index < messages.size());
      messages.resize(index);
      break;
    }
    case TurnOperation::kRegenerate:
      CHECK(messages.back().role == "assistant");
      messages.pop_back();
      return messages;
    case TurnOperation::kDropPage:
      CHECK(messages.size() > 2);
      TakeOutPage(&messages[messages.size() - 2].content);
      break;
  }
  messages.push_back({"user", turn.text});
  return messages;
}

}  // namespace cairn
