#include "chat/reasoning.h"

#include <algorithm>

namespace cairn {
namespace {

constexpr std::string_view kOpen = "<think>";
constexpr std::string_view kClose = "</think>";
constexpr std::string_view kLineSpace = " \t\r\n";

// Bytes at the end of `text` that are a beginning of `tag`, but not all of it.
size_t TagBegun(std::string_view text, std::string_view tag) {
  for (size_t size = std::min(text.size(), tag.size() - 1); size > 0; --size) {
    if (text.substr(text.size() - size) == tag.substr(0, size)) return size;
  }
  return 0;
}

// `text` without the white space at its end.
size_t TrimmedSize(std::string_view text) {
  return text.find_last_not_of(kLineSpace) + 1;
}

}  // namespace

ReasoningSplitter::ReasoningSplitter(bool starts_inside)
    : state_(starts_inside ? State::kReasoningStart : State::kStart) {}

std::vector<ReasoningSplitter::Piece> ReasoningSplitter::Push(std::string_view text) {
  held_ += text;
  std::vector<Piece> pieces;
  while (Step(false, &pieces)) {
  }
  return pieces;
}

std::vector<ReasoningSplitter::Piece> ReasoningSplitter::Finish() {
  std::vector<Piece> pieces;
  while (Step(true, &pieces)) {
  }
  return pieces;
}

// Does what the held text allows; true when the state has changed and there may be more to do.
bool ReasoningSplitter::Step(bool finished, std::vector<Piece>* pieces) {
  switch (state_) {
    case State::kStart:
    case State::kReasoningStart:
      return StepStart(finished);
    case State::kReasoning:
      return StepReasoning(finished, pieces);
    case State::kContentStart:
      return DropBlankLines(State::kContent);
    case State::kContent:
      Emit(false, held_.size(), pieces);
      return false;
  }
  return false;
}

bool ReasoningSplitter::StepStart(bool finished) {
  const bool inside = state_ == State::kReasoningStart;
  const size_t begin = held_.find_first_not_of(kLineSpace);
  if (begin != std::string::npos) {
    const std::string_view rest = std::string_view(held_).substr(begin);
    if (rest.starts_with(kOpen)) {  // inside, a model repeats the tag that its prompt ended with
      held_.erase(0, begin + kOpen.size());
      state_ = State::kReasoningStart;
      return true;
    }
    if (!finished && kOpen.starts_with(rest)) return false;
    if (inside) return DropBlankLines(State::kReasoning);
    state_ = State::kContent;
    return true;
  }
  if (finished && !inside) {  // an answer of white space only is still an answer
    state_ = State::kContent;
    return true;
  }
  return false;
}

bool ReasoningSplitter::StepReasoning(bool finished, std::vector<Piece>* pieces) {
  const size_t close = held_.find(kClose);
  if (close != std::string::npos) {
    const size_t size = TrimmedSize(std::string_view(held_).substr(0, close));
    Emit(true, size, pieces);
    held_.erase(0, close - size + kClose.size());
    state_ = State::kContentStart;
    return true;
  }
  const size_t begun = finished ? 0 : TagBegun(held_, kClose);
  Emit(true, TrimmedSize(std::string_view(held_).substr(0, held_.size() - begun)), pieces);
  return false;
}

// Drops lines of white space from the held text once it is known where they end.
bool ReasoningSplitter::DropBlankLines(State next) {
  const size_t begin = held_.find_first_not_of(kLineSpace);
  if (begin == std::string::npos) return false;
  if (begin > 0) {
    const size_t newline = held_.find_last_of("\r\n", begin - 1);
    if (newline != std::string::npos) held_.erase(0, newline + 1);
  }
  state_ = next;
  return true;
}

void ReasoningSplitter::Emit(bool reasoning, size_t size, std::vector<Piece>* pieces) {
  if (size == 0) return;
  pieces->push_back({reasoning, held_.substr(0, size)});
  held_.erase(0, size);
}

std::vector<TextRange> FindReasoning(std::string_view text) {
  std::vector<TextRange> ranges;
  size_t close = text.find(kClose);
  while (close != std::string_view::npos) {
    const size_t searched_from = ranges.empty() ? 0 : ranges.back().end;
    const size_t open = text.substr(0, close).rfind(kOpen);
    const size_t end = close + kClose.size();
    if (open != std::string_view::npos && open >= searched_from) ranges.push_back({open, end});
    close = text.find(kClose, end);
  }
  return ranges;
}

bool OpensReasoning(std::string_view generation_prompt) {
  const size_t open = generation_prompt.rfind(kOpen);
  if (open == std::string_view::npos) return false;
  return generation_prompt.find_first_not_of(kLineSpace, open + kOpen.size()) ==
         std::string_view::npos;
}

// Reasoning may hold anything but </think>, so its rules go through the tag letter by letter.
std::string GrammarWithReasoning(std::string_view content_rules, bool starts_inside) {
  constexpr std::string_view kRest = "/think>";
  const std::string name = "reasoning-";
  std::string text(content_rules);
  text += "\n" + std::string(kAnswerRule) + " ::= ";
  text += starts_inside ? "reasoning-0 root\n" : "(\"<think>\" reasoning-0)? root\n";
  text += "reasoning-0 ::= [^<] reasoning-0 | \"<\" reasoning-1\n";
  for (size_t i = 0; i < kRest.size(); ++i) {
    const std::string rule = name + std::to_string(i + 1);
    const std::string letter(1, kRest[i]);
    const std::string next = name + std::to_string(i + 2);
    text += rule + " ::= \"" + letter + "\" " + next + " | \"<\" reasoning-1 | [^<" + letter +
            "] reasoning-0\n";
  }
  text += name + std::to_string(kRest.size() + 1) + " ::= [ \\n]{0,4}\n";
  return text;
}

}  // namespace cairn
