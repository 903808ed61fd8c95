#include "api/service/written_answer.h"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "api/json.h"
#include "base/text.h"
#include "chat/parse/answer_parser.h"

namespace cairn {
namespace {

constexpr std::string_view kReasoningBegin = "<think>";
constexpr std::string_view kReasoningEnd = "\n</think>\n\n";

// Only the definition of the called tool, so that the parser is cheap to make. A tool that is not
// offered has no schema.
Tools ToolsOf(const Message& answer, const Tools& tools) {
  if (answer.tool_calls.empty()) return {};
  const std::string& name = answer.tool_calls.front().name;
  const Json* const known = tools.FindFunction(name);
  const Json function = known != nullptr ? *known : Json{{"name", name}};
  return Tools(Json::array({{{"type", "function"}, {"function", function}}}));
}

// A text as the answer parser parses it.
struct ParsedText {
  std::string reasoning;
  std::string content;
  std::vector<ToolCall> calls;
};

ParsedText Parse(const AnswerFormat& format, std::string_view text) {
  ParsedText parsed;
  const auto parser = MakeAnswerParser(format);
  auto pieces = parser->Push(text);
  auto rest = parser->Finish();
  pieces.insert(pieces.end(), rest.begin(), rest.end());
  for (const AnswerDelta& piece : pieces) {
    switch (piece.kind) {
      case AnswerDelta::Kind::kReasoning:
        parsed.reasoning += piece.text;
        break;
      case AnswerDelta::Kind::kContent:
        parsed.content += piece.text;
        break;
      case AnswerDelta::Kind::kCallBegin:
        parsed.calls.push_back({.name = piece.text});
        break;
      case AnswerDelta::Kind::kCallArguments:
        parsed.calls.back().arguments += piece.text;
        break;
    }
  }
  return parsed;
}

bool SameCalls(const std::vector<ToolCall>& a, const std::vector<ToolCall>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].name != b[i].name) return false;
    if (Json::parse(a[i].arguments, nullptr, false) != Json::parse(b[i].arguments, nullptr, false))
      return false;
  }
  return true;
}

class AnswerWriter {
 public:
  AnswerWriter(const Message& answer, const Conversation& conversation,
               const ChatTemplate& chat_template)
      : answer_(answer), template_(chat_template), tools_(ToolsOf(answer, conversation.tools)) {
    // The question does not influence the form of the answer.
    shown_.messages = {{.role = Role::kUser, .content = "?"}};
    shown_.template_kwargs_json = conversation.template_kwargs_json;
  }

  Result<std::string> Write() {
    const auto prompt = template_.Render(shown_, true);
    if (!prompt) return tl::unexpected(prompt.error());
    format_ = FindAnswerFormat(template_, *prompt, tools_);
    const auto candidates = Candidates(*prompt);
    if (!candidates) return tl::unexpected(candidates.error());
    for (const bool reasons : {true, false}) {
      for (const std::string& candidate : *candidates) {
        if (auto text = BeginningThatParses(candidate, reasons)) return *std::move(text);
      }
    }
    return Fail(
        ErrorCode::kUnsupported,
        "the chat template does not render answers in the form in which they are generated, so "
        "--script cannot write them; give another template with --chat-template");
  }

 private:
  // Returns texts that may begin with the answer. Some templates render the last message
  // differently from earlier ones.
  Result<std::vector<std::string>> Candidates(const std::string& prompt) {
    std::vector<std::string> candidates;
    shown_.messages.push_back(answer_);
    const auto last = template_.Render(shown_, false);
    if (!last) return tl::unexpected(last.error());
    AddCandidates(prompt, *last, &candidates);
    if (answer_.tool_calls.empty()) {
      shown_.messages.push_back({.role = Role::kUser, .content = "?"});
    } else {
      const ToolCall& call = answer_.tool_calls.front();
      shown_.messages.push_back(
          {.role = Role::kTool, .content = "?", .tool_call_id = call.id, .name = call.name});
    }
    if (const auto earlier = template_.Render(shown_, false)) {
      AddCandidates(prompt, *earlier, &candidates);
    }
    return candidates;
  }

  void AddCandidates(const std::string& prompt, const std::string& rendered,
                     std::vector<std::string>* candidates) const {
    if (rendered.starts_with(prompt)) candidates->push_back(rendered.substr(prompt.size()));
    // The rendering lacks the tag that the generation prompt opens the reasoning with.
    const size_t opened = format_.starts_in_reasoning ? prompt.rfind(kReasoningBegin) : prompt.npos;
    if (opened == prompt.npos || !rendered.starts_with(prompt.substr(0, opened))) return;
    // An earlier answer may have the closing tag, as in DeepSeek's template.
    constexpr std::string_view kClose = "</think>";
    std::string shown = rendered.substr(opened);
    if (shown.starts_with(kClose)) shown.erase(0, kClose.size());
    candidates->push_back(answer_.reasoning + std::string(kReasoningEnd) + shown);
  }

  // Returns the shortest prefix of a text that parses as the answer. For an answer with calls it is
  // the longest one, so that it includes their closing text, which a parser may not require.
  std::optional<std::string> BeginningThatParses(const std::string& text, bool reasons) const {
    std::optional<std::string> found;
    for (size_t size = 0; size <= text.size(); ++size) {
      const std::string_view beginning = std::string_view(text).substr(0, size);
      const ParsedText parsed = Parse(format_, beginning);
      if (Trimmed(parsed.reasoning) != (reasons ? Trimmed(answer_.reasoning) : "")) continue;
      if (Trimmed(parsed.content) != Trimmed(answer_.content)) continue;
      if (!SameCalls(parsed.calls, answer_.tool_calls)) continue;
      found = beginning;
      if (answer_.tool_calls.empty()) break;
    }
    return found;
  }

  const Message& answer_;
  const ChatTemplate& template_;
  const Tools tools_;
  Conversation shown_;
  AnswerFormat format_;
};

}  // namespace

Result<std::string> WrittenAnswer(const Message& answer, const Conversation& conversation,
                                  const ChatTemplate& chat_template) {
  return AnswerWriter(answer, conversation, chat_template).Write();
}

}  // namespace cairn
