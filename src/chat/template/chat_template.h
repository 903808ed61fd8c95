// ChatTemplate: a model's Jinja template, ready to turn conversations into prompts.
//
// Constant after Parse; any thread may call anything. Nothing throws and nothing is printed:
// whatever a template or a conversation does wrong comes back as an Error.

#ifndef CAIRN_CHAT_TEMPLATE_CHAT_TEMPLATE_H_
#define CAIRN_CHAT_TEMPLATE_CHAT_TEMPLATE_H_

#include <memory>
#include <string>

#include "base/result.h"
#include "chat/learn/learned_calls.h"
#include "chat/message.h"
#include "chat/parse/reasoning_tags.h"
#include "chat/template/template_caps.h"

namespace cairn {

class ChatTemplate {
 public:
  // `bos_text` and `eos_text` are what the template prints for bos_token and eos_token.
  // kInvalidArgument: not a template; the message names row and column.
  static Result<std::unique_ptr<ChatTemplate>> Parse(std::string source, std::string bos_text,
                                                     std::string eos_text);
  ~ChatTemplate();
  ChatTemplate(const ChatTemplate&) = delete;
  ChatTemplate& operator=(const ChatTemplate&) = delete;

  // The prompt. It may begin with bos_text: a tokenizer must then not add another.
  // kInvalidArgument: the template refused the conversation (in its own words), could not render
  // it, or a part of the conversation is not what it must be.
  Result<std::string> Render(const Conversation& conversation, bool add_generation_prompt) const;

  const std::string& source() const { return source_; }
  const TemplateCaps& caps() const { return caps_; }
  // How it writes calls of tools; null when that could not be learned.
  const std::shared_ptr<const LearnedCalls>& learned_calls() const { return learned_calls_; }
  // What the model's reasoning stands between.
  const ReasoningTags& reasoning_tags() const { return reasoning_tags_; }

 private:
  class Program;

  ChatTemplate(std::string source, std::unique_ptr<Program> program);

  const std::string source_;
  const std::unique_ptr<const Program> program_;
  const TemplateCaps caps_;
  std::shared_ptr<const LearnedCalls> learned_calls_;
  const ReasoningTags reasoning_tags_;
};

}  // namespace cairn

#endif  // CAIRN_CHAT_TEMPLATE_CHAT_TEMPLATE_H_
