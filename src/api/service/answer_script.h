// AnswerScript: fixed answers by rules, for testing clients against a complete server (--script).
//
// A file of rules selects the answer of a conversation. The model still prefills the prompt and
// samples every token: the answer becomes a grammar that allows exactly its text in the chat
// template's form, and the usual parser parses it.
//
//   {"rules": [
//     {"text": "granite", "answer": {"content": "The stone is granite."}},
//     {"text": "Which stone", "tool": "bash",
//      "answer": {"reasoning": "I look.",
//                 "call": {"name": "bash", "arguments": {"command": "cat stone.txt"}}}},
//     {"answer": {"content": "Nothing to say."}}
//   ]}
//
// The first matching rule applies: `text` occurs in a message after the last answer, and `tool` is
// offered. An image or a recording in a message is a text too, which begins with `<__media__`.
// Without a matching rule the model answers freely.
//
// Threads: any; constant after Parse.

#ifndef CAIRN_API_SERVICE_ANSWER_SCRIPT_H_
#define CAIRN_API_SERVICE_ANSWER_SCRIPT_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/template/chat_template.h"
#include "chat/text/message.h"
#include "engine/grammar/grammar.h"

namespace cairn {

class AnswerScript {
 public:
  // kInvalidArgument names the rule and what is wrong in it.
  static Result<std::unique_ptr<const AnswerScript>> Parse(std::string_view json);

  // Returns the answer for `conversation`. Null if no rule matches.
  const Message* AnswerTo(const Conversation& conversation) const;

  // Returns a grammar that allows only that answer. Null if no rule matches. Errors: those of
  // WrittenAnswer (written_answer.h).
  Result<std::shared_ptr<const Grammar>> GrammarFor(const Conversation& conversation,
                                                    const ChatTemplate& chat_template) const;

 private:
  struct Rule {
    std::string text;
    std::string tool;
    Message answer;
  };

  std::vector<Rule> rules_;
};

}  // namespace cairn

#endif  // CAIRN_API_SERVICE_ANSWER_SCRIPT_H_
