// Scenarios of agent programs, and of several clients at once.

#include <string>
#include <utility>
#include <vector>

#include "lab/bench/scenario_writer.h"

namespace cairn {
namespace {

// Appends the scripted call in the answer's place: a synthetic model calls no tools.
void AskForCall(size_t conversation, std::string what, const ChatMessage& call,
                ScenarioWriter* writer) {
  Ask ask;
  ask.conversation = conversation;
  ask.what = std::move(what);
  ask.answer_tokens_max = 8;
  ask.keep = Keep::kInstead;
  ask.instead = call;
  writer->Put(AskStep{{std::move(ask)}});
}

// Plays steps [first, last) of a loop of tool calls and results.
void PlayToolLoop(size_t first, size_t last, ScenarioWriter* writer) {
  for (size_t step = first; step < last; ++step) {
    const ChatMessage call = writer->Call(100);
    AskForCall(0, "step " + std::to_string(step + 1), call, writer);
    writer->Add(0, {writer->ToolResult(call, 120)});
  }
}

}  // namespace

Scenario TwoAgents(const ScenarioParams& params) {
  ScenarioWriter writer("two-agents", params);
  writer.Add(0, {writer.System(3000)});
  writer.Put(ToolsStep{0, writer.ToolsJson(4, 800)});
  writer.Put(CopyStep{0, 1});
  for (size_t turn = 0; turn < 5; ++turn) {
    for (size_t agent = 0; agent < 2; ++agent) {
      writer.Say(agent, 300);
      writer.AskFor(agent, TurnName(turn) + " of agent " + std::to_string(agent + 1));
    }
  }
  return std::move(writer).Finish();
}

Scenario Titles(const ScenarioParams& params) {
  constexpr size_t kTitle = 1;
  ScenarioWriter writer("titles", params);
  const ChatMessage title_system = writer.System(200);
  writer.Add(0, {writer.System(3000)});
  for (size_t turn = 0; turn < 6; ++turn) {
    const ChatMessage question = writer.User(250);
    writer.Put(CutStep{kTitle, 0});
    writer.Add(kTitle, {title_system, question});
    writer.AskFor(kTitle, "a title, before turn " + std::to_string(turn + 1), Keep::kDiscard);
    writer.Add(0, {question});
    writer.AskFor(0, TurnName(turn));
  }
  return std::move(writer).Finish();
}

Scenario BillingHeader(const ScenarioParams& params) {
  constexpr std::string_view kHex = "0123456789abcdef";
  ScenarioWriter writer("billing-header", params);
  SeededText digits(params.seed, "billing-header/digits");
  const std::string system = writer.Nonce() + writer.Prose(3000);
  const auto headed = [&] {
    std::string text =
        "x-anthropic-billing-header: cc_version=2.1.177.e5a; cc_entrypoint=sdk-cli; cch=";
    for (int i = 0; i < 5; ++i) text += kHex[digits.Number(kHex.size())];
    return text + ";\n" + system;
  };
  writer.Add(0, {{"system", headed()}});
  for (size_t turn = 0; turn < 6; ++turn) {
    if (turn > 0) writer.Put(RewriteStep{0, 0, headed()});
    writer.Say(0, 250);
    writer.AskFor(0, TurnName(turn));
  }
  return std::move(writer).Finish();
}

Scenario FilesAtEnd(const ScenarioParams& params) {
  ScenarioWriter writer("files-at-end", params);
  const std::string before = writer.Code(900);
  const std::string after = writer.Code(900);
  writer.Add(0, {writer.System(1000)});
  writer.AddHistory(0, 2000, 250);
  for (size_t turn = 0; turn < 6; ++turn) {
    const ChatMessage question = writer.User(150);
    // The file is edited in its middle on each turn.
    const ChatMessage file = {"user", before + "\n" + writer.Code(40) + "\n" + after};
    writer.Put(CopyStep{0, 1});
    writer.Add(1, {file, {"assistant", "Ok, I will go by these files."}, question});
    writer.AskFor(1, TurnName(turn), Keep::kDiscard);
    // The finished exchange goes into the history, without the file.
    writer.Add(0, {question, writer.Assistant(120)});
  }
  return std::move(writer).Finish();
}

Scenario SubAgents(const ScenarioParams& params) {
  constexpr size_t kAgents = 3;
  ScenarioWriter writer("sub-agents", params);
  writer.Add(0, {writer.System(2500)});
  writer.Put(ToolsStep{0, writer.ToolsJson(5, 1000)});
  const ChatMessage agent_system = writer.System(800);
  const std::string agent_tools = writer.ToolsJson(3, 500);
  for (size_t round = 0; round < 3; ++round) {
    writer.Say(0, 200);
    const ChatMessage call = writer.Call(80);
    AskForCall(0, TurnName(round) + ", which calls sub-agents", call, &writer);
    for (size_t agent = 1; agent <= kAgents; ++agent) {
      writer.Put(CutStep{agent, 0});
      writer.Put(ToolsStep{agent, agent_tools});
      writer.Add(agent, {agent_system, writer.User(200)});
    }
    for (size_t step = 0; step < 3; ++step) {
      AskStep together;
      for (size_t agent = 1; agent <= kAgents; ++agent) {
        Ask ask;
        ask.conversation = agent;
        ask.what = "sub-agent " + std::to_string(agent) + ", step " + std::to_string(step + 1);
        ask.answer_tokens_max = 8;
        ask.keep = Keep::kInstead;
        ask.instead = writer.Call(60);
        together.asks.push_back(std::move(ask));
      }
      const std::vector<Ask> asked = together.asks;
      writer.Put(std::move(together));
      for (const Ask& ask : asked) {
        writer.Add(ask.conversation, {writer.ToolResult(ask.instead, 150)});
      }
    }
    writer.Add(0, {writer.ToolResult(call, 200)});
    writer.AskFor(0, TurnName(round) + ", with the result");
  }
  return std::move(writer).Finish();
}

Scenario ParallelSame(const ScenarioParams& params) {
  constexpr size_t kClients = 4;
  ScenarioWriter writer("parallel-same", params);
  writer.Add(0, {writer.System(2000)});
  for (size_t round = 0; round < 3; ++round) {
    writer.Say(0, 1000);
    AskStep together;
    for (size_t client = 0; client < kClients; ++client) {
      Ask ask;
      ask.what = TurnName(round) + ", client " + std::to_string(client + 1);
      ask.keep = client == 0 ? Keep::kAnswer : Keep::kDiscard;
      together.asks.push_back(std::move(ask));
    }
    writer.Put(std::move(together));
  }
  return std::move(writer).Finish();
}

Scenario ToolLoop(const ScenarioParams& params) {
  constexpr size_t kSteps = 60;
  constexpr size_t kRewoundTo = 40;
  constexpr size_t kSecondSteps = 10;
  ScenarioWriter writer("tool-loop", params);
  writer.Add(0, {writer.System(2000)});
  writer.Put(ToolsStep{0, writer.ToolsJson(4, 800)});
  writer.Say(0, 200);
  PlayToolLoop(0, kSteps, &writer);
  // Each step is a call and its result.
  writer.Put(CutStep{0, 2 + 2 * kRewoundTo});
  PlayToolLoop(kRewoundTo, kRewoundTo + kSecondSteps, &writer);
  writer.AskFor(0, "the loop's answer");
  writer.Say(0, 200);
  writer.AskFor(0, "the next question, without the reasoning since the last");
  writer.Say(0, 200);
  writer.AskFor(0, "the question after it");
  return std::move(writer).Finish();
}

Scenario ToolMessages(const ScenarioParams& params) {
  constexpr size_t kCalls = 10;
  ScenarioWriter writer("tool-messages", params);
  writer.Add(0, {writer.System(2000)});
  writer.Put(ToolsStep{0, writer.ToolsJson(4, 800)});
  writer.Say(0, 200);
  ChatMessage call;
  ChatMessage result;
  for (size_t i = 0; i < kCalls; ++i) {
    call = writer.Call(0);
    result = writer.ToolResult(call, 150);
    AskForCall(0, "call " + std::to_string(i + 1), call, &writer);
    writer.Add(0, {result});
  }
  writer.AskFor(0, "the last result", Keep::kDiscard);
  // The system message and the question precede the calls, each with its result.
  result.content += "\n" + writer.Code(150);
  writer.Put(RewriteStep{0, 1 + 2 * kCalls, result.content});
  const ChatMessage again = writer.CallAgain(call);
  AskForCall(0, "the last result, longer", again, &writer);
  result.tool_call_id = again.tool_calls[0].id;
  writer.Add(0, {result});
  writer.AskFor(0, "the same call's result");
  writer.Say(0, 200);
  writer.AskFor(0, "the next question");
  return std::move(writer).Finish();
}

Scenario TwelveConversations(const ScenarioParams& params) {
  constexpr size_t kConversations = 12;
  ScenarioWriter writer("twelve-conversations", params);
  writer.Add(0, {writer.System(2500)});
  for (size_t i = 1; i < kConversations; ++i) writer.Put(CopyStep{0, i});
  for (size_t turn = 0; turn < 4; ++turn) {
    for (size_t i = 0; i < kConversations; ++i) {
      writer.Say(i, 200);
      writer.AskFor(i, TurnName(turn) + " of conversation " + std::to_string(i + 1));
    }
  }
  return std::move(writer).Finish();
}

Scenario Crowd(const ScenarioParams& params) {
  constexpr size_t kPeople = 8;
  ScenarioWriter writer("crowd", params);
  writer.Add(0, {writer.System(2000)});
  writer.Put(ToolsStep{0, writer.ToolsJson(4, 800)});
  for (size_t i = 1; i < kPeople; ++i) writer.Put(CopyStep{0, i});
  for (size_t turn = 0; turn < 6; ++turn) {
    AskStep together;
    for (size_t i = 0; i < kPeople; ++i) {
      writer.Say(i, 200);
      Ask ask;
      ask.conversation = i;
      ask.what = TurnName(turn) + " of person " + std::to_string(i + 1);
      together.asks.push_back(std::move(ask));
    }
    writer.Put(std::move(together));
  }
  return std::move(writer).Finish();
}

}  // namespace cairn
