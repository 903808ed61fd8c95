// AnswerScript: answers that are decided beforehand, for testing clients against a whole server.
//
// A file of rules says which answer a conversation gets. The model still reads the prompt and
// still draws every token: the answer becomes a grammar that allows exactly its text, written as
// the chat template writes answers, and what parses real answers parses this one too.
//
//   {"rules": [
//     {"text": "granite", "answer": {"content": "The stone is granite."}},
//     {"text": "Which stone", "tool": "bash",
//      "answer": {"reasoning": "I look.",
//                 "call": {"name": "bash", "arguments": {"command": "cat stone.txt"}}}},
//     {"answer": {"content": "Nothing to say."}}
//   ]}
//
// The first rule that holds is taken: `text` stands in a message that came after the last answer,
// `tool` is offered. Where no rule holds the model answers as it likes.
//
// Constant after Parse; any thread may call anything.

#ifndef CAIRN_API_ANSWER_ANSWER_SCRIPT_H_
#define CAIRN_API_ANSWER_ANSWER_SCRIPT_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/message.h"
#include "chat/template/chat_template.h"
#include "engine/grammar/grammar.h"

namespace cairn {

class AnswerScript {
 public:
  // kInvalidArgument: what is wrong, and in which rule.
  static Result<std::unique_ptr<const AnswerScript>> Parse(std::string_view json);

  // The answer that `conversation` gets; null when no rule holds.
  const Message* AnswerTo(const Conversation& conversation) const;

  // That answer as the only one that may be drawn; null when no rule holds. Errors: as those of
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

#endif  // CAIRN_API_ANSWER_ANSWER_SCRIPT_H_
