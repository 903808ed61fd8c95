// PseudoPrompt: a dialogue as tokens of a made-up vocabulary, for traces that are text and have no
// model. Written as ChatML, the boundaries where the chat layer would report them:
//
//   <|im_start|>system\n … <|im_end|>\n<|im_start|>user\n … <|im_end|>\n<|im_start|>assistant\n
//                                       header_end, turn ^         messages_end ^
//
// The rule: a piece is up to six letters with the blank before them, up to three digits, or up to
// three other characters that are alike (punctuation or white space); each piece is one token, by
// its hash. On English with JSON in it that is about four bytes a token, as real vocabularies have.
// Where real tokenizers part words otherwise, counts differ by some percent; what two texts share
// does not.
//
// A value; any thread.

#ifndef CAIRN_LAB_SIM_PSEUDO_PROMPT_H_
#define CAIRN_LAB_SIM_PSEUDO_PROMPT_H_

#include <string_view>

#include "base/tokens.h"
#include "policy/prompt_shape.h"

namespace cairn {

class PseudoPrompt {
 public:
  enum class Role { kSystem, kUser, kTool, kAssistant };

  // A message at the end.
  void Add(Role role, std::string_view text);

  // What was added and the generation prompt.
  Tokens tokens() const;
  // Of tokens().
  PromptShape shape() const;
  // What a model that answers `text` generates, without the token that ends it. Added to tokens()
  // it is the beginning of the prompt after Add(kAssistant, text).
  static Tokens Answer(std::string_view text);

 private:
  Tokens tokens_;
  PromptShape shape_;
  bool begun_ = false;  // a message that is not the system's was added
};

}  // namespace cairn

#endif  // CAIRN_LAB_SIM_PSEUDO_PROMPT_H_
