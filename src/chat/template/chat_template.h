// ChatTemplate: a model's Jinja template, ready to render conversations to prompts.
//
// Constant after Parse; thread-safe. Never throws or prints: failures of a template or a
// conversation are returned as Errors.

#ifndef CAIRN_CHAT_TEMPLATE_CHAT_TEMPLATE_H_
#define CAIRN_CHAT_TEMPLATE_CHAT_TEMPLATE_H_

#include <memory>
#include <string>

#include "base/result.h"
#include "chat/learn/reasoning_tags.h"
#include "chat/syntax/learned_calls.h"
#include "chat/template/rendered_text.h"
#include "chat/template/template_caps.h"
#include "chat/text/message.h"

namespace cairn {

class ChatTemplate {
 public:
  // `bos_text` and `eos_text` are the values of the template's bos_token and eos_token. Returns
  // kInvalidArgument if the source is not a template; the message names row and column.
  static Result<std::unique_ptr<ChatTemplate>> Parse(std::string source, std::string bos_text,
                                                     std::string eos_text);
  // Returns a template that renders nothing: Render returns kUnsupported with `why`, and the rest
  // is that of a template without any ability. For a server whose other routes need no template.
  static std::unique_ptr<ChatTemplate> Unreadable(std::string source, std::string why);
  ~ChatTemplate();
  ChatTemplate(const ChatTemplate&) = delete;
  ChatTemplate& operator=(const ChatTemplate&) = delete;

  // Empty unless it was made by Unreadable.
  const std::string& unreadable() const { return unreadable_; }
  // Returns the prompt. It may begin with bos_text; the tokenizer must then not add another one.
  // Returns kInvalidArgument if the template refused the conversation (with its message), if it
  // could not be rendered, or if a part of the conversation is not valid.
  Result<std::string> Render(const Conversation& conversation, bool add_generation_prompt) const;
  // The same, with the origin of every byte.
  Result<RenderedText> RenderWithOrigins(const Conversation& conversation,
                                         bool add_generation_prompt) const;

  const std::string& source() const { return source_; }
  const TemplateCaps& caps() const { return caps_; }
  // The syntax in which it writes tool calls; null if that could not be learned.
  const std::shared_ptr<const LearnedCalls>& learned_calls() const { return learned_calls_; }
  // The texts around the model's reasoning.
  const ReasoningTags& reasoning_tags() const { return reasoning_tags_; }

 private:
  class Program;

  ChatTemplate(std::string source, std::unique_ptr<Program> program, std::string unreadable = "");

  const std::string source_;
  const std::unique_ptr<const Program> program_;  // null if it is unreadable
  const std::string unreadable_;
  const TemplateCaps caps_;
  std::shared_ptr<const LearnedCalls> learned_calls_;
  const ReasoningTags reasoning_tags_;
};

}  // namespace cairn

#endif  // CAIRN_CHAT_TEMPLATE_CHAT_TEMPLATE_H_
