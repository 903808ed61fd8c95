#include "api/record/explanation.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "chat/spans/volatile_matcher.h"
#include "chat/spans/volatile_patterns.h"

namespace cairn {
namespace {

using Place = Explanation::Place;
using Part = Explanation::Place::Part;

constexpr size_t kExcerptBytesMax = 80;
// Bytes of a line to use in a pattern that finds it again.
constexpr size_t kShownPatternBytesMax = 40;
// In all searches for the place of a divergence.
constexpr size_t kSearchedBytesMax = size_t{64} << 20;
// Within this many grid steps before the divergence, the resume position is as good as possible.
constexpr size_t kNearSteps = 2;

std::string Excerpt(std::string_view text) {
  std::string_view shown = text.substr(0, kExcerptBytesMax);
  while (shown.size() < text.size() && !shown.empty() && IsContinuationByte(text[shown.size()])) {
    shown.remove_suffix(1);
  }
  return ToValidUtf8(shown) + (shown.size() < text.size() ? "…" : "");
}

bool IsHeaderRole(Role role) {
  return role == Role::kSystem || role == Role::kDeveloper;
}

// The message's index in the conversation as sent: messages may have been dropped after the system
// messages.
size_t NumberOf(const ExplainedPrompt& prompt, size_t index) {
  size_t header = 0;
  while (header < prompt.messages.size() && IsHeaderRole(prompt.messages[header].role)) ++header;
  return index < header ? index : index + prompt.dropped_messages;
}

// Finds the messages' texts in the prompt. Templates trim them and put text around them, but keep
// their order.
class PlaceFinder {
 public:
  explicit PlaceFinder(const ExplainedPrompt& prompt) : prompt_(prompt) {}

  // Start of the content or reasoning that was found.
  size_t text_begin() const { return text_begin_; }

  Place Find(size_t offset) {
    for (size_t i = 0; i < prompt_.messages.size(); ++i) {
      const Message& message = prompt_.messages[i];
      if (auto place = Within(i, Part::kReasoning, message.reasoning, offset)) return *place;
      if (auto place = Within(i, Part::kContent, message.content, offset)) return *place;
      if (!message.tool_calls.empty() && Calls(i, offset)) return Of(i, Part::kToolCalls, offset);
    }
    return prompt_.messages.empty() ? Place{.character = CharactersBefore(offset)}
                                    : Of(prompt_.messages.size() - 1, Part::kTemplate, offset);
  }

 private:
  size_t CharactersBefore(size_t offset) const {
    return CountCharacters(std::string_view(prompt_.text).substr(0, offset));
  }

  Place Of(size_t index, Part part, size_t offset) const {
    return {NumberOf(prompt_, index), prompt_.messages[index].role, part, CharactersBefore(offset)};
  }

  // Returns nullopt if `offset` is after `text`, or `text` was not rendered verbatim.
  std::optional<Place> Within(size_t index, Part part, std::string_view text, size_t offset) {
    text = Trimmed(text);
    if (text.empty()) return std::nullopt;
    const size_t begin = Search(text);
    if (begin == std::string_view::npos) return std::nullopt;
    cursor_ = begin + text.size();
    if (offset < begin) {
      const bool in_tools = !prompt_.tools.empty() && offset < prompt_.header_end;
      return Of(index, in_tools ? Part::kTools : Part::kTemplate, offset);
    }
    if (offset >= cursor_) {
      if (prompt_.tools.empty() || offset >= prompt_.header_end || !IsHeader(index)) {
        return std::nullopt;
      }
      // Some templates put tools after the system text.
      const bool more = index + 1 < prompt_.messages.size() && IsHeader(index + 1);
      if (more) return std::nullopt;
      return Of(index, Part::kTools, offset);
    }
    Place place = Of(index, part, offset);
    text_begin_ = begin;
    place.character = CountCharacters(std::string_view(prompt_.text).substr(begin, offset - begin));
    return place;
  }

  // Returns where the text comes next. A template may have left out or changed the texts of very
  // many messages, and each would be searched for up to the end of a long prompt, so searches end.
  size_t Search(std::string_view text) {
    const size_t end = std::min(prompt_.text.size(), cursor_ + searched_bytes_left_);
    const size_t found = std::string_view(prompt_.text).substr(0, end).find(text, cursor_);
    searched_bytes_left_ -= std::min(found, end) - cursor_;
    return found;
  }

  bool IsHeader(size_t index) const { return IsHeaderRole(prompt_.messages[index].role); }

  // Returns whether `offset` is before the text of the next message, so among this message's calls.
  bool Calls(size_t index, size_t offset) {
    for (size_t next = index + 1; next < prompt_.messages.size(); ++next) {
      const std::string_view text = Trimmed(prompt_.messages[next].content);
      if (text.empty()) continue;
      const size_t begin = Search(text);
      return begin != std::string_view::npos && offset < begin;
    }
    return true;
  }

  const ExplainedPrompt& prompt_;
  size_t cursor_ = 0;
  size_t text_begin_ = 0;
  size_t searched_bytes_left_ = kSearchedBytesMax;
};

// Returns the word at `offset` if it contains a digit: a date, a time, a counter or a hash may
// change in every request.
std::string_view ChangingWord(std::string_view text, size_t offset) {
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  size_t begin = std::min(offset, text.size());
  while (begin > 0 && !is_space(text[begin - 1])) --begin;
  size_t end = std::min(offset, text.size());
  while (end < text.size() && !is_space(text[end])) ++end;
  const std::string_view word = text.substr(begin, end - begin);
  const bool has_figure = std::any_of(
      word.begin(), word.end(), [](char c) { return std::isdigit(static_cast<unsigned char>(c)); });
  return has_figure ? word : std::string_view();
}

bool LooksLikeTime(std::string_view word) {
  constexpr std::ptrdiff_t kFiguresMin = 4;
  const auto figures = std::count_if(word.begin(), word.end(), [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
  return figures >= kFiguresMin && word.find_first_of("-:/") != std::string_view::npos;
}

std::string EscapedPattern(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos) escaped += '\\';
    // The pattern is shown in single quotes.
    escaped += c == '\'' ? '.' : c;
  }
  return escaped;
}

// Returns a pattern of the word's future values: digits match digits, the text between them stays.
std::string Generalised(std::string_view word) {
  const auto is_alnum = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  std::string pattern;
  for (size_t i = 0; i < word.size();) {
    size_t end = i;
    while (end < word.size() && is_alnum(word[end])) ++end;
    const std::string_view run = word.substr(i, end - i);
    if (run.empty()) {
      pattern += EscapedPattern(word.substr(i++, 1));
      continue;
    }
    i = end;
    if (std::all_of(run.begin(), run.end(), is_digit)) {
      pattern += "\\d+";
    } else {
      const bool mixed = std::any_of(run.begin(), run.end(), is_digit);
      pattern += mixed ? "[0-9A-Za-z]+" : EscapedPattern(run);
    }
  }
  return pattern;
}

// Returns a pattern that finds the word by the text before it on its line, or as the first word of
// the text if there is none.
std::string PatternFor(std::string_view text, std::string_view word, size_t text_begin) {
  const auto begin = static_cast<size_t>(word.data() - text.data());
  size_t line = text.substr(0, begin).rfind('\n');
  line = std::max(text_begin, line == std::string_view::npos ? 0 : line + 1);
  std::string_view before = line < begin ? text.substr(line, begin - line) : std::string_view();
  if (before.size() > kShownPatternBytesMax)
    before.remove_prefix(before.size() - kShownPatternBytesMax);
  while (!before.empty() && IsContinuationByte(before.front())) before.remove_prefix(1);
  const bool first = before.empty() && begin <= text_begin;
  return (first ? "^" : "") + EscapedPattern(before) + Generalised(word);
}

std::string Numbered(const Place& place) {
  return "messages[" + std::to_string(*place.message) + "] (" + std::string(RoleName(place.role)) +
         ")";
}

std::string Where(const Place& place) {
  std::string character = "character " + std::to_string(place.character);
  if (!place.message) return character + " of the prompt";
  switch (place.part) {
    case Part::kContent:
      return Numbered(place) + ", " + character;
    case Part::kReasoning:
      return "the reasoning of " + Numbered(place) + ", " + character;
    case Part::kToolCalls:
      return "the tool calls of " + Numbered(place);
    case Part::kTools:
      return "the tool definitions";
    case Part::kTemplate:
      return "the chat template's text around " + Numbered(place);
  }
  return character;
}

// Returns the argument of --pin-volatile that would pin the changed value. Empty if a person may
// have changed it.
std::string VolatilePattern(const Place& place, std::string_view text, size_t offset,
                            size_t text_begin) {
  if (place.part != Part::kContent || !place.message || place.role == Role::kAssistant) return "";
  if (IsBuiltinVolatile(text, offset)) return std::string(kBuiltinVolatile);
  const std::string_view word = ChangingWord(text, offset);
  // People change numbers in their questions, but rarely dates and times.
  const bool by_itself = IsHeaderRole(place.role) ? !word.empty() : LooksLikeTime(word);
  return by_itself ? ToValidUtf8(PatternFor(text, word, text_begin)) : "";
}

// `kept_tokens` is the number of prompt tokens after the place; `pattern` is VolatilePattern's.
std::string AdviceFor(const Place& place, const std::string& pattern, size_t kept_tokens) {
  if (place.part == Part::kTools) {
    return "Send the same tools in every request of a conversation. Tool definitions come before "
           "all messages, so a change in them invalidates the whole prompt.";
  }
  if (place.part == Part::kReasoning ||
      (place.part != Part::kContent && place.message && place.role == Role::kAssistant)) {
    return "The assistant message differs from what the server generated, usually because its "
           "reasoning was removed. With --warm the server prefetches that form while idle.";
  }
  if (place.part != Part::kContent || !place.message) return "";
  if (!pattern.empty()) {
    const std::string text = IsHeaderRole(place.role) ? "The system prompt" : "The message";
    const bool builtin = pattern == kBuiltinVolatile;
    return text + " contains a value that appears to change in every request. " +
           (builtin ? "Within a conversation, --volatile late"
                    : "--pin-volatile '" + pattern + "'") +
           " would save the prefill of " + WithCommas(kept_tokens) + " tokens.";
  }
  if (IsHeaderRole(place.role)) {
    return "A change in the system prompt invalidates everything after it. Put the text that "
           "changes into the last message.";
  }
  if (place.role == Role::kAssistant) {
    return "The assistant message was edited. Send it back as the server generated it.";
  }
  return "";
}

Explanation NewPrompt() {
  return {.why = Explanation::Why::kNewPrompt,
          .sentence = "No cached prompt begins like this one."};
}

// Texts that have so many bytes in common are versions of one.
constexpr size_t kAlike = 12;

// Returns whether the two texts agree again after the place where they differ, as two versions of
// one text do.
bool AreVersions(std::string_view a, std::string_view b) {
  constexpr size_t kLookedAt = 256;
  a = a.substr(0, kLookedAt);
  b = b.substr(0, kLookedAt);
  for (size_t i = 0; i + kAlike <= b.size(); ++i) {
    if (a.find(b.substr(i, kAlike)) != std::string_view::npos) return true;
  }
  return false;
}

// Explains one prompt.
class Explainer {
 public:
  Explainer(const ReuseReport& report, const ExplainedPrompt& prompt, const Engine& engine)
      : report_(report), prompt_(prompt), engine_(engine), map_(prompt.map) {}

  Explanation Diverged() {
    const std::string stored = StoredText();
    const std::string_view text = prompt_.text;
    const auto begin = Map().OffsetAt(report_.shared_tokens);
    Explanation told;
    told.why = Explanation::Why::kDiverged;
    told.stored_excerpt = Excerpt(stored);
    if (!begin) {
      told.sentence = "The prompt diverges from the closest cached prompt at token " +
                      WithCommas(report_.shared_tokens) + ".";
      return told;
    }
    if (const PlacedMedium* medium = MediumWith(report_.shared_tokens, prompt_.media)) {
      return DivergedAtMedium(*medium, *begin, std::move(told));
    }
    // Tokens may diverge before characters do.
    const std::string_view rest = text.substr(*begin);
    const size_t same = CommonCharacterBytes(rest, stored);
    const size_t offset = *begin + same;
    // Every two prompts of one template begin with the same few tokens.
    const bool barely = report_.shared_tokens < prompt_.grid_tokens;
    if (barely && !AreVersions(text.substr(offset), std::string_view(stored).substr(same))) {
      return NewPrompt();
    }
    PlaceFinder finder(prompt_);
    told.place = finder.Find(offset);
    if (IsFirstQuestion(*told.place) && told.place->character < kAlike) {
      const Message& question = prompt_.messages[*told.place->message];
      const size_t end = finder.text_begin() + Trimmed(question.content).size();
      const std::string_view asked = text.substr(offset, end - offset);
      if (!AreVersions(std::string_view(stored).substr(same), asked)) return NewConversation();
    }
    told.prompt_excerpt = Excerpt(text.substr(offset));
    told.stored_excerpt = Excerpt(std::string_view(stored).substr(same));
    told.sentence = "The prompt diverges from the closest cached prompt at " + Where(*told.place) +
                    "." + Short();
    told.volatile_pattern = VolatilePattern(*told.place, text, offset, finder.text_begin());
    told.advice =
        AdviceFor(*told.place, told.volatile_pattern,
                  report_.prompt_tokens - std::min(report_.prompt_tokens, report_.shared_tokens));
    return told;
  }

  // Returns the token ranges of the messages.
  std::vector<Explanation::MessageTokens> Messages() {
    std::vector<Explanation::MessageTokens> told;
    for (size_t i = 0; i < prompt_.message_ranges.size(); ++i) {
      told.push_back({NumberOf(prompt_, i), prompt_.messages[i].role});
      const auto& range = prompt_.message_ranges[i];
      if (!range) continue;
      const auto begin = Map().PositionAt(range->begin);
      const auto end = Map().PositionAt(range->end);
      if (begin && end) told.back().tokens = {*begin, *end};
    }
    return told;
  }

 private:
  Explanation DivergedAtMedium(const PlacedMedium& medium, size_t offset, Explanation told) {
    const std::string kind(MediumKindName(medium.medium->kind));
    told.prompt_excerpt = "[" + kind + "]";
    told.place = PlaceFinder(prompt_).Find(offset);
    told.sentence = "The prompt diverges from the closest cached prompt at the " + kind + " of " +
                    medium.medium->place + "." + Short();
    return told;
  }

  std::string StoredText() const {
    std::string stored;
    for (const Token token : report_.stored_next) {
      if (IsMediaToken(token)) {
        stored += ContinuesMedium(token) ? "" : "[image or recording]";
      } else {
        stored += engine_.Piece(token, true);
      }
    }
    return stored;
  }

  const TokenMap& Map() {
    if (map_) return *map_;
    map_ = std::make_shared<TokenMap>(prompt_.text,
                                      TokenPieces(engine_, prompt_.tokens, prompt_.media),
                                      prompt_.adds_bos ? 1 : 0);
    return *map_;
  }

  // Whether the place is in the first message behind the system messages.
  bool IsFirstQuestion(const Place& place) const {
    const auto& messages = prompt_.messages;
    const auto first = std::find_if_not(messages.begin(), messages.end(),
                                        [](const auto& one) { return IsHeaderRole(one.role); });
    return prompt_.dropped_messages == 0 && place.part == Part::kContent &&
           place.role == Role::kUser && first != messages.end() &&
           place.message == static_cast<size_t>(first - messages.begin());
  }

  Explanation NewConversation() const {
    return {.why = Explanation::Why::kNewPrompt,
            .sentence = "A new conversation: its first " + WithCommas(report_.shared_tokens) +
                        " tokens, up to its first question, were known." + Short()};
  }

  // Returns a sentence if less was reused than the common prefix.
  std::string Short() const {
    if (report_.shared_tokens <= report_.reused_tokens + kNearSteps * prompt_.grid_tokens)
      return "";
    return " Of the " + WithCommas(report_.shared_tokens) + " tokens before that point, " +
           WithCommas(report_.reused_tokens) + " were reused, up to the last checkpoint.";
  }

  const ReuseReport& report_;
  const ExplainedPrompt& prompt_;
  const Engine& engine_;
  std::shared_ptr<const TokenMap> map_;
};

// Returns the media of the prompt, without their files, which may be large. `messages` are its
// messages.
std::vector<Explanation::MediumTokens> MediaOf(
    const ExplainedPrompt& prompt, const std::vector<Explanation::MessageTokens>& messages) {
  std::vector<Explanation::MediumTokens> told;
  for (const PlacedMedium& placed : prompt.media) {
    Explanation::MediumTokens medium{placed.medium->kind,
                                     placed.medium->place,
                                     std::nullopt,
                                     {placed.begin, placed.end},
                                     placed.preview};
    const auto around = std::find_if(messages.begin(), messages.end(), [&](const auto& message) {
      return message.tokens && message.tokens->begin <= placed.begin &&
             placed.end <= message.tokens->end;
    });
    if (around != messages.end()) medium.message = around->message;
    told.push_back(std::move(medium));
  }
  return told;
}

Explanation NoCheckpoint(const ReuseReport& report) {
  Explanation told;
  told.why = Explanation::Why::kNoCheckpoint;
  told.sentence = "The prompt is cached up to token " + WithCommas(report.shared_tokens) +
                  ", but the last usable checkpoint of the model's state is at token " +
                  WithCommas(report.reused_tokens) + ".";
  told.advice =
      "A closer checkpoint was not taken or was evicted. A larger --cache-ram keeps more "
      "checkpoints; --checkpoint-every-nt takes more.";
  return told;
}

Explanation WhyRead(const ReuseReport& report, const ExplainedPrompt& prompt,
                    Explainer* explainer) {
  if (!report.reuse_allowed) {
    return {
        .why = Explanation::Why::kNotAllowed,
        .sentence = "The request set \"cache_prompt\": false, so the whole prompt was prefilled.",
        .advice = "Remove cache_prompt from the request."};
  }
  if (report.scores_prompt) {
    return {.why = Explanation::Why::kNotAllowed,
            .sentence =
                "The request asked for log-probabilities of its prompt, which no stored "
                "state has, so the whole prompt was prefilled."};
  }
  const bool diverged = report.shared_tokens < report.prompt_tokens && !report.stored_next.empty();
  if (diverged) return explainer->Diverged();
  if (report.shared_tokens < prompt.grid_tokens && report.reused_tokens == 0) {
    return NewPrompt();
  }
  const size_t near_tokens = kNearSteps * prompt.grid_tokens;
  if (report.shared_tokens > report.reused_tokens + near_tokens) return NoCheckpoint(report);
  return {.sentence =
              "Every cached token of the prompt was reused; only new tokens were prefilled."};
}

}  // namespace

std::string_view WhyName(Explanation::Why why) {
  switch (why) {
    case Explanation::Why::kAllKnown:
      return "all_known";
    case Explanation::Why::kNotAllowed:
      return "not_allowed";
    case Explanation::Why::kNewPrompt:
      return "new_prompt";
    case Explanation::Why::kDiverged:
      return "diverged";
    case Explanation::Why::kNoCheckpoint:
      return "no_checkpoint";
  }
  return "";
}

std::string_view PartName(Part part) {
  switch (part) {
    case Part::kContent:
      return "content";
    case Part::kReasoning:
      return "reasoning";
    case Part::kToolCalls:
      return "tool_calls";
    case Part::kTools:
      return "tools";
    case Part::kTemplate:
      return "template";
  }
  return "";
}

Explanation Explain(const ReuseReport& report, const ExplainedPrompt& prompt,
                    const Engine& engine) {
  Explainer explainer(report, prompt, engine);
  Explanation told = WhyRead(report, prompt, &explainer);
  told.messages = explainer.Messages();
  told.media = MediaOf(prompt, told.messages);
  return told;
}

}  // namespace cairn
