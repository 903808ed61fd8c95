#include "lab/bench/scenario.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

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

}  // namespace cairn
