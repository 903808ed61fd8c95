// ChatService: turns a conversation into a running generation. It normalizes the conversation,
// renders the prompt, tokenizes it (earlier answers as the tokens they were generated as), finds
// the token positions of the messages, and submits the request to the scheduler.
//
// Threads: any, concurrently. Everything it points to outlives it.

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
  // Parsers of the answers after the first, if the request asked for several.
  std::vector<std::unique_ptr<AnswerParser>> other_parsers = {};
  std::vector<ClientMark> marks = {};  // marks of the prompt with exact positions
  ExplainedPrompt explained = {};
  // The record to report in the answer. Null if the request did not ask for an explanation.
  std::shared_ptr<const RequestRecord> record = {};
  LogSink log = {};  // may be empty
};

struct ChatServiceOptions {
  CanonicalOptions canonical;
  // Budget for tokens of answers, which are reused when the answers come back in a prompt.
  size_t answer_bytes_max = size_t{64} << 20U;
  // Budget for prompts with known message boundaries.
  size_t span_bytes_max = size_t{32} << 20U;
  // Maximum number of tool lists whose order is kept.
  size_t tool_lists_max = 4096;
  // Fixes the answers, overriding a request's grammar; may be null.
  const AnswerScript* script = nullptr;
  // Find message boundaries also for models that need no checkpoints, because --trace-out records
  // them.
  bool find_boundaries = false;
  // Replaces a conversation's volatile texts by their first values. Null if none are pinned.
  std::shared_ptr<VolatileText> volatile_text = {};
  // After an answer, prefetch the form in which the conversation will come back.
  bool warm = false;
  // Drop the oldest turns of a conversation that does not fit the context instead of refusing it
  // (api/prompt/conversation_cut.h).
  bool cuts_overflow = false;
  // Continue an assistant message at the end of a conversation (api/prompt/prefill.h).
  bool prefill_assistant = true;
  // Default reasoning effort of requests: one of ReasoningEfforts(), or empty.
  std::string reasoning_effort;
  // Default template kwargs: a JSON object as text, or empty. A request's keys override them.
  std::string template_kwargs_json;
  LogSink log = {};  // may be empty
};

class ChatService {
 public:
  ChatService(const Engine* engine, const ChatTemplate* chat_template, Scheduler* scheduler,
              const ChatServiceOptions& options = {});
  // Requests may still be running.
  ~ChatService();
  ChatService(const ChatService&) = delete;
  ChatService& operator=(const ChatService&) = delete;

  ApiResult<StartedChat> Start(ChatRequest request, NamespaceId name_space) const;
  // Submits a prompt that is already tokenized.
  ApiResult<std::shared_ptr<Generation>> Submit(GenerationRequest request) const;
  // Returns how many tokens the slot held. See SlotCommands::Erase.
  ApiResult<size_t> EraseSlot(size_t slot, NamespaceId name_space) const;
  // See Scheduler.
  Status Look(std::function<void(CheckpointCache* cache)> look) const {
    return scheduler_->Look(std::move(look));
  }
  Result<size_t> Flush() const { return scheduler_->Flush(); }
  // Returns the prompt's text up to the start of the answer, with tools in the order of the
  // request.
  ApiResult<std::string> Render(const Conversation& conversation) const;
  // Returns the prompt's tokens as Start would submit them.
  ApiResult<Tokens> PromptTokens(const Conversation& conversation, NamespaceId name_space) const;

  const Engine& engine() const { return *engine_; }
  const ChatTemplate& chat_template() const { return *template_; }
  // Null if conversations that do not fit are refused.
  const ConversationCut* conversation_cut() const { return cut_.get(); }
  // The patterns that find volatile texts.
  std::vector<std::string> volatile_patterns() const;
  SchedulerStats stats() const { return scheduler_->stats(); }
  SpanStats span_stats() const { return spans_->stats(); }

 private:
  // A prompt that is ready to be submitted.
  struct Prompt {
    PromptText text;
    Tokens tokens;
    std::vector<MarkPlace> marks = {};
    size_t pinned_texts = 0;
    size_t dropped_messages = 0;
    bool adds_bos = false;  // the first token is no part of the text
    std::vector<Message> messages = {};
    bool has_tools = false;
    std::shared_ptr<const TokenMap> map = {};  // null until it is needed
  };

  // Sets the template kwargs for the requested reasoning.
  void TellReasoning(Conversation* conversation) const;
  // REQUIRES: `conversation` is canonical.
  ApiResult<PromptText> ToText(const Conversation& conversation, ClientSpans spans) const;
  // Whether a conversation that does not fit the context is cut, if the server cuts at all.
  enum class Overflow : uint8_t { kKeep, kCut };
  // With `reuse`, data of earlier requests may choose among equivalent tokens and tool orders.
  ApiResult<Prompt> ToPrompt(Conversation conversation, NamespaceId name_space, bool reuse,
                             Overflow overflow) const;
  // REQUIRES: `conversation` is canonical, and its time is set.
  ApiResult<Prompt> ToCutPrompt(const Conversation& conversation, NamespaceId name_space,
                                bool reuse) const;
  ApiResult<Prompt> ToWholePrompt(const Conversation& conversation, NamespaceId name_space,
                                  bool reuse) const;
  // Returns the grammar of answers whose content matches `content`, with the reasoning that this
  // model writes before it. `prefilled` is the part of the answer that already follows the
  // generation prompt.
  Result<std::shared_ptr<const Grammar>> AnswerGrammar(const std::string& content,
                                                       std::string_view generation_prompt,
                                                       std::string_view prefilled) const;
  ExplainedPrompt ToExplain(Prompt prompt, Tokens tokens) const;
  // Returns the prompt's shape for the placement policy. Stores the token map in the prompt if it
  // had to build one.
  PromptShape ShapeOf(Prompt* prompt) const;

  // In chat_next_turn.cc.
  // The request, kept until its answer is complete.
  struct AskedTurn {
    NamespaceId name_space = 0;
    AnswerFormat format = {};
    // Set if the next turn is to be prefetched.
    std::shared_ptr<const Conversation> conversation = {};
    Tokens prompt = {};
  };
  std::function<void(const FinishedAnswer&)> WhenAnswered(AskedTurn asked,
                                                          const PromptKey& key) const;
  // Prefetches the next turn. `text` is the complete answer. Runs on the job thread.
  void ExpectNextTurn(const AskedTurn& asked, std::string_view text, uint64_t admission) const;
  // The known part of an expected conversation's prompt.
  struct Known {
    Tokens tokens = {};       // before the first unknown message; empty if there are none
    size_t before_asked = 0;  // the number of them before the message that was answered
  };
  // The last `unknown` messages of the conversation are unknown, and the one before them is the
  // answer.
  Known KnownPart(Conversation conversation, size_t unknown, NamespaceId name_space) const;

  const Engine* const engine_;
  const ChatTemplate* const template_;
  Scheduler* const scheduler_;
  const ChatServiceOptions options_;
  const SpecialTexts specials_;
  const ReasoningControls reasoning_controls_;
  mutable std::atomic<uint32_t> efforts_told_ = 0;  // a bit for each effort that was logged
  // Shared with running requests.
  const std::shared_ptr<AnswerTokens> answers_;
  const std::unique_ptr<SpanCache> spans_;
  const std::unique_ptr<ToolOrder> tool_order_;
  const std::unique_ptr<const ConversationCut> cut_;  // null if nothing is cut
  mutable std::mutex large_prompt_mutex_;
  const std::unique_ptr<RollingWindows> rolling_;  // used by the job thread only
  // Runs the work after an answer; shared with running requests. Null if there is no such work.
  const std::shared_ptr<JobThread> jobs_;
};

}  // namespace cairn

#endif  // CAIRN_API_CHAT_SERVICE_H_
