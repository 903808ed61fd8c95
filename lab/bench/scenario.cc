#include "lab/bench/scenario.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <string>
#include <utility>

#include "base/json.h"
#include "lab/bench/scenario_writer.h"

namespace cairn {
namespace {

struct Entry {
  ScenarioInfo info;
  Scenario (*make)(const ScenarioParams& params);  // null: the trace
};

constexpr std::array<Entry, 23> kEntries = {{
    {{"growing-chat", "a chat that grows by turns"}, GrowingChat},
    {{"reasoning-stripped", "answers come back without their reasoning"}, ReasoningStripped},
    {{"two-agents", "two agents with one header take turns"}, TwoAgents},
    {{"moving-timestamp", "a time near the front changes with every request"}, MovingTimestamp},
    {{"edits-further-back", "edits ever further back"}, EditsFurtherBack},
    {{"regenerate", "every answer is asked for three times"}, Regenerate},
    {{"edit-last", "the end of the last message is edited"}, EditLast},
    {{"titles", "a title is asked for between turns"}, Titles},
    {{"billing-header", "a billing header changes with every request"}, BillingHeader},
    {{"drop-oldest", "the client drops its oldest turns"}, DropOldest},
    {{"forks", "six conversations go on from one long context"}, Forks},
    {{"files-at-end", "an editor keeps its files at the end of the prompt"}, FilesAtEnd},
    {{"sub-agents", "an agent calls three others at a time"}, SubAgents},
    {{"parallel-same", "four identical prompts at the same time"}, ParallelSame},
    {{"restart", "the server is restarted between two turns"}, Restart},
    {{"cancel", "requests are cancelled in the middle"}, CancelInMiddle},
    {{"tool-loop", "a tool loop of 60 steps with reasoning, rewound"}, ToolLoop},
    {{"tool-messages", "ten tool calls, the last made again after a longer result"}, ToolMessages},
    {{"twelve-conversations", "twelve conversations with one header"}, TwelveConversations},
    {{"crowd", "eight people with one header at the same time"}, Crowd},
    {{"history-36k", "36,000 tokens of history"}, History36k},
    {{"history-100k", "100,000 tokens of history"}, History100k},
    {{"trace", "a replay of recorded dialogues"}, nullptr},
}};

constexpr auto kInfos = [] {
  std::array<ScenarioInfo, kEntries.size()> infos;
  for (size_t i = 0; i < kEntries.size(); ++i) infos[i] = kEntries[i].info;
  return infos;
}();

// Puts made-up answers in the place of generated ones.
void FixAnswers(const ScenarioParams& params, Scenario* scenario) {
  SeededText text(params.seed,
                  scenario->name + "/" + std::to_string(params.repetition) + "/answers");
  // Not scaled: the answers that they stand for are not either.
  const auto bytes = static_cast<size_t>(std::max(
      1.0, std::round(static_cast<double>(params.fixed_answer_tokens) * params.bytes_per_token)));
  for (Step& step : scenario->steps) {
    auto* asked = std::get_if<AskStep>(&step);
    if (asked == nullptr) continue;
    for (Ask& ask : asked->asks) {
      if (ask.cancel == Cancel::kNever) ask.answer_tokens_max = params.fixed_answer_tokens;
      if (ask.keep == Keep::kAnswer) ask.instead = {"assistant", text.Prose(bytes)};
      if (ask.keep != Keep::kDiscard) ask.keep = Keep::kInstead;
    }
  }
}

Result<Scenario> WriteScenario(std::string_view name, const ScenarioParams& params) {
  std::string names;
  for (const Entry& entry : kEntries) {
    if (entry.info.name == name) return entry.make != nullptr ? entry.make(params) : Trace(params);
    names.append(names.empty() ? "" : ", ").append(entry.info.name);
  }
  return Fail(ErrorCode::kNotFound,
              "there is no scenario '" + std::string(name) + "'; there are all, " + names);
}

// The scenario that replays a text trace: one dialogue per line, as {"messages": […]} in the form
// of chat completions, tool calls included.

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

size_t Scenario::requests() const {
  size_t count = 0;
  for (const Step& step : steps) {
    if (const auto* ask = std::get_if<AskStep>(&step)) count += ask->asks.size();
  }
  return count;
}

std::span<const ScenarioInfo> Scenarios() {
  return kInfos;
}

bool NeedsRestart(std::string_view name) {
  return name == "restart";
}

bool NeedsTrace(std::string_view name) {
  return name == "trace";
}

Result<Scenario> MakeScenario(std::string_view name, const ScenarioParams& params) {
  Result<Scenario> scenario = WriteScenario(name, params);
  if (scenario && params.fixed_answer_tokens > 0) FixAnswers(params, &*scenario);
  return scenario;
}

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
