#include "chat/parse/answer_parser.h"

#include <algorithm>
#include <array>
#include <utility>

#include "chat/calls/call_splitter.h"
#include "chat/calls/calls_harmony.h"
#include "chat/calls/calls_syntax.h"
#include "chat/calls/calls_tools.h"
#include "chat/parse/reasoning.h"
#include "chat/syntax/learned_syntax.h"
#include "chat/syntax/named_calls.h"

namespace cairn {
namespace {

struct Family {
  CallFormat format;
  // A template of the family contains all texts of one of the two lists; an empty list never
  // matches.
  std::array<std::string_view, 2> marks;
  std::array<std::string_view, 2> other_marks;
  std::array<std::string_view, 3> tags;  // that may be control tokens
  CallSplitter::MakeSyntax make = nullptr;
  const LearnedCalls& (*named)() = nullptr;  // instead of `make`
};

// The most specific marks come first: a template with the marks of one family may have those of a
// later one too. A template of LFM2 may show tools without ever showing a call.
constexpr std::array<Family, 8> kFamilies = {{
    {CallFormat::kMiniMaxM3, {"]<]minimax[>["}, {}, {"]<]minimax[>["}, MakeMiniMaxCalls},
    {CallFormat::kLfm2,
     {"<|tool_call_start|>"},
     {"<|tool_list_start|>"},
     {"<|tool_call_start|>", "<|tool_call_end|>"},
     MakeLfm2Calls},
    {CallFormat::kQwenXml,
     {"<function=", "<parameter="},
     {},
     {"<tool_call>", "</tool_call>"},
     nullptr,
     QwenXmlSyntax},
    {CallFormat::kGranite,
     {"<|tool_call|>"},
     {},
     {"<|tool_call|>", "<|/tool_call|>"},
     nullptr,
     GraniteSyntax},
    {CallFormat::kMistral,
     {"[TOOL_CALLS]"},
     {},
     {"[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"},
     nullptr,
     MistralSyntax},
    {CallFormat::kHermes,
     {"<tool_call>"},
     {},
     {"<tool_call>", "</tool_call>"},
     nullptr,
     HermesSyntax},
    {CallFormat::kLlamaPythonic, {"[func_name1("}, {}, {}, MakeLlamaPythonicCalls},
    {CallFormat::kLlamaJson,
     {"<|python_tag|>"},
     {"\"parameters\": ", "<|start_header_id|>"},
     {"<|python_tag|>"},
     MakeLlamaJsonCalls},
}};

constexpr std::array<std::string_view, 2> kHarmonyMarks = {"<|channel|>", "<|message|>"};

bool HasAll(std::string_view text, const std::array<std::string_view, 2>& marks) {
  if (marks[0].empty()) return false;
  return std::all_of(marks.begin(), marks.end(), [&](std::string_view mark) {
    return text.find(mark) != std::string_view::npos;
  });
}

const Family* FamilyOf(CallFormat format) {
  const auto* const found = std::find_if(kFamilies.begin(), kFamilies.end(),
                                         [&](const Family& f) { return f.format == format; });
  return found == kFamilies.end() ? nullptr : found;
}

// The syntax that the learned parser reads; null if another one reads the calls.
const LearnedCalls* SyntaxOf(const AnswerFormat& format) {
  if (format.calls == CallFormat::kLearned) return format.learned.get();
  const Family* const family = FamilyOf(format.calls);
  return family != nullptr && family->named != nullptr ? &family->named() : nullptr;
}

// Parses reasoning in its tags, then content, with calls in it if there is a splitter for them.
class TaggedParser final : public AnswerParser {
 public:
  TaggedParser(const AnswerFormat& format, std::unique_ptr<CallSplitter> calls)
      : reasoning_(format.reasoning, format.starts_in_reasoning), calls_(std::move(calls)) {}

  std::vector<AnswerDelta> Push(std::string_view text) override {
    return ToPieces(reasoning_.Push(text));
  }

  std::vector<AnswerDelta> Finish() override {
    std::vector<AnswerDelta> pieces = ToPieces(reasoning_.Finish());
    if (calls_) calls_->Finish(&pieces);
    return pieces;
  }

  size_t broken_calls() const override { return calls_ ? calls_->broken_calls() : 0; }
  size_t mended_calls() const override { return calls_ ? calls_->mended_calls() : 0; }

 private:
  std::vector<AnswerDelta> ToPieces(std::vector<ReasoningSplitter::Piece> split) {
    std::vector<AnswerDelta> pieces;
    for (ReasoningSplitter::Piece& piece : split) {
      if (piece.reasoning) {
        pieces.push_back({AnswerDelta::Kind::kReasoning, std::move(piece.text)});
      } else if (calls_) {
        calls_->Push(piece.text, &pieces);
      } else {
        pieces.push_back({AnswerDelta::Kind::kContent, std::move(piece.text)});
      }
    }
    return pieces;
  }

  ReasoningSplitter reasoning_;
  const std::unique_ptr<CallSplitter> calls_;  // null: calls are not parsed
};

}  // namespace

CallFormat DetectCallFormat(std::string_view template_source) {
  if (HasAll(template_source, kHarmonyMarks)) return CallFormat::kHarmony;
  for (const Family& family : kFamilies) {
    if (HasAll(template_source, family.marks)) return family.format;
    if (HasAll(template_source, family.other_marks)) return family.format;
  }
  return CallFormat::kNone;
}

CallFormat CallFormatOf(const ChatTemplate& chat_template) {
  const CallFormat marked = DetectCallFormat(chat_template.source());
  switch (marked) {
    case CallFormat::kHarmony:
    case CallFormat::kLfm2:
    case CallFormat::kLlamaJson:
    case CallFormat::kLlamaPythonic:
    case CallFormat::kMiniMaxM3:
      return marked;  // these families write more than their templates show
    default:
      return chat_template.learned_calls() ? CallFormat::kLearned : marked;
  }
}

AnswerFormat FindAnswerFormat(const ChatTemplate& chat_template, std::string_view generation_prompt,
                              Tools tools) {
  AnswerFormat format;
  format.calls = CallFormatOf(chat_template);
  if (format.calls == CallFormat::kLearned) format.learned = chat_template.learned_calls();
  format.reasoning = chat_template.reasoning_tags();
  format.starts_in_reasoning = format.calls == CallFormat::kHarmony
                                   ? OpensAnalysis(generation_prompt)
                                   : OpensReasoning(format.reasoning, generation_prompt);
  format.tools = std::move(tools);
  return format;
}

std::vector<std::string> TagsOf(const AnswerFormat& format) {
  if (format.calls == CallFormat::kHarmony) return {HarmonyTags().begin(), HarmonyTags().end()};
  std::vector<std::string> tags = ControlTextsOf(format.reasoning);
  if (format.tools.empty()) return tags;
  if (format.calls == CallFormat::kLearned && format.learned) {
    for (std::string& tag : TagsOfCalls(*format.learned)) tags.push_back(std::move(tag));
  }
  const Family* const family = FamilyOf(format.calls);
  if (family == nullptr) return tags;
  for (const std::string_view tag : family->tags) {
    if (!tag.empty()) tags.emplace_back(tag);
  }
  return tags;
}

std::vector<std::string> CallBeginsOf(const AnswerFormat& format) {
  std::vector<std::string> begins;
  if (format.tools.empty()) return begins;
  if (format.calls == CallFormat::kHarmony) return {"<|channel|>commentary to="};
  if (const LearnedCalls* const learned = SyntaxOf(format)) {
    for (const LearnedSyntax::Start& start : LearnedSyntax(*learned).starts) {
      begins.push_back(start.text);
    }
  } else if (const Family* const family = FamilyOf(format.calls)) {
    const OfferedTools tools = ReadOfferedTools(format.tools);
    for (const CallBegin& begin : family->make(&tools)->begins()) begins.emplace_back(begin.text);
  }
  return begins;
}

std::unique_ptr<AnswerParser> MakeAnswerParser(const AnswerFormat& format) {
  OfferedTools tools = ReadOfferedTools(format.tools);
  if (format.calls == CallFormat::kHarmony) {
    return MakeHarmonyParser(std::move(tools), format.starts_in_reasoning, format.stream_arguments);
  }
  const Family* const family = FamilyOf(format.calls);
  const LearnedCalls* const learned = SyntaxOf(format);
  std::unique_ptr<CallSplitter> calls;
  const bool offered = !tools.schemas.empty();
  if (offered && learned != nullptr) {
    calls = std::make_unique<CallSplitter>(*learned, std::move(tools), format.stream_arguments);
  } else if (offered && family != nullptr) {
    calls = std::make_unique<CallSplitter>(family->make, std::move(tools));
  }
  return std::make_unique<TaggedParser>(format, std::move(calls));
}

std::unique_ptr<AnswerParser> MakeReasoningParser(bool starts_in_reasoning) {
  return MakeAnswerParser({.starts_in_reasoning = starts_in_reasoning});
}

}  // namespace cairn
