#include "cmd/model/template_report.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/parse/answer_parser.h"
#include "chat/spans/spans.h"
#include "chat/template/chat_template.h"
#include "chat/template/reasoning_controls.h"

namespace cairn {
namespace {

constexpr size_t kNameColumns = 24;
// Any fixed time: a template may print the date.
constexpr int64_t kNowUnixS = 1'700'000'000;
constexpr std::string_view kTools =
    R"([{"type":"function","function":{"name":"weather","description":"Tells the weather.",)"
    R"("parameters":{"type":"object","properties":{"city":{"type":"string"}},)"
    R"("required":["city"]}}}])";

Message Said(Role role, std::string text) {
  return {.role = role, .content = std::move(text)};
}

struct TriedTalk {
  const char* name;
  std::vector<Message> messages;
  bool tools = false;
};

// Conversations as clients send them; the last has everything whose place is told.
std::vector<TriedTalk> TriedTalks() {
  const Message system = Said(Role::kSystem, "System text.");
  const Message question = Said(Role::kUser, "First question.");
  const Message answer = Said(Role::kAssistant, "First answer.");
  const Message next = Said(Role::kUser, "Second question.");
  Message thinking = answer;
  thinking.reasoning = "Some reasoning.";
  const Message call{
      .role = Role::kAssistant,
      .tool_calls = {{.id = "call00001", .name = "weather", .arguments = R"({"city":"Bonn"})"}}};
  Message text_and_call = call;
  text_and_call.content = "I look.";
  Message result = Said(Role::kTool, "Warm.");
  result.tool_call_id = "call00001";
  result.name = "weather";
  return {{"a question", {question}},
          {"a system message", {system, question}},
          {"a developer message", {Said(Role::kDeveloper, "Text."), question}},
          {"an answer and a question", {question, answer, next}},
          {"an answer with reasoning", {question, thinking, next}},
          {"two questions in a row", {question, next}},
          {"two answers in a row", {question, answer, answer, next}},
          {"an empty answer", {question, Said(Role::kAssistant, ""), next}},
          {"a system message behind a question", {question, answer, system, next}},
          {"tools", {system, question}, true},
          {"a call and its result", {question, call, result}, true},
          {"a text beside a call", {question, text_and_call, result, answer, next}, true},
          {"a conversation", {system, question, answer, next, call, result}, true}};
}

Conversation TalkOf(const TriedTalk& probe) {
  Conversation talk{.messages = probe.messages, .now_unix_s = kNowUnixS};
  if (probe.tools) talk.tools = *Tools::Parse(kTools);
  return talk;
}

const char* NameOf(CallFormat format) {
  switch (format) {
    case CallFormat::kNone:
      return "none";
    case CallFormat::kHermes:
      return "Hermes";
    case CallFormat::kQwenXml:
      return "Qwen3-Coder";
    case CallFormat::kLfm2:
      return "LFM2";
    case CallFormat::kLlamaJson:
      return "Llama, JSON";
    case CallFormat::kLlamaPythonic:
      return "Llama, Python";
    case CallFormat::kMistral:
      return "Mistral";
    case CallFormat::kGranite:
      return "Granite";
    case CallFormat::kHarmony:
      return "gpt-oss";
    case CallFormat::kMiniMaxM3:
      return "MiniMax M3";
    case CallFormat::kLearned:
      return "learned";
  }
  return "";
}

const char* NameOf(ReasoningField field) {
  switch (field) {
    case ReasoningField::kReasoningContent:
      return "reasoning_content";
    case ReasoningField::kThinking:
      return "thinking";
    case ReasoningField::kThinkingPart:
      return "a part of the content";
  }
  return "";
}

Json MessagesOf(const TemplateCaps& caps) {
  return {{"system", caps.system_role ? "shown" : "joins the first question"},
          {"late_system", LateSystemName(caps.late_system)},
          {"developer", caps.developer_role ? "shown" : "becomes a system message"},
          {"content", caps.typed_content ? "parts" : "text"},
          {"reasoning_in", NameOf(caps.reasoning_field)},
          {"tools", caps.tools},
          {"tools_move", caps.tools_move},
          {"calls", caps.tool_calls},
          {"results", !caps.tool_responses        ? "not shown"
                      : caps.results_beside_calls ? "beside their calls"
                                                  : "shown"},
          {"arguments", caps.object_arguments ? "object" : "text"},
          {"one_call_a_message", caps.single_calls},
          {"ids_of_nine_characters", caps.short_call_ids}};
}

Json ReasoningOf(const ChatTemplate& chat_template) {
  const ReasoningTags& tags = chat_template.reasoning_tags();
  const ReasoningControls controls = FindReasoningControls(chat_template);
  Json reasoning = {{"open", tags.open}, {"close", tags.close}, {"learned", tags.learned}};
  if (!controls.switch_name.empty()) {
    reasoning["switch"] = controls.switch_name;
    reasoning["on"] = controls.switch_on;
    reasoning["off"] = controls.switch_off;
  }
  if (!controls.effort_name.empty()) {
    reasoning["effort"] = controls.effort_name;
    Json efforts = Json::object();
    for (const std::string& effort : ReasoningEfforts()) {
      const auto known = controls.efforts.find(effort);
      if (known != controls.efforts.end()) efforts[effort] = known->second;
    }
    reasoning["efforts"] = std::move(efforts);
  }
  return reasoning;
}

Json CallsOf(const ChatTemplate& chat_template) {
  const CallFormat format = CallFormatOf(chat_template);
  Json calls = {{"syntax", NameOf(format)}};
  if (format == CallFormat::kLearned) {
    calls["parts"] = DescribeCalls(*chat_template.learned_calls());
  }
  return calls;
}

// The template's text between what was said before a place and that place.
std::string Between(const TextShape& shape, const std::string& text, size_t end) {
  size_t begin = 0;
  for (const TextRange& said : shape.said) {
    if (said.end <= end) begin = std::max(begin, said.end);
  }
  return text.substr(begin, end - begin);
}

Json BoundariesOf(const ChatTemplate& chat_template, const Conversation& talk,
                  const RenderedText& rendered) {
  const TextShape shape = FindTextShape(chat_template, talk, rendered);
  size_t earlier = 0;
  Json boundaries = Json::object();
  for (const TextSpan& span : shape.spans) {
    earlier += span.earlier ? 1 : 0;
    const char* const name = span.role == Role::kTool ? "before_a_result" : "before_a_question";
    if (!span.earlier) boundaries[name] = Between(shape, rendered.text, span.begin);
  }
  boundaries["before_an_answer"] = rendered.text.substr(shape.last_message_end);
  boundaries["exact"] = shape.spans.size() - earlier;
  boundaries["earlier"] = earlier;
  boundaries["unknown"] = shape.unknown_boundaries;
  boundaries["renderings"] = shape.renders + 1;
  return boundaries;
}

std::string Quoted(const std::string& text) {
  return ToText(Json(text));
}

class ReportText {
 public:
  explicit ReportText(const Json& report) : report_(report) {}

  std::string Write() {
    text_ = report_["file"].text() + "\n";
    Line("size", ToText(report_["bytes"]) + " bytes");
    if (report_.contains("error")) {
      Line("not a template", report_["error"].text());
      return std::move(text_);
    }
    for (const auto& [name, value] : report_["messages"].items()) Line(Spaced(name), Shown(value));
    WriteReasoning(report_["reasoning"]);
    WriteCalls(report_["calls"]);
    if (report_.contains("boundaries")) WriteBoundaries(report_["boundaries"]);
    for (const auto& [name, why] : report_["refused"].items()) {
      Line("refused", name + ": " + why.text());
    }
    return std::move(text_);
  }

 private:
  void Line(std::string name, const std::string& value) {
    name.resize(std::max(kNameColumns, name.size() + 1), ' ');
    text_ += "  " + name + value + "\n";
  }

  static std::string Spaced(std::string name) {
    std::replace(name.begin(), name.end(), '_', ' ');
    return name;
  }

  static std::string Shown(const Json& value) {
    if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
    return value.is_string() ? value.text() : ToText(value);
  }

  void WriteReasoning(const Json& reasoning) {
    const bool learned = reasoning["learned"].get<bool>();
    Line("reasoning", Quoted(reasoning["open"].text()) + " … " + Quoted(reasoning["close"].text()) +
                          (learned ? "" : ", assumed: the template shows none"));
    if (reasoning.contains("switch")) {
      Line("reasoning switch", reasoning["switch"].text() + ": " + reasoning["on"].text() + " or " +
                                   reasoning["off"].text());
    }
    if (!reasoning.contains("effort")) return;
    std::string values;
    for (const auto& [effort, value] : reasoning["efforts"].items()) {
      values += (values.empty() ? "" : ", ") + effort +
                (value.text() == effort ? "" : " as " + value.text());
    }
    Line("reasoning effort", reasoning["effort"].text() + ": " + values);
  }

  void WriteCalls(const Json& calls) {
    Line("syntax of calls", calls["syntax"].text());
    if (!calls.contains("parts")) return;
    std::string_view parts = calls["parts"].text();
    while (!parts.empty()) {
      const size_t end = std::min(parts.find('\n'), parts.size());
      text_ += "    " + std::string(parts.substr(0, end)) + "\n";
      parts.remove_prefix(std::min(end + 1, parts.size()));
    }
  }

  void WriteBoundaries(const Json& boundaries) {
    Line("boundaries", ToText(boundaries["exact"]) + " exact, " + ToText(boundaries["earlier"]) +
                           " earlier, " + ToText(boundaries["unknown"]) + " unknown; " +
                           ToText(boundaries["renderings"]) + " renderings");
    for (const char* name : {"before_a_question", "before_a_result", "before_an_answer"}) {
      if (boundaries.contains(name)) Line(Spaced(name), Quoted(boundaries[name].text()));
    }
  }

  const Json& report_;
  std::string text_;
};

}  // namespace

Json ReportOnTemplate(const TemplateFile& file) {
  Json report = {{"file", file.path}, {"bytes", file.source.size()}};
  const auto parsed = ChatTemplate::Parse(file.source, file.bos_text, file.eos_text);
  if (!parsed) {
    report["error"] = parsed.error().message;
    return report;
  }
  const ChatTemplate& chat_template = **parsed;
  report["messages"] = MessagesOf(chat_template.caps());
  report["reasoning"] = ReasoningOf(chat_template);
  report["calls"] = CallsOf(chat_template);
  Json refused = Json::object();
  std::optional<Json> boundaries;
  for (const TriedTalk& probe : TriedTalks()) {
    const Conversation talk = TalkOf(probe);
    const auto rendered = chat_template.RenderWithOrigins(talk, true);
    if (!rendered) {
      refused[probe.name] = rendered.error().message;
    } else {
      // Those of the last one that it takes.
      boundaries = BoundariesOf(chat_template, talk, *rendered);
    }
  }
  if (boundaries) report["boundaries"] = *std::move(boundaries);
  report["refused"] = std::move(refused);
  return report;
}

std::string TextOfReport(const Json& report) {
  return ReportText(report).Write();
}

}  // namespace cairn
