#include "api/service/answer_script.h"

#include <algorithm>
#include <span>
#include <utility>

#include "api/json.h"
#include "api/service/written_answer.h"

namespace cairn {
namespace {

// Returns the messages after the last answer.
std::span<const Message> NewMessages(const std::vector<Message>& messages) {
  const auto last = std::find_if(messages.rbegin(), messages.rend(),
                                 [](const Message& m) { return m.role == Role::kAssistant; });
  return std::span(messages).last(static_cast<size_t>(last - messages.rbegin()));
}

ApiResult<Message> ReadAnswer(const Json& json, const std::string& path) {
  Message answer{.role = Role::kAssistant};
  FieldReader fields(json, path);
  fields.String("content", &answer.content);
  fields.String("reasoning", &answer.reasoning);
  if (const Json* call = fields.Find("call"); call != nullptr) {
    const Json* arguments =
        call->is_object() ? FieldReader(*call, path).Find("arguments") : nullptr;
    if (arguments == nullptr || !arguments->is_object()) {
      fields.Fail("call", "an object with a 'name' and an object 'arguments'");
    } else {
      FieldReader call_fields(*call, path + "call.");
      ToolCall made{.id = "call00001", .arguments = ToText(*arguments)};
      call_fields.String("name", &made.name);
      if (call_fields.error()) return tl::unexpected(*call_fields.error());
      answer.tool_calls.push_back(std::move(made));
    }
  }
  if (fields.error()) return tl::unexpected(*fields.error());
  return answer;
}

// Returns GBNF that allows exactly this text.
std::string OnlyThis(std::string_view text) {
  std::string grammar = "root ::= \"";
  for (const char c : text) {
    if (c == '\n') {
      grammar += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') grammar += '\\';
    grammar += c;
  }
  return grammar + "\"";
}

}  // namespace

Result<std::unique_ptr<const AnswerScript>> AnswerScript::Parse(std::string_view json) {
  const Json script = Json::parse(json, nullptr, false);
  if (!script.is_object() || !script.contains("rules") || !script["rules"].is_array()) {
    return Fail(ErrorCode::kInvalidArgument, "a script is a JSON object with an array 'rules'");
  }
  auto parsed = std::make_unique<AnswerScript>();
  for (const Json& rule : script["rules"]) {
    const std::string path = "rules[" + std::to_string(parsed->rules_.size()) + "].";
    if (!rule.is_object() || !rule.contains("answer") || !rule["answer"].is_object()) {
      return Fail(ErrorCode::kInvalidArgument, "'" + path + "answer' must be an object");
    }
    Rule made;
    FieldReader fields(rule, path);
    fields.String("text", &made.text);
    fields.String("tool", &made.tool);
    if (fields.error()) return Fail(ErrorCode::kInvalidArgument, fields.error()->message);
    auto answer = ReadAnswer(rule["answer"], path + "answer.");
    if (!answer) return Fail(ErrorCode::kInvalidArgument, answer.error().message);
    made.answer = std::move(*answer);
    parsed->rules_.push_back(std::move(made));
  }
  return parsed;
}

const Message* AnswerScript::AnswerTo(const Conversation& conversation) const {
  const auto fresh = NewMessages(conversation.messages);
  const auto rule = std::find_if(rules_.begin(), rules_.end(), [&](const Rule& r) {
    if (!r.tool.empty() && conversation.tools.FindFunction(r.tool) == nullptr) return false;
    return r.text.empty() || std::any_of(fresh.begin(), fresh.end(), [&](const Message& m) {
             return m.content.find(r.text) != std::string::npos;
           });
  });
  return rule == rules_.end() ? nullptr : &rule->answer;
}

Result<std::shared_ptr<const Grammar>> AnswerScript::GrammarFor(
    const Conversation& conversation, const ChatTemplate& chat_template) const {
  const Message* const answer = AnswerTo(conversation);
  if (answer == nullptr) return nullptr;
  const auto text = WrittenAnswer(*answer, conversation, chat_template);
  if (!text) return tl::unexpected(text.error());
  return Grammar::Parse(OnlyThis(*text));
}

}  // namespace cairn
