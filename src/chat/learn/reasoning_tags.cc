#include "chat/learn/reasoning_tags.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "chat/calls/calls_harmony.h"
#include "chat/text/message.h"

namespace cairn {
namespace {

constexpr std::string_view kReasoningMark = "ReasoningNeedle";
constexpr size_t kTagBytesMax = 64;

// The brackets around control tokens.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kBrackets = {
    {{"<", ">"}, {"[", "]"}, {"◁", "▷"}}};

// Returns the bracketed text at the beginning of `text`, such as "<think>" or "<|im_end|>", or an
// empty view.
std::string_view BracketedAt(std::string_view text) {
  for (const auto& [begin, end] : kBrackets) {
    if (!text.starts_with(begin)) continue;
    const size_t close = text.find(end, begin.size());
    if (close == std::string_view::npos) return "";
    const std::string_view found = text.substr(0, close + end.size());
    const bool whole = found.size() <= kTagBytesMax && found.size() > begin.size() + end.size() &&
                       found.find_first_of(" \t\r\n'\"{}") == std::string_view::npos;
    return whole ? found : "";
  }
  return "";
}

// As BracketedAt, at the end of `text`.
std::string_view BracketedAtEnd(std::string_view text) {
  for (const auto& [begin, end] : kBrackets) {
    if (!text.ends_with(end)) continue;
    const size_t open = text.substr(0, text.size() - end.size()).rfind(begin);
    if (open == std::string_view::npos) return "";
    const std::string_view found = BracketedAt(text.substr(open));
    return found.size() == text.size() - open ? found : "";
  }
  return "";
}

// Returns all bracketed texts in `text`.
std::vector<std::string_view> AllBracketed(std::string_view text) {
  std::vector<std::string_view> all;
  for (size_t at = 0; at < text.size(); ++at) {
    const std::string_view found = BracketedAt(text.substr(at));
    if (!found.empty()) all.push_back(found);
  }
  return all;
}

bool NamesReasoning(std::string_view bracketed) {
  std::string lower(bracketed);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  });
  return Contains(lower, "think") || Contains(lower, "thought") || Contains(lower, "reason");
}

// A tag may be a name between two control tokens: <|open|>think<|sep|> … <|close|>think<|sep|>.
std::optional<ReasoningTags> NamedTags(std::string_view before, std::string_view after) {
  const std::string_view last = BracketedAtEnd(before);
  const std::string_view first = BracketedAt(after);
  if (last.empty() || first.empty()) return std::nullopt;
  const std::string_view name_end = before.substr(0, before.size() - last.size());
  const size_t name_begin = name_end.find_last_of(">]") + 1;
  const std::string_view name = name_end.substr(name_begin);
  const std::string_view begin = BracketedAtEnd(name_end.substr(0, name_begin));
  const bool is_name = !name.empty() && name.find_first_of(kLineSpace) == std::string_view::npos;
  const std::string rest = std::string(name) + std::string(last);
  if (!is_name || begin.empty() || !after.substr(first.size()).starts_with(rest)) {
    return std::nullopt;
  }
  return ReasoningTags{std::string(begin) + rest, std::string(first) + rest, true};
}

// Returns the tags around the mark in a rendering; nullopt if the mark is missing, or not between
// tags.
std::optional<ReasoningTags> TagsAround(std::string_view rendered) {
  const size_t at = rendered.find(kReasoningMark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view before = Trimmed(rendered.substr(0, at));
  const std::string_view after = Trimmed(rendered.substr(at + kReasoningMark.size()));
  if (auto named = NamedTags(before, after)) return named;
  const std::string_view close = BracketedAt(after);
  if (close.empty()) return std::nullopt;
  // The last bracketed text before the mark, with the text after it: "<|channel>thought".
  const size_t from = before.size() - std::min(before.size(), kTagBytesMax);
  for (size_t open = before.size(); open-- > from;) {
    if (BracketedAt(before.substr(open)).empty()) continue;
    const std::string_view tag = before.substr(open);
    if (tag.find_first_of(kLineSpace) != std::string_view::npos || tag == close)
      return std::nullopt;
    return ReasoningTags{std::string(tag), std::string(close), true};
  }
  return std::nullopt;
}

// Returns the closing tag that matches an opening one by its form, if `source` contains it.
std::optional<std::string> PartnerIn(std::string_view source, std::string_view open) {
  std::vector<std::string> candidates;
  for (const std::string_view begin : {"<|", "<", "[", "◁"}) {
    if (!open.starts_with(begin)) continue;
    candidates.push_back(std::string(begin) + "/" + std::string(open.substr(begin.size())));
  }
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kWords = {
      {{"START", "END"}, {"start", "end"}, {"BEGIN", "END"}, {"begin", "end"}}};
  for (const auto& [from, to] : kWords) {
    const size_t at = open.find(from);
    if (at == std::string_view::npos) continue;
    candidates.push_back(std::string(open).replace(at, from.size(), to));
  }
  for (std::string& candidate : candidates) {
    if (Contains(source, candidate)) return std::move(candidate);
  }
  return std::nullopt;
}

// Returns the tags that occur in the template's source.
std::optional<ReasoningTags> TagsNamedIn(std::string_view source) {
  std::optional<ReasoningTags> closing_alone;
  for (const std::string_view bracketed : AllBracketed(source)) {
    if (!NamesReasoning(bracketed)) continue;
    if (auto close = PartnerIn(source, bracketed)) {
      return ReasoningTags{std::string(bracketed), *std::move(close), true};
    }
    const size_t slash = bracketed.find('/');
    if (slash == std::string_view::npos || closing_alone) continue;
    closing_alone =
        ReasoningTags{std::string(bracketed).erase(slash, 1), std::string(bracketed), true};
  }
  return closing_alone;
}

Message Reasoned(bool calls) {
  Message message{.role = Role::kAssistant,
                  .content = calls ? "" : "AnswerNeedle",
                  .reasoning = std::string(kReasoningMark)};
  if (calls) message.tool_calls = {{"call00001", "tool_needle", R"({"key_needle":"value"})"}};
  return message;
}

Tools TagsProbeTools() {
  const Json parameters = {{"type", "object"},
                           {"properties", {{"key_needle", {{"type", "string"}}}}}};
  const Json function = {
      {"name", "tool_needle"}, {"description", "A tool."}, {"parameters", parameters}};
  return Tools(Json::array({{{"type", "function"}, {"function", function}}}));
}

std::optional<ReasoningTags> TagsRendered(const RenderConversation& render, bool calls,
                                          std::string_view kwargs) {
  Conversation conversation{.messages = {{.role = Role::kUser, .content = "UserNeedle"}},
                            .template_kwargs_json = std::string(kwargs)};
  if (calls) conversation.tools = TagsProbeTools();
  const auto question = render(conversation, false);
  conversation.messages.push_back(Reasoned(calls));
  const auto rendered = render(conversation, false);
  if (!question || !rendered) return std::nullopt;
  auto tags = TagsAround(*rendered);
  // A text that also ends questions or introduces tools does not end reasoning, unless its name
  // says so.
  if (tags && !NamesReasoning(tags->open) && Contains(*question, tags->close)) return std::nullopt;
  return tags;
}

}  // namespace

ReasoningTags LearnReasoningTags(std::string_view source, const RenderConversation& render) {
  if (Contains(source, kAnalysisOpen)) {
    return {std::string(kAnalysisOpen), std::string(kAnalysisClose), true};
  }
  for (const std::string_view kwargs :
       {"", R"({"enable_thinking":true,"thinking":true,"thinking_mode":"enabled"})"}) {
    for (const bool calls : {false, true}) {
      if (auto tags = TagsRendered(render, calls, kwargs)) return *std::move(tags);
    }
  }
  return TagsNamedIn(source).value_or(ReasoningTags());
}

std::vector<std::string> ControlTextsOf(const ReasoningTags& tags) {
  std::vector<std::string> texts;
  const auto add = [&](std::string_view text) {
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.emplace_back(text);
  };
  for (const std::string& tag : {tags.open, tags.close}) {
    add(tag);
    for (const std::string_view bracketed : AllBracketed(tag)) add(bracketed);
  }
  return texts;
}

}  // namespace cairn
