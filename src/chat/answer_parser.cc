#include "chat/answer_parser.h"

#include <algorithm>
#include <array>
#include <utility>

#include "chat/calls_harmony.h"
#include "chat/calls_scan.h"
#include "chat/calls_syntax.h"
#include "chat/calls_tools.h"
#include "chat/reasoning.h"

namespace cairn {
namespace {

struct Family {
  CallFormat format;
  // A template of the family has all texts of one of the two lists; an empty list is none.
  std::array<std::string_view, 2> marks;
  std::array<std::string_view, 2> other_marks;
  std::array<std::string_view, 3> tags;  // that may be control tokens
  std::unique_ptr<CallSyntax> (*make)(const OfferedTools*);
};

// The most specific marks first: a template that has those of one family may have those of a later
// one too. A template of LFM2 may show the tools, but never a call.
constexpr std::array<Family, 7> kFamilies = {{
    {CallFormat::kLfm2,
     {"<|tool_call_start|>"},
     {"<|tool_list_start|>"},
     {"<|tool_call_start|>", "<|tool_call_end|>"},
     MakeLfm2Calls},
    {CallFormat::kQwenXml,
     {"<function=", "<parameter="},
     {},
     {"<tool_call>", "</tool_call>"},
     MakeQwenXmlCalls},
    {CallFormat::kGranite,
     {"<|tool_call|>"},
     {},
     {"<|tool_call|>", "<|/tool_call|>"},
     MakeGraniteCalls},
    {CallFormat::kMistral,
     {"[TOOL_CALLS]"},
     {},
     {"[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"},
     MakeMistralCalls},
    {CallFormat::kHermes, {"<tool_call>"}, {}, {"<tool_call>", "</tool_call>"}, MakeHermesCalls},
    {CallFormat::kLlamaPythonic, {"[func_name1("}, {}, {}, MakeLlamaPythonicCalls},
    {CallFormat::kLlamaJson,
     {"<|python_tag|>"},
     {"\"parameters\": ", "<|start_header_id|>"},
     {"<|python_tag|>"},
     MakeLlamaJsonCalls},
}};

constexpr std::array<std::string_view, 2> kHarmonyMarks = {"<|channel|>", "<|message|>"};
constexpr std::array<std::string_view, 2> kReasoningTags = {"<think>", "</think>"};

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

// Tells calls from content, whatever the family.
class CallSplitter {
 public:
  CallSplitter(const Family& family, OfferedTools tools)
      : tools_(std::move(tools)), syntax_(family.make(&tools_)) {}
  CallSplitter(const CallSplitter&) = delete;
  CallSplitter& operator=(const CallSplitter&) = delete;

  void Push(std::string_view content, std::vector<AnswerPiece>* pieces) {
    held_ += content;
    while (Step(false, pieces)) {
    }
  }

  void Finish(std::vector<AnswerPiece>* pieces) {
    while (Step(true, pieces)) {
    }
    if (!behind_call_ && !space_.empty()) AddContent(space_, pieces);
  }

 private:
  // A beginning is tried this far at every push, so that what is none is soon seen to be none.
  static constexpr size_t kTriedBytes = 256;

  // True: something was settled, and there may be more to do.
  bool Step(bool finished, std::vector<AnswerPiece>* pieces) {
    const auto [at, begin_size] = FindBegin();
    if (at == std::string::npos) {
      EmitText(finished ? held_.size() : held_.size() - BegunSize(), pieces);
      return false;
    }
    if (at > 0) EmitText(at, pieces);
    if (!finished && !MayHaveEnded()) return false;
    CallRead read = syntax_->Read(held_, finished);
    if (read.kind == CallRead::Kind::kMore) {
      if (!finished) return false;
      read = CallRead::Text(begin_size);
    }
    const bool calls = read.kind == CallRead::Kind::kCalls &&
                       std::all_of(read.calls.begin(), read.calls.end(),
                                   [&](const FoundCall& call) { return tools_.Has(call.name); });
    if (calls) {
      EmitCalls(&read, pieces);
    } else {
      EmitText(read.size, pieces);
    }
    return !held_.empty();
  }

  struct Begin {
    size_t at = std::string::npos;
    size_t size = 0;
  };

  // Of a call, the first there is.
  Begin FindBegin() const {
    Begin first;
    for (const CallBegin& begin : syntax_->begins()) {
      if (first.at == 0) break;
      if (begin.first_only && begun_) continue;
      const size_t at = held_.find(begin.text);
      if (at == std::string::npos || at >= first.at) continue;
      if (begin.first_only && SkipWhiteSpace(held_, 0) != at) continue;
      first = {at, begin.text.size()};
    }
    return first;
  }

  // Bytes at the end of what is held that may become a beginning.
  size_t BegunSize() const {
    size_t most = 0;
    for (const CallBegin& begin : syntax_->begins()) {
      size_t size = std::min(held_.size(), begin.text.size() - 1);
      while (size > most && !held_.ends_with(begin.text.substr(0, size))) --size;
      most = std::max(most, size);
    }
    return most;
  }

  // Whether what came since it was last asked makes the syntax worth asking.
  bool MayHaveEnded() {
    const size_t from = std::exchange(looked_at_, held_.size());
    if (held_.size() <= kTriedBytes) return true;
    return held_.find_first_of(syntax_->last_bytes(), from) != std::string::npos;
  }

  // White space at its end is kept back: it is dropped if a call follows.
  void EmitText(size_t size, std::vector<AnswerPiece>* pieces) {
    looked_at_ = 0;
    space_.append(held_, 0, size);
    held_.erase(0, size);
    const size_t end = space_.find_last_not_of(kCallWhiteSpace);
    if (end == std::string::npos) return;
    begun_ = true;
    behind_call_ = false;
    AddContent(space_.substr(0, end + 1), pieces);
    space_.erase(0, end + 1);
  }

  static void AddContent(std::string text, std::vector<AnswerPiece>* pieces) {
    pieces->push_back({AnswerPiece::Kind::kContent, std::move(text)});
  }

  void EmitCalls(CallRead* read, std::vector<AnswerPiece>* pieces) {
    for (FoundCall& call : read->calls) {
      pieces->push_back({AnswerPiece::Kind::kCallBegin, std::move(call.name), calls_});
      pieces->push_back({AnswerPiece::Kind::kCallArguments, std::move(call.arguments), calls_});
      ++calls_;
    }
    held_.erase(0, read->size);
    looked_at_ = 0;
    space_.clear();
    begun_ = true;
    behind_call_ = true;
  }

  const OfferedTools tools_;
  const std::unique_ptr<const CallSyntax> syntax_;
  std::string space_;     // white space that content may go on with
  std::string held_;      // what follows it
  size_t looked_at_ = 0;  // bytes of held_ that MayHaveEnded has seen
  size_t calls_ = 0;
  bool begun_ = false;        // there was content or a call
  bool behind_call_ = false;  // and a call was last
};

// Reasoning in <think>, then content, with calls in it if there is a splitter for them.
class TaggedParser final : public AnswerParser {
 public:
  TaggedParser(bool starts_in_reasoning, std::unique_ptr<CallSplitter> calls)
      : reasoning_(starts_in_reasoning), calls_(std::move(calls)) {}

  std::vector<AnswerPiece> Push(std::string_view text) override {
    return ToPieces(reasoning_.Push(text));
  }

  std::vector<AnswerPiece> Finish() override {
    std::vector<AnswerPiece> pieces = ToPieces(reasoning_.Finish());
    if (calls_) calls_->Finish(&pieces);
    return pieces;
  }

 private:
  std::vector<AnswerPiece> ToPieces(std::vector<ReasoningSplitter::Piece> split) {
    std::vector<AnswerPiece> pieces;
    for (ReasoningSplitter::Piece& piece : split) {
      if (piece.reasoning) {
        pieces.push_back({AnswerPiece::Kind::kReasoning, std::move(piece.text)});
      } else if (calls_) {
        calls_->Push(piece.text, &pieces);
      } else {
        pieces.push_back({AnswerPiece::Kind::kContent, std::move(piece.text)});
      }
    }
    return pieces;
  }

  ReasoningSplitter reasoning_;
  const std::unique_ptr<CallSplitter> calls_;  // null: none are looked for
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

AnswerFormat FindAnswerFormat(const ChatTemplate& chat_template, std::string_view generation_prompt,
                              std::string tools_json) {
  AnswerFormat format;
  format.calls = DetectCallFormat(chat_template.source());
  format.starts_in_reasoning = format.calls == CallFormat::kHarmony
                                   ? OpensAnalysis(generation_prompt)
                                   : OpensReasoning(generation_prompt);
  format.tools_json = std::move(tools_json);
  return format;
}

std::vector<std::string> TagsOf(const AnswerFormat& format) {
  if (format.calls == CallFormat::kHarmony) return {HarmonyTags().begin(), HarmonyTags().end()};
  std::vector<std::string> tags(kReasoningTags.begin(), kReasoningTags.end());
  const Family* const family = FamilyOf(format.calls);
  if (family == nullptr || format.tools_json.empty()) return tags;
  for (const std::string_view tag : family->tags) {
    if (!tag.empty()) tags.emplace_back(tag);
  }
  return tags;
}

std::unique_ptr<AnswerParser> MakeAnswerParser(const AnswerFormat& format) {
  OfferedTools tools = ReadOfferedTools(format.tools_json);
  if (format.calls == CallFormat::kHarmony) {
    return MakeHarmonyParser(std::move(tools), format.starts_in_reasoning);
  }
  const Family* const family = FamilyOf(format.calls);
  std::unique_ptr<CallSplitter> calls;
  if (family != nullptr && !tools.schemas.empty()) {
    calls = std::make_unique<CallSplitter>(*family, std::move(tools));
  }
  return std::make_unique<TaggedParser>(format.starts_in_reasoning, std::move(calls));
}

std::unique_ptr<AnswerParser> MakeReasoningParser(bool starts_in_reasoning) {
  return MakeAnswerParser({.starts_in_reasoning = starts_in_reasoning});
}

}  // namespace cairn
