// Dialogues with their text, as in chat completions: a line has `messages`, and each answer in it
// is a request whose prompt is everything before it. The vocabulary is made up
// (lab/sim/pseudo_prompt.h), and so are the times: one request every ten seconds.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "lab/sim/pseudo_prompt.h"
#include "lab/sim/trace.h"
#include "trace/sequence_numbers.h"

namespace cairn {
namespace {

constexpr size_t kBlockTokens = 64;
constexpr double kBetweenMs = 10'000;

std::string TextOf(const Json& content) {
  if (content.is_string()) return content.text();
  std::string text;
  if (!content.is_array()) return text;
  for (const Json& part : content) {
    if (part.is_object() && part.contains("text") && part["text"].is_string()) {
      text += part["text"].text();
    }
  }
  return text;
}

// Sorts the members of all objects by key. Equal arguments thus have equal tokens.
Json Sorted(const Json& json) {
  if (!json.is_structured()) return json;
  if (json.is_array()) {
    Json items = Json::array();
    for (const Json& item : json) items.push_back(Sorted(item));
    return items;
  }
  std::map<std::string_view, const Json*> members;
  for (const auto& [key, value] : json.items()) members[key] = &value;
  Json sorted = Json::object();
  for (const auto& [key, value] : members) sorted[key] = Sorted(*value);
  return sorted;
}

// Writes calls as templates do that put them between tags.
std::string AnswerText(const Json& message) {
  std::string text = TextOf(message.value("content", Json()));
  const Json calls = message.value("tool_calls", Json());
  if (!calls.is_array()) return text;
  for (const Json& call : calls) {
    if (!call.is_object()) continue;
    const Json function = call.value("function", Json());
    if (!function.is_object()) continue;
    const Json arguments = function.value("arguments", Json::object());
    if (!text.empty()) text += "\n";
    text += "<tool_call>\n{\"name\": " + Sorted(function.value("name", Json())).dump() +
            ", \"arguments\": " +
            (arguments.is_string() ? arguments.text() : Sorted(arguments).dump()) +
            "}\n</tool_call>";
  }
  return text;
}

std::optional<PseudoPrompt::Role> RoleOf(const Json& message) {
  const auto found = message.find("role");
  if (found == message.end() || !found->is_string()) return std::nullopt;
  const std::string& name = found->text();
  if (name == "system" || name == "developer") return PseudoPrompt::Role::kSystem;
  if (name == "user") return PseudoPrompt::Role::kUser;
  if (name == "tool") return PseudoPrompt::Role::kTool;
  if (name == "assistant") return PseudoPrompt::Role::kAssistant;
  return std::nullopt;
}

class MessagesReader final : public TraceReader {
 public:
  Status AddLine(const Json& line, Trace* trace) override {
    trace->block_tokens = kBlockTokens;
    const auto messages = line.find("messages");
    if (messages == line.end() || !messages->is_array() || messages->empty()) {
      return Fail(ErrorCode::kInvalidArgument, "messages: expected a list of messages");
    }
    TraceSession session;
    session.name = std::to_string(trace->sessions.size());
    PseudoPrompt prompt;
    for (const Json& message : *messages) {
      const auto role = message.is_object() ? RoleOf(message) : std::nullopt;
      if (!role) {
        return Fail(ErrorCode::kInvalidArgument,
                    "messages: expected a role: system, user, assistant or tool");
      }
      const std::string text = AnswerText(message);
      // An assistant message before the first question, such as a greeting, is not an answer.
      const bool asked = *role == PseudoPrompt::Role::kAssistant && !prompt.shape().turns.empty();
      if (asked) {
        if (Status added = AddRequest(prompt, text, &session); !added) return added;
      }
      prompt.Add(*role, text);
    }
    if (!session.requests.empty()) trace->sessions.push_back(std::move(session));
    return {};
  }

 private:
  Status AddRequest(const PseudoPrompt& prompt, const std::string& text, TraceSession* session) {
    Tokens tokens = prompt.tokens();
    const Tokens answer = PseudoPrompt::Answer(text);
    TraceRequest request;
    request.at_ms = kBetweenMs * static_cast<double>(session->requests.size());
    request.input_tokens = tokens.size();
    request.output_tokens = answer.size();
    request.shape = prompt.shape();
    request.ended_by_model = true;
    tokens.insert(tokens.end(), answer.begin(), answer.end());
    auto numbers = numbers_.Add(0, tokens);
    if (!numbers) {
      return Fail(ErrorCode::kInvalidArgument, "messages: more than tokens can be numbered");
    }
    request.token_ids = std::move(*numbers);
    session->requests.push_back(std::move(request));
    return {};
  }

  SequenceNumbers numbers_;
};

}  // namespace

std::unique_ptr<TraceReader> MakeMessagesReader() {
  return std::make_unique<MessagesReader>();
}

}  // namespace cairn
