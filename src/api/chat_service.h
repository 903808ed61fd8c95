// ChatService: from a conversation to an answer on its way. It makes the conversation canonical,
// renders the prompt, tokenises it (answers that it gave before as the tokens they were generated
// as), finds the token positions of its messages, and hands all to the scheduler.
//
// Threads: any, at the same time. All it points to outlives it.

#ifndef CAIRN_API_CHAT_SERVICE_H_
#define CAIRN_API_CHAT_SERVICE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "api/admin/explanation.h"
#include "api/admin/request_log.h"
#include "api/answer/answer_script.h"
#include "api/answer/answer_tokens.h"
#include "api/job_thread.h"
#include "api/openai/chat_request.h"
#include "api/prompt/conversation_cut.h"
#include "api/prompt/rolling_window.h"
#include "api/prompt/tool_order.h"
#include "base/log.h"
#include "chat/canonical.h"
#include "chat/parse/answer_parser.h"
#include "chat/spans/mark_places.h"
#include "chat/spans/span_cache.h"
#include "chat/spans/token_map.h"
#include "chat/spans/volatile_text.h"
#include "chat/template/chat_template.h"
#include "chat/template/prompt_text.h"
#include "chat/template/reasoning_controls.h"
#include "engine/engine.h"
#include "sched/scheduler.h"

namespace cairn {

struct StartedChat {
  std::shared_ptr<Generation> generation;
  std::unique_ptr<AnswerParser> parser;
  // Of the answers after the first, when the request asked for several.
  std::vector<std::unique_ptr<AnswerParser>> other_parsers = {};
  std::vector<ClientMark> marks = {};  // of the prompt, whose positions are exact
  ExplainedPrompt explained = {};
  // Told in the answer; null: nobody asked for it.
  std::shared_ptr<const RequestRecord> record = {};
  LogSink log = {};  // may be empty
};

struct ChatServiceOptions {
  CanonicalOptions canonical;
  // Of answers' tokens that are kept for when the answers come back.
  size_t answer_bytes_max = size_t{64} << 20U;
  // Of conversations' prompts whose boundaries are kept.
  size_t span_bytes_max = size_t{32} << 20U;
  // Of conversations' tools whose order is kept.
  size_t tool_lists_max = 4096;
  // Decides answers beforehand, whatever grammar a request has of its own; may be null.
  const AnswerScript* script = nullptr;
  // Find messages' boundaries for models too that need no checkpoints: a record wants them.
  bool find_boundaries = false;
  // Gives a conversation's volatile texts their first values back; null: none does.
  std::shared_ptr<VolatileText> volatile_text = {};
  // After an answer, have the scheduler read ahead how the conversation comes back.
  bool warm = false;
  // Leave out the oldest turns of a conversation that does not fit the context, instead of
  // refusing it (api/prompt/conversation_cut.h).
  bool cuts_overflow = false;
  // An assistant's message at the end of a conversation is continued (api/prompt/prefill.h).
  bool prefill_assistant = true;
  // Of conversations that do not say; one of ReasoningEfforts(), or empty.
  std::string reasoning_effort;
  // The text of a JSON object, or empty. A request's own keys win.
  std::string template_kwargs_json;
  LogSink log = {};  // may be empty
};

class ChatService {
 public:
  ChatService(const Engine* engine, const ChatTemplate* chat_template, Scheduler* scheduler,
              const ChatServiceOptions& options = {});
  // Requests may still be on their way.
  ~ChatService();
  ChatService(const ChatService&) = delete;
  ChatService& operator=(const ChatService&) = delete;

  ApiResult<StartedChat> Start(ChatRequest request, NamespaceId name_space) const;
  // A prompt that is there already.
  ApiResult<std::shared_ptr<Generation>> Submit(GenerationRequest request) const;
  // How many tokens it held. See SlotCommands::Erase.
  ApiResult<size_t> EraseSlot(size_t slot, NamespaceId name_space) const;
  // See Scheduler.
  Status Look(std::function<void(CheckpointCache* cache)> look) const {
    return scheduler_->Look(std::move(look));
  }
  Result<size_t> Flush() const { return scheduler_->Flush(); }
  // The prompt's text, up to where the answer begins; tools in the order of the request.
  ApiResult<std::string> Render(const Conversation& conversation) const;
  // The prompt's tokens, as Start would send them.
  ApiResult<Tokens> PromptTokens(const Conversation& conversation, NamespaceId name_space) const;

  const Engine& engine() const { return *engine_; }
  const ChatTemplate& chat_template() const { return *template_; }
  // Null where conversations that do not fit are refused.
  const ConversationCut* conversation_cut() const { return cut_.get(); }
  // What volatile texts are found by.
  std::vector<std::string> volatile_patterns() const;
  SchedulerStats stats() const { return scheduler_->stats(); }
  SpanStats span_stats() const { return spans_->stats(); }

 private:
  // A prompt, ready to be read.
  struct Prompt {
    PromptText text;
    Tokens tokens;
    std::vector<MarkPlace> marks = {};
    size_t pinned_texts = 0;
    size_t dropped_messages = 0;
    bool adds_bos = false;  // the first token is no part of the text
    std::vector<Message> messages = {};
    bool has_tools = false;
    std::shared_ptr<const TokenMap> map = {};  // null: nobody wanted it so far
  };

  // Tells the template of the reasoning that is wanted, by kwargs.
  void TellReasoning(Conversation* conversation) const;
  // REQUIRES: `conversation` is canonical.
  ApiResult<PromptText> ToText(const Conversation& conversation, ClientSpans spans) const;
  // What becomes of one that does not fit the context, where the server cuts at all.
  enum class Overflow : uint8_t { kKeep, kCut };
  // `reuse`: what earlier requests left may decide among tokens and orders that mean the same.
  ApiResult<Prompt> ToPrompt(Conversation conversation, NamespaceId name_space, bool reuse,
                             Overflow overflow) const;
  // REQUIRES: `conversation` is canonical, and its time is set.
  ApiResult<Prompt> ToCutPrompt(const Conversation& conversation, NamespaceId name_space,
                                bool reuse) const;
  ApiResult<Prompt> ToWholePrompt(const Conversation& conversation, NamespaceId name_space,
                                  bool reuse) const;
  // Of answers whose content is `content`, with the reasoning that this model puts before it.
  // `prefilled`: of the answer, what stands behind the generation prompt already.
  Result<std::shared_ptr<const Grammar>> AnswerGrammar(const std::string& content,
                                                       std::string_view generation_prompt,
                                                       std::string_view prefilled) const;
  ExplainedPrompt ToExplain(Prompt prompt, Tokens tokens) const;
  // What placement needs to know of the prompt. Leaves the map in it if it had to make one.
  PromptShape ShapeOf(Prompt* prompt) const;

  // In chat_next_turn.cc.
  // What was asked, for when its answer is there.
  struct AskedTurn {
    NamespaceId name_space = 0;
    AnswerFormat format = {};
    // When the next turn is to be read ahead; else nothing.
    std::shared_ptr<const Conversation> conversation = {};
    Tokens prompt = {};
  };
  std::function<void(const FinishedAnswer&)> WhenAnswered(AskedTurn asked,
                                                          const PromptKey& key) const;
  // `text`: the answer's, all of it. On the job thread.
  void ExpectNextTurn(const AskedTurn& asked, std::string_view text, uint64_t admission) const;
  // Of an expected conversation's prompt.
  struct Known {
    Tokens tokens = {};       // before the messages that are not known; empty: none
    size_t before_asked = 0;  // of these, what stands before the message that was answered
  };
  // Its last `unknown` messages are not known, and the one before them is the answer.
  Known KnownPart(Conversation conversation, size_t unknown, NamespaceId name_space) const;

  const Engine* const engine_;
  const ChatTemplate* const template_;
  Scheduler* const scheduler_;
  const ChatServiceOptions options_;
  const SpecialTexts specials_;
  const ReasoningControls reasoning_controls_;
  mutable std::atomic<uint32_t> efforts_told_ = 0;  // a bit each, of those that were logged
  // Shared with requests that are on their way.
  const std::shared_ptr<AnswerTokens> answers_;
  const std::unique_ptr<SpanCache> spans_;
  const std::unique_ptr<ToolOrder> tool_order_;
  const std::unique_ptr<const ConversationCut> cut_;  // null: nothing is cut
  mutable std::mutex large_prompt_mutex_;
  const std::unique_ptr<RollingWindows> rolling_;  // the job thread's alone
  // For what is done after an answer; shared with requests that are on their way. Null: nothing is.
  const std::shared_ptr<JobThread> jobs_;
};

}  // namespace cairn

#endif  // CAIRN_API_CHAT_SERVICE_H_
