// ChatService: turns a request into a running generation. It has the prompt built
// (api/prompt/prompt_builder.h), finds the grammar and the parsers of the answers, and submits the
// request to the scheduler.
//
// Threads: any, concurrently. Everything it points to outlives it.

#ifndef CAIRN_API_SERVICE_CHAT_SERVICE_H_
#define CAIRN_API_SERVICE_CHAT_SERVICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/grammar/grammar_cache.h"
#include "api/grammar/json_schema.h"
#include "api/media/media_rules.h"
#include "api/prompt/answer_tokens.h"
#include "api/prompt/prompt_builder.h"
#include "api/prompt/rolling_window.h"
#include "api/record/explanation.h"
#include "api/record/request_log.h"
#include "api/request/chat_request.h"
#include "api/service/answer_script.h"
#include "api/service/job_thread.h"
#include "base/log.h"
#include "chat/parse/answer_parser.h"
#include "chat/parse/shown_reasoning.h"
#include "chat/template/chat_template.h"
#include "engine/engine.h"
#include "sched/scheduler_client.h"

namespace cairn {

// Called with the name and the arguments of a call when they are complete, or cut. Any thread.
using CallSink = std::function<void(std::string_view name, std::string_view arguments)>;

struct StartedChat {
  std::shared_ptr<Generation> generation;
  std::unique_ptr<AnswerParser> parser;
  // Parsers of the answers after the first, if the request asked for several.
  std::vector<std::unique_ptr<AnswerParser>> other_parsers = {};
  std::vector<ClientMark> marks = {};  // marks of the prompt with exact positions
  AppliedEdits edits = {};
  ExplainedPrompt explained = {};
  // The record to report in the answer. Null if the request did not ask for an explanation.
  std::shared_ptr<const RequestRecord> record = {};
  // llama-server's `__verbose`: the prompt as the model reads it, and the settings. Null unless the
  // request or the server's options ask for it.
  std::shared_ptr<const Json> verbose = {};
  LogSink log = {};       // may be empty
  CallSink on_call = {};  // may be empty
};

struct ChatServiceOptions {
  PromptOptions prompt;
  // For the parsers of requests.
  MediaRules media = {};
  // Budget for tokens of answers, which are reused when the answers come back in a prompt.
  size_t answer_bytes_max = size_t{64} << 20U;
  // Fixes the answers, overriding a request's grammar; may be null.
  const AnswerScript* script = nullptr;
  // Called before a request with other adapters than those of the start is submitted, so that its
  // states get names on disk. Any thread; may be empty.
  std::function<void(NamespaceId name_space)> on_adapters = {};
  // A schema with a keyword that no grammar enforces is an error.
  bool schema_strict = false;
  // After an answer, prefetch the form in which the conversation will come back.
  bool warm = false;
  ShownReasoning shown_reasoning = ShownReasoning::kApart;
  // false: all of an answer is content, its reasoning and its calls too.
  bool parses_answers = true;
  // OpenAI's answers have `__verbose` unless the request says otherwise.
  bool verbose = false;
};

class ChatService {
 public:
  ChatService(const Engine* engine, const ChatTemplate* chat_template, SchedulerClient* scheduler,
              const ChatServiceOptions& options = {});
  // Requests may still be running.
  ~ChatService();
  ChatService(const ChatService&) = delete;
  ChatService& operator=(const ChatService&) = delete;

  ApiResult<StartedChat> Start(ChatRequest request, NamespaceId key) const;
  // Returns the namespace of a key's request with these adapters, or without any with those of the
  // server. Start does this itself.
  ApiResult<NamespaceId> WithAdaptersOf(const AnswerOptions& options, NamespaceId key) const;
  // Turns the biases of texts into those of their tokens. With `ignore_end`, the tokens that end an
  // answer are never sampled, as in llama-server; under a grammar they may be, since nothing else
  // may follow its end. Submit does this too, for what has not been done yet.
  ApiResult<void> SettleBiases(GenerationParams* params) const;
  // Logs the keywords of a request's schemas that are not enforced. A 400 if the server enforces
  // all.
  ApiResult<void> NoteLoosened(const Loosened& loosened) const;
  // Submits a prompt that is already tokenized.
  ApiResult<std::shared_ptr<Generation>> Submit(GenerationRequest request) const;
  // Returns how many tokens the slot held. See SchedulerClient.
  ApiResult<size_t> EraseSlot(size_t slot, NamespaceId name_space) const;
  // See SchedulerClient.
  Status Look(std::function<void(CheckpointCache* cache)> look) const {
    return scheduler_->Look(std::move(look));
  }
  Result<size_t> Flush() const { return scheduler_->Flush(); }
  Result<size_t> SetCacheLimit(size_t bytes) const { return scheduler_->SetCacheLimit(bytes); }
  void SetDraining(bool draining) const { scheduler_->SetDraining(draining); }
  // Returns the prompt's text up to the start of the answer, with tools in the order of the
  // request, and kNextMediumMarker for each medium.
  ApiResult<std::string> Render(const Conversation& conversation) const;
  // See PromptBuilder.
  ApiResult<PreparedPrompt> PrepareText(std::string text, MarkedMedia media,
                                        NamespaceId name_space) const;
  const PromptLimits& limits() const { return prompts_.limits(); }
  // Returns the prompt's tokens as Start would submit them.
  ApiResult<Tokens> PromptTokens(const Conversation& conversation, NamespaceId name_space) const;

  // Returns the tokens that Start would submit for the request.
  ApiResult<Tokens> RequestTokens(ChatRequest request, NamespaceId name_space) const;

  const Engine& engine() const { return *engine_; }
  const ChatTemplate& chat_template() const { return *template_; }
  const MediaRules& media_rules() const { return options_.media; }
  // The grammars of earlier requests; parsers look them up.
  GrammarCache* grammars() const { return grammars_.get(); }
  bool is_verbose(const AnswerOptions& options) const {
    return options.verbose.value_or(options_.verbose);
  }
  // The same for a request whose client has left once `gone` is true (HttpRequest::gone).
  MediaRules MediaRulesUntil(std::function<bool()> gone) const {
    MediaRules rules = options_.media;
    rules.gone = std::move(gone);
    return rules;
  }
  // Null if conversations that do not fit are refused.
  const ConversationCut* conversation_cut() const { return prompts_.conversation_cut(); }
  // The patterns that find volatile texts.
  std::vector<std::string> volatile_patterns() const;
  // Whether values that change in the old part of a conversation are told at its newest message.
  bool tells_volatile_late() const { return options_.prompt.late_values != nullptr; }
  SchedulerStats stats() const { return scheduler_->stats(); }
  SpanStats span_stats() const { return prompts_.span_stats(); }

 private:
  // The stages of Start; the prompt itself is made by PromptBuilder.

  // The grammar of a scripted answer; null if there is none.
  ApiResult<std::shared_ptr<const Grammar>> ScriptedGrammar(const Conversation& conversation) const;
  // Sets the grammar that the answer is sampled under, if any.
  ApiResult<void> SetGrammar(std::shared_ptr<const Grammar> scripted, const PreparedPrompt& prompt,
                             ChatRequest* request) const;
  // Returns the grammar of answers whose content matches `content`, with the reasoning that this
  // model writes before it. There is none where the prompt has closed it, or where it is not open
  // and the answer may not reason.
  Result<std::shared_ptr<const Grammar>> AnswerGrammar(const std::string& content,
                                                       const PreparedPrompt& prompt,
                                                       bool may_reason) const;
  // Logs which parts of a conversation its messages do not hold.
  void LogLeftOut(const Conversation& conversation) const;
  // All but `on_answer`.
  GenerationRequest ToGeneration(const ChatRequest& request, NamespaceId name_space,
                                 const AnswerFormat& format, const PreparedPrompt& prompt) const;

  // In chat_next_turn.cc.
  // The request, kept until its answer is complete.
  struct AskedTurn {
    NamespaceId name_space = 0;
    AnswerFormat format = {};
    // Set if the next turn is to be prefetched.
    std::shared_ptr<const Conversation> conversation = {};
    Tokens prompt = {};
  };
  AskedTurn AskedOf(const ChatRequest& request, NamespaceId name_space) const;
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
  SchedulerClient* const scheduler_;
  const ChatServiceOptions options_;
  const std::vector<Token> end_tokens_;  // of the vocabulary
  // Shared with running requests.
  const std::shared_ptr<AnswerTokens> answers_;
  const PromptBuilder prompts_;
  const std::unique_ptr<GrammarCache> grammars_ = std::make_unique<GrammarCache>();
  const std::unique_ptr<RollingWindows> rolling_;  // used by the job thread only
  // Runs the work after an answer; shared with running requests. Null if there is no such work.
  const std::shared_ptr<JobThread> jobs_;
};

}  // namespace cairn

#endif  // CAIRN_API_SERVICE_CHAT_SERVICE_H_
