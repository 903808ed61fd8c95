#include "api/prompt/prompt_builder.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "api/prompt/prefill.h"
#include "api/prompt/prompt_limit.h"
#include "api/wall_clock.h"
#include "chat/parse/reasoning.h"
#include "chat/spans/message_ranges.h"
#include "chat/spans/open_message.h"

namespace cairn {
namespace {

using Purpose = PromptUse::Purpose;

// Prompts of more bytes are built one at a time.
constexpr size_t kLargePromptBytes = size_t{4} << 20;

// Finds the media's tokens among those of the prompt. `known`: those of `prompt->media`.
void PlaceMedia(const std::vector<KnownMedium>& known, PreparedPrompt* prompt) {
  size_t at = 0;
  for (size_t i = 0; i < known.size(); ++i) {
    PlacedMedium& placed = prompt->media[i];
    const size_t rows_begin = placed.rows.empty() ? 0 : placed.rows.front().begin;
    while (at < prompt->tokens.size() && !IsMediaToken(prompt->tokens[at])) ++at;
    placed.begin = at - rows_begin;
    placed.end = placed.begin + known[i].tokens.size();
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

PromptBuilder::PromptBuilder(const Engine* engine, const ChatTemplate* chat_template,
                             AnswerTokens* answers, const PromptOptions& options)
    : engine_(engine),
      template_(chat_template),
      answers_(answers),
      options_(options),
      specials_(FindSpecialTexts(*engine)),
      reasoning_controls_(FindReasoningControls(*chat_template)),
      cut_(options.cuts_overflow ? std::make_unique<ConversationCut>(engine, chat_template)
                                 : nullptr),
      spans_(options.span_bytes_max),
      tool_order_(options.tool_lists_max) {}

ApiResult<PreparedPrompt> PromptBuilder::Prepare(Conversation conversation,
                                                 const PromptUse& use) const {
  const size_t bytes_min = PromptBytesMin(conversation);
  if (!Cuts(use) && use.purpose != Purpose::kCount) {
    if (auto fits = CheckPromptBytes(*engine_, bytes_min); !fits) {
      return tl::unexpected(fits.error());
    }
  }
  ApiResult<PreparedPrompt> prompt;
  {
    // Building a prompt takes many times its size in memory.
    std::unique_lock<std::mutex> alone(large_prompt_mutex_, std::defer_lock);
    if (bytes_min > kLargePromptBytes) alone.lock();
    const size_t pinned = Normalize(use, &conversation);
    prompt = Cuts(use) ? CutAndTokenize(conversation, use) : RenderAndTokenize(conversation, use);
    if (!prompt) return prompt;
    prompt->pinned_texts = pinned;
  }
  if (use.purpose == Purpose::kAnswer) FindShape(&*prompt);
  return prompt;
}

ApiResult<std::string> PromptBuilder::Render(Conversation conversation) const {
  TellReasoning(&conversation);
  Normalize({.purpose = Purpose::kCount, .reuse = false}, &conversation);
  auto text = RenderText(conversation, {});
  if (!text) return tl::unexpected(text.error());
  return std::move(text->text);
}

ApiResult<PreparedPrompt> PromptBuilder::PrepareText(std::string text, const Media& media) const {
  size_t bytes = text.size();
  // A medium may become fewer tokens than its marker has bytes.
  for (const MarkedMedium& marked : FindMarkers(text, media)) bytes -= marked.end - marked.begin;
  if (auto fits = CheckPromptBytes(*engine_, bytes); !fits) return tl::unexpected(fits.error());
  PreparedPrompt prompt;
  prompt.text.text = std::move(text);
  prompt.adds_bos = engine_->info().adds_bos;
  if (auto done = TokenizeWith({}, media, &prompt); !done) return tl::unexpected(done.error());
  prompt.shape.tokens = prompt.tokens.size();
  prompt.shape.media = RowsOf(prompt.media);
  return prompt;
}

bool PromptBuilder::Cuts(const PromptUse& use) const {
  return cut_ != nullptr && use.purpose != Purpose::kCount;
}

// --- The stages ----------------------------------------------------------------------------------

void PromptBuilder::TellReasoning(Conversation* conversation) const {
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

size_t PromptBuilder::Normalize(const PromptUse& use, Conversation* conversation) const {
  MakeCanonical(options_.canonical, conversation);
  const bool pins = use.reuse && options_.volatile_text && use.purpose != Purpose::kCount;
  const size_t pinned = pins ? options_.volatile_text->Pin(use.name_space, conversation) : 0;
  if (use.reuse) tool_order_.Apply(use.name_space, conversation);
  // All renderings of the conversation must have the same time.
  if (conversation->now_unix_s == 0) conversation->now_unix_s = NowUnixS();
  SettlePromptEnd(options_.prefill_assistant, conversation);
  return pinned;
}

ApiResult<PreparedPrompt> PromptBuilder::RenderAndTokenize(const Conversation& conversation,
                                                           const PromptUse& use) const {
  auto text = RenderText(conversation, {&spans_, use.name_space});
  if (!text) return tl::unexpected(text.error());
  PreparedPrompt prompt{.text = *std::move(text)};
  prompt.marks = FindMarkPlaces(*template_, conversation, prompt.text);
  if (auto done = Tokenize(use, conversation.media, &prompt); !done) {
    return tl::unexpected(done.error());
  }
  prompt.messages = conversation.messages;
  prompt.tools = conversation.tools;
  return prompt;
}

ApiResult<PreparedPrompt> PromptBuilder::CutAndTokenize(const Conversation& conversation,
                                                        const PromptUse& use) const {
  Conversation left = conversation;
  ConversationCut::Applied applied = cut_->Apply(&left);
  auto prompt = RenderAndTokenize(left, use);
  const auto fits = [&] { return prompt->tokens.size() < engine_->context_tokens(); };
  // Sizes are estimates, so sometimes more messages must be dropped.
  for (size_t tightness = 1; prompt && !fits() && tightness <= ConversationCut::kTightest;
       ++tightness) {
    left = conversation;
    const ConversationCut::Applied tighter = cut_->Apply(&left, tightness);
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

ApiResult<PromptText> PromptBuilder::RenderText(const Conversation& conversation,
                                                ClientSpans spans) const {
  auto text = conversation.end == PromptEnd::kOpenMessage
                  ? RenderOpenMessage(*template_, specials_, conversation, spans)
                  : RenderPrompt(*template_, specials_, conversation, spans);
  if (!text) return tl::unexpected(ToApiError(text.error()));
  if (conversation.end == PromptEnd::kLastMessage) text->text.resize(text->shape.last_message_end);
  return std::move(*text);
}

ApiResult<std::vector<KnownMedium>> PromptBuilder::LayOutMedia(const PromptUse& use,
                                                               const Media& media,
                                                               PreparedPrompt* prompt) const {
  std::vector<KnownMedium> known;
  if (options_.media == nullptr) return known;
  for (const MarkedMedium& marked : FindMarkers(prompt->text.text, media)) {
    const auto layout = options_.media->Of(*marked.medium, use.name_space);
    if (!layout) return tl::unexpected(ToApiError(layout.error()));
    KnownMedium medium{{marked.begin, marked.end}, {}};
    PlacedMedium placed{.medium = marked.medium, .preview = (*layout)->preview};
    for (const LaidOutPiece& piece : (*layout)->pieces) {
      const size_t begin = medium.tokens.size();
      medium.tokens.insert(medium.tokens.end(), piece.tokens.begin(), piece.tokens.end());
      if (piece.has_rows) placed.rows.push_back({begin, medium.tokens.size()});
    }
    known.push_back(std::move(medium));
    prompt->media.push_back(std::move(placed));
  }
  return known;
}

ApiResult<void> PromptBuilder::Tokenize(const PromptUse& use, const Media& media,
                                        PreparedPrompt* prompt) const {
  const PromptText& text = prompt->text;
  const ModelInfo& info = engine_->info();
  const bool bos_is_the_clients = !text.literals.empty() && text.literals.front().begin == 0;
  const bool has_bos =
      !info.bos_text.empty() && text.text.starts_with(info.bos_text) && !bos_is_the_clients;
  prompt->adds_bos = info.adds_bos && !has_bos;
  std::vector<KnownAnswer> answers;
  if (use.reuse) answers = answers_->FindIn(use.name_space, text);
  return TokenizeWith(answers, media, prompt);
}

ApiResult<void> PromptBuilder::TokenizeWith(const std::vector<KnownAnswer>& answers,
                                            const Media& media, PreparedPrompt* prompt) const {
  const auto known = LayOutMedia(use, media, prompt);
  if (!known) return tl::unexpected(known.error());
  auto tokens =
      TokenizePrompt(*engine_, specials_, prompt->text, prompt->adds_bos, answers, *known);
  if (!tokens) return tl::unexpected(ToApiError(tokens.error()));
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
  AddReasoning(template_->reasoning_tags(), prompt->text.text, map, &shape);
}

// --- For the report of a request -----------------------------------------------------------------

ExplainedPrompt PromptBuilder::Explain(PreparedPrompt prompt) const {
  ExplainedPrompt explained;
  explained.tokens = std::move(prompt.tokens);
  explained.media = std::move(prompt.media);
  explained.adds_bos = prompt.adds_bos;
  explained.header_end = prompt.text.shape.header_end;
  explained.message_ranges =
      FindMessageRanges(prompt.messages, prompt.text.shape, prompt.text.text);
  explained.map = std::move(prompt.map);
  explained.messages = std::move(prompt.messages);
  explained.dropped_messages = prompt.dropped_messages;
  explained.has_tools = !prompt.tools.empty();
  if (engine_->traits().grid_tokens > 0) explained.grid_tokens = engine_->traits().grid_tokens;
  explained.text = std::move(prompt.text.text);
  return explained;
}

}  // namespace cairn
