#include "api/prompt/prompt_limits.h"

#include <algorithm>
#include <limits>

#include "sched/request/generation_request.h"

namespace cairn {
namespace {

// Assumed where the vocabulary does not say it.
constexpr size_t kTokenBytesAssumed = 1024;

size_t TokenBytesMax(const Engine& engine) {
  const size_t known = engine.info().token_bytes_max;
  return known > 0 ? known : kTokenBytesAssumed;
}

// Returns the bytes of the longest text that `tokens` tokens may stand for.
size_t BytesOfTokens(const Engine& engine, size_t tokens) {
  const size_t token_bytes_max = TokenBytesMax(engine);
  if (tokens > std::numeric_limits<size_t>::max() / token_bytes_max) return SIZE_MAX;
  return tokens * token_bytes_max;
}

}  // namespace

bool IsTokenId(const Json& value, const Engine& engine) {
  return value.is_number_integer() && value.get<int64_t>() >= 0 &&
         value.get<int64_t>() < static_cast<int64_t>(engine.info().vocab_size);
}

size_t LeastBytes(const Conversation& conversation) {
  size_t bytes = 0;
  for (const Message& message : conversation.messages) {
    const bool stays = message.role == Role::kUser || message.role == Role::kTool;
    if (stays) bytes += message.content.size() - MarkerBytes(message.media);
  }
  return bytes;
}

size_t BytesOf(const Conversation& conversation) {
  size_t bytes = conversation.tools.text().size() + conversation.template_kwargs_json.size();
  for (const Message& message : conversation.messages) {
    bytes += message.content.size() - MarkerBytes(message.media) + message.reasoning.size() +
             message.tool_call_id.size() + message.name.size();
    for (const ToolCall& call : message.tool_calls) {
      bytes += call.id.size() + call.name.size() + call.arguments.size();
    }
  }
  return bytes;
}

size_t PromptLimits::bytes_max(TextUse use) const {
  const size_t fitting = BytesOfTokens(*engine_, engine_->context_tokens()) - 1;
  return use == TextUse::kPrompt ? fitting : std::max(fitting, kCountedBytes);
}

ApiResult<void> PromptLimits::CheckBytes(TextUse use, size_t bytes) const {
  if (bytes <= bytes_max(use)) return {};
  if (use == TextUse::kPrompt) {
    return tl::unexpected(TooLong(bytes / TokenBytesMax(*engine_), true));
  }
  ApiError error;
  error.status = 400;
  error.type = ErrorType(400);
  error.message = "the request has " + std::to_string(bytes) +
                  " bytes of text, and this server tokenizes " + std::to_string(bytes_max(use)) +
                  " bytes at most: send less text";
  return tl::unexpected(error);
}

ApiResult<void> PromptLimits::CheckTokens(TextUse use, size_t tokens, bool more_follow) const {
  if (use == TextUse::kCounted || tokens < engine_->context_tokens()) return {};
  return tl::unexpected(TooLong(tokens, more_follow));
}

ApiError PromptLimits::TooLong(size_t tokens, bool at_least) const {
  const std::string count = (at_least ? "at least " : "") + std::to_string(tokens);
  ApiError error = ToApiError(PromptTooLong(count, engine_->context_tokens()));
  error.prompt_tokens = tokens;
  error.context_tokens = engine_->context_tokens();
  return error;
}

std::unique_ptr<MutexLock> PromptLimits::WaitForTurn(size_t bytes) const {
  return bytes > kLongBytes ? std::make_unique<MutexLock>(long_text_mutex_) : nullptr;
}

ApiResult<Tokens> PromptLimits::Tokenize(TextUse use, std::string_view text, bool add_special,
                                         bool parse_special) const {
  if (auto fits = CheckBytes(use, text.size()); !fits) return tl::unexpected(fits.error());
  const auto turn = WaitForTurn(text.size());
  auto tokens = engine_->Tokenize(text, add_special, parse_special);
  if (!tokens) return tl::unexpected(ToApiError(tokens.error()));
  return *std::move(tokens);
}

ApiResult<void> CheckEncodedText(const Engine& engine, size_t tokens_max, size_t bytes,
                                 const std::string& place) {
  const size_t bytes_max = std::max(BytesOfTokens(engine, tokens_max), PromptLimits::kEncodedBytes);
  if (bytes <= bytes_max) return {};
  return tl::unexpected(FieldError(place, "of at most " + std::to_string(bytes_max) +
                                              " bytes, not " + std::to_string(bytes) +
                                              ": send the text in parts"));
}

}  // namespace cairn
