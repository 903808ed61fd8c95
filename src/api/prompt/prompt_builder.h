// PromptBuilder: turns a conversation into the tokens of its prompt. The stages, in the order in
// which prompt_builder.cc has them:
//
//   Adapt           the parts of a text -> one text; the reasoning that client and server want ->
//                   the template's kwargs
//   Edit            old parts that the client wants cleared (api/prompt/context_editor.h)
//   Normalize       canonical form, known orders of keys, pinned volatile texts, order of the
//                   tools, values told late, time, prompt end
//   RenderText      the template, the spans of the messages in its text and the places of media
//   Tokenize        the text -> tokens; known answers as the tokens they were generated as
//   FindShape       marks, turns and reasoning as token positions
//
// Before these stages the API of the request has parsed its body into a Conversation
// (api/request/chat_request.h, api/openai/responses_request.h, api/anthropic/anthropic_request.h).
//
// Threads: any, concurrently.

#ifndef CAIRN_API_PROMPT_PROMPT_BUILDER_H_
#define CAIRN_API_PROMPT_PROMPT_BUILDER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/api_error.h"
#include "api/media/media_layouts.h"
#include "api/media/placed_medium.h"
#include "api/prompt/answer_tokens.h"
#include "api/prompt/context_editor.h"
#include "api/prompt/conversation_cut.h"
#include "api/prompt/message_sizes.h"
#include "api/prompt/order/key_order.h"
#include "api/prompt/order/tool_order.h"
#include "api/prompt/prompt_limits.h"
#include "api/prompt/prompt_tokens.h"
#include "api/record/explanation.h"
#include "base/log.h"
#include "base/tokens.h"
#include "chat/spans/late_values.h"
#include "chat/spans/mark_places.h"
#include "chat/spans/prompt_text.h"
#include "chat/spans/spans.h"
#include "chat/spans/token_map.h"
#include "chat/spans/volatile_text.h"
#include "chat/template/chat_template.h"
#include "chat/template/reasoning_controls.h"
#include "chat/text/canonical.h"
#include "chat/text/message.h"
#include "engine/engine.h"
#include "policy/prompt_shape.h"

namespace cairn {

struct PromptOptions {
  CanonicalOptions canonical;
  // Maximum number of tool lists whose order is kept.
  size_t tool_lists_max = 4096;
  // Budgets for the texts of tools and of calls' arguments whose order of keys is kept.
  size_t known_tool_bytes_max = size_t{16} << 20U;
  size_t known_call_bytes_max = size_t{16} << 20U;
  // Find message boundaries also for models that need no checkpoints, because --trace-out records
  // them.
  bool find_boundaries = false;
  // Replaces a conversation's volatile texts by their first values. Null if none are pinned.
  std::shared_ptr<VolatileText> volatile_text = {};
  // Keeps values that change in the old part of a conversation, and tells the newest ones at its
  // newest message. Null: all stay as they were sent.
  std::shared_ptr<LateValues> late_values = {};
  // Drop the oldest turns of a conversation that does not fit the context instead of refusing it
  // (api/prompt/conversation_cut.h).
  bool cuts_overflow = false;
  // Continue an assistant message at the end of a conversation (api/request/prefill.h).
  bool prefill_assistant = true;
  // Default reasoning effort of requests: one of ReasoningEfforts(), or empty.
  std::string reasoning_effort;
  // Default template kwargs: a JSON object as text, or empty. A request's keys override them.
  std::string template_kwargs_json;
  LogSink log = {};               // may be empty
  MediaLayouts* media = nullptr;  // must outlive the builder; nullptr: no media are taken
};

// The purpose of a prompt and the namespace of its client.
struct PromptUse {
  enum class Purpose : uint8_t {
    kAnswer,    // an answer is generated from it
    kNextTurn,  // it is prefetched, so its shape is not needed
    kCount,     // its tokens are counted: it is not cut, however long, and pins no texts
  };

  NamespaceId name_space = 0;
  Purpose purpose = Purpose::kAnswer;
  // Data of earlier requests may choose among equivalent tokens, tool orders and orders of keys.
  bool reuse = true;
};

// PreparedPrompt: a conversation as the tokens of its prompt, with everything that is known about
// them.
struct PreparedPrompt {
  PromptText text = {};
  Tokens tokens = {};
  std::vector<PlacedMedium> media = {};
  bool adds_bos = false;  // the first token is not part of the text
  // Where clients' cache marks are in the text.
  std::vector<MarkPlace> marks = {};
  // The same, the turns and the reasoning as token positions, for placement. It holds only the
  // number of tokens if the model needs no checkpoints and there are no marks.
  PromptShape shape = {};
  std::shared_ptr<const TokenMap> map = {};  // null if the shape did not need it
  // The conversation as it was rendered.
  std::vector<Message> messages = {};
  Tools tools = {};
  size_t pinned_texts = 0;                  // volatile texts that were replaced by earlier values
  std::vector<LateValue> late_values = {};  // those of them that are told at a later message
  size_t dropped_messages = 0;  // left out because the conversation does not fit the context
  AppliedEdits edits = {};      // what the client wanted cleared, and was
  std::vector<std::string> left_out = {};  // Conversation::left_out

  // The text after the last message, without prefilled().
  std::string_view generation_prompt() const {
    const std::string_view behind = std::string_view(text.text).substr(text.shape.last_message_end);
    return behind.substr(0, behind.size() - text.prefilled_bytes);
  }
  // The beginning of the answer that the client sent, at the end of the text.
  std::string_view prefilled() const {
    return std::string_view(text.text).substr(text.text.size() - text.prefilled_bytes);
  }
};

class PromptBuilder {
 public:
  // All outlive it. `answers` holds the generated answers, which are found in later prompts.
  PromptBuilder(const Engine* engine, const ChatTemplate* chat_template, AnswerTokens* answers,
                const PromptOptions& options);
  PromptBuilder(const PromptBuilder&) = delete;
  PromptBuilder& operator=(const PromptBuilder&) = delete;

  // Joins the parts of the conversation's texts and sets the template kwargs for the requested
  // reasoning; the wish is "off" afterwards if the kwargs turn it off. Call it once for a
  // conversation, before Prepare.
  void Adapt(Conversation* conversation) const;
  // Runs the other stages; FindShape only for an answer. Errors: 400 if the prompt does not fit the
  // context (for a count, PromptLimits), or if the conversation cannot be rendered.
  ApiResult<PreparedPrompt> Prepare(Conversation conversation, const PromptUse& use) const;
  // Runs all stages up to RenderText, Adapt too. The tools stay in the order of the
  // request, and media are shown as kNextMediumMarker.
  ApiResult<std::string> Render(Conversation conversation) const;
  // Returns the prompt of a text without template and messages: special tokens are parsed, and what
  // stands at the places of `media` becomes their tokens, decoded for the key of `name_space`. Its
  // shape has the media only. Errors: 400 if the prompt does not fit the context, or if a medium
  // cannot be decoded.
  ApiResult<PreparedPrompt> PrepareText(std::string text, MarkedMedia media,
                                        NamespaceId name_space) const;
  // Returns what the explanation of a request needs of its prompt.
  ExplainedPrompt Explain(PreparedPrompt prompt) const;

  // Null if conversations that do not fit are refused.
  const ConversationCut* conversation_cut() const { return cut_.get(); }
  const PromptOptions& options() const { return options_; }
  const PromptLimits& limits() const { return limits_; }
  // Shared with running answers, which record their calls.
  const std::shared_ptr<KeyOrder>& key_order() const { return key_order_; }
  SpanStats span_stats() const { return spans_.stats(); }

 private:
  void TellReasoning(Conversation* conversation) const;
  ApiResult<AppliedEdits> Edit(NamespaceId name_space, Conversation* conversation) const;
  bool Cuts(const PromptUse& use) const;
  struct Normalized {
    size_t pinned_texts = 0;
    std::vector<LateValue> late_values = {};
  };
  Normalized Normalize(const PromptUse& use, Conversation* conversation) const;
  // REQUIRES of the next three: the conversation is normalized.
  ApiResult<PreparedPrompt> RenderAndTokenize(const Conversation& conversation,
                                              const PromptUse& use) const;
  ApiResult<PreparedPrompt> CutAndTokenize(const Conversation& conversation,
                                           const PromptUse& use) const;
  // The text has at most as many bytes as `use` allows.
  ApiResult<PromptText> RenderText(TextUse use, const Conversation& conversation) const;
  // Sets `tokens`, `media` and `adds_bos` of a prompt that has its text.
  ApiResult<void> Tokenize(const PromptUse& use, PreparedPrompt* prompt) const;
  // The same, when `adds_bos` is set and the answers in the text are found.
  ApiResult<void> TokenizeWith(const PromptUse& use, const std::vector<KnownAnswer>& answers,
                               PreparedPrompt* prompt) const;
  // Returns the tokens of the media in the prompt's text, and sets `media` of the prompt but for
  // the positions.
  ApiResult<std::vector<KnownMedium>> LayOutMedia(const PromptUse& use,
                                                  PreparedPrompt* prompt) const;
  // Sets `shape`, and `map` if that is needed for it.
  void FindShape(PreparedPrompt* prompt) const;

  const Engine* const engine_;
  const ChatTemplate* const template_;
  AnswerTokens* const answers_;
  const PromptOptions options_;
  const PromptLimits limits_;
  const SpecialTexts specials_;
  const ReasoningControls reasoning_controls_;
  const std::string reply_opening_;  // FindReplyOpening
  const MessageSizes sizes_;
  const ContextEditor editor_;
  const std::unique_ptr<const ConversationCut> cut_;
  mutable std::atomic<uint32_t> efforts_told_ = 0;  // a bit for each effort that was logged
  const std::shared_ptr<KeyOrder> key_order_;
  mutable SpanCounter spans_;
  mutable ToolOrder tool_order_;
  mutable KnownTokens known_tokens_;
};

}  // namespace cairn

#endif  // CAIRN_API_PROMPT_PROMPT_BUILDER_H_
