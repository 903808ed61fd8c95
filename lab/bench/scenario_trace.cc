// The scenario that replays a text trace: one dialogue per line, as {"messages": […]} in the form
// of chat completions, tool calls included.

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <utility>

#include "base/json.h"
#include "lab/bench/scenario_writer.h"

namespace cairn {
namespace {

constexpr double kDialogues = 8;  // at scale 1

std::string TextAt(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->text() : "";
}

// Returns the value at `key`, or an empty object if there is none.
Json At(const Json& object, const char* key) {
  return object.is_object() && object.contains(key) ? object.at(key) : Json::object();
}

ChatMessage ReadMessage(const Json& json) {
  ChatMessage message{TextAt(json, "role"), TextAt(json, "content")};
  message.reasoning = TextAt(json, "reasoning_content");
  message.tool_call_id = TextAt(json, "tool_call_id");
  for (const Json& call : At(json, "tool_calls")) {
    const Json function = At(call, "function");
    message.tool_calls.push_back(
        {TextAt(call, "id"), TextAt(function, "name"), TextAt(function, "arguments")});
  }
  return message;
}

Error BadLine(size_t number) {
  return {ErrorCode::kCorrupt,
          "line " + std::to_string(number) +
              " of the trace is no dialogue; expected JSON with \"messages\", a list of objects"};
}

// Adds a request for each answer of the dialogue; the trace's answer is appended in its place.
Status AddDialogue(const std::string& line, size_t conversation, ScenarioWriter* writer) {
  const Json dialogue = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  const Json messages = At(dialogue, "messages");
  if (!messages.is_array() || messages.empty()) {
    return tl::unexpected(BadLine(conversation + 1));
  }
  if (TextAt(messages.at(0), "role") != "system") {
    writer->Add(conversation, {{"system", writer->Nonce()}});
  }
  size_t answers = 0;
  for (const Json& json : messages) {
    if (!json.is_object()) return tl::unexpected(BadLine(conversation + 1));
    ChatMessage message = ReadMessage(json);
    if (message.role == "assistant") {
      Ask ask;
      ask.conversation = conversation;
      ask.what =
          "dialogue " + std::to_string(conversation + 1) + ", answer " + std::to_string(++answers);
      ask.answer_tokens_max = 8;
      ask.keep = Keep::kInstead;
      ask.instead = std::move(message);
      writer->Put(AskStep{{std::move(ask)}});
      continue;
    }
    if (message.role == "system") message.content = writer->Nonce() + message.content;
    writer->Add(conversation, {std::move(message)});
  }
  return {};
}

}  // namespace

Result<Scenario> Trace(const ScenarioParams& params) {
  if (params.trace.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                "the scenario 'trace' needs dialogues to replay: --trace FILE");
  }
  ScenarioWriter writer("trace", params);
  const auto dialogues = static_cast<size_t>(std::max(1.0, std::round(kDialogues * params.scale)));
  std::istringstream lines(params.trace);
  std::string line;
  for (size_t i = 0; i < dialogues && std::getline(lines, line);) {
    if (line.empty()) continue;
    if (const Status added = AddDialogue(line, i, &writer); !added) {
      return tl::unexpected(added.error());
    }
    ++i;
  }
  return std::move(writer).Finish();
}

}  // namespace cairn
