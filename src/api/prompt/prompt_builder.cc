#include "api/prompt/prompt_builder.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "api/prompt/message_starts.h"
#include "api/request/prefill.h"
#include "api/wall_clock.h"
#include "chat/parse/reasoning.h"
#include "chat/spans/message_ranges.h"
#include "chat/spans/open_message.h"
#include "chat/text/call_arguments.h"
#include "chat/text/text_parts.h"
#include "sched/request/adapter_name_space.h"

namespace cairn {
namespace {

using Purpose = PromptUse::Purpose;

TextUse TextUseOf(const PromptUse& use) {
  return use.purpose == Purpose::kCount ? TextUse::kCounted : TextUse::kPrompt;
}

// Whether the prompt is too long for the context.
bool IsTooLong(const ApiResult<PreparedPrompt>& prompt) {
  return !prompt && prompt.error().context_tokens > 0;
}

// Finds the media's tokens among those of the prompt. `known`: those of `prompt->media`.
void PlaceMedia(const std::vector<KnownMedium>& known, PreparedPrompt* prompt) {
  size_t at = 0;
  for (size_t i = 0; i < known.size(); ++i) {
    PlacedMedium& placed = prompt->media[i];
    const size_t rows_begin = placed.rows.empty() ? 0 : placed.rows.front().begin;
    while (at < prompt->tokens.size() && !IsMediaToken(prompt->tokens[at])) ++at;
    placed.begin = at - rows_begin;
    placed.end = placed.begin + known[i].layout->tokens();
    for (TokenRange& rows : placed.rows) {
      rows = {rows.begin + placed.begin, rows.end + placed.begin};
    }
    at = placed.end;
  }
}

// Returns the tokens that stand for rows, of all media in order.
std::vector<TokenRange> RowsOf(const std::vector<PlacedMedium>& media) {
  std::vector<TokenRange> rows;
  for (const PlacedMedium& medium : media) {
    rows.insert(rows.end(), medium.rows.begin(), medium.rows.end());
  }
  return rows;
}

// Adds the token positions of the template's turns. Turns without an exact position are dropped.
void AddPositions(const TextShape& text, const TokenMap& map, PromptShape* shape) {
  shape->header_end = map.PositionAt(text.header_end).value_or(0);
  shape->messages_end = map.PositionAt(text.last_message_end).value_or(0);
  for (const TextSpan& span : text.spans) {
    const auto position = map.PositionAt(span.begin);
    if (position) shape->turns.push_back({*position, span.role == Role::kUser});
  }
}

void AddReasoningRanges(const ReasoningTags& tags, std::string_view text, const TokenMap& map,
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

// Says that a template is shown other arguments than those of the newest answer's calls. Those of
// older ones were logged when they were the newest.
void LogBrokenArguments(const ChatTemplate& chat_template, const Conversation& conversation,
                        const LogSink& log) {
  if (!log || !chat_template.caps().object_arguments) return;
  const auto& messages = conversation.messages;
  const auto newest = std::find_if(messages.rbegin(), messages.rend(), [](const Message& message) {
    return message.role == Role::kAssistant;
  });
  if (newest == messages.rend()) return;
  const auto broken =
      std::count_if(newest->tool_calls.begin(), newest->tool_calls.end(),
                    [](const ToolCall& call) { return AreBrokenArguments(call.arguments); });
  if (broken == 0) return;
  log(LogLevel::kInfo,
      "the arguments of " + std::to_string(broken) +
          " calls in the last answer are no JSON object, as if they were cut; this "
          "template needs one, so they are closed, or shown as one argument");
}

}  // namespace

PromptBuilder::PromptBuilder(const Engine* engine, const ChatTemplate* chat_template,
                             AnswerTokens* answers, const PromptOptions& options)
    : engine_(engine),
      template_(chat_template),
      answers_(answers),
      options_(options),
      limits_(engine),
      specials_(FindSpecialTexts(*engine)),
      reasoning_controls_(FindReasoningControls(*chat_template)),
      reply_opening_(FindReplyOpening(specials_, *chat_template)),
      sizes_(engine, chat_template),
      editor_(&sizes_, chat_template, options.media),
      cut_(options.cuts_overflow ? std::make_unique<ConversationCut>(engine, &sizes_) : nullptr),
      key_order_(
          std::make_shared<KeyOrder>(options.known_tool_bytes_max, options.known_call_bytes_max)),
      tool_order_(options.tool_lists_max) {}

ApiResult<PreparedPrompt> PromptBuilder::Prepare(Conversation conversation,
                                                 const PromptUse& use) const {
  const auto edited = Edit(use.name_space, &conversation);
  if (!edited) return tl::unexpected(edited.error());
  // A prompt that is cut, or only counted, may be made of more than the context holds.
  const bool must_fit = !Cuts(use) && use.purpose != Purpose::kCount;
  const size_t bytes = BytesOf(conversation);
  const auto fits = must_fit ? limits_.CheckBytes(TextUse::kPrompt, LeastBytes(conversation))
                             : limits_.CheckBytes(TextUse::kCounted, bytes);
  if (!fits) return tl::unexpected(fits.error());
  ApiResult<PreparedPrompt> prompt;
  {
    const auto turn = limits_.WaitForTurn(bytes);
    Normalized normalized = Normalize(use, &conversation);
    prompt = Cuts(use) ? CutAndTokenize(conversation, use) : RenderAndTokenize(conversation, use);
    if (!prompt) return prompt;
    prompt->pinned_texts = normalized.pinned_texts + normalized.late_values.size();
    prompt->late_values = std::move(normalized.late_values);
    prompt->edits = *edited;
  }
  if (use.purpose == Purpose::kAnswer) FindShape(&*prompt);
  return prompt;
}

ApiResult<std::string> PromptBuilder::Render(Conversation conversation) const {
  const size_t bytes = BytesOf(conversation);
  const auto fits = limits_.CheckBytes(TextUse::kCounted, bytes);
  if (!fits) return tl::unexpected(fits.error());
  Adapt(&conversation);
  if (const auto edited = Edit(0, &conversation); !edited) return tl::unexpected(edited.error());
  const auto turn = limits_.WaitForTurn(bytes);
  Normalize({.purpose = Purpose::kCount, .reuse = false}, &conversation);
  auto text = RenderText(TextUse::kCounted, conversation);
  if (!text) return tl::unexpected(text.error());
  return WithNextMediumMarkers(text->text, text->media);
}

ApiResult<PreparedPrompt> PromptBuilder::PrepareText(std::string text, MarkedMedia media,
                                                     NamespaceId name_space) const {
  const size_t bytes = text.size() - MarkerBytes(media);
  const auto fits = limits_.CheckBytes(TextUse::kPrompt, bytes);
  if (!fits) return tl::unexpected(fits.error());
  const auto turn = limits_.WaitForTurn(bytes);
  PreparedPrompt prompt;
  prompt.text.text = std::move(text);
  prompt.text.media = std::move(media);
  prompt.adds_bos = engine_->info().adds_bos;
  if (auto done = TokenizeWith({.name_space = name_space}, {}, &prompt); !done) {
    return tl::unexpected(done.error());
  }
  prompt.shape.tokens = prompt.tokens.size();
  prompt.shape.media = RowsOf(prompt.media);
  return prompt;
}

bool PromptBuilder::Cuts(const PromptUse& use) const {
  return cut_ != nullptr && use.purpose != Purpose::kCount;
}

// --- The stages ----------------------------------------------------------------------------------

void PromptBuilder::Adapt(Conversation* conversation) const {
  JoinTextParts(template_->caps().part_separators, conversation);
  TellReasoning(conversation);
}

void PromptBuilder::TellReasoning(Conversation* conversation) const {
  ReasoningWish& wish = conversation->reasoning;
  std::string& kwargs = conversation->template_kwargs_json;
  const bool says = !wish.effort.empty() || wish.enabled;
  const std::string usual =
      options_.reasoning_effort.empty()
          ? reasoning_controls_.unasked
          : KwargsFor(reasoning_controls_, {.effort = options_.reasoning_effort});
  const std::string wished = KwargsFor(reasoning_controls_, wish);
  const std::string flags = WithOwnSwitch(reasoning_controls_, options_.template_kwargs_json);
  const std::string own = WithOwnSwitch(reasoning_controls_, kwargs);
  const bool set = SetsSwitch(reasoning_controls_, flags) || SetsSwitch(reasoning_controls_, own);
  if (!says && !set) wish.effort = options_.reasoning_effort;
  if (!usual.empty() || !wished.empty() || !flags.empty() || own != kwargs) {
    kwargs = MergedKwargs({says ? "" : usual, flags, wished, own});
  }
  // However it was said, the answer's grammar and its parser have to know.
  if (TurnsOff(reasoning_controls_, kwargs)) wish.enabled = false;
  const std::string note = EffortNote(reasoning_controls_, wish.effort);
  if (note.empty() || !options_.log) return;
  const auto& efforts = ReasoningEfforts();
  const auto bit = uint32_t{1} << static_cast<uint32_t>(
                       std::find(efforts.begin(), efforts.end(), wish.effort) - efforts.begin());
  if ((efforts_told_.fetch_or(bit) & bit) != 0) return;
  options_.log(LogLevel::kInfo, "reasoning effort '" + wish.effort + "': " + note);
}

ApiResult<AppliedEdits> PromptBuilder::Edit(NamespaceId name_space,
                                            Conversation* conversation) const {
  if (!conversation->edits.any()) return AppliedEdits{.asked = conversation->edits.asked};
  const size_t bytes = BytesOf(*conversation);
  const auto fits = limits_.CheckBytes(TextUse::kCounted, bytes);
  if (!fits) return tl::unexpected(fits.error());
  const auto turn = limits_.WaitForTurn(bytes);
  const auto applied = editor_.Apply(name_space, conversation);
  if (!applied) return tl::unexpected(ToApiError(applied.error()));
  return *applied;
}

PromptBuilder::Normalized PromptBuilder::Normalize(const PromptUse& use,
                                                   Conversation* conversation) const {
  Normalized normalized;
  MakeCanonical(options_.canonical, conversation);
  if (use.purpose == Purpose::kAnswer) LogBrokenArguments(*template_, *conversation, options_.log);
  if (use.reuse) key_order_->Apply(use.name_space, conversation);
  const bool pins = use.reuse && options_.volatile_text && use.purpose != Purpose::kCount;
  if (pins) normalized.pinned_texts = options_.volatile_text->Pin(use.name_space, conversation);
  if (use.reuse) tool_order_.Apply(use.name_space, conversation);
  if (use.reuse && options_.late_values && use.purpose != Purpose::kCount) {
    const bool remember = use.purpose == Purpose::kAnswer;
    normalized.late_values = options_.late_values->Apply(use.name_space, remember, conversation);
  }
  // All renderings of the conversation must have the same time.
  if (conversation->now_unix_s == 0) conversation->now_unix_s = NowUnixS();
  SettlePromptEnd(options_.prefill_assistant, conversation);
  return normalized;
}

ApiResult<PreparedPrompt> PromptBuilder::RenderAndTokenize(const Conversation& conversation,
                                                           const PromptUse& use) const {
  auto text = RenderText(TextUseOf(use), conversation);
  if (!text) return tl::unexpected(text.error());
  spans_.Count(text->shape);
  PreparedPrompt prompt{.text = *std::move(text)};
  prompt.marks = FindMarkPlaces(*template_, conversation, prompt.text);
  if (auto done = Tokenize(use, &prompt); !done) return tl::unexpected(done.error());
  prompt.messages = conversation.messages;
  prompt.tools = conversation.tools;
  prompt.left_out = conversation.left_out;
  return prompt;
}

ApiResult<PreparedPrompt> PromptBuilder::CutAndTokenize(const Conversation& conversation,
                                                        const PromptUse& use) const {
  Conversation left = conversation;
  ConversationCut::Applied applied = cut_->Apply(use.name_space, &left);
  auto prompt = RenderAndTokenize(left, use);
  // Sizes are estimates, so sometimes more messages must be dropped.
  for (size_t tightness = 1; IsTooLong(prompt) && tightness <= ConversationCut::kTightest;
       ++tightness) {
    left = conversation;
    const ConversationCut::Applied tighter = cut_->Apply(use.name_space, &left, tightness);
    if (tighter.dropped == applied.dropped) continue;
    applied = tighter;
    prompt = RenderAndTokenize(left, use);
  }
  if (!prompt) return prompt;
  prompt->dropped_messages = applied.dropped;
  if (applied.anew && options_.log) {
    options_.log(LogLevel::kInfo, "a conversation is longer than the context: its oldest " +
                                      std::to_string(applied.dropped) +
                                      " messages are dropped from here on");
  }
  return prompt;
}

ApiResult<PromptText> PromptBuilder::RenderText(TextUse use,
                                                const Conversation& conversation) const {
  const size_t bytes_max = limits_.bytes_max(use);
  auto text = conversation.end == PromptEnd::kOpenMessage
                  ? RenderOpenMessage(*template_, specials_, conversation, bytes_max)
                  : RenderPrompt(*template_, specials_, conversation, bytes_max);
  if (!text) return tl::unexpected(ToApiError(text.error()));
  const size_t bytes = text->text.size() - MarkerBytes(text->media);
  if (auto fits = limits_.CheckBytes(use, bytes); !fits) return tl::unexpected(fits.error());
  if (conversation.end == PromptEnd::kLastMessage) {
    const size_t end = text->shape.last_message_end;
    text->text.resize(end);
    std::erase_if(text->media, [end](const MarkedMedium& marked) { return marked.end > end; });
  }
  return std::move(*text);
}

ApiResult<std::vector<KnownMedium>> PromptBuilder::LayOutMedia(const PromptUse& use,
                                                               PreparedPrompt* prompt) const {
  std::vector<KnownMedium> known;
  if (options_.media == nullptr) return known;
  size_t tokens = 0;
  for (const MarkedMedium& marked : prompt->text.media) {
    auto layout = options_.media->Of(*marked.medium, OwnerOf(use.name_space));
    if (!layout) return tl::unexpected(ToApiError(layout.error()));
    PlacedMedium placed{.medium = marked.medium, .preview = (*layout)->preview};
    size_t end = 0;
    for (const LaidOutPiece& piece : (*layout)->pieces) {
      const size_t begin = std::exchange(end, end + piece.tokens.size());
      if (piece.has_rows) placed.rows.push_back({begin, end});
    }
    tokens += end;
    if (auto fits = limits_.CheckTokens(TextUseOf(use), tokens, /*more_follow=*/true); !fits) {
      return tl::unexpected(fits.error());
    }
    known.push_back({{marked.begin, marked.end}, *std::move(layout)});
    prompt->media.push_back(std::move(placed));
  }
  return known;
}

ApiResult<void> PromptBuilder::Tokenize(const PromptUse& use, PreparedPrompt* prompt) const {
  const PromptText& text = prompt->text;
  const ModelInfo& info = engine_->info();
  const bool bos_is_the_clients = !text.literals.empty() && text.literals.front().begin == 0;
  const bool has_bos =
      !info.bos_text.empty() && text.text.starts_with(info.bos_text) && !bos_is_the_clients;
  prompt->adds_bos = info.adds_bos && !has_bos;
  std::vector<KnownAnswer> answers;
  if (use.reuse) answers = answers_->FindIn(use.name_space, text);
  return TokenizeWith(use, answers, prompt);
}

ApiResult<void> PromptBuilder::TokenizeWith(const PromptUse& use,
                                            const std::vector<KnownAnswer>& answers,
                                            PreparedPrompt* prompt) const {
  const auto known = LayOutMedia(use, prompt);
  if (!known) return tl::unexpected(known.error());
  auto tokens = TokenizePrompt(*engine_, specials_, prompt->text, prompt->adds_bos, answers, *known,
                               {.tokens = &known_tokens_, .name_space = use.name_space});
  if (!tokens) return tl::unexpected(ToApiError(tokens.error()));
  if (auto fits = limits_.CheckTokens(TextUseOf(use), tokens->size()); !fits) return fits;
  prompt->tokens = *std::move(tokens);
  PlaceMedia(*known, prompt);
  return {};
}

void PromptBuilder::FindShape(PreparedPrompt* prompt) const {
  PromptShape& shape = prompt->shape;
  shape.tokens = prompt->tokens.size();
  // The rest only serves the placement of checkpoints, which models that can be cut anywhere do not
  // need. A client's marks are reported for every model.
  const bool placed = engine_->traits().NeedsSnapshots() || options_.find_boundaries;
  if (!placed && prompt->marks.empty()) return;
  shape.media = RowsOf(prompt->media);
  const std::vector<std::string> pieces = TokenPieces(*engine_, prompt->tokens, prompt->media);
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (engine_->IsEndOfGeneration(prompt->tokens[i])) shape.eog_ends.push_back(i + 1);
  }
  prompt->map = std::make_shared<TokenMap>(prompt->text.text, pieces, prompt->adds_bos ? 1 : 0);
  const TokenMap& map = *prompt->map;
  AddMarks(prompt->marks, map, &shape);
  if (!placed) return;
  AddPositions(prompt->text.shape, map, &shape);
  const std::string_view text = prompt->text.text;
  shape.reply_follows =
      !reply_opening_.empty() && text.substr(prompt->text.shape.last_message_end) == reply_opening_;
  AddReasoningRanges(template_->reasoning_tags(), prompt->text.text, map, &shape);
}

// --- For the report of a request -----------------------------------------------------------------

ExplainedPrompt PromptBuilder::Explain(PreparedPrompt prompt) const {
  ExplainedPrompt explained;
  explained.tokens = std::move(prompt.tokens);
  explained.media = std::move(prompt.media);
  explained.adds_bos = prompt.adds_bos;
  explained.header_end = prompt.text.shape.header_end;
  explained.message_ranges = FindMessageRanges(prompt.messages, prompt.text.shape);
  explained.map = std::move(prompt.map);
  explained.messages = std::move(prompt.messages);
  explained.dropped_messages = prompt.dropped_messages;
  explained.left_out = std::move(prompt.left_out);
  for (const ClientMark& mark : prompt.shape.marks) {
    explained.marked_tokens = std::max(explained.marked_tokens, mark.position);
  }
  explained.late_values = std::move(prompt.late_values);
  explained.tools = std::move(prompt.tools);
  if (engine_->traits().grid_tokens > 0) explained.grid_tokens = engine_->traits().grid_tokens;
  explained.text = std::move(prompt.text.text);
  return explained;
}

}  // namespace cairn
