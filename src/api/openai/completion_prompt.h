// The prompt of a plain completion, in the forms that llama-server knows:
//
//   "A cairn is"                           a text
//   [12, "A cairn is", 34]                 tokens and texts of one prompt, concatenated
//   {"prompt_string": "A cairn is"}        a text
//   {"prompt_string": "See <__media__>.",  a text with media: each marker stands for the next one
//    "multimodal_data": ["iVBORw0K…"]}     of the list, whose items are files as base64
//   ["A cairn is", [12, 34], {…}]          a list of prompts: texts alone, or any of the above

#ifndef CAIRN_API_OPENAI_COMPLETION_PROMPT_H_
#define CAIRN_API_OPENAI_COMPLETION_PROMPT_H_

#include <functional>
#include <string>
#include <vector>

#include "api/api_error.h"
#include "api/json.h"
#include "api/media/media_reader.h"
#include "api/media/placed_medium.h"
#include "api/service/chat_service.h"
#include "base/tokens.h"
#include "cache/objects/segment_index.h"
#include "policy/prompt_shape.h"

namespace cairn {

struct CompletionPrompt {
  Tokens tokens = {};
  PromptShape shape = {};
  std::vector<PlacedMedium> media = {};
  std::string text = {};  // as the client wrote it; empty for a list of tokens
};

// The most prompts of one request; OpenAI's limit.
inline constexpr size_t kPromptsMax = 2048;

// Reads the field `prompt` of a request's body, one prompt or several. Every error is a 400 that
// names the part. `key`: the namespace of the client's key, which takes turns with others at
// decoding media. `gone`: whether the client has left; its media are not decoded then. Any thread.
ApiResult<std::vector<CompletionPrompt>> ReadCompletionPrompts(
    const ChatService& service, const Json& body, NamespaceId key,
    const std::function<bool()>& gone = {});

// Reads one prompt that is an object. `media` reads its files, for the namespace `key`.
ApiResult<CompletionPrompt> ReadPromptObject(const ChatService& service, const Json& prompt,
                                             const std::string& place, NamespaceId key,
                                             MediaReader* media);

}  // namespace cairn

#endif  // CAIRN_API_OPENAI_COMPLETION_PROMPT_H_
