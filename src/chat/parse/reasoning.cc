#include "chat/parse/reasoning.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"

namespace cairn {
namespace {

// Returns the number of bytes at the end of `text` that are an incomplete beginning of `tag`.
size_t TagBegun(std::string_view text, std::string_view tag) {
  for (size_t size = std::min(text.size(), tag.size() - 1); size > 0; --size) {
    if (text.substr(text.size() - size) == tag.substr(0, size)) return size;
  }
  return 0;
}

std::vector<uint32_t> Characters(std::string_view text) {
  std::vector<uint32_t> characters;
  for (const char byte : text) {
    const auto bits = static_cast<uint8_t>(byte);
    if (IsContinuationByte(byte) && !characters.empty()) {
      characters.back() = characters.back() << 6U | (bits & 0x3FU);
    } else {
      characters.push_back(bits >= 0xF0U   ? bits & 0x07U
                           : bits >= 0xE0U ? bits & 0x0FU
                           : bits >= 0xC0U ? bits & 0x1FU
                                           : bits);
    }
  }
  return characters;
}

std::string EscapedCharacter(uint32_t character) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "\\U%08X", static_cast<unsigned>(character));
  return text.data();
}

// Returns how many characters of `tag` match the end of a text, after `matched` of them had matched
// and `next` followed.
size_t MatchedAfter(const std::vector<uint32_t>& tag, size_t matched, uint32_t next) {
  std::vector<uint32_t> text(tag.begin(), tag.begin() + static_cast<ptrdiff_t>(matched));
  text.push_back(next);
  for (size_t size = text.size(); size > 0; --size) {
    if (std::equal(tag.begin(), tag.begin() + static_cast<ptrdiff_t>(size),
                   text.end() - static_cast<ptrdiff_t>(size))) {
      return size;
    }
  }
  return 0;
}

}  // namespace

ReasoningSplitter::ReasoningSplitter(ReasoningTags tags, bool starts_inside)
    : tags_(std::move(tags)), state_(starts_inside ? State::kReasoningStart : State::kStart) {}

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

// Advances as far as the held text allows; returns true if the state has changed, so that there may
// be more to do.
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
  const size_t begin = FindText();
  if (begin != std::string::npos) {
    const std::string_view rest = std::string_view(held_).substr(begin);
    if (rest.starts_with(
            tags_.open)) {  // inside, a model may repeat the tag that its prompt ended with
      held_.erase(0, begin + tags_.open.size());
      white_ = 0;
      state_ = State::kReasoningStart;
      return true;
    }
    if (!finished && tags_.open.starts_with(rest)) return false;
    if (inside) return DropBlankLines(State::kReasoning);
    state_ = State::kContent;
    return true;
  }
  if (finished && !inside) {  // an answer of only white space is still an answer
    state_ = State::kContent;
    return true;
  }
  return false;
}

bool ReasoningSplitter::StepReasoning(bool finished, std::vector<Piece>* pieces) {
  // A tag that ends behind the white space at the front may begin in it.
  const size_t from = white_ - std::min(white_, tags_.close.size() - 1);
  looked_at_bytes_ += held_.size() - from;
  const size_t close = held_.find(tags_.close, from);
  if (close != std::string::npos) {
    const size_t size = TrimmedSize(close);
    Emit(true, size, pieces);
    held_.erase(0, close - size + tags_.close.size());
    white_ = 0;
    state_ = State::kContentStart;
    return true;
  }
  const size_t begun = finished ? 0 : TagBegun(held_, tags_.close);
  const size_t whole = held_.size() - begun;
  const size_t size = TrimmedSize(whole);
  Emit(true, size, pieces);
  white_ = whole - size;
  return false;
}

size_t ReasoningSplitter::FindText() {
  const size_t begin = held_.find_first_not_of(kLineSpace, white_);
  const size_t end = std::min(begin, held_.size());
  looked_at_bytes_ += end - white_;
  white_ = end;
  return begin;
}

size_t ReasoningSplitter::TrimmedSize(size_t size) {
  const size_t white = std::min(white_, size);
  looked_at_bytes_ += size - white;
  const size_t last =
      std::string_view(held_).substr(white, size - white).find_last_not_of(kLineSpace);
  return last == std::string_view::npos ? 0 : white + last + 1;
}

// Drops lines of white space from the held text once their end is known.
bool ReasoningSplitter::DropBlankLines(State next) {
  const size_t begin = FindText();
  if (begin == std::string::npos) return false;
  if (begin > 0) {
    const size_t newline = held_.find_last_of("\r\n", begin - 1);
    if (newline != std::string::npos) held_.erase(0, newline + 1);
  }
  white_ = 0;
  state_ = next;
  return true;
}

void ReasoningSplitter::Emit(bool reasoning, size_t size, std::vector<Piece>* pieces) {
  if (size == 0) return;
  pieces->push_back({reasoning, held_.substr(0, size)});
  held_.erase(0, size);
}

std::vector<TextRange> FindReasoning(const ReasoningTags& tags, std::string_view text) {
  std::vector<TextRange> ranges;
  size_t open = text.find(tags.open);
  while (open != std::string_view::npos) {
    const size_t inside = open + tags.open.size();
    const size_t close = text.find(tags.close, inside);
    if (close == std::string_view::npos) break;
    ranges.push_back({text.substr(0, close).rfind(tags.open), close + tags.close.size()});
    open = text.find(tags.open, ranges.back().end);
  }
  return ranges;
}

bool OpensReasoning(const ReasoningTags& tags, std::string_view generation_prompt) {
  const size_t open = generation_prompt.rfind(tags.open);
  if (open == std::string_view::npos) return false;
  return generation_prompt.find_first_not_of(kLineSpace, open + tags.open.size()) ==
         std::string_view::npos;
}

// Reasoning may contain anything but the closing tag, so its rules track how much of the tag has
// matched: in rule `reasoning-2` the text ends with the tag's first two characters.
std::string GrammarWithReasoning(const ReasoningTags& tags, std::string_view content_rules,
                                 bool starts_inside) {
  const std::vector<uint32_t> close = Characters(tags.close);
  const auto rule = [](size_t matched) { return "reasoning-" + std::to_string(matched); };
  std::vector<uint32_t> letters = close;
  std::sort(letters.begin(), letters.end());
  letters.erase(std::unique(letters.begin(), letters.end()), letters.end());
  std::string others;
  for (const uint32_t letter : letters) others += EscapedCharacter(letter);
  std::string open;
  for (const uint32_t character : Characters(tags.open)) open += EscapedCharacter(character);

  std::string text(content_rules);
  text += "\n" + std::string(kAnswerRule) + " ::= ";
  text += starts_inside ? "reasoning-0 root\n" : "(\"" + open + "\" reasoning-0)? root\n";
  for (size_t matched = 0; matched < close.size(); ++matched) {
    text += rule(matched) + " ::= [^" + others + "] " + rule(0);
    for (const uint32_t letter : letters) {
      text +=
          " | \"" + EscapedCharacter(letter) + "\" " + rule(MatchedAfter(close, matched, letter));
    }
    text += "\n";
  }
  return text + rule(close.size()) + " ::= [ \\n]{0,4}\n";
}

}  // namespace cairn
