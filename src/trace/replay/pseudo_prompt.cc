#include "trace/replay/pseudo_prompt.h"

#include <algorithm>

#include "base/hash.h"

namespace cairn {
namespace {

// Outside the range of token hashes.
constexpr Token kMessageStart = 1;
constexpr Token kMessageEnd = 2;
constexpr Token kFirstPiece = 256;

constexpr size_t kLettersMax = 6;
constexpr size_t kOthersMax = 3;

enum class Kind { kLetter, kDigit, kBlank, kMark };

// Bytes beyond ASCII count as letters.
Kind KindOf(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (byte >= 0x80U || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return Kind::kLetter;
  if (c >= '0' && c <= '9') return Kind::kDigit;
  return c == ' ' || c == '\n' || c == '\t' || c == '\r' ? Kind::kBlank : Kind::kMark;
}

size_t PieceBytes(std::string_view text) {
  size_t begin = 0;
  if (text[0] == ' ' && text.size() > 1 && KindOf(text[1]) == Kind::kLetter) begin = 1;
  const Kind kind = KindOf(text[begin]);
  const size_t most = begin + (kind == Kind::kLetter ? kLettersMax : kOthersMax);
  size_t end = begin + 1;
  while (end < text.size() && end < most && KindOf(text[end]) == kind) ++end;
  return end;
}

void AppendPieces(std::string_view text, Tokens* tokens) {
  constexpr uint64_t kPieces = static_cast<uint64_t>(INT32_MAX) - kFirstPiece;
  while (!text.empty()) {
    const size_t bytes = PieceBytes(text);
    const uint64_t hash = Hash64(text.substr(0, bytes));
    tokens->push_back(kFirstPiece + static_cast<Token>(hash % kPieces));
    text.remove_prefix(bytes);
  }
}

std::string_view RoleName(PseudoPrompt::Role role) {
  switch (role) {
    case PseudoPrompt::Role::kSystem:
      return "system";
    case PseudoPrompt::Role::kUser:
      return "user";
    case PseudoPrompt::Role::kTool:
      return "tool";
    case PseudoPrompt::Role::kAssistant:
      return "assistant";
  }
  return "";
}

void AppendOpening(PseudoPrompt::Role role, Tokens* tokens) {
  tokens->push_back(kMessageStart);
  AppendPieces(RoleName(role), tokens);
  AppendPieces("\n", tokens);
}

}  // namespace

void PseudoPrompt::Add(Role role, std::string_view text) {
  AppendOpening(role, &tokens_);
  if (role == Role::kUser || role == Role::kTool) {
    if (!begun_) shape_.header_end = tokens_.size();
    shape_.turns.push_back({tokens_.size(), role == Role::kUser});
  }
  begun_ = begun_ || role != Role::kSystem;
  AppendPieces(text, &tokens_);
  tokens_.push_back(kMessageEnd);
  shape_.eog_ends.push_back(tokens_.size());
  AppendPieces("\n", &tokens_);
  shape_.messages_end = tokens_.size();
}

Tokens PseudoPrompt::tokens() const {
  Tokens tokens = tokens_;
  AppendOpening(Role::kAssistant, &tokens);
  return tokens;
}

PromptShape PseudoPrompt::shape() const {
  PromptShape shape = shape_;
  shape.tokens = tokens().size();
  return shape;
}

Tokens PseudoPrompt::Answer(std::string_view text) {
  Tokens tokens;
  AppendPieces(text, &tokens);
  return tokens;
}

}  // namespace cairn
