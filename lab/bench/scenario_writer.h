// ScenarioWriter: builds a scenario from texts of a given number of tokens and from steps.

#ifndef CAIRN_LAB_BENCH_SCENARIO_WRITER_H_
#define CAIRN_LAB_BENCH_SCENARIO_WRITER_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lab/bench/scenario.h"
#include "lab/client/seeded_text.h"

namespace cairn {

// Returns what the tables call a turn, which counts from 0: "turn 1".
inline std::string TurnName(size_t number) {
  return "turn " + std::to_string(number + 1);
}

// Not thread-safe.
class ScenarioWriter {
 public:
  ScenarioWriter(std::string_view name, const ScenarioParams& params);

  // Texts of about `tokens` tokens times the scale.
  std::string Prose(size_t tokens) { return text_.Prose(Bytes(tokens)); }
  std::string Code(size_t tokens) { return text_.Code(Bytes(tokens)); }
  std::string Word() { return text_.Word(); }
  size_t Bytes(size_t tokens) const;
  // Returns a text that is unique to this run of the scenario; a system message begins with it.
  std::string Nonce() const { return nonce_; }

  ChatMessage System(size_t tokens) { return {"system", nonce_ + Prose(tokens)}; }
  ChatMessage User(size_t tokens) { return {"user", Prose(tokens)}; }
  ChatMessage Assistant(size_t tokens) { return {"assistant", Prose(tokens)}; }
  // An assistant message with a tool call, after reasoning if `reasoning_tokens` is not 0; another
  // call with the same arguments; and a tool's result.
  ChatMessage Call(size_t reasoning_tokens);
  ChatMessage CallAgain(const ChatMessage& call);
  ChatMessage ToolResult(const ChatMessage& call, size_t tokens);
  // Returns `count` tools whose descriptions have about `tokens` tokens together.
  std::string ToolsJson(size_t count, size_t tokens);

  void Add(size_t conversation, std::vector<ChatMessage> messages) {
    Put(AddStep{conversation, std::move(messages)});
  }
  void Say(size_t conversation, size_t tokens) { Add(conversation, {User(tokens)}); }
  void AskFor(size_t conversation, std::string what, Keep keep = Keep::kAnswer);
  template <typename AnyStep>
  void Put(AnyStep step) {
    scenario_.steps.emplace_back(std::move(step));
  }
  // Appends about `tokens` tokens, user and assistant in turns, `message_tokens` in each message.
  // Returns the number of messages.
  size_t AddHistory(size_t conversation, size_t tokens, size_t message_tokens);

  Scenario Finish() && { return std::move(scenario_); }

 private:
  std::string NextCallId() { return "call_" + std::to_string(++calls_); }

  const ScenarioParams& params_;
  SeededText text_;
  std::string nonce_;
  size_t calls_ = 0;
  Scenario scenario_;
};

// One function per scenario, grouped by kind.
Scenario GrowingChat(const ScenarioParams& params);
Scenario ReasoningStripped(const ScenarioParams& params);
Scenario TwoAgents(const ScenarioParams& params);
Scenario MovingTimestamp(const ScenarioParams& params);
Scenario EditsFurtherBack(const ScenarioParams& params);
Scenario Regenerate(const ScenarioParams& params);
Scenario EditLast(const ScenarioParams& params);
Scenario Titles(const ScenarioParams& params);
Scenario BillingHeader(const ScenarioParams& params);
Scenario DropOldest(const ScenarioParams& params);
Scenario Forks(const ScenarioParams& params);
Scenario FilesAtEnd(const ScenarioParams& params);
Scenario SubAgents(const ScenarioParams& params);
Scenario ParallelSame(const ScenarioParams& params);
Scenario Restart(const ScenarioParams& params);
Scenario CancelInMiddle(const ScenarioParams& params);
Scenario ToolLoop(const ScenarioParams& params);
Scenario ToolMessages(const ScenarioParams& params);
Scenario TwelveConversations(const ScenarioParams& params);
Scenario Crowd(const ScenarioParams& params);
Scenario History36k(const ScenarioParams& params);
Scenario History100k(const ScenarioParams& params);
Result<Scenario> Trace(const ScenarioParams& params);

}  // namespace cairn

#endif  // CAIRN_LAB_BENCH_SCENARIO_WRITER_H_
