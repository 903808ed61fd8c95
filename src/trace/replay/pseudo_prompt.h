// PseudoPrompt: a dialogue as tokens of a made-up vocabulary, for traces that are text and have no
// model. It is written as ChatML; its boundaries are those that the chat layer would report:
//
//   <|im_start|>system\n … <|im_end|>\n<|im_start|>user\n … <|im_end|>\n<|im_start|>assistant\n
//                                       header_end, turn ^         messages_end ^
//
// A token text is up to six letters with the blank before them, up to three digits, or up to three
// other characters of one kind (punctuation or white space); the token is its hash. English with
// JSON in it has about four bytes per token, as with real vocabularies. Real tokenizers split words
// elsewhere, so counts differ by some percent; the prefix that two texts share does not change.
//
//
// A value; any thread.

#ifndef CAIRN_TRACE_REPLAY_PSEUDO_PROMPT_H_
#define CAIRN_TRACE_REPLAY_PSEUDO_PROMPT_H_

#include <string_view>

#include "base/tokens.h"
#include "policy/prompt_shape.h"

namespace cairn {

class PseudoPrompt {
 public:
  enum class Role { kSystem, kUser, kTool, kAssistant };

  // Appends a message.
  void Add(Role role, std::string_view text);

  // Returns the messages and the generation prompt.
  Tokens tokens() const;
  // Returns the boundaries within tokens().
  PromptShape shape() const;
  // Returns the tokens that a model generates for the answer `text`, without the end token. With
  // tokens() before them they are a prefix of the prompt after Add(kAssistant, text).
  static Tokens Answer(std::string_view text);

 private:
  Tokens tokens_;
  PromptShape shape_;
  bool begun_ = false;  // a message other than the system's was added
};

}  // namespace cairn

#endif  // CAIRN_TRACE_REPLAY_PSEUDO_PROMPT_H_
