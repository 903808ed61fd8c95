// ChatService: from a conversation to an answer on its way. It renders the prompt, finds the token
// positions of its messages, and hands both to the scheduler.
//
// Threads: any, at the same time. It owns nothing but what is said; all it points to outlives it.

#ifndef CAIRN_API_CHAT_SERVICE_H_
#define CAIRN_API_CHAT_SERVICE_H_

#include <memory>
#include <string>
#include <string_view>

#include "api/chat_request.h"
#include "chat/answer_parser.h"
#include "chat/chat_template.h"
#include "chat/spans.h"
#include "engine/engine.h"
#include "sched/scheduler.h"

namespace cairn {

struct StartedChat {
  std::shared_ptr<Generation> generation;
  std::unique_ptr<AnswerParser> parser;
};

class ChatService {
 public:
  ChatService(const Engine* engine, const ChatTemplate* chat_template, Scheduler* scheduler)
      : engine_(engine), template_(chat_template), scheduler_(scheduler) {}

  ApiResult<StartedChat> Start(ChatRequest request, NamespaceId name_space) const;
  // The prompt's text, generation prompt included.
  ApiResult<std::string> Render(const Conversation& conversation) const;

  const Engine& engine() const { return *engine_; }
  const ChatTemplate& chat_template() const { return *template_; }
  SchedulerStats stats() const { return scheduler_->stats(); }

 private:
  // Of answers whose content is `content`, with the reasoning that this model puts before it.
  Result<std::shared_ptr<const Grammar>> AnswerGrammar(const std::string& content,
                                                       std::string_view generation_prompt) const;
  // What placement needs to know of the prompt. `adds_bos`: the first token is no part of `text`.
  PromptShape ShapeOf(std::string_view text, const TextShape& text_shape, const Tokens& tokens,
                      bool adds_bos) const;

  const Engine* const engine_;
  const ChatTemplate* const template_;
  Scheduler* const scheduler_;
};

}  // namespace cairn

#endif  // CAIRN_API_CHAT_SERVICE_H_
