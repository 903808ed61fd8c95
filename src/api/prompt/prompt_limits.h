// PromptLimits: how long the texts of a request may be that are tokenized. Tokenizing takes many
// times a text's size in memory, so every text of every route goes through here before that, and
// long ones are at work one at a time.
//
//   conversation   LeastBytes of it     400 at once: no template could make it fit
//                  rendered             CheckBytes, then tokenized, then CheckTokens
//   other texts    Tokenize
//
// Threads: any, concurrently.

#ifndef CAIRN_API_PROMPT_PROMPT_LIMITS_H_
#define CAIRN_API_PROMPT_PROMPT_LIMITS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "api/api_error.h"
#include "base/json.h"
#include "base/mutex.h"
#include "base/tokens.h"
#include "chat/text/message.h"
#include "engine/engine.h"

namespace cairn {

// Why a text is tokenized, which decides how long it may be.
enum class TextUse : uint8_t {
  kPrompt,   // it must fit the context
  kCounted,  // it is counted, rendered or cut to size, so it may be longer than the context
};

// Returns a lower bound of the prompt's bytes: every template contains the text of user and tool
// messages. Markers of media are not counted.
size_t LeastBytes(const Conversation& conversation);
// Returns the bytes of all texts that a template may print.
size_t BytesOf(const Conversation& conversation);

// Whether the value is the number of a token of the engine's vocabulary.
bool IsTokenId(const Json& value, const Engine& engine);

class PromptLimits {
 public:
  // A text of more bytes has its turn alone.
  static constexpr size_t kLongBytes = size_t{4} << 20;
  // Texts of so many bytes are counted whatever the context is.
  static constexpr size_t kCountedBytes = size_t{4} << 20;
  // The same for one text of an embedding or a reranking. Such models may leave out white space and
  // read a long word as one token, so a text's bytes say little of its tokens.
  static constexpr size_t kEncodedBytes = size_t{1} << 20;

  // `engine` outlives it.
  explicit PromptLimits(const Engine* engine) : engine_(engine) {}
  PromptLimits(const PromptLimits&) = delete;
  PromptLimits& operator=(const PromptLimits&) = delete;

  // The most bytes of a text of that use; a prompt of more cannot fit, because a token has at most
  // ModelInfo::token_bytes_max bytes.
  size_t bytes_max(TextUse use) const;
  // Returns a 400 if a text has more bytes, or for a prompt more tokens, than it may have. With
  // `more_follow` the tokens are those of a part of the prompt.
  ApiResult<void> CheckBytes(TextUse use, size_t bytes) const;
  ApiResult<void> CheckTokens(TextUse use, size_t tokens, bool more_follow = false) const;

  // Returns the 400 for a prompt of so many tokens, or with `at_least` of that many or more.
  ApiError TooLong(size_t tokens, bool at_least = false) const;

  // Waits while another long text is at work, if a text of `bytes` is one. Hold the result as long
  // as the text's tokens are made. Null for a short text.
  std::unique_ptr<MutexLock> WaitForTurn(size_t bytes) const;

  // Checks the text's bytes, waits for its turn and tokenizes it; see Engine::Tokenize. The number
  // of tokens is for the caller to check.
  ApiResult<Tokens> Tokenize(TextUse use, std::string_view text, bool add_special,
                             bool parse_special) const;

 private:
  const Engine* const engine_;
  mutable Mutex long_text_mutex_;  // guards no member: one long text at a time
};

// Returns a 400 if a text is too long for a model of embeddings or scores, which takes up to
// `tokens_max` tokens. `place` names the text.
ApiResult<void> CheckEncodedText(const Engine& engine, size_t tokens_max, size_t bytes,
                                 const std::string& place);

}  // namespace cairn

#endif  // CAIRN_API_PROMPT_PROMPT_LIMITS_H_
