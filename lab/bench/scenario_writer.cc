#include "lab/bench/scenario_writer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/json.h"

namespace cairn {

namespace {

// Returns a text unique to this run, in letters: each digit may be a token of its own.
std::string NonceOf(std::string_view name, const ScenarioParams& params) {
  SeededText text(params.seed, std::string(name) + "/" + std::to_string(params.repetition));
  std::string nonce = "Session";
  for (int i = 0; i < 4; ++i) nonce += " " + text.Word();
  return nonce + ". ";
}

}  // namespace

ScenarioWriter::ScenarioWriter(std::string_view name, const ScenarioParams& params)
    : params_(params),
      text_(params.seed, std::string(name) + "/" + std::to_string(params.repetition) + "/text"),
      nonce_(NonceOf(name, params)) {
  scenario_.name = name;
}

size_t ScenarioWriter::Bytes(size_t tokens) const {
  const double bytes = static_cast<double>(tokens) * params_.scale * params_.bytes_per_token;
  return static_cast<size_t>(std::max(1.0, std::round(bytes)));
}

ChatMessage ScenarioWriter::Call(size_t reasoning_tokens) {
  ChatMessage message{"assistant", ""};
  if (reasoning_tokens > 0) message.reasoning = Prose(reasoning_tokens);
  message.tool_calls = {
      {NextCallId(), "read_file", R"({"path":"src/)" + Word() + "/" + Word() + R"(.cc"})"}};
  return message;
}

ChatMessage ScenarioWriter::CallAgain(const ChatMessage& call) {
  ChatMessage message = call;
  message.tool_calls.at(0).id = NextCallId();
  return message;
}

ChatMessage ScenarioWriter::ToolResult(const ChatMessage& call, size_t tokens) {
  ChatMessage message{"tool", Code(tokens)};
  message.tool_call_id = call.tool_calls.at(0).id;
  return message;
}

std::string ScenarioWriter::ToolsJson(size_t count, size_t tokens) {
  Json tools = Json::array();
  for (size_t i = 0; i < count; ++i) {
    const std::string name = i == 0 ? "read_file" : Word() + "_" + Word();
    // Templates write the members in this order, so published figures depend on it.
    tools.push_back({{"function",
                      {{"description", Prose(std::max<size_t>(1, tokens / count))},
                       {"name", name},
                       {"parameters",
                        {{"properties", {{"path", {{"type", "string"}}}}},
                         {"required", {"path"}},
                         {"type", "object"}}}}},
                     {"type", "function"}});
  }
  return tools.dump();
}

void ScenarioWriter::AskFor(size_t conversation, std::string what, Keep keep) {
  Ask ask;
  ask.conversation = conversation;
  ask.what = std::move(what);
  ask.keep = keep;
  Put(AskStep{{std::move(ask)}});
}

size_t ScenarioWriter::AddHistory(size_t conversation, size_t tokens, size_t message_tokens) {
  std::vector<ChatMessage> messages;
  for (size_t said = 0; said < tokens; said += 2 * message_tokens) {
    messages.push_back(User(message_tokens));
    messages.push_back(Assistant(message_tokens));
  }
  const size_t count = messages.size();
  Add(conversation, std::move(messages));
  return count;
}

}  // namespace cairn
