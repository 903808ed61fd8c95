#include "api/chat_service.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "api/grammar/call_grammar.h"
#include "api/llama_server/prompt_tokens.h"
#include "api/prompt/prefill.h"
#include "api/prompt/prompt_limit.h"
#include "api/prompt/reasoning_request.h"
#include "api/wall_clock.h"
#include "chat/parse/prefilled_parser.h"
#include "chat/parse/reasoning.h"
#include "chat/spans/message_ranges.h"
#include "chat/spans/open_message.h"

namespace cairn {
namespace {

// Prompts of more bytes are made one at a time.
constexpr size_t kLargePromptBytes = size_t{4} << 20;

// Answers whose conversations wait to be looked at.
constexpr size_t kJobsMax = 16;

// The token positions of what the template says of the text. What cannot be placed is left out.
void AddPositions(const TextShape& text, const TokenMap& map, PromptShape* shape) {
  shape->header_end = map.PositionAt(text.header_end).value_or(0);
  shape->messages_end = map.PositionAt(text.last_message_end).value_or(0);
  for (const TextSpan& span : text.spans) {
    const auto position = map.PositionAt(span.begin);
    if (position) shape->turns.push_back({*position, span.role == Role::kUser});
  }
}

void AddReasoning(const ReasoningTags& tags, std::string_view text, const TokenMap& map,
                  PromptShape* shape) {
  for (const TextRange& range : FindReasoning(tags, text)) {
    const auto begin = map.PositionAt(range.begin);
    const auto end = map.PositionAt(range.end);
    if (begin && end && *begin < *end) shape->reasoning.push_back({*begin, *end});
  }
}

void AddMarks(const std::vector<MarkPlace>& places, const TokenMap& map, PromptShape* shape) {
  for (const MarkPlace& place : places) {
    const size_t position = map.PositionAt(place.offset).value_or(0);
    if (position > 0) shape->marks.push_back({position, static_cast<double>(place.ttl_s) * 1000});
  }
}

}  // namespace

ChatService::ChatService(const Engine* engine, const ChatTemplate* chat_template,
                         Scheduler* scheduler, const ChatServiceOptions& options)
    : engine_(engine),
      template_(chat_template),
      scheduler_(scheduler),
      options_(options),
      specials_(FindSpecialTexts(*engine)),
      reasoning_controls_(FindReasoningControls(*chat_template)),
      answers_(std::make_shared<AnswerTokens>(options.answer_bytes_max)),
      spans_(std::make_unique<SpanCache>(options.span_bytes_max)),
      tool_order_(std::make_unique<ToolOrder>(options.tool_lists_max)),
      cut_(options.cuts_overflow ? std::make_unique<ConversationCut>(engine, chat_template)
                                 : nullptr),
      rolling_(std::make_unique<RollingWindows>()),
      jobs_(options.warm ? std::make_shared<JobThread>(kJobsMax) : nullptr) {}

ChatService::~ChatService() {
  if (jobs_) jobs_->Stop();
}

void ChatService::TellReasoning(Conversation* conversation) const {
  ReasoningWish& wish = conversation->reasoning;
  const bool says = !wish.effort.empty() || wish.enabled;
  const std::string usual = KwargsFor(reasoning_controls_, {.effort = options_.reasoning_effort});
  const std::string wished = KwargsFor(reasoning_controls_, wish);
  const bool set = SetsSwitch(reasoning_controls_, options_.template_kwargs_json) ||
                   SetsSwitch(reasoning_controls_, conversation->template_kwargs_json);
  if (!says && !set) wish.effort = options_.reasoning_effort;
  if (!usual.empty() || !wished.empty() || !options_.template_kwargs_json.empty()) {
    conversation->template_kwargs_json =
        MergedKwargs({says ? "" : usual, options_.template_kwargs_json, wished,
                      conversation->template_kwargs_json});
  }
  const std::string note = EffortNote(reasoning_controls_, wish.effort);
  if (note.empty() || !options_.log) return;
  const auto& efforts = ReasoningEfforts();
  const auto bit = uint32_t{1} << static_cast<uint32_t>(
                       std::find(efforts.begin(), efforts.end(), wish.effort) - efforts.begin());
  if ((efforts_told_.fetch_or(bit) & bit) != 0) return;
  options_.log(LogLevel::kInfo, "reasoning effort '" + wish.effort + "': " + note);
}

ApiResult<PromptText> ChatService::ToText(const Conversation& conversation,
                                          ClientSpans spans) const {
  // Rendered more than once, it must name the same second.
  Conversation timed = conversation;
  if (timed.now_unix_s == 0) timed.now_unix_s = NowUnixS();
  SettlePromptEnd(options_.prefill_assistant, &timed);
  auto text = timed.end == PromptEnd::kOpenMessage
                  ? RenderOpenMessage(*template_, specials_, timed, spans)
                  : RenderPrompt(*template_, specials_, timed, spans);
  if (!text) return tl::unexpected(ToApiError(text.error()));
  if (timed.end == PromptEnd::kLastMessage) text->text.resize(text->shape.last_message_end);
  return std::move(*text);
}

ApiResult<ChatService::Prompt> ChatService::ToPrompt(Conversation conversation,
                                                     NamespaceId name_space, bool reuse,
                                                     Overflow overflow) const {
  const bool cuts = cut_ != nullptr && overflow == Overflow::kCut;
  const size_t bytes_min = PromptBytesMin(conversation);
  if (!cuts && overflow == Overflow::kCut) {
    if (auto fits = CheckPromptBytes(*engine_, bytes_min); !fits) {
      return tl::unexpected(fits.error());
    }
  }
  // Each takes many times its size in memory.
  std::unique_lock<std::mutex> alone(large_prompt_mutex_, std::defer_lock);
  if (bytes_min > kLargePromptBytes) alone.lock();
  MakeCanonical(options_.canonical, &conversation);
  size_t pinned = 0;
  // Counting tokens changes nothing for later requests.
  if (reuse && options_.volatile_text && overflow == Overflow::kCut)
    pinned = options_.volatile_text->Pin(name_space, &conversation);
  if (reuse) tool_order_->Apply(name_space, &conversation);
  if (conversation.now_unix_s == 0) conversation.now_unix_s = NowUnixS();
  auto prompt = cuts ? ToCutPrompt(conversation, name_space, reuse)
                     : ToWholePrompt(conversation, name_space, reuse);
  if (prompt) prompt->pinned_texts = pinned;
  return prompt;
}

ApiResult<ChatService::Prompt> ChatService::ToCutPrompt(const Conversation& conversation,
                                                        NamespaceId name_space, bool reuse) const {
  Conversation left = conversation;
  ConversationCut::Applied applied = cut_->Apply(&left);
  auto prompt = ToWholePrompt(left, name_space, reuse);
  const auto fits = [&] { return prompt->tokens.size() < engine_->context_tokens(); };
  // Sizes are estimated, so once in a while more has to go.
  for (size_t tightness = 1; prompt && !fits() && tightness <= ConversationCut::kTightest;
       ++tightness) {
    left = conversation;
    const ConversationCut::Applied tighter = cut_->Apply(&left, tightness);
    if (tighter.dropped == applied.dropped) continue;
    applied = tighter;
    prompt = ToWholePrompt(left, name_space, reuse);
  }
  if (!prompt) return prompt;
  prompt->dropped_messages = applied.dropped;
  if (applied.anew && options_.log) {
    options_.log(LogLevel::kInfo, "a conversation is longer than the context: its oldest " +
                                      std::to_string(applied.dropped) +
                                      " messages are left out from here on");
  }
  return prompt;
}

ApiResult<ChatService::Prompt> ChatService::ToWholePrompt(const Conversation& conversation,
                                                          NamespaceId name_space,
                                                          bool reuse) const {
  auto text = ToText(conversation, {spans_.get(), name_space});
  if (!text) return tl::unexpected(text.error());
  Prompt prompt{.text = std::move(*text), .tokens = {}};
  prompt.marks = FindMarkPlaces(*template_, conversation, prompt.text);
  const ModelInfo& info = engine_->info();
  const bool bos_is_the_clients =
      !prompt.text.literals.empty() && prompt.text.literals.front().begin == 0;
  const bool has_bos =
      !info.bos_text.empty() && prompt.text.text.starts_with(info.bos_text) && !bos_is_the_clients;
  prompt.adds_bos = info.adds_bos && !has_bos;
  std::vector<KnownAnswer> answers;
  if (reuse) answers = answers_->FindIn(name_space, prompt.text);
  auto tokens = TokenizePrompt(*engine_, specials_, prompt.text, prompt.adds_bos, answers);
  if (!tokens) return tl::unexpected(ToApiError(tokens.error()));
  prompt.tokens = std::move(*tokens);
  prompt.messages = conversation.messages;
  prompt.has_tools = !conversation.tools.empty();
  return prompt;
}

ExplainedPrompt ChatService::ToExplain(Prompt prompt, Tokens tokens) const {
  ExplainedPrompt explained;
  explained.tokens = std::move(tokens);
  explained.adds_bos = prompt.adds_bos;
  explained.header_end = prompt.text.shape.header_end;
  explained.message_ranges =
      FindMessageRanges(prompt.messages, prompt.text.shape, prompt.text.text);
  explained.map = std::move(prompt.map);
  explained.messages = std::move(prompt.messages);
  explained.dropped_messages = prompt.dropped_messages;
  explained.has_tools = prompt.has_tools;
  if (engine_->traits().grid_tokens > 0) explained.grid_tokens = engine_->traits().grid_tokens;
  explained.text = std::move(prompt.text.text);
  return explained;
}

std::vector<std::string> ChatService::volatile_patterns() const {
  return options_.volatile_text ? options_.volatile_text->patterns() : std::vector<std::string>();
}

ApiResult<std::string> ChatService::Render(const Conversation& conversation) const {
  Conversation canonical = conversation;
  TellReasoning(&canonical);
  MakeCanonical(options_.canonical, &canonical);
  auto text = ToText(canonical, {});
  if (!text) return tl::unexpected(text.error());
  return std::move(text->text);
}

ApiResult<Tokens> ChatService::PromptTokens(const Conversation& conversation,
                                            NamespaceId name_space) const {
  Conversation told = conversation;
  TellReasoning(&told);
  auto prompt = ToPrompt(std::move(told), name_space, true, Overflow::kKeep);
  if (!prompt) return tl::unexpected(prompt.error());
  return std::move(prompt->tokens);
}

PromptShape ChatService::ShapeOf(Prompt* prompt) const {
  PromptShape shape;
  shape.tokens = prompt->tokens.size();
  // Checkpoints are placed by the rest, and models that can be cut anywhere get none; but a
  // client's marks are accounted for whatever the model.
  const bool placed = engine_->traits().NeedsSnapshots() || options_.find_boundaries;
  if (!placed && prompt->marks.empty()) return shape;
  std::vector<std::string> pieces;
  pieces.reserve(prompt->tokens.size());
  for (const Token token : prompt->tokens) {
    pieces.push_back(engine_->Piece(token, true));
    if (engine_->IsEndOfGeneration(token)) shape.eog_ends.push_back(pieces.size());
  }
  prompt->map = std::make_shared<TokenMap>(prompt->text.text, pieces, prompt->adds_bos ? 1 : 0);
  const TokenMap& map = *prompt->map;
  AddMarks(prompt->marks, map, &shape);
  if (!placed) return shape;
  AddPositions(prompt->text.shape, map, &shape);
  AddReasoning(template_->reasoning_tags(), prompt->text.text, map, &shape);
  return shape;
}

ApiResult<std::shared_ptr<Generation>> ChatService::Submit(GenerationRequest request) const {
  const size_t prompt_tokens = request.prompt.size();
  auto submitted = scheduler_->Submit(std::move(request));
  if (submitted) return std::move(*submitted);
  ApiError error = ToApiError(submitted.error());
  if (submitted.error().code == ErrorCode::kTooLong) {
    error.prompt_tokens = prompt_tokens;
    error.context_tokens = engine_->context_tokens();
  }
  return tl::unexpected(error);
}

ApiResult<size_t> ChatService::EraseSlot(size_t slot, NamespaceId name_space) const {
  const auto erased = scheduler_->slots().Erase(slot, name_space);
  if (!erased) return tl::unexpected(ToApiError(erased.error()));
  return *erased;
}

Result<std::shared_ptr<const Grammar>> ChatService::AnswerGrammar(
    const std::string& content, std::string_view generation_prompt,
    std::string_view prefilled) const {
  const ReasoningTags& tags = template_->reasoning_tags();
  if (EndsReasoning(tags, generation_prompt, prefilled)) return Grammar::Parse(content);
  const bool inside = OpensReasoning(tags, generation_prompt) || !prefilled.empty();
  const bool harmony = DetectCallFormat(template_->source()) == CallFormat::kHarmony;
  if (harmony || (!inside && !tags.learned)) return Grammar::Parse(content);
  return Grammar::Parse(GrammarWithReasoning(tags, content, inside), kAnswerRule);
}

ApiResult<StartedChat> ChatService::Start(ChatRequest request, NamespaceId name_space) const {
  TellReasoning(&request.conversation);
  if (IsOff(request.conversation.reasoning)) request.params.reasoning.tokens_max = 0;
  std::shared_ptr<const Grammar> scripted;
  if (options_.script != nullptr) {
    auto grammar = options_.script->GrammarFor(request.conversation, *template_);
    if (!grammar) return tl::unexpected(ToApiError(grammar.error()));
    scripted = std::move(*grammar);
  }
  SettlePromptEnd(options_.prefill_assistant, &request.conversation);
  const bool continues = request.conversation.end == PromptEnd::kOpenMessage;
  auto callable = ApplyToolChoice(*template_, &request);
  if (!callable) return tl::unexpected(callable.error());
  AskedTurn asked{.name_space = name_space};
  // How a message comes back that was continued is not known.
  if (jobs_ && request.reuse && request.options.answers == 1 && !continues) {
    asked.conversation = std::make_shared<const Conversation>(request.conversation);
  }
  auto prompt =
      ToPrompt(std::move(request.conversation), name_space, request.reuse, Overflow::kCut);
  if (!prompt) return tl::unexpected(prompt.error());
  std::string_view generation_prompt =
      std::string_view(prompt->text.text).substr(prompt->text.shape.last_message_end);
  const std::string prefilled(
      generation_prompt.substr(generation_prompt.size() - prompt->text.prefilled_bytes));
  generation_prompt.remove_suffix(prefilled.size());
  if (scripted != nullptr) {
    request.params.sampling.grammar = std::move(scripted);
  } else if (!request.grammar.empty()) {
    auto grammar = AnswerGrammar(request.grammar, generation_prompt, prefilled);
    if (!grammar) return tl::unexpected(ToApiError(grammar.error()));
    request.params.sampling.grammar = std::move(*grammar);
  }

  GenerationRequest generation;
  generation.name_space = name_space;
  generation.shape = ShapeOf(&*prompt);
  std::vector<ClientMark> marks = generation.shape.marks;
  generation.prompt = std::move(prompt->tokens);
  generation.pinned_texts = prompt->pinned_texts;
  generation.dropped_messages = prompt->dropped_messages;
  if (prompt->pinned_texts > 0 && options_.log) {
    options_.log(LogLevel::kInfo, "volatile texts that keep their first value: " +
                                      std::to_string(prompt->pinned_texts));
  }
  generation.params = std::move(request.params);
  AnswerFormat format = FindAnswerFormat(*template_, generation_prompt, std::move(*callable));
  format.stream_arguments = request.stream;
  generation.params.control_texts = TagsOf(format);
  generation.params.reasoning = ReasoningOf(format, generation.params.reasoning);
  generation.params.sampling.grammar_tags = generation.params.control_texts;
  generation.reuse = request.reuse;
  ApplyAnswerOptions(request.options, &generation);
  if (asked.conversation) asked.prompt = generation.prompt;
  asked.format = format;
  generation.on_answer = WhenAnswered(std::move(asked), KeyOf(prompt->text));
  ExplainedPrompt explained = ToExplain(std::move(*prompt), generation.prompt);
  auto submitted = Submit(std::move(generation));
  if (!submitted) return tl::unexpected(submitted.error());
  StartedChat chat{std::move(*submitted), MakePrefilledParser(format, prefilled)};
  for (size_t i = 1; i < request.options.answers; ++i) {
    chat.other_parsers.push_back(MakePrefilledParser(format, prefilled));
  }
  chat.marks = std::move(marks);
  chat.explained = std::move(explained);
  chat.log = options_.log;
  return chat;
}

}  // namespace cairn
