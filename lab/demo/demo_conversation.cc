#include "lab/demo/demo_conversation.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/utf8.h"

namespace cairn {
namespace {

constexpr size_t kQuoteBytes = 1000;

// The position after the first end of a sentence or of a paragraph at or after `from`; `limit` when
// there is none before it.
size_t AfterSentence(std::string_view text, size_t from, size_t limit) {
  for (size_t i = from; i + 1 < limit; ++i) {
    const bool space_next = text[i + 1] == ' ' || text[i + 1] == '\n';
    if (text[i] == '.' && space_next) return i + 2;
    if (text[i] == '\n' && text[i + 1] == '\n') return i + 2;
  }
  return limit;
}

// The message list's index of the user message number `user_message`, or its size.
size_t IndexOfUserMessage(const std::vector<ChatMessage>& messages, size_t user_message) {
  size_t seen = 0;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].role == "user" && seen++ == user_message) return i;
  }
  return messages.size();
}

DemoTurn Ask(std::string what, std::string text) {
  return {std::move(what), TurnOperation::kAppend, 0, std::move(text)};
}

DemoTurn Edit(std::string what, size_t user_message, std::string text) {
  return {std::move(what), TurnOperation::kEditFrom, user_message, std::move(text)};
}

// A passage as a user pastes it under a question.
std::string Quote(std::string_view document, double fraction) {
  return "\n\n\"" + Passage(document, fraction, kQuoteBytes) + "\"";
}

// What the text is about, and what somebody else marked in it.
std::vector<DemoTurn> FirstTurns(std::string_view document) {
  return {
      Ask("ask",
          "I have an hour for this and would like to know what I am in for. Which question is the "
          "whole text trying to answer? I opened it somewhere near the front and met this passage, "
          "so please start from there:" +
              Quote(document, 0.08)),
      Ask("follow-up",
          "That helps. A little further on there is another passage, and I do not see at once how "
          "the two belong together. Does it say the same thing in other words, or does it add "
          "something of its own?" +
              Quote(document, 0.2)),
      Edit("back to the start, asked differently", 0,
           "Let me put that differently. Forget what the text is about; I want to know whom it is "
           "written for. What must a reader know already, and what does the author explain? Take "
           "this passage as an example:" +
               Quote(document, 0.08)),
      Ask("follow-up",
          "And is it the same reader who is spoken to here? To me it sounds as if somebody with "
          "more experience were meant, but I may be wrong. Tell me which words give it away." +
              Quote(document, 0.33)),
      Edit("a new question from the top", 0,
           "A colleague sent me one paragraph of this text without saying why. What would one take "
           "away from it if one read nothing else, and which part of that would be misleading?" +
               Quote(document, 0.45)),
      Ask("follow-up",
          "She also marked the following lines. Please compare them with the paragraph before: "
          "which of the two is a fact, which one is advice, and does the one follow from the "
          "other?" +
              Quote(document, 0.58)),
      {"the last answer once more", TurnOperation::kRegenerate, 0, ""},
      Edit("the last message, edited", 1,
           "She also marked the following lines. I had asked for a comparison, but one sentence is "
           "enough: what does the author want me to do after reading them?" +
               Quote(document, 0.58)),
  };
}

// Checking the text, and passing it on.
std::vector<DemoTurn> LaterTurns(std::string_view document) {
  return {
      Edit("back to the start, asked differently", 0,
           "A colleague sent me one paragraph of this text without saying why. I think that she "
           "wants me to check it. Which statements in it could be looked up elsewhere, and which "
           "are the author's own opinion?" +
               Quote(document, 0.45)),
      Ask("follow-up",
          "Good. Do the same for these lines, please, and be strict: whatever no one could look up "
          "is an opinion, however reasonable it may sound." +
              Quote(document, 0.7)),
      Edit(
          "a new question from the top", 0,
          "I am reading for mistakes now. Here is a part of the text that tells a story or makes a "
          "case, I am not sure which. Is there anything in it that cannot be true as it stands, or "
          "that needs a source?" +
              Quote(document, 0.64)),
      Ask("follow-up",
          "And here? Please answer in the same form: first what cannot be true, then what needs a "
          "source, and nothing else. If all is well, one word will do." +
              Quote(document, 0.77)),
      Edit("a new question from the top", 0,
           "Now to the end of the text. I am to give a talk on it and need a last slide. Which "
           "single idea do these lines come back to, and where has the text prepared it before?" +
               Quote(document, 0.85)),
      Ask("follow-up",
          "I would like to close with a quotation. Is there a sentence in the next lines that can "
          "stand alone on a slide, without anything before it? If there is none, make the shortest "
          "cut that keeps the sense." +
              Quote(document, 0.93)),
      Edit("back to the start, asked differently", 0,
           "Now to the end of the text, but I have thought better of the talk; it will be a letter "
           "to a friend who does not read such things. What would you tell her about these lines, "
           "as plainly as you can?" +
               Quote(document, 0.85)),
      Ask("follow-up", "Make it warmer, and leave out everything that only a specialist enjoys."),
  };
}

}  // namespace

std::string Passage(std::string_view document, double fraction, size_t bytes) {
  const double wanted = std::clamp(fraction, 0.0, 1.0) * static_cast<double>(document.size());
  size_t begin = std::min(static_cast<size_t>(wanted), document.size());
  const size_t sentence = begin == 0 ? 0 : AfterSentence(document, begin, document.size());
  // In a document without sentences the passage begins where it was asked for.
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
      "You answer questions about the document below. Answer in plain words and in no more than "
      "three sentences. When the document does not say, say so.\n\n--- document ---\n\n";
  text += document;
  text += "\n\n--- end of the document ---";
  return {"system", std::move(text)};
}

std::vector<DemoTurn> DemoTurns(std::string_view document) {
  std::vector<DemoTurn> turns = FirstTurns(document);
  std::vector<DemoTurn> later = LaterTurns(document);
  std::move(later.begin(), later.end(), std::back_inserter(turns));
  return turns;
}

void ApplyTurn(const DemoTurn& turn, std::vector<ChatMessage>* messages) {
  switch (turn.operation) {
    case TurnOperation::kAppend:
      break;
    case TurnOperation::kEditFrom: {
      const size_t index = IndexOfUserMessage(*messages, turn.user_message);
      CHECK(index < messages->size());
      messages->resize(index);
      break;
    }
    case TurnOperation::kRegenerate:
      CHECK(!messages->empty() && messages->back().role == "assistant");
      messages->pop_back();
      return;
  }
  messages->push_back({"user", turn.text});
}

}  // namespace cairn
